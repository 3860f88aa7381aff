package mcp

import (
	"bufio"
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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// MountOptions select an MCP server to mount. Exactly one of Command and URL must be set.
type MountOptions struct {
	// Name is the prefix of the tools' names, as in NAME_TOOL. The plugin's name is mcp-NAME.
	Name string
	// Command is the server's program and its arguments. The program runs in Dir, and its
	// environment contains only PATH, LANG and Env.
	Command []string
	Env     map[string]string
	Dir     string
	// URL is the address of a server with streamable HTTP.
	URL string
	// Token is the bearer token for URL, "" for none. starhost does not send it to the target of a
	// redirect.
	Token string
	// Approval applies to all tools of the server. "" means ask. With auto, a tool asks anyway if
	// the server's first list of tools did not have it with the same description and schema.
	Approval starhost.Approval
	// PinFile is the path of the file that stores the first list for approval auto, so that a
	// later Mount compares with it. The Mount creates the file. "" means that the first list is
	// this Mount's.
	PinFile string
	// Timeout is the longest time of a call. 0 means one minute.
	Timeout time.Duration
	// Changed is called when the server's tools differ from the last result of [Mount.Plugin]. Nil
	// means no call.
	Changed func()
	// Warn receives the reasons why a tool is omitted or the server is down. Nil drops them.
	Warn func(text string)
}

// These limits bound a mounted server's output and time.
const (
	maxTools       = 256
	maxPages       = 16       // in one list of tools
	maxSchema      = 64 << 10 // in bytes
	maxName        = 1 << 10  // in bytes; no host accepts a name of that length
	maxDescription = 8 << 10  // in bytes
	maxText        = 1 << 20  // in bytes, the text of one result
	startTimeout   = 10 * time.Second
	callTimeout    = time.Minute // for a call, unless the options say otherwise
)

// These are the shortest and the longest pause before a restart of the server.
var (
	minPause = time.Second
	maxPause = time.Minute
)

// A Mount provides the tools of an MCP server as a plugin. It does not trust the server: it bounds
// the server's output and omits tools that a host would refuse. If the server ends, the Mount
// restarts it after pauses of growing length; meanwhile its tools return an error.
type Mount struct {
	options      MountOptions
	lifetime     context.Context // ends with Close
	stop         context.CancelFunc
	done         chan struct{}
	toolsChanged chan struct{} // has an element if the server announced new tools

	mu            sync.Mutex
	session       *sdk.ClientSession // nil while the server is down
	downReason    string             // why the server is down
	tools         []*sdk.Tool        // without the members that a host does not use
	reportedTools string             // the tools of the last Plugin call, as JSON
	// pins has the digests of the tools of the first list: the descriptions and schemas that the
	// operator approved with approval = "auto". It is nil before the first list.
	pins map[string]fragments.Hash
}

// OpenMount starts or contacts a server and waits for its list of tools, at most ten seconds. A
// server that does not answer has no tools yet.
func OpenMount(ctx context.Context, o MountOptions) *Mount {
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	o.Approval = cmp.Or(o.Approval, starhost.ApprovalAsk)
	o.Timeout = cmp.Or(o.Timeout, callTimeout)
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

// IsUp reports whether the server answers.
func (m *Mount) IsUp() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session != nil
}

// Close ends the server and the open calls.
func (m *Mount) Close() {
	m.stop()
	<-m.done
}

// run restarts the server until ctx ends. It calls tried after the first attempt.
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

// setDown records and reports why the server is down.
func (m *Mount) setDown(why string) {
	m.mu.Lock()
	m.session, m.downReason = nil, why
	m.mu.Unlock()
	m.options.Warn("MCP server " + m.options.Name + ": " + why)
}

// serve connects to the server once and waits for its end. It calls reached when the list of tools
// has arrived.
func (m *Mount) serve(ctx context.Context, reached func()) error {
	session, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = session.Close() })() // the connection ends in any case
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
	return cmp.Or(err, session.Close(), errEnded) // Close releases the SDK's resources
}

var errEnded = errors.New("it ended")

// mountVersions are the two protocol versions to ask a server for, in turns. Many servers do not
// answer the first question of later versions, so the latest version with sessions comes first.
var mountVersions = [2]string{"2025-11-25", statelessVersion}

// connect opens a session with the server. A server that refuses the first version may speak the
// second one. A program says so by an error of the protocol, an HTTP server also by a status.
func (m *Mount) connect(ctx context.Context) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer in %v", startTimeout))
	defer cancel()
	session, err := m.connectAs(ctx, mountVersions[0])
	var refusal *jsonrpc.Error
	if err != nil && ctx.Err() == nil && (m.options.URL != "" || errors.As(err, &refusal)) {
		if second, secondErr := m.connectAs(ctx, mountVersions[1]); secondErr == nil {
			return second, nil
		}
	}
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	return session, nil
}

// connectAs opens a session of a protocol version.
func (m *Mount) connectAs(ctx context.Context, version string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "starhost", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case m.toolsChanged <- struct{}{}:
			default: // a fetch is due already
			}
		},
	})
	return client.Connect(ctx, m.transport(), &sdk.ClientSessionOptions{ProtocolVersion: version})
}

// transport returns the SDK's transport to the server.
func (m *Mount) transport() sdk.Transport {
	if m.options.URL == "" {
		return &processTransport{m.options}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = m.options.Timeout
	return &sdk.StreamableClientTransport{
		Endpoint: m.options.URL, MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport:     boundedTransport{transport, m.options.Token, new(flood)},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// A boundedTransport adds the token to requests and bounds answers. The SDK bounds the events of a
// stream itself, but not their number.
type boundedTransport struct {
	http.RoundTripper
	token   string
	unasked *flood // the events of all streams
}

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	body := &rawBody{lines: bufio.NewReader(resp.Body)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body.take = func() error { return t.unasked.take(r.Context(), nil) }
	} else {
		body.lines = bufio.NewReader(io.LimitReader(resp.Body, maxMessage))
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return resp, err
}

// followTools fetches the tools again when the server announces a change, until ctx ends. Each
// change makes the host load all plugins again, so the pause after one doubles, up to maxPause,
// while the server announces the next change within two pauses.
func (m *Mount) followTools(ctx context.Context, session *sdk.ClientSession) {
	pause, last := minPause, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.toolsChanged:
		}
		if pause = min(2*pause, maxPause); time.Since(last) > pause {
			pause = minPause
		}
		if err := m.fetchTools(ctx, session); err != nil && ctx.Err() == nil {
			m.options.Warn("MCP server " + m.options.Name + ": " + truncate(err.Error(), maxDescription))
		}
		last = time.Now()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// fetchTools fetches the server's tools, and calls Changed if they differ.
func (m *Mount) fetchTools(ctx context.Context, session *sdk.ClientSession) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no list of tools in %v", startTimeout))
	defer cancel()
	var tools []*sdk.Tool
	params, seen := &sdk.ListToolsParams{}, map[string]bool{}
	for range maxPages {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		isNew := func(t *sdk.Tool) bool { return t != nil && !seen[t.Name] }
		isRepeated := len(page.Tools) > 0 && len(seen) > 0 || page.NextCursor != "" && page.NextCursor == params.Cursor
		if isRepeated && !slices.ContainsFunc(page.Tools, isNew) {
			m.options.Warn("MCP server " + m.options.Name + ": its list of tools repeats a page, so that it has no end: " +
				"the tools up to there count")
			break
		}
		for _, t := range page.Tools {
			if t != nil {
				tools = append(tools, trimTool(t))
			}
		}
		for _, t := range tools {
			seen[t.Name] = true
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" || len(tools) > maxTools {
			break
		}
	}
	tools = tools[:min(len(tools), maxTools+1)] // one more, so that Plugin warns
	m.mu.Lock()
	m.session, m.tools = session, tools
	if m.pins == nil && m.options.Approval == starhost.ApprovalAuto {
		m.pins = m.loadPins(tools)
	}
	changed := m.reportedTools != "" && m.reportedTools != toolsText(tools)
	m.mu.Unlock()
	if changed {
		m.options.Changed()
	}
	return nil
}

// loadPins returns the pins, from the first list of tools if there are none yet.
func (m *Mount) loadPins(tools []*sdk.Tool) map[string]fragments.Hash {
	first := map[string]fragments.Hash{}
	for _, t := range tools {
		first[t.Name] = fragments.Sum(toolsText([]*sdk.Tool{t}))
	}
	pins, err := pinTools(m.options.PinFile, first)
	if err != nil {
		m.options.Warn(fmt.Sprintf("MCP server %s: cannot store which tools need no approval: %s: %v", m.options.Name, m.options.PinFile, err))
	}
	if pins == nil {
		pins = map[string]fragments.Hash{}
	}
	return pins
}

// trimTool returns a tool with the members that a host uses. Its schema is nil if it is too large.
func trimTool(t *sdk.Tool) *sdk.Tool {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || len(schema) > maxSchema {
		schema = nil
	}
	trimmed := &sdk.Tool{Name: truncate(t.Name, maxName), Description: truncate(t.Description, maxDescription)}
	if schema != nil {
		trimmed.InputSchema = json.RawMessage(schema)
	}
	return trimmed
}

// toolsText returns the tools as JSON, to compare them.
func toolsText(tools []*sdk.Tool) string {
	data, _ := json.Marshal(tools) // the tools came as JSON
	return string(data)
}

// Plugin returns the server's current tools as a plugin, sorted by name. If the server restarts,
// their calls go to the new process.
func (m *Mount) Plugin() starhost.Plugin {
	m.mu.Lock()
	all, pins := slices.Clone(m.tools), m.pins
	m.reportedTools = toolsText(all)
	m.mu.Unlock()
	slices.SortStableFunc(all, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	p := starhost.Plugin{Name: "mcp-" + m.options.Name, Description: "The tools of the MCP server " + m.options.Name + "."}
	skip := func(t *sdk.Tool, why any) {
		m.options.Warn(fmt.Sprintf("MCP server %s: tool %q is left out: %v", m.options.Name, truncate(t.Name, 100), why))
	}
	byName := map[string]string{} // the server's names
	for i, t := range all {
		tool, err := m.convertTool(t)
		other, isTaken := byName[tool.Name]
		switch {
		case i > 0 && t.Name == all[i-1].Name:
			skip(t, "there are two of that name")
		case err == nil && isTaken:
			skip(t, fmt.Sprintf("its name %s is also that of the tool %q", tool.Name, truncate(other, 100)))
		case err != nil:
			skip(t, err)
		case len(p.Tools) == maxTools:
			skip(t, fmt.Sprintf("there are more than %d", maxTools))
			return p
		default:
			if tool.Approval == starhost.ApprovalAuto && pins[t.Name] != fragments.Sum(toolsText(all[i:i+1])) {
				tool.Approval = starhost.ApprovalAsk
				m.options.Warn(m.describeChange(t))
			}
			byName[tool.Name] = t.Name
			p.Tools = append(p.Tools, tool)
		}
	}
	return p
}

// describeChange returns the warning about a tool that differs from its pin.
func (m *Mount) describeChange(t *sdk.Tool) string {
	text := fmt.Sprintf("MCP server %s: tool %q asks for approval although the server's tools need none: its description or schema differs from the server's first list", m.options.Name, truncate(t.Name, 100))
	if m.options.PinFile != "" {
		text += "; to accept the tools of today, remove " + m.options.PinFile
	}
	return text
}

// convertTool converts a tool of the server, and checks that a host would accept it.
func (m *Mount) convertTool(t *sdk.Tool) (starhost.Tool, error) {
	schema, ok := t.InputSchema.(json.RawMessage)
	if !ok {
		return starhost.Tool{}, fmt.Errorf("its schema has more than %d bytes", maxSchema)
	}
	name := t.Name
	own := m.options.Name + "_" + name
	tool := starhost.Tool{
		Name:        plainName(own),
		Description: truncate(descriptionOr(t.Description, "The tool "+name+" of the MCP server "+m.options.Name+"."), maxDescription),
		Parameters:  schema, Approval: m.options.Approval, Timeout: m.options.Timeout, Kinds: []string{"mcp"},
		Call: func(ctx context.Context, call starhost.ToolCall) (starhost.Result, error) {
			return m.callTool(ctx, name, call.Arguments)
		},
	}
	if tool.Name != own {
		tool.Alias = own
		tool.Description = truncate(tool.Description+"\n(The server's name of this tool is "+truncate(name, maxModelName)+".)", maxDescription)
	}
	return tool, host.New(host.Options{}).Add(starhost.Plugin{Name: "check", Tools: []starhost.Tool{tool}})
}

// maxModelName is the most bytes of a tool's name that the endpoints of models accept.
const maxModelName = 64

// plainName returns a name of a tool that models accept: letters, digits, "_" and "-", at most
// maxModelName bytes. A name that is too long ends with a part of its digest instead of its rest.
func plainName(name string) string {
	const digits = 8
	plain := strings.Map(func(c rune) rune {
		if 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
	if len(plain) > maxModelName {
		plain = plain[:maxModelName-digits-1] + "_" + fragments.Sum(name).String()[:digits]
	}
	return plain
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

// truncate returns the first bytes of a text of the server as valid UTF-8.
func truncate(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
