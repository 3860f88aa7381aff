package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/mcp"
)

// TestMain runs the tests, or the program that tests mount as a server. It fails if a test leaves a
// goroutine behind.
func TestMain(m *testing.M) {
	switch how := os.Getenv("MOUNTED"); how {
	case "":
	case "yes":
		runMountedServer(nil)
		return
	case "stateless":
		runMountedServer(onlyStateless())
		return
	default:
		runHostileServer(how)
		return
	}
	goleak.VerifyTestMain(testbed.Alone(m))
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// schema has keys in an order, and keywords, that a decoder would lose.
const schema = `{"type":"object","required":["city"],"properties":{"city":{"type":"string","minLength":2},"days":{"type":"integer","x-unit":"d"}},"additionalProperties":false}`

// weather returns a plugin with one registration of each kind.
func weather() starhost.Plugin {
	return starhost.Plugin{
		Name: "weather",
		Tools: []starhost.Tool{
			{Name: "forecast", Description: "Tells the weather.", Parameters: json.RawMessage(schema), Call: text(func(c starhost.ToolCall) string { return "sun" })},
			{Name: "broken", Description: "Fails.", Call: func(
				context.Context, starhost.ToolCall,
			) (starhost.Result, error) {
				return starhost.Result{}, errors.New("the satellite is gone")
			}},
			{Name: "table", Description: "Gives data.", Call: text(func(starhost.ToolCall) string { return `{"high":21,"low":9}` })},
			{Name: "radar", Description: "Gives pictures.", Call: func(
				context.Context, starhost.ToolCall,
			) (starhost.Result, error) {
				return starhost.Result{ForLLM: "rain", Attachments: []fragments.Attachment{
					{Content: "\x89PNG", Type: "image/png"}, {Content: "RIFF", Type: "audio/wav"},
					{Content: "a,b", Type: "text/csv", Name: "rain.csv"}, {URL: "https://example.com/map", Name: "map", Type: "text/html"},
				}}, nil
			}},
			{Name: "for_pilots", Description: "Is for pilots.", Roles: []string{"pilot"}, Call: text(func(starhost.ToolCall) string { return "" })},
		},
		FragmentLoaders: []starhost.FragmentLoader{{Prefix: "city", Description: "Facts of a city.", Load: func(
			_ context.Context, arg string,
		) (starhost.Context, error) {
			if arg == "?" {
				return starhost.Context{}, errors.New("no such city")
			}
			return starhost.Context{
				Fragments:   []fragments.Fragment{{Content: arg + " is a city.", Source: "facts.md"}},
				Attachments: []fragments.Attachment{{Content: "\x00", Type: "application/octet-stream", Name: "map.bin"}},
			}, nil
		}}},
		TemplateLoaders: []starhost.TemplateLoader{
			{Prefix: "ask", Load: func(_ context.Context, arg string) (starhost.Template, error) {
				return starhost.Template{Prompt: "How warm is $place " + arg + "?", System: "Be brief.", Fragments: []string{"city:Rome"}}, nil
			}},
			{Prefix: "report", Load: func(context.Context, string) (starhost.Template, error) {
				return starhost.Template{Prompt: "Report."}, nil
			}},
		},
		Commands: []starhost.Command{{
			Name: "report", Description: "Writes a report.",
			Call: func(_ context.Context, c starhost.CommandCall) (starhost.Result, error) {
				if len(c.Args) == 0 {
					return starhost.Result{ForLLM: "which city?", IsError: true}, nil
				}
				return starhost.Result{ForLLM: "report of " + strings.Join(c.Args, "+")}, nil
			},
			Complete: func(_ context.Context, typed string) ([]string, error) {
				var list []string
				for i := range 150 {
					list = append(list, fmt.Sprintf("%scity-%d", typed, i))
				}
				return list, nil
			},
		}},
		Skills: []starhost.Skill{{Name: "clouds", Description: "Knows clouds.", Load: func(context.Context) (string, error) { return "Look up.", nil }}},
	}
}

func text(
	say func(starhost.ToolCall) string,
) func(context.Context, starhost.ToolCall) (starhost.Result, error) {
	return func(_ context.Context, c starhost.ToolCall) (starhost.Result, error) {
		return starhost.Result{ForLLM: say(c)}, nil
	}
}

func newHost(t *testing.T, o host.Options, plugins ...starhost.Plugin) *host.Host {
	t.Helper()
	h := host.New(o)
	if err := h.Add(plugins...); err != nil {
		t.Fatal(err)
	}
	if p, ok := mcp.LoaderTool(h); ok {
		if err := h.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// The latest protocol versions with sessions and without.
const (
	withSessions = "2025-11-25"
	stateless    = "2026-07-28"
)

// connect serves a host to a client over pipes, as stdio does.
func connect(t *testing.T, s *mcp.Server, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return connectAs(t, s, o, withSessions)
}

// connectAs is connect for a client of a protocol version.
func connectAs(t *testing.T, s *mcp.Server, o *sdk.ClientOptions, version string) *sdk.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.ServeStdio(context.WithoutCancel(t.Context()), toServer, fromServer)
		fromServer.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	transport := &sdk.IOTransport{Reader: toClient, Writer: fromClient}
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("got protocol version %s, want %s", got, version)
	}
	t.Cleanup(func() {
		session.Close()
		fromClient.Close()
		// The answer to a cancelled request may meet the closed pipe.
		if err := <-served; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("ServeStdio: %v", err)
		}
	})
	return session
}

// serve serves plugins to a client.
func serve(t *testing.T, plugins ...starhost.Plugin) *sdk.ClientSession {
	t.Helper()
	return connect(t, mcp.NewServer(host.NewLiveHost(newHost(t, host.Options{}, plugins...)), mcp.Options{}),
		nil)
}

// call calls a tool and returns its answer as JSON.
func call(t *testing.T, c *sdk.ClientSession, name, arguments string) string {
	t.Helper()
	params := &sdk.CallToolParams{Name: name}
	if arguments != "" {
		params.Arguments = json.RawMessage(arguments)
	}
	r, err := c.CallTool(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	r.Meta = nil
	return asJSON(t, r)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestListTools(t *testing.T) {
	c := serve(t, weather())
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	diff(t, "tools", []string{"broken", "forecast", "load_fragment", "radar", "table"}, names)
	diff(t, "capabilities", `{"completions":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`, asJSON(t, c.InitializeResult().Capabilities))
}

func TestCallTool(t *testing.T) {
	guard := starhost.Plugin{Name: "guard", Hooks: []starhost.Hook{{Event: "pre_tool_call", Call: func(
		_ context.Context, e *starhost.Event,
	) (starhost.Decision, error) {
		if strings.Contains(string(e.Arguments), "Atlantis") {
			return starhost.Deny("it sank"), nil
		}
		if strings.Contains(string(e.Arguments), "Hades") {
			return starhost.Decision{Action: starhost.ActionAbort, Reason: "nobody returns"}, nil
		}
		return starhost.Decision{}, nil
	}}}}
	c := serve(t, weather(), guard)
	said := func(text string, rest string) string { return `{"content":[{"type":"text","text":` + text + `}` + rest }
	tests := []struct{ name, tool, arguments, want string }{
		{"text", "forecast", `{"city":"Rome"}`, said(`"sun"`, `]}`)},
		{"all problems at once", "forecast", `{"days":"x","citi":1}`, said(`"forecast: the arguments are not valid:\n\"citi\": unknown argument (did you mean city?)\n\"city\": missing\n\"days\": type: got \"x\", want \"integer\""`, `],"isError":true}`)},
		{"no arguments", "table", ``, said(`"{\"high\":21,\"low\":9}"`, `],"structuredContent":{"high":21,"low":9}}`)},
		{"failure", "broken", `{}`, said(`"tool broken failed: the satellite is gone"`, `],"isError":true}`)},
		{"denied", "forecast", `{"city":"Atlantis"}`, said(`"denied by guard: it sank"`, `],"isError":true}`)},
		{"aborted", "forecast", `{"city":"Hades"}`, said(`"Go: turn aborted by guard: nobody returns"`, `],"isError":true}`)},
		{"all kinds of content", "radar", `{}`, said(`"rain"`, `,{"type":"image","mimeType":"image/png","data":"iVBORw=="},{"type":"audio","mimeType":"audio/wav","data":"UklGRg=="}`+
			`,{"type":"resource","resource":{"uri":"starhost://sha256/`+fragments.Attachment{Content: "a,b"}.ID().String()+`#rain.csv","mimeType":"text/csv","text":"a,b"}}`+
			`,{"type":"resource_link","mimeType":"text/html","uri":"https://example.com/map","name":"map"}]}`)},
		{"load_fragment", "load_fragment", `{"ref":"city:Rome"}`, said(`"Rome is a city."`, `,{"type":"resource","resource":{"uri":"starhost://sha256/`+fragments.Attachment{Content: "\x00"}.ID().String()+`#map.bin","mimeType":"application/octet-stream","blob":"AA=="}}]}`)},
		{"load_fragment is guarded", "load_fragment", `{"ref":"city:Atlantis"}`, said(`"denied by guard: it sank"`, `],"isError":true}`)},
		{"load_fragment of a skill", "load_fragment", `{"ref":"skill:weather:clouds"}`, said(`"Look up."`, `]}`)},
		{"load_fragment reads no files", "load_fragment", `{"ref":"file:/etc/passwd"}`, said(`"no loader for \"file:/etc/passwd\", want one of city:, skill:"`, `],"isError":true}`)},
		{"load_fragment has no paths", "load_fragment", `{"ref":"city"}`, said(`"no loader for \"city\", want one of city:, skill:"`, `],"isError":true}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			diff(t, "answer", tt.want, call(t, c, tt.tool, tt.arguments))
		})
	}
}

// checkInvalid checks the protocol's error for parameters.
func checkInvalid(t *testing.T, err error, want string) {
	t.Helper()
	var protocol *jsonrpc.Error
	if !errors.As(err, &protocol) || protocol.Code != jsonrpc.CodeInvalidParams ||
		!strings.Contains(protocol.Message, want) {
		t.Errorf("got %v, want error %d: %s", err, jsonrpc.CodeInvalidParams, want)
	}
}

// TestUnknown checks the errors for a tool and a prompt that a session does not have.
func TestUnknown(t *testing.T) {
	h := newHost(t, host.Options{}, weather())
	for _, version := range []string{withSessions, stateless} {
		c := connectAs(t, mcp.NewServer(host.NewLiveHost(h), mcp.Options{}), nil, version)
		_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "forcast"})
		checkInvalid(t, err, `unknown tool "forcast" (did you mean forecast?)`)
		_, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "for_pilots"})
		checkInvalid(t, err, `unknown tool "for_pilots"`)
		_, err = c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "asc"})
		checkInvalid(t, err, `unknown prompt "asc" (did you mean ask?)`)
	}
}

// TestSchemaUnchanged checks that a client gets the plugin's schema byte for byte.
func TestSchemaUnchanged(t *testing.T) {
	h := newHost(t, host.Options{}, weather())
	lines := exchange(t, h, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, `"inputSchema":`+schema) }) {
		t.Errorf("got\n%s\nwant %s in it", strings.Join(lines, "\n"), schema)
	}
}

func TestResources(t *testing.T) {
	c := serve(t, weather())
	list, err := c.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "resources", `[{"description":"Knows clouds.","mimeType":"text/markdown","name":"clouds","uri":"starhost://skill/weather:clouds"}]`, asJSON(t, list.Resources))
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "templates", `[{"description":"Facts of a city.","name":"city","uriTemplate":"starhost://city/{+arg}"},{"description":"A skill, by PLUGIN:NAME.","name":"skill","uriTemplate":"starhost://skill/{+arg}"}]`, asJSON(t, templates.ResourceTemplates))
	tests := []struct{ name, uri, want string }{
		{"loader", "starhost://city/New%20York", `[{"uri":"starhost://city/New%20York#facts.md","mimeType":"text/plain","text":"New York is a city."},{"uri":"starhost://city/New%20York#map.bin","mimeType":"application/octet-stream","blob":"AA=="}]`},
		{"reference", "city:Rome", `[{"uri":"city:Rome#facts.md","mimeType":"text/plain","text":"Rome is a city."},{"uri":"city:Rome#map.bin","mimeType":"application/octet-stream","blob":"AA=="}]`},
		{"skill", "starhost://skill/weather:clouds", `[{"uri":"starhost://skill/weather:clouds","mimeType":"text/plain","text":"Look up."}]`},
		{"failure", "starhost://city/%3F", "starhost://city/%3F: "},
		{"unknown prefix", "starhost://town/Rome", "Resource not found"},
		{"file", "file:///etc/passwd", "Resource not found"},
		{"file as ours", "starhost://file//etc/passwd", "Resource not found"},
		{"bad escape", "starhost://city/%zz", "Resource not found"},
		{"no path", "starhost://city", `[{"uri":"starhost://city#facts.md","mimeType":"text/plain","text":" is a city."},{"uri":"starhost://city#map.bin","mimeType":"application/octet-stream","blob":"AA=="}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: tt.uri})
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				return
			}
			diff(t, "contents", tt.want, asJSON(t, r.Contents))
		})
	}
}

func TestPrompts(t *testing.T) {
	c := serve(t, weather())
	list, err := c.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	diff(t, "prompts", []string{"ask", "report", "report_template"}, names)
	user := func(text string) string { return `{"content":{"type":"text","text":` + text + `},"role":"user"}` }
	file := `{"content":{"type":"resource","resource":{"uri":"starhost://sha256/` + fragments.Attachment{Content: "\x00"}.ID().String() + `#map.bin","mimeType":"application/octet-stream","blob":"AA=="}},"role":"user"}`
	tests := []struct {
		name, prompt string
		args         map[string]string
		want         string
	}{
		{"command", "report", map[string]string{"args": "Rome 'New York'"}, "[" + user(`"report of Rome+New York"`) + "]"},
		{"command that fails", "report", nil, "which city?"},
		{"command with another argument", "report", map[string]string{"city": "Rome"}, `prompt report: got argument "city", want args`},
		{"template", "ask", map[string]string{"arg": "now", "params": "place='New York'", "input": "Tell me."}, "[" + user(`"Be brief."`) + "," + file + "," + user(`"Rome is a city.\nHow warm is New York now?\nTell me."`) + "]"},
		{"template again, with a parameter of its own", "ask", map[string]string{"place": "Rome"}, "[" + user(`"Be brief."`) + "," + file + "," + user(`"Rome is a city.\nHow warm is Rome ?"`) + "]"},
		{"template without its parameter", "ask", nil, "missing parameters: place"},
		{"template with no parameter", "ask", map[string]string{"params": "place"}, `params: got "place", want NAME=VALUE`},
		{"template of a command's name", "report_template", nil, "[" + user(`"Report."`) + "]"},
		{"unknown", "asc", nil, `unknown prompt "asc" (did you mean ask?)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: tt.prompt, Arguments: tt.args})
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				return
			}
			diff(t, "messages", tt.want, asJSON(t, r.Messages))
		})
	}
}

func TestComplete(t *testing.T) {
	c := serve(t, weather())
	complete := func(ref *sdk.CompleteReference, arg, value string) sdk.CompletionResultDetails {
		r, err := c.Complete(t.Context(), &sdk.CompleteParams{Ref: ref, Argument: sdk.CompleteParamsArgument{Name: arg, Value: value}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Completion
	}
	got := complete(&sdk.CompleteReference{Type: "ref/prompt", Name: "report"}, "args", "x")
	if len(got.Values) != 100 || got.Total != 150 || !got.HasMore || got.Values[3] != "xcity-3" {
		t.Errorf("got %+v", got)
	}
	for _, ref := range []*sdk.CompleteReference{{Type: "ref/prompt", Name: "ask"}, {Type: "ref/prompt", Name: "none"}, {Type: "ref/resource", URI: "starhost://city/{+arg}"}} {
		if got := complete(ref, "args", "x"); len(got.Values) != 0 {
			t.Errorf("%+v: got %v, want nothing", ref, got.Values)
		}
	}
}

// TestReload checks that starhost notifies clients of exactly the lists that a reload changed.
func TestReload(t *testing.T) {
	live := host.NewLiveHost(newHost(t, host.Options{}, weather()))
	s := mcp.NewServer(live, mcp.Options{})
	changes := make(chan string, 10)
	c := connect(t, s, &sdk.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { changes <- "tools" },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { changes <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { changes <- "resources" },
	})
	if _, err := c.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	live.Swap(newHost(t, host.Options{}, weather()))
	s.Refresh(t.Context()) // no change
	changed := weather()
	changed.Tools[0].Description = "Tells tomorrow's weather."
	changed.Tools = slices.Delete(changed.Tools, 1, 2)
	live.Swap(newHost(t, host.Options{}, changed))
	s.Refresh(t.Context())
	diff(t, "changed", "tools", <-changes)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range list.Tools {
		got = append(got, tool.Name+": "+tool.Description)
	}
	diff(t, "first tools", []string{"forecast: Tells tomorrow's weather."}, got[:1])
	_, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "broken"})
	checkInvalid(t, err, `unknown tool "broken"`)
	for len(changes) > 0 { // a slow machine gets a notification for each tool
		diff(t, "changed", "tools", <-changes)
	}
}

// TestCancel checks that a client that cancels a call ends it.
func TestCancel(t *testing.T) {
	started, ended := make(chan bool, 1), make(chan error, 1)
	slow := starhost.Plugin{Name: "slow", Tools: []starhost.Tool{{Name: "wait", Description: "Waits.", Call: func(
		ctx context.Context, _ starhost.ToolCall,
	) (starhost.Result, error) {
		started <- true
		<-ctx.Done()
		ended <- ctx.Err()
		return starhost.Result{}, ctx.Err()
	}}}}
	c := serve(t, slow)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "wait"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the tool: got %v, want the end of its context", err)
	}
}

// TestProgress checks that a client gets a long call's progress and signs of life.
func TestProgress(t *testing.T) {
	mcp.ShortenTimes(t)
	heard := make(chan *sdk.ProgressNotificationParams, 100)
	release := make(chan bool)
	slow := starhost.Plugin{Name: "slow", Tools: []starhost.Tool{{Name: "wait", Description: "Waits.", Call: func(
		ctx context.Context, _ starhost.ToolCall,
	) (starhost.Result, error) {
		starhost.Progress{Done: 1, Total: 4, Message: "began"}.Report(ctx)
		starhost.Progress{Done: 0.5}.Report(ctx) // progress must grow, so this value is dropped
		<-release
		starhost.Progress{Done: 4, Total: 4}.Report(ctx)
		return starhost.Result{ForLLM: "done"}, nil
	}}}}
	server := mcp.NewServer(host.NewLiveHost(newHost(t, host.Options{}, slow)), mcp.Options{})
	c := connect(t, server, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			heard <- r.Params
		},
	})
	params := &sdk.CallToolParams{Name: "wait"}
	params.SetProgressToken("token")
	go func() { // until the second sign of life
		first := <-heard
		if first.Progress != 1 || first.Total != 4 || first.Message != "began" {
			t.Errorf("got %+v", first)
		}
		last := first.Progress
		for range 2 {
			if p := <-heard; p.Progress <= last || p.Total != 4 || p.ProgressToken != "token" {
				t.Errorf("after %v: got %+v", last, p)
			} else {
				last = p.Progress
			}
		}
		close(release)
	}()
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	var last float64
	for p := range heard {
		if last = p.Progress; last == 4 {
			return
		}
	}
}

// TestApprove checks that the person in front of the client decides about a call that needs
// approval.
func TestApprove(t *testing.T) {
	ask := starhost.Plugin{Name: "p", Tools: []starhost.Tool{{Name: "drop", Description: "Drops.", Approval: starhost.ApprovalAsk, Call: text(func(starhost.ToolCall) string { return "dropped" })}}}
	var seen string
	h := newHost(t, host.Options{Approver: mcp.Approve, Observe: func(e starhost.Event, o host.Outcome) error {
		seen = fmt.Sprintf("%s %s: %s by %s", e.Name, e.Tool, o.Decision.Action, o.Answer.By)
		return nil
	}}, ask)
	var asked string
	answer := func(action string) *sdk.ClientOptions {
		return &sdk.ClientOptions{ElicitationHandler: func(
			_ context.Context, r *sdk.ElicitRequest,
		) (*sdk.ElicitResult, error) {
			asked = r.Params.Message
			return &sdk.ElicitResult{Action: action}, nil
		}}
	}
	tests := []struct {
		name    string
		options *sdk.ClientOptions
		want    string
		seen    string // by Observe
	}{
		{"yes", answer("accept"), `{"content":[{"type":"text","text":"dropped"}]}`, "approve by mcp"},
		{"no", answer("decline"), `{"content":[{"type":"text","text":"denied by host: not approved: tool drop asks for approval"}],"isError":true}`, "deny by mcp"},
		{"neither", answer("cancel"), `{"content":[{"type":"text","text":"denied by host: not approved: tool drop asks for approval"}],"isError":true}`, "deny by mcp"},
		{"nobody", nil, `{"content":[{"type":"text","text":"denied by host: no approval: client does not support elicitation"}],"isError":true}`, "deny by nobody"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := connect(t, mcp.NewServer(host.NewLiveHost(h), mcp.Options{}), tt.options)
			diff(t, "answer", tt.want, call(t, c, "drop", `{}`))
			diff(t, "observed", "approval drop: "+tt.seen, seen)
		})
	}
	diff(t, "question", "Run drop of plugin p with {}?\ntool drop asks for approval", asked)
	if got, err := mcp.Approve(t.Context(), host.ApprovalRequest{}); got.Yes || err == nil {
		t.Errorf("without a client: got %v, %v, want an error", got, err)
	}
}

// TestSession checks that a client's session begins once and ends when the client disconnects.
func TestSession(t *testing.T) {
	events := make(chan string, 10)
	note := func(event string) starhost.Hook {
		return starhost.Hook{Event: event, Call: func(
			_ context.Context, e *starhost.Event,
		) (starhost.Decision, error) {
			events <- event + " " + e.Platform
			return starhost.Decision{}, nil
		}}
	}
	c := serve(t, weather(), starhost.Plugin{Name: "notes", Hooks: []starhost.Hook{note("session_start"), note("session_end"), note("pre_tool_call")}})
	call(t, c, "table", `{}`)
	call(t, c, "table", `{}`)
	c.Close()
	for _, want := range []string{"session_start mcp", "pre_tool_call ", "pre_tool_call ", "session_end "} {
		if got := <-events; !strings.HasPrefix(got, strings.TrimSpace(want)) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// exchange sends lines after the handshake and returns the lines of the answers, without the answer
// to the handshake.
func exchange(t *testing.T, h *host.Host, lines ...string) []string {
	t.Helper()
	all := append([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}, lines...)
	var out strings.Builder
	s := mcp.NewServer(host.NewLiveHost(h), mcp.Options{})
	if err := s.ServeStdio(t.Context(), strings.NewReader(strings.Join(all, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	return slices.DeleteFunc(got, func(l string) bool { return strings.Contains(l, `"serverInfo"`) })
}

// TestStdio checks that a server answers all requests from before the end of its input, and each
// line that is no message.
func TestStdio(t *testing.T) {
	slow := starhost.Plugin{Name: "slow", Tools: []starhost.Tool{{Name: "nap", Description: "Sleeps.", Call: func(
		ctx context.Context, _ starhost.ToolCall,
	) (starhost.Result, error) {
		time.Sleep(10 * time.Millisecond)
		return starhost.Result{ForLLM: "awake"}, nil
	}}}}
	h := newHost(t, host.Options{}, slow)
	nap := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"nap"}}`, id)
	}
	long := `{"jsonrpc":"2.0","id":9,"method":"` + strings.Repeat("x", 5<<20) + `"}`
	lines := exchange(t, h, nap(2), "garbage", "", "[]", long, `{"jsonrpc":"2.0","id":3,"method":"no/such"}`, nap(4))
	slices.Sort(lines)
	answer := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"awake"}]}}`
	}
	for _, want := range []string{answer("2"), answer("4")} {
		if !slices.Contains(lines, want) {
			t.Errorf("got %s, want %s", lines, want)
		}
	}
	errors := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.Contains(l, `"error"`) })
	if len(errors) != 4 || len(lines) != 6 {
		t.Errorf("got %d errors of %d lines, want 4 of 6:\n%s", len(errors), len(lines), strings.Join(lines, "\n"))
	}
}

// FuzzStdio checks that for any input each request gets one answer, and that the server ends with
// the input.
func FuzzStdio(f *testing.F) {
	f.Add([]byte("garbage\n{}\n[]\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Rome"}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"prompts/get","params":{"name":"ask","arguments":{"params":"'"}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"starhost://city/%00"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":8,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"report"},"argument":{"name":"args"}}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		h := newHost(t, host.Options{}, weather())
		lines := exchange(t, h, strings.ToValidUTF8(string(input), "?"), `{"jsonrpc":"2.0","id":"last","method":"ping"}`)
		n := 0
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				t.Errorf("got a line that is no JSON: %q", line)
			}
			if strings.Contains(line, `"id":"last"`) {
				n++
			}
		}
		if n != 1 && !strings.Contains(string(input), "last") {
			t.Errorf("got %d answers to the last request, want 1:\n%s", n, strings.Join(lines, "\n"))
		}
	})
}
