package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

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
	var next atomic.Int64 // the part that plugins check
	answer, err := inTime(r.Context(), s, func(ctx context.Context, give func(any)) {
		give(s.checkTexts(ctx, g, t, &next))
	})
	if err != nil {
		why := "starhost: " + err.Error()
		if len(t.list)+len(t.calls) > 0 {
			s.undecided(t.event(int(next.Load())), string(starhost.ActionDeny), why)
		}
		answer = g.refuse(why)
	}
	s.writeObject(w, http.StatusOK, answer)
}

// event returns the event of a part: of a text, or of a call behind the texts.
func (t *texts) event(part int) *starhost.Event {
	e := &starhost.Event{Name: "turn_start", Model: t.model, SessionID: t.session}
	switch {
	case part >= len(t.list):
		call := t.calls[part-len(t.list)]
		e.Name, e.Tool, e.Arguments, e.CallID = "pre_tool_call", call.Name, call.Arguments, call.ID
	case t.isReply:
		e.Name, e.Response = "post_llm_call", t.list[part]
	default:
		e.UserMessage = t.list[part]
	}
	return e
}

// checkTexts asks plugins about each text and each call, and returns the gateway's answer. It
// stores the number of the part that it asks about in next.
func (s *Server) checkTexts(ctx context.Context, g *guardrail, t *texts, next *atomic.Int64) any {
	changed, isChanged := make([]string, len(t.list)), false
	for part := range len(t.list) + len(t.calls) {
		next.Store(int64(part))
		e := t.event(part)
		if why := s.check(ctx, e); why != nil {
			return g.refuse(why.Error())
		}
		if part >= len(t.list) {
			continue
		}
		if changed[part] = e.UserMessage; t.isReply {
			changed[part] = e.Response
		}
		isChanged = isChanged || changed[part] != t.list[part]
	}
	if isChanged {
		return g.change(t, changed)
	}
	return g.pass()
}

// check fires one event. It returns why the request or reply is refused, nil if it may pass.
// Changes are in e.
func (s *Server) check(ctx context.Context, e *starhost.Event) error {
	given := e.Arguments
	out, store, err := hook.Fire(ctx, s.Host(), e, s.options())
	store()
	switch d := out.Decision; {
	case err != nil:
		return fmt.Errorf("starhost: %w", err)
	case out.Lost != nil:
		return fmt.Errorf("starhost: %w", out.Lost)
	case ctx.Err() != nil: // handlers after the deadline did not run
		return fmt.Errorf("starhost: %w", context.Cause(ctx))
	case d.Action == starhost.ActionDeny, d.Action == starhost.ActionAbort:
		return fmt.Errorf("denied by %s: %s", d.Plugin, d.Reason)
	case d.Action == starhost.ActionAsk:
		return fmt.Errorf("approval is needed and nobody can give it: %s", d.Reason)
	case d.Action == starhost.ActionRespond:
		return fmt.Errorf("answered by %s in the tool's stead, which a gateway cannot pass on", d.Plugin)
	case string(given) != string(e.Arguments) && e.Tool != "":
		return errors.New("a plugin changed the arguments of a tool call, which a gateway cannot pass on")
	}
	return nil
}

// readTool returns a tool call of OpenAI's form, whose arguments are JSON in a text.
func readTool(id, name, arguments string) (starhost.ToolCall, error) {
	if name == "" {
		return starhost.ToolCall{}, errors.New("a tool call has no name")
	}
	call := starhost.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(cmp.Or(arguments, "{}"))}
	if _, err := hook.ReadObject(call.Arguments, new(struct{})); err != nil {
		return call, fmt.Errorf("the arguments of tool %q: %w", name, err)
	}
	return call, nil
}
