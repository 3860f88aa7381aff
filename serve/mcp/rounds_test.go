package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/front"
	"github.com/starhost/starhost/serve/mcp"
)

// manual is a client whose test answers questions itself.
func manual() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Capabilities:   &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}},
	}
}

// drops returns a plugin whose tools need approval. The tool outer calls drop.
func drops(dropped *[]string) starhost.Plugin {
	drop := text(func(c starhost.ToolCall) string { *dropped = append(*dropped, string(c.Arguments)); return "dropped" })
	number := json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)
	return starhost.Plugin{Name: "p", Tools: []starhost.Tool{
		{Name: "drop", Description: "Drops.", Parameters: number, Approval: starhost.ApprovalAsk, Call: drop},
		{Name: "erase", Description: "Erases.", Approval: starhost.ApprovalAsk, Call: drop},
		{Name: "outer", Description: "Calls drop.", Call: func(
			ctx context.Context, _ starhost.ToolCall,
		) (starhost.Result, error) {
			t := host.TurnOf(ctx)
			reply, err := t.CallTool(ctx, starhost.ToolCall{ID: "inner", Name: "drop", Arguments: json.RawMessage(`{}`)})
			return reply.Result, err
		}},
	}, Commands: []starhost.Command{{Name: "clear", Call: func(
		ctx context.Context, _ starhost.CommandCall,
	) (starhost.Result, error) {
		t := host.TurnOf(ctx)
		if ok, err := t.Confirm(ctx, host.ApprovalRequest{Reasons: []string{"Clear all?"}}); err != nil || !ok {
			return starhost.Result{ForUser: "not cleared"}, err
		}
		return starhost.Result{ForUser: "cleared"}, nil
	}}}}
}

// askFirst calls a tool and returns the question's result.
func askFirst(t *testing.T, c *sdk.ClientSession, tool, arguments string) *sdk.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	question, ok := r.InputRequests["approval"].(*sdk.ElicitParams)
	if !ok || !r.NeedsInput() || !strings.HasPrefix(question.Message, "Run "+tool+" of plugin p with ") {
		t.Fatalf("got %s, want a question", asJSON(t, r))
	}
	return r
}

// answer repeats a call with an answer.
func answer(t *testing.T, c *sdk.ClientSession, tool, arguments, state, action string) (*sdk.CallToolResult, error) {
	t.Helper()
	params := &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments), RequestState: state}
	if action != "" {
		params.InputResponses = sdk.InputResponseMap{"approval": &sdk.ElicitResult{Action: action}}
	}
	return c.CallTool(t.Context(), params)
}

// TestRounds checks approvals without sessions: over stdio and HTTP, the client repeats the call
// with the answer, and a state is good for one answer about one call.
func TestRounds(t *testing.T) {
	var dropped []string
	h := newHost(t, host.Options{Approver: mcp.Approve}, drops(&dropped))
	overHTTP, err := dialAs(t.Context(), listen(t, h, ""), manual(), stateless)
	if err != nil {
		t.Fatal(err)
	}
	defer overHTTP.Close()
	overStdio := connectAs(t, mcp.NewServer(host.NewLiveHost(h), mcp.Options{}), manual(), stateless)
	for name, c := range map[string]*sdk.ClientSession{"http": overHTTP, "stdio": overStdio} {
		t.Run(name, func(t *testing.T) {
			for action, want := range map[string]string{
				"accept":  `{"content":[{"type":"text","text":"dropped"}],"resultType":"complete"}`,
				"decline": `{"content":[{"type":"text","text":"denied by host: not approved: tool drop asks for approval"}],"isError":true,"resultType":"complete"}`,
			} {
				dropped = nil
				r := askFirst(t, c, "drop", `{"x":1}`)
				if len(dropped) > 0 {
					t.Fatal("the tool ran before the answer")
				}
				got, err := answer(t, c, "drop", `{"x":1}`, r.RequestState, action)
				if err != nil {
					t.Fatal(err)
				}
				got.Meta = nil
				diff(t, action, want, asJSON(t, got))
				if (len(dropped) == 1) != (action == "accept") {
					t.Errorf("%s: the tool ran %d times", action, len(dropped))
				}
				dropped = nil
				_, err = answer(t, c, "drop", `{"x":1}`, r.RequestState, "accept")
				checkInvalid(t, err, "requestState: it was used before")
			}
		})
	}
	other := connectAs(t, mcp.NewServer(host.NewLiveHost(h), mcp.Options{}), manual(), stateless)
	foreign := askFirst(t, other, "drop", `{}`).RequestState
	state := askFirst(t, overStdio, "drop", `{}`).RequestState
	sealed, _ := base64.RawURLEncoding.DecodeString(state)
	sealed[len(sealed)-3] ^= 1
	forged := base64.RawURLEncoding.EncodeToString(sealed)
	refusals := []struct{ name, tool, arguments, state, action, want string }{
		{"of another server", "drop", `{}`, foreign, "accept", "not of this server"},
		{"forged", "drop", `{}`, forged, "accept", "not of this server"},
		{"no base64", "drop", `{}`, "yes, do it", "accept", "not of this server"},
		{"too short", "drop", `{}`, "AAAA", "accept", "not of this server"},
		{"too long", "drop", `{}`, strings.Repeat("A", 5000), "accept", "got 5000 bytes, want at most 4096"},
		{"other arguments", "drop", `{"x":2}`, state, "accept", "another tool or with other arguments"},
		{"another tool", "erase", `{}`, state, "accept", "another tool or with other arguments"},
	}
	dropped = nil
	for _, tt := range refusals {
		_, err := answer(t, overStdio, tt.tool, tt.arguments, tt.state, tt.action)
		t.Run(tt.name, func(t *testing.T) { checkInvalid(t, err, tt.want) })
	}
	for name, incomplete := range map[string][2]string{"no answer": {state, ""}, "no state": {"", "accept"}} {
		if r, err := answer(t, overStdio, "drop", `{}`, incomplete[0], incomplete[1]); err != nil || !r.NeedsInput() {
			t.Errorf("%s: got %s, %v, want the question again", name, asJSON(t, r), err)
		}
	}
	if len(dropped) > 0 {
		t.Errorf("tools ran: %q", dropped)
	}
	if _, err := answer(t, overStdio, "drop", `{}`, state, "accept"); err != nil || len(dropped) != 1 {
		t.Errorf("the state itself, after the refusals: got %v, %d calls", err, len(dropped))
	}
}

// TestRoundsByClient checks that the SDK's own client asks its person and repeats the call.
func TestRoundsByClient(t *testing.T) {
	var dropped []string
	h := newHost(t, host.Options{Approver: mcp.Approve}, drops(&dropped))
	asked := ""
	options := &sdk.ClientOptions{ElicitationHandler: func(
		_ context.Context, r *sdk.ElicitRequest,
	) (*sdk.ElicitResult, error) {
		asked = r.Params.Message
		return &sdk.ElicitResult{Action: "accept"}, nil
	}}
	c := connectAs(t, mcp.NewServer(host.NewLiveHost(h), mcp.Options{}), options, stateless)
	diff(t, "answer", `{"content":[{"type":"text","text":"dropped"}],"resultType":"complete"}`, call(t, c, "drop", `{}`))
	diff(t, "question", "Run drop of plugin p with {}?\ntool drop asks for approval", asked)
	const denied = `{"content":[{"type":"text","text":"denied by host: no approval: `
	inner := denied + `with protocol version 2026-07-28 a call inside another call cannot ask"}],"isError":true,"resultType":"complete"}`
	diff(t, "inside a call", inner, call(t, c, "outer", `{}`))
	cleared, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "clear"})
	if err != nil || !strings.Contains(asJSON(t, cleared), "not cleared") {
		t.Errorf("a command, which cannot ask: got %s, %v", asJSON(t, cleared), err)
	}
	mute := connectAs(t, mcp.NewServer(host.NewLiveHost(h), mcp.Options{}), nil, stateless)
	diff(t, "nobody", denied+`client does not support elicitation"}],"isError":true,"resultType":"complete"}`, call(t, mute, "drop", `{}`))
}

// TestRoundsExpire checks that a state ends, and that used states need bounded memory.
func TestRoundsExpire(t *testing.T) {
	mcp.SetApprovalTimeout(t, 200*time.Millisecond)
	var dropped []string
	h := newHost(t, host.Options{Approver: mcp.Approve}, drops(&dropped))
	c := connectAs(t, mcp.NewServer(host.NewLiveHost(h), mcp.Options{}), manual(), stateless)
	state := askFirst(t, c, "drop", `{}`).RequestState
	time.Sleep(250 * time.Millisecond)
	_, err := answer(t, c, "drop", `{}`, state, "accept")
	checkInvalid(t, err, "requestState: it has expired")
	if len(dropped) > 0 {
		t.Error("the tool ran")
	}
	accepted, after := mcp.FillStates()
	if accepted != mcp.MaxUsedStates || !after {
		t.Errorf("got %d accepted states, accepts more after they expired: %v, want %d, true", accepted, after, mcp.MaxUsedStates)
	}
}

// TestRoundsEnd checks that a client's subscription does not delay the end of a server, and that
// each stateless request of a client is a session of the host that ends.
func TestRoundsEnd(t *testing.T) {
	ends := make(chan string, 10)
	counts := starhost.Plugin{Name: "counts", Hooks: []starhost.Hook{{Event: "session_end", Call: func(
		context.Context, *starhost.Event,
	) (starhost.Decision, error) {
		ends <- "session_end"
		return starhost.Decision{}, nil
	}}}}
	live := host.NewLiveHost(newHost(t, host.Options{}, weather(), counts))
	server := mcp.NewServer(live, mcp.Options{})
	l, err := front.Options{}.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- serveHTTP(ctx, l, server, "") }()
	changes := make(chan bool, 10)
	c, err := dialAs(t.Context(), l.Addr().String(), &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changes <- true },
	}, stateless)
	if err != nil {
		t.Fatal(err)
	}
	call(t, c, "forecast", `{"city":"Rome"}`)
	diff(t, "the request's session", "session_end", <-ends)
	live.Swap(newHost(t, host.Options{}, counts))
	server.Refresh(t.Context())
	<-changes
	began := time.Now()
	stop()
	if err := within(t, "the server", served); err != nil {
		t.Error(err)
	}
	if waited := time.Since(began); waited > 8*time.Second { // the grace for open requests is ten seconds
		t.Errorf("the server waited %v for a subscription", waited)
	}
	c.Close()
}
