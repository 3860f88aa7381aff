package mcp_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/front"
	"github.com/starhost/starhost/serve/mcp"
)

// waitTool returns a plugin with the tool wait, which ends when release closes or its context ends.
func waitTool(started chan<- bool, release <-chan bool) starhost.Plugin {
	return starhost.Plugin{Name: "slow", Tools: []starhost.Tool{{Name: "wait", Description: "Waits.", Call: func(
		ctx context.Context, _ starhost.ToolCall,
	) (starhost.Result, error) {
		started <- true
		select {
		case <-release:
		case <-ctx.Done():
		}
		return starhost.Result{ForLLM: "done"}, ctx.Err()
	}}}}
}

// within fails the test if done stays open for a minute.
func within(t *testing.T, what string, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s: it did not end within a minute", what)
		return nil
	}
}

// TestListToolsCancelled checks that a client can cancel a list of tools that waits for a call,
// also behind another list: the server then ends the request. A list waits if the host changed
// since the last one.
func TestListToolsCancelled(t *testing.T) {
	started, release := make(chan bool, 1), make(chan bool)
	live := host.NewLiveHost(newHost(t, host.Options{}, waitTool(started, release)))
	server := mcp.NewServer(live, mcp.Options{})
	c := connect(t, server, nil)
	open := func(n int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); mcp.CountRequests(server) != n; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("got %d open requests, want %d", mcp.CountRequests(server), n)
			}
		}
	}
	called, listed, cancelled := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait"})
		called <- err
	}()
	<-started
	live.Swap(newHost(t, host.Options{}, waitTool(started, release)))
	go func() {
		_, err := c.ListTools(t.Context(), nil)
		listed <- err
	}()
	open(2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := c.ListTools(ctx, nil)
		cancelled <- err
	}()
	open(3)
	cancel()
	if err := within(t, "the cancelled list", cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled list: got %v", err)
	}
	open(2)
	close(release)
	if err := errors.Join(within(t, "the call", called), within(t, "the list", listed)); err != nil {
		t.Error(err)
	}
}

// A stuckWriter is the output of a server whose client stops reading after some writes.
type stuckWriter struct {
	reads   chan struct{} // an element for each write that the client reads
	release chan struct{}
}

func (w stuckWriter) Write(b []byte) (int, error) {
	select {
	case w.reads <- struct{}{}:
	default:
		<-w.release
	}
	return len(b), nil
}

// TestStdioReadsNoMore checks that a server ends at a signal although its client does not read, and
// although a call does not end by itself. The server then ends the call.
func TestStdioReadsNoMore(t *testing.T) {
	mcp.ShortenGrace(t)
	for _, tools := range []string{"answered calls", "a running call"} {
		started, release := make(chan bool, 1), make(chan bool)
		if tools == "answered calls" {
			close(release)
		}
		p, ended := waitTool(started, release), make(chan error, 1)
		wait := p.Tools[0].Call
		p.Tools[0].Call = func(
			ctx context.Context, call starhost.ToolCall,
		) (starhost.Result, error) {

			result, err := wait(ctx, call)
			ended <- err
			return result, err
		}
		h := newHost(t, host.Options{}, p)
		in, requests := io.Pipe()
		out := stuckWriter{make(chan struct{}, 1), make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- mcp.NewServer(host.NewLiveHost(h), mcp.Options{}).ServeStdio(ctx, in, out)
		}()
		fmt.Fprintln(requests, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		fmt.Fprintln(requests, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(requests, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
		<-started
		stop()
		_ = within(t, tools, served) // the client has lost its answers in any case
		_ = within(t, tools, ended)
		close(out.release)
		requests.Close()
	}
}

// asking returns a server whose tool drop asks the client's person.
func asking(t *testing.T, ended chan<- error) *mcp.Server {
	ask := starhost.Plugin{Name: "p", Tools: []starhost.Tool{
		{Name: "drop", Description: "Drops.", Approval: starhost.ApprovalAsk, Call: text(func(starhost.ToolCall) string { return "dropped" })},
	}}
	approve := func(ctx context.Context, r host.ApprovalRequest) (host.Answer, error) {
		ok, err := mcp.Approve(ctx, r)
		ended <- err
		return ok, err
	}
	return mcp.NewServer(host.NewLiveHost(newHost(t, host.Options{Approver: approve}, ask)), mcp.Options{})
}

// TestApproveGone checks that a question ends when the client closes its side of stdio, or hangs up
// over HTTP. So the session does not wait for an answer that cannot come.
func TestApproveGone(t *testing.T) {
	init := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}`
	ready := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	drop := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"drop"}}`
	t.Run("stdio", func(t *testing.T) {
		ended := make(chan error, 1)
		served := make(chan error, 1)
		go func() {
			in := strings.NewReader(init + "\n" + ready + "\n" + drop + "\n")
			served <- asking(t, ended).ServeStdio(t.Context(), in, io.Discard)
		}()
		if err := within(t, "the question", ended); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("got %v, want that the client has gone", err)
		}
		if err := within(t, "the server", served); err != nil {
			t.Error(err)
		}
	})
	t.Run("http", func(t *testing.T) {
		ended := make(chan error, 1)
		l, err := front.Options{}.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		served := make(chan error, 1)
		s := asking(t, ended)
		go func() { served <- serveHTTP(ctx, l, s, "") }()
		session := ""
		send := func(ctx context.Context, body string) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.Addr().String()+mcp.Path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Starhost-Exchange", "1") // the client cannot choose it
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return
			}
			session = cmp.Or(session, answer.Header.Get("Mcp-Session-Id"))
			_, _ = io.ReadAll(answer.Body) // until the context ends
			answer.Body.Close()
		}
		send(t.Context(), init)
		send(t.Context(), ready)
		hangUp, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		send(hangUp, drop)
		if err := within(t, "the question", ended); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("got %v, want that the client has gone", err)
		}
		stop()
		if err := within(t, "the server", served); err != nil {
			t.Error(err)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
}

// TestSubscriptions checks the bounds of subscriptions: the length of a URI, and their number for
// one session. When a session ends, others get its share.
func TestSubscriptions(t *testing.T) {
	server := mcp.NewServer(host.NewLiveHost(newHost(t, host.Options{}, weather())), mcp.Options{})
	c := connect(t, server, nil)
	subscribe := func(c *sdk.ClientSession, uri string) error {
		return c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri})
	}
	if err := subscribe(c, "starhost://city/"+strings.Repeat("x", 4000)); err == nil {
		t.Error("a URI of 4,000 bytes: got no error")
	}
	for i := range 100 {
		uri := fmt.Sprintf("starhost://city/%d", i)
		if err := errors.Join(subscribe(c, uri), subscribe(c, uri)); err != nil {
			t.Fatal(err)
		}
	}
	if err := subscribe(c, "starhost://city/more"); err == nil {
		t.Error("the 101st resource: got no error")
	}
	if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "starhost://city/7"}); err != nil {
		t.Error(err)
	}
	if err := subscribe(c, "starhost://city/more"); err != nil {
		t.Errorf("after one was given up: %v", err)
	}
	if got := mcp.CountSubscriptions(server); got != 100 {
		t.Errorf("got %d subscriptions, want 100", got)
	}
	c.Close()
	for end := time.Now().Add(time.Minute); mcp.CountSubscriptions(server) != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d subscriptions outlive their session", mcp.CountSubscriptions(server))
		}
	}
	server = mcp.NewServer(host.NewLiveHost(newHost(t, host.Options{}, weather())), mcp.Options{})
	mcp.AddSubscriptions(server, mcp.MaxSubscribed-1)
	c = connect(t, server, nil)
	if err := subscribe(c, "starhost://city/last"); err != nil {
		t.Error(err)
	}
	if err := subscribe(c, "starhost://city/more"); err == nil {
		t.Errorf("%d subscriptions of others and 2: got no error", mcp.MaxSubscribed-1)
	}
}
