package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
)

// MountOptions say which MCP server to mount. One of Command and URL is set.
type MountOptions struct {
	// Name is what the names of its tools begin with, as NAME_TOOL; the plugin is
	// mcp-NAME.
	Name string
	// Command is the server's program with its arguments, which it gets with a clean
	// environment: PATH, LANG and Env. It runs in Dir.
	Command []string
	Env     map[string]string
	Dir     string
	// URL is where the server is reached by streamable HTTP.
	URL string
	// Token is what a URL gets as a bearer token, and what is redirected to does not;
	// "" sends none.
	Token string
	// Approval is that of its tools; "" means ask.
	Approval starhost.Approval
	// Changed is told when the server has other tools than [Mount.Plugin] said. Nil
	// drops it.
	Changed func()
	// Warn is told of tools that cannot be mounted, and why the server does not run.
	// Nil drops it.
	Warn func(text string)
}

// Bounds of what a mounted server may say, and how long it may take.
const (
	maxTools       = 256
	maxPages       = 16       // of lists of tools
	maxSchema      = 64 << 10 // bytes
	maxDescription = 8 << 10  // bytes
	maxText        = 1 << 20  // bytes of one result's text
	startTimeout   = 10 * time.Second
	callTimeout    = effects.MaxTimeout
)

// Back-off of a server that does not run.
var (
	minPause = time.Second
	maxPause = time.Minute
)

// A Mount is the tools of an MCP server as a plugin of hosts. What the server says
// is untrusted: it is bounded, and what no host would take is left out. A server
// that ends is started again, ever later; its tools say so meanwhile.
type Mount struct {
	options      MountOptions
	lifetime     context.Context // until Close
	stop         context.CancelFunc
	done         chan struct{}
	toolsChanged chan struct{} // holds a token if the server says that its tools are others

	mu            sync.Mutex
	session       *sdk.ClientSession // nil while it does not run
	downReason    string             // it does not run
	tools         []*sdk.Tool
	reportedTools string // tools as Plugin said last
}

// OpenMount starts or reaches a server and waits until its tools are known, but not
// for longer than ten seconds. One that does not answer has no tools yet.
func OpenMount(ctx context.Context, o MountOptions) *Mount {
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	o.Approval = cmp.Or(o.Approval, starhost.ApprovalAsk)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	m := &Mount{
		options: o, lifetime: running, stop: stop, done: make(chan struct{}), toolsChanged: make(chan struct{}, 1),
		downReason: "it was not started yet",
	}
	tried := make(chan struct{})
	go m.run(running, sync.OnceFunc(func() { close(tried) }))
	select {
	case <-tried:
	case <-ctx.Done():
	}
	return m
}

// Close ends the server. Calls under way end with it.
func (m *Mount) Close() {
	m.stop()
	<-m.done
}

// run keeps the server running until ctx ends. It tells when it has tried once.
func (m *Mount) run(ctx context.Context, tried func()) {
	defer close(m.done)
	defer tried()
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		start := time.Now()
		err := m.serve(ctx, tried)
		if ctx.Err() != nil {
			return
		}
		if time.Since(start) > maxPause {
			pause = minPause
		}
		m.setDown(fmt.Sprintf("%s; it is started again in %v", truncate(err.Error(), maxDescription), pause))
		tried()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// setDown notes why the server does not run.
func (m *Mount) setDown(why string) {
	m.mu.Lock()
	m.session, m.downReason = nil, why
	m.mu.Unlock()
	m.options.Warn("MCP server " + m.options.Name + ": " + why)
}

// serve reaches the server once and waits for its end.
func (m *Mount) serve(ctx context.Context, reached func()) error {
	session, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = session.Close() })() // it is over either way
	if err := m.fetchTools(ctx, session); err != nil {
		return errors.Join(err, session.Close())
	}
	reached()
	listening, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { m.followTools(listening, session) })
	defer beside.Wait()
	defer stop()
	err = session.Wait()
	return cmp.Or(err, session.Close(), errEnded) // which frees what the SDK holds
}

var errEnded = errors.New("it ended")

// connect reaches the server.
func (m *Mount) connect(ctx context.Context) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "starhost", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case m.toolsChanged <- struct{}{}:
			default: // they will be asked for
			}
		},
	})
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer in %v", startTimeout))
	defer cancel()
	// Many servers answer nothing to the question that later versions begin with.
	options := &sdk.ClientSessionOptions{ProtocolVersion: slices.Max(sessionVersions())}
	session, err := client.Connect(ctx, m.transport(), options)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	return session, nil
}

// transport returns how the server is reached.
func (m *Mount) transport() sdk.Transport {
	if m.options.URL == "" {
		return &processTransport{options: m.options}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = callTimeout
	return &sdk.StreamableClientTransport{
		Endpoint: m.options.URL, MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport:     boundedTransport{transport, m.options.Token},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// A boundedTransport sends the token, and ends answers that are too long; streams of
// events have bounds of their own.
type boundedTransport struct {
	http.RoundTripper
	token string
}

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxMessage), resp.Body}
	}
	return resp, err
}

// followTools asks for the tools again when the server says that they are others, now and
// then if it says so all the time, until ctx ends.
func (m *Mount) followTools(ctx context.Context, session *sdk.ClientSession) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.toolsChanged:
		}
		if err := m.fetchTools(ctx, session); err != nil && ctx.Err() == nil {
			m.options.Warn("MCP server " + m.options.Name + ": " + truncate(err.Error(), maxDescription))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(minPause):
		}
	}
}

// fetchTools asks for the server's tools, and tells if they are others.
func (m *Mount) fetchTools(ctx context.Context, session *sdk.ClientSession) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no list of tools in %v", startTimeout))
	defer cancel()
	var tools []*sdk.Tool
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		tools = append(tools, page.Tools...)
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			break
		}
	}
	m.mu.Lock()
	m.session, m.tools = session, tools
	changed := m.reportedTools != "" && m.reportedTools != toolsText(tools)
	m.mu.Unlock()
	if changed {
		m.options.Changed()
	}
	return nil
}

// toolsText returns what tells tools from others.
func toolsText(tools []*sdk.Tool) string {
	data, _ := json.Marshal(tools) // they came as JSON
	return string(data)
}

// Plugin returns the server's tools of the moment as a plugin, sorted by name. Their
// calls go to the server of the moment.
func (m *Mount) Plugin() starhost.Plugin {
	m.mu.Lock()
	all := slices.Clone(m.tools)
	m.reportedTools = toolsText(all)
	m.mu.Unlock()
	slices.SortStableFunc(all, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	p := starhost.Plugin{Name: "mcp-" + m.options.Name, Description: "The tools of the MCP server " + m.options.Name + "."}
	skip := func(t *sdk.Tool, why any) {
		m.options.Warn(fmt.Sprintf("MCP server %s: tool %q is left out: %v", m.options.Name, truncate(t.Name, 100), why))
	}
	for i, t := range all {
		tool, err := m.convertTool(t)
		switch {
		case i > 0 && t.Name == all[i-1].Name:
			skip(t, "there are two of that name")
		case err != nil:
			skip(t, err)
		case len(p.Tools) == maxTools:
			skip(t, fmt.Sprintf("there are more than %d", maxTools))
			return p
		default:
			p.Tools = append(p.Tools, tool)
		}
	}
	return p
}

// convertTool returns a tool of the server as one of a host, if a host would take it.
func (m *Mount) convertTool(t *sdk.Tool) (starhost.Tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || len(schema) > maxSchema {
		return starhost.Tool{}, fmt.Errorf("its schema has %d bytes, want at most %d", len(schema), maxSchema)
	}
	name := t.Name
	tool := starhost.Tool{
		Name:        m.options.Name + "_" + name,
		Description: truncate(descriptionOr(t.Description, "The tool "+name+" of the MCP server "+m.options.Name+"."), maxDescription),
		Parameters:  schema, Approval: m.options.Approval, Timeout: callTimeout,
		Call: func(ctx context.Context, _ *starhost.Turn, call starhost.ToolCall) (starhost.Result, error) {
			return m.callTool(ctx, name, call.Arguments)
		},
	}
	return tool, starhost.New(starhost.Options{}).Add(starhost.Plugin{Name: "check", Tools: []starhost.Tool{tool}})
}

// callTool calls a tool of the server.
func (m *Mount) callTool(ctx context.Context, name string, arguments json.RawMessage) (starhost.Result, error) {
	m.mu.Lock()
	session, why := m.session, m.downReason
	m.mu.Unlock()
	if session == nil {
		return errorResult("MCP server %s does not run: %s", m.options.Name, why), nil
	}
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.lifetime, cancel)()
	result, err := session.CallTool(asked, &sdk.CallToolParams{Name: name, Arguments: arguments})
	switch {
	case ctx.Err() != nil:
		return starhost.Result{}, ctx.Err()
	case m.lifetime.Err() != nil:
		return errorResult("MCP server %s is mounted no more", m.options.Name), nil
	case err != nil:
		return errorResult("MCP server %s: %s", m.options.Name, truncate(err.Error(), maxDescription)), nil
	}
	return m.convertResult(result), nil
}

func errorResult(format string, args ...any) starhost.Result {
	return starhost.Result{ForLLM: fmt.Sprintf(format, args...), IsError: true}
}

// truncate returns the start of a text that others wrote, as UTF-8.
func truncate(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
