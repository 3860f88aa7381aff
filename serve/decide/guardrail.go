package decide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/serve/hook"
)

// A guardrail is one gateway's form of questions about the texts of requests and replies.
type guardrail struct {
	// read decodes a question.
	read func(body []byte) (*texts, error)
	// pass, change and refuse return the gateway's answers. changed are all texts of the question.
	pass   func() any
	change func(t *texts, changed []string) any
	refuse func(reason string) any
}

// maxTexts is the most texts and tool calls of one question.
const maxTexts = 1000

// texts are the parts of a request or a reply that plugins check.
type texts struct {
	list    []string // in the order of the question
	roles   []string // the role of each text, for agentgateway
	isReply bool
	calls   []starhost.ToolCall // the arguments of a call are checked, and never changed
	session string              // "" for a question without a conversation
	model   string
}

// guardrails are the gateways by the paths at which they ask. A gateway that cannot choose its path
// asks at its default path.
var guardrails = map[string]*guardrail{
	"/litellm/beta/litellm_basic_guardrail_api": &litellm,
	"/agentgateway/request":                     &agentgatewayRequest, "/request": &agentgatewayRequest,
	"/agentgateway/response": &agentgatewayResponse, "/response": &agentgatewayResponse,
}

// Guardrails returns the handler for the gateways' questions.
func (s *Server) Guardrails() http.Handler {
	mux := http.NewServeMux()
	for path, g := range guardrails {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { s.answerGateway(w, r, g) })
	}
	return mux
}

// answerGateway answers a gateway's question. A refusal has status 200, because some gateways can
// be set to let pass what their guardrail fails at.
func (s *Server) answerGateway(w http.ResponseWriter, r *http.Request, g *guardrail) {
	body, err := io.ReadAll(r.Body)
	var t *texts
	if err == nil {
		t, err = g.read(body)
	}
	if err == nil && len(t.list)+len(t.calls) > maxTexts {
		err = fmt.Errorf("got %d texts and tool calls, want at most %d", len(t.list)+len(t.calls), maxTexts)
	}
	if err != nil {
		s.writeObject(w, http.StatusOK, g.refuse("starhost: "+err.Error()))
		return
	}
	answer, err := inTime(r.Context(), s, func(ctx context.Context, give func(any)) {
		give(s.checkTexts(ctx, g, t))
	})
	if err != nil {
		answer = g.refuse("starhost: " + err.Error())
	}
	s.writeObject(w, http.StatusOK, answer)
}

// checkTexts asks plugins about each text and each call, and returns the gateway's answer.
func (s *Server) checkTexts(ctx context.Context, g *guardrail, t *texts) any {
	changed, isChanged := make([]string, len(t.list)), false
	for i, text := range t.list {
		e := &starhost.Event{Name: "turn_start", UserMessage: text, Model: t.model, SessionID: t.session}
		if t.isReply {
			e = &starhost.Event{Name: "post_llm_call", Response: text, Model: t.model, SessionID: t.session}
		}
		if why := s.check(ctx, e); why != nil {
			return g.refuse(why.Error())
		}
		if changed[i] = e.UserMessage; t.isReply {
			changed[i] = e.Response
		}
		isChanged = isChanged || changed[i] != text
	}
	for _, call := range t.calls {
		e := &starhost.Event{
			Name: "pre_tool_call", Tool: call.Name, Arguments: call.Arguments, CallID: call.ID, Model: t.model, SessionID: t.session,
		}
		if why := s.check(ctx, e); why != nil {
			return g.refuse(why.Error())
		}
	}
	if isChanged {
		return g.change(t, changed)
	}
	return g.pass()
}

// check fires one event. It returns why the request or reply is refused, nil if it may pass.
// Changes are in e.
func (s *Server) check(ctx context.Context, e *starhost.Event) error {
	host, refusal := s.Host()
	spec, err := starhost.LookupEvent(e.Name)
	if err == nil {
		if err = refusal.Refuse(spec); err != nil {
			s.undecided(e, string(starhost.ActionDeny), "starhost: "+err.Error())
		}
	}
	given := e.Arguments
	var out starhost.Outcome
	if err == nil {
		var store func()
		out, store, err = hook.Fire(ctx, host, e, s.options(refusal))
		store()
	}
	switch d := out.Decision; {
	case err != nil:
		return fmt.Errorf("starhost: %w", err)
	case ctx.Err() != nil: // handlers after the deadline did not run
		return fmt.Errorf("starhost: %w", context.Cause(ctx))
	case d.Action == starhost.ActionDeny, d.Action == starhost.ActionAbort:
		return fmt.Errorf("denied by %s: %s", d.Plugin, d.Reason)
	case d.Action == starhost.ActionAsk:
		return fmt.Errorf("approval is needed and nobody can give it: %s", d.Reason)
	case d.Action == starhost.ActionRespond:
		return fmt.Errorf("answered by %s in the tool's stead, which a gateway cannot pass on", d.Plugin)
	case string(given) != string(e.Arguments) && spec.Tool:
		return errors.New("a plugin changed the arguments of a tool call, which a gateway cannot pass on")
	}
	return nil
}

// readTool returns a tool call of OpenAI's form, whose arguments are JSON in a text.
func readTool(id, name, arguments string) (starhost.ToolCall, error) {
	if name == "" {
		return starhost.ToolCall{}, errors.New("a tool call has no name")
	}
	call := starhost.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
	if arguments == "" {
		call.Arguments = json.RawMessage("{}")
	}
	if _, err := hook.ReadObject(call.Arguments, new(struct{})); err != nil {
		return call, fmt.Errorf("the arguments of tool %q: %w", name, err)
	}
	return call, nil
}
