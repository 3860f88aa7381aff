package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
)

// tools describes the tools of a host.
func tools(h *host.Host) []*sdk.Tool {
	return jsontext.List(h.Tools(), func(t *starhost.Tool) *sdk.Tool {
		return &sdk.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters}
	})
}

func toolKey(t *sdk.Tool) string { return t.Name }

// addTool adds a tool to the SDK's list, if the protocol can express its schema.
func (s *Server) addTool(t *sdk.Tool) {
	defer func() {
		if p := recover(); p != nil { // the SDK refuses a schema by a panic
			s.options.Warn(fmt.Sprintf("tool %s is not offered: %v", t.Name, p))
		}
	}()
	s.sdk.AddTool(t, s.callTool)
}

// filterTools removes the tools that are not for the session.
func (s *Server) filterTools(
	ctx context.Context, ss *sdk.ServerSession, list *sdk.ListToolsResult,
) (sdk.Result, error) {
	ours := s.findSession(ss)
	offered, err := ours.offeredTools(ctx, s.live.Host())
	if err != nil {
		return nil, err
	}
	list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool { return !offered[t.Name] })
	return list, nil
}

// offeredTools returns the names of the session's tools. It asks the session only once for each
// host, because asking waits for the session's running call, or until ctx ends.
func (s *session) offeredTools(ctx context.Context, h *host.Host) (map[string]bool, error) {
	s.mu.Lock()
	stored, current := s.tools, s.toolsHost == h
	s.mu.Unlock()
	if current {
		return stored, nil
	}
	names := map[string]bool{}
	t, err := s.BetweenTurns(ctx)
	if err != nil {
		return nil, err
	}
	for _, tool := range t.Tools().Items() {
		names[tool.Name] = true
	}
	t.End(ctx)
	s.mu.Lock()
	s.toolsHost, s.tools = h, names
	s.mu.Unlock()
	return names, nil
}

// checkTool returns the protocol's error for a tool that the session does not have.
func (s *Server) checkTool(ctx context.Context, r *sdk.CallToolRequest) error {
	offered, err := s.findSession(r.Session).offeredTools(ctx, s.live.Host())
	if err != nil || offered[r.Params.Name] {
		return err
	}
	return invalidParams(fmt.Sprintf("unknown tool %q%s", errtext.Cut(r.Params.Name), near.DidYouMean(r.Params.Name, slices.Sorted(maps.Keys(offered)))))
}

// callTool runs a tool with its guards. A failure is a result for the model, except for a cancelled
// call.
func (s *Server) callTool(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	ours := s.findSession(r.Session)
	id := fmt.Sprintf("call-%d", ours.callCount.Add(1))
	call := starhost.ToolCall{ID: id, Name: r.Params.Name, Arguments: r.Params.Arguments}
	round, err := s.newRound(r, call)
	if err != nil {
		return nil, err
	}
	ctx = s.withClient(ctx, ours, r, round)
	ctx, stop := showProgress(ctx, r)
	defer stop()
	var reply host.ToolReply
	t, err := ours.BetweenTurns(ctx)
	if err == nil {
		reply, err = t.CallTool(ctx, call)
		t.End(ctx)
	}
	if question := round.inputRequired(time.Now()); question != nil && ctx.Err() == nil {
		return question, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		reply.Result = starhost.Result{ForLLM: err.Error(), IsError: true}
	}
	return toolResult(&reply.Result), nil
}

// toolResult converts a tool's result. A JSON object also becomes structured content.
func toolResult(r *starhost.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{Content: contents(r.ForLLM, r.Attachments), IsError: r.IsError}
	if !r.IsError && strings.HasPrefix(r.ForLLM, "{") && json.Valid([]byte(r.ForLLM)) {
		out.StructuredContent = json.RawMessage(r.ForLLM)
	}
	return out
}

// clientKey is the context key of the *client of a call.
type clientKey struct{}

// A client is the sender of a call.
type client struct {
	*sdk.ServerSession
	gone  []<-chan struct{} // one closes when the client can no longer answer
	round *round            // how to ask a client that the server cannot call, or nil
}

// withClient returns a context with the sender of a request.
func (s *Server) withClient(ctx context.Context, ours *session, r sdk.Request, asking *round) context.Context {
	ss := r.GetSession().(*sdk.ServerSession)
	c := &client{ServerSession: ss, gone: []<-chan struct{}{ours.gone}, round: asking}
	if extra := r.GetExtra(); extra != nil {
		if ended := s.exchanges.find(extra.Header); ended != nil {
			c.gone = append(c.gone, ended)
		}
	}
	return context.WithValue(ctx, clientKey{}, c)
}

// approvalTimeout is the time for a person to answer.
var approvalTimeout = 5 * time.Minute

// errGone ends a question whose client can no longer answer.
var errGone = errors.New("the client has gone")

// Approve asks the person in front of the MCP client that made a call. It is an
// [host.Options.Approver]. If the client cannot ask, has gone, or no client made the call,
// Approve returns an error. It waits for five minutes at most, because the session waits too.
func Approve(ctx context.Context, r host.ApprovalRequest) (got host.Answer, err error) {
	got.By = "mcp"
	got.Yes, err = approve(ctx, r)
	return got, err
}

func approve(ctx context.Context, r host.ApprovalRequest) (bool, error) {
	client, _ := ctx.Value(clientKey{}).(*client)
	if client == nil {
		return false, errors.New("nobody can be asked")
	}
	question, err := approvalQuestion(&r)
	if err != nil {
		return false, err
	}
	if client.round != nil {
		return client.round.approve(question, &r.Call)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, approvalTimeout, fmt.Errorf("no answer in %v", approvalTimeout))
	defer cancel()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	for _, gone := range client.gone {
		go func() {
			select {
			case <-gone:
				leave(errGone)
			case <-ctx.Done():
			}
		}()
	}
	answer, err := client.Elicit(ctx, askParams(question))
	if err != nil {
		return false, cmp.Or(context.Cause(ctx), err)
	}
	return answer.Action == "accept", nil
}

// maxApproval is the limit in bytes for the question about a call.
const maxApproval = 64 << 10

// approvalQuestion returns the question about a call, with all of its arguments: a person can only
// approve what the question shows. Arguments over maxApproval are an error.
func approvalQuestion(r *host.ApprovalRequest) (string, error) {
	text := fmt.Sprintf("Run %s of plugin %s with %s?\n%s", r.Call.Name, r.Plugin,
		texttable.EscapeLine(string(r.Call.Arguments)), texttable.Hang(strings.Join(r.Reasons, "\n")))
	if len(text) > maxApproval {
		return "", fmt.Errorf("nobody can check a call of %d bytes, want at most %d", len(text), maxApproval)
	}
	return text, nil
}

// signOfLifeEvery is the time between signs of life for a client that wants progress. Many clients
// give up a call after a minute of silence.
var signOfLifeEvery = 5 * time.Second

// showProgress sends progress to the client if it asked for it. The caller must call stop.
func showProgress(ctx context.Context, r *sdk.CallToolRequest) (_ context.Context, stop func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return ctx, func() {}
	}
	p := &progressSender{
		ctx: ctx, client: r.Session, token: token, callDone: make(chan struct{}), senderDone: make(chan struct{}),
	}
	go p.sendSignsOfLife()
	return starhost.WithProgress(ctx, p.report), p.stop
}

// descriptionOr returns a description, or the other text if it is empty.
func descriptionOr(text, without string) string { return cmp.Or(strings.TrimSpace(text), without) }
