package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// tool returns a plugin with one tool whose result names the plugin.
func toolOf(name string, tool starhost.Tool) starhost.Plugin {
	tool.Name, tool.Description, tool.Pos = "page", "Pages a team.", at(name+".star", 2)
	if tool.Call == nil {
		tool.Call = func(context.Context, starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: "from " + name}, nil
		}
	}
	return starhost.Plugin{Name: name, Tools: []starhost.Tool{tool}}
}

func TestAddRefusesMore(t *testing.T) {
	call := deliver().Commands[0].Call
	command := func(name string, aliases ...string) starhost.Plugin {
		return starhost.Plugin{Name: "new", Commands: []starhost.Command{{Name: name, Aliases: aliases, Call: call, Pos: at("new.star", 7)}}}
	}
	skill := func(list ...starhost.Skill) starhost.Plugin {
		for i := range list {
			list[i].Pos = at("new.star", 7+i)
		}
		return starhost.Plugin{Name: "new", Skills: list}
	}
	read := func(context.Context) (string, error) { return "", nil }
	endpoint := func(change func(*starhost.Endpoint)) starhost.Plugin {
		e := starhost.Endpoint{Name: "acme", BaseURL: "https://acme.test/v1", Models: []string{"small", "big"}, Pos: at("new.star", 7)}
		change(&e)
		return starhost.Plugin{Name: "new", Endpoints: []starhost.Endpoint{e}}
	}
	badURL := func(url string) starhost.Plugin {
		return endpoint(func(e *starhost.Endpoint) { e.BaseURL = url })
	}
	review := templates("new", starhost.Template{})
	short, noLoad := review, review
	short.TemplateLoaders = []starhost.TemplateLoader{{Prefix: "R", Pos: at("new.star", 7)}}
	noLoad.TemplateLoaders = []starhost.TemplateLoader{{Prefix: "rev", Pos: at("new.star", 7)}}
	tests := []struct {
		name   string
		plugin starhost.Plugin
		want   string
	}{
		{"toolset", toolOf("new", starhost.Tool{Toolset: "a b"}), `tool "page": toolset: got "a b", want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"timeout", toolOf("new", starhost.Tool{Timeout: -time.Second}), `tool "page": timeout: got -1s, want more than nothing`},
		{"roles", toolOf("new", starhost.Tool{Roles: []string{"sre", ""}}), `tool "page": roles: got an empty name`},
		{"override without a grant", toolOf("new", starhost.Tool{Override: true}), `new.star:2:1: tool "page": override: the operator must grant "override:page"`},
		{"bad grant", starhost.Plugin{Name: "new", Overrides: []string{"["}}, `plugin "new": override:[: syntax error in pattern`},
		{"match on a command's event", plugin("new", starhost.Hook{Event: "pre_command", Match: []string{"["}, Call: hook(pre, deny).Call}), `hook pre_command: match: "[": syntax error in pattern`},
		{"an event that nobody declared", plugin("new", hook("app.x", deny)), `unknown event "app.x": events app.* are those that the program or a plugin declares`},
		{"template prefix", short, `new.star:7:1: template loader prefix "R": want a lower-case letter, then one or more of a-z 0-9 _ -`},
		{"template loader without Load", noLoad, `new.star:7:1: template loader "rev" has no Load`},
		{"template conflict", review, `new.star:5:1: template loader "review" is already registered at old.star:5:1`},
		{"command name", command("Deliver"), `new.star:7:1: command name "Deliver": want a lower-case letter, then up to 63 of a-z 0-9 _ -`},
		{"command alias", command("x", "/y"), `command name "/y": want a lower-case letter`},
		{"a command of the host", command("x", "quit"), `new.star:7:1: command name "quit" is the host's own`},
		{"command conflict", command("deliver"), `new.star:7:1: command "deliver" is already registered at mail.star:4:1`},
		{"an alias that is a command", command("x", "deliver"), `new.star:7:1: command "deliver" is already registered at mail.star:4:1`},
		{"a command that is an alias", command("dl"), `new.star:7:1: command "dl" is already registered at mail.star:4:1`},
		{"an alias that is the name", command("x", "x"), `new.star:7:1: command "x" is already registered at new.star:7:1`},
		{"command without Call", starhost.Plugin{Name: "new", Commands: []starhost.Command{{Name: "x"}}}, `Go: command "x" has no Call`},
		{"skill name", skill(starhost.Skill{Name: "a/b", Load: read}), `new.star:7:1: skill name "a/b": want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"skill without Load", skill(starhost.Skill{Name: "a"}), `new.star:7:1: skill "a" has no Load`},
		{"skill conflict", skill(starhost.Skill{Name: "a", Load: read}, starhost.Skill{Name: "a", Load: read}), `new.star:8:1: skill "a" is already registered at new.star:7:1`},
		{"model name", endpoint(func(e *starhost.Endpoint) { e.Name = "a/b" }), `new.star:7:1: model "a/b": name "a/b": want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"model alias", endpoint(func(e *starhost.Endpoint) { e.Aliases = []string{""} }), `model "acme": name "": want 1 to 64`},
		{"model conflict", endpoint(func(e *starhost.Endpoint) { e.Aliases = []string{"old"} }), `new.star:7:1: model "old" is already registered at old.star:9:1`},
		{"model api", endpoint(func(e *starhost.Endpoint) { e.API = "grpc" }), `model "acme": api: got "grpc", want openai, responses or anthropic`},
		{"model without models", endpoint(func(e *starhost.Endpoint) { e.Models = nil }), `model "acme": models: want one name or more`},
		{"model default", endpoint(func(e *starhost.Endpoint) { e.DefaultModel = "smal" }), `model "acme": default_model: got "smal", want one of models (did you mean small?)`},
		{"model header", endpoint(func(e *starhost.Endpoint) { e.Headers = map[string]string{"X-A": "b\r\nX-B: c"} }), `model "acme": headers: "X-A": want a name and a value in one line`},
		{"model header name", endpoint(func(e *starhost.Endpoint) { e.Headers = map[string]string{"X A": "b"} }), `headers: "X A"`},
		{"model url", badURL("acme.test"), `model "acme": base_url: got "acme.test", want http or https, a host and a path`},
		{"model url with a password", badURL("https://me:pw@acme.test"), `base_url: got`},
		{"model url with a query", badURL("https://acme.test/?a=b"), `base_url: got`},
		{"model url of a file", badURL("file:///etc/passwd"), `base_url: got`},
		{"model url that is none", badURL("https://[::1"), `base_url: got`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := templates("old", starhost.Template{})
			old.Endpoints = []starhost.Endpoint{{Name: "old", BaseURL: "http://x", Models: []string{"m"}, Pos: at("old.star", 9)}}
			h := newHost(t, host.Options{}, deliver(), old)
			count := func() int {
				return len(h.Commands()) + len(h.TemplateLoaders()) + len(h.Skills()) + len(h.Endpoints())
			}
			before := count()
			err := h.Add(tt.plugin)
			if err == nil {
				t.Fatal("Add: got no error")
			}
			contains(t, "Add", err.Error(), tt.want)
			if n := count(); n != before {
				t.Errorf("after a refused Add the host has %d registrations, want the %d it had", n, before)
			}
		})
	}
}

func TestOptionsCheck(t *testing.T) {
	event := func(change func(*starhost.EventSpec)) host.Options {
		e := starhost.EventSpec{Name: "app.deploy", Args: []string{"service"}}
		change(&e)
		return host.Options{AppEvents: []starhost.EventSpec{e}}
	}
	ok := starhost.EventSpec{Name: "app.a.b-c", Args: []string{"x"}, Actions: []starhost.Action{starhost.ActionDeny, starhost.ActionModify}, Modify: []string{"x"}, Guard: true}
	tests := []struct {
		name    string
		options host.Options
		want    string
	}{
		{"none", host.Options{}, ""},
		{"a declared event", host.Options{AppEvents: []starhost.EventSpec{ok}}, ""},
		{"allow", host.Options{Tools: host.ToolFilter{Allow: []string{"*", "a["}}}, `tools: allow: "a[": syntax error in pattern`},
		{"deny", host.Options{Tools: host.ToolFilter{Deny: []string{"["}}}, `tools: deny: "[": syntax error in pattern`},
		{"an event of the host", event(func(e *starhost.EventSpec) { e.Name = "deploy" }), `event "deploy": want app. and a lower-case letter, then a-z 0-9 _ . -`},
		{"twice", host.Options{AppEvents: []starhost.EventSpec{ok, ok}}, `event "app.a.b-c" is declared twice`},
		{"about a tool", event(func(e *starhost.EventSpec) { e.Tool = true }), `event "app.deploy": only the host's own events are about a tool or a command`},
		{"an argument", event(func(e *starhost.EventSpec) { e.Args = []string{"Service"} }), `event app.deploy: argument "Service": want a lower-case letter, then a-z 0-9 _, each once`},
		{"an argument twice", event(func(e *starhost.EventSpec) { e.Args = []string{"a", "a"} }), `event app.deploy: argument "a": want a lower-case letter, then a-z 0-9 _, each once`},
		{"an action", event(func(e *starhost.EventSpec) { e.Actions = []starhost.Action{"respond"} }), `event app.deploy: action "respond": want context (a string, fragments, attachments), modify, deny, ask, abort or a JSON value`},
		{"what may be modified", event(func(e *starhost.EventSpec) { e.Modify = []string{"service"} }), `event app.deploy: modify "service": want an argument of an event that may be modified`},
		{"a guard that cannot deny", event(func(e *starhost.EventSpec) { e.Guard = true }), `event app.deploy: a guard's failure denies, so the event must accept a deny`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.options.Check(); err != nil {
				got = err.Error()
			}
			diff(t, "Check", tt.want, got)
			if err := host.New(tt.options).Add(echo()); (err != nil) != (tt.want != "") {
				t.Errorf("Add: got %v, want what Check says", err)
			}
		})
	}
}

// TestOverride checks that a tool that overrides another one wins in any order of Add, and that two such
// tools, or a third tool, are conflicts.
func TestOverride(t *testing.T) {
	plain, other := toolOf("plain", starhost.Tool{}), toolOf("other", starhost.Tool{})
	over, again := toolOf("over", starhost.Tool{Override: true}), toolOf("again", starhost.Tool{Override: true})
	over.Overrides, again.Overrides = []string{"pa*"}, []string{"page"}
	tests := []struct {
		name    string
		plugins []starhost.Plugin
		want    string // the tool's result, or the error of Add
		trace   []string
	}{
		{"the other first", []starhost.Plugin{plain, over}, "from over", []string{"over  tool page, not that of plain (plain.star:2:1)"}},
		{"the other last", []starhost.Plugin{over, plain}, "from over", []string{"over  tool page, not that of plain (plain.star:2:1)"}},
		{"nothing to override", []starhost.Plugin{over}, "from over", nil},
		{"two that override", []starhost.Plugin{plain, over, again}, `again.star:2:1: tool "page" is already registered at over.star:2:1`, nil},
		{"two that are overridden", []starhost.Plugin{plain, over, other}, `other.star:2:1: tool "page" is already registered at plain.star:2:1`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host.New(host.Options{})
			for _, p := range tt.plugins {
				if err := h.Add(p); err != nil {
					diff(t, "Add", tt.want, err.Error())
					return
				}
			}
			turn := begin(t, h, host.Request{})
			diff(t, "result", tt.want, call(t, turn, "page", "{}").Result.ForLLM)
			diff(t, "trace", tt.trace, pluginTraces(turn))
			if old := h.Tools()[0].Replaced; (old != nil) != (len(tt.plugins) > 1) || old != nil && old.PluginName() != "plain" {
				t.Errorf("Replaced: got %+v", old)
			}
		})
	}
}

func TestRoles(t *testing.T) {
	h := newHost(t, host.Options{}, toolOf("p", starhost.Tool{Roles: []string{"sre", "lead"}}))
	tests := []struct {
		roles []string
		want  int
	}{{nil, 0}, {[]string{"dev"}, 0}, {[]string{"dev", "lead"}, 1}}
	for _, tt := range tests {
		turn := beginIn(t, h.NewSession(host.SessionConfig{Roles: tt.roles}), host.Request{})
		diff(t, fmt.Sprint("tools for ", tt.roles), tt.want, len(prompt(t, turn).Tools))
		diff(t, "a call is refused", tt.want == 0, call(t, turn, "page", "{}").Result.IsError)
	}
}

// TestAvailable checks that the host asks once for each session whether tools are available, and again when
// the plugins changed.
func TestAvailable(t *testing.T) {
	tests := []struct {
		name   string
		answer func() (bool, error)
		want   int
		trace  []string
		logs   []string
	}{
		{"yes", func() (bool, error) { return true, nil }, 1, []string{"p"}, nil},
		{"no", func() (bool, error) { return false, nil }, 0, []string{"p  tool page is not available"}, nil},
		{"an error is a no", func() (bool, error) { return true, errors.New("no kubectl") }, 0, []string{"p error no kubectl"}, []string{"available of tool page: no kubectl"}},
		{"a panic is a no", func() (bool, error) { panic("oh") }, 0, []string{"p error panic: oh"}, []string{"available of tool page: panic: oh"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			var logs []string
			h := newHost(t, host.Options{Log: func(l host.LogLine) { logs = append(logs, l.Text) }},
				toolOf("p", starhost.Tool{
					Available: func(context.Context) (bool, error) { asked++; return tt.answer() },
				}))
			s := h.NewSession(host.SessionConfig{})
			turn := beginIn(t, s, host.Request{})
			diff(t, "trace", tt.trace, pluginTraces(turn))
			diff(t, "logs", tt.logs, logs)
			diff(t, "tools", tt.want, len(prompt(t, turn).Tools))
			turn.End(context.Background())
			ask(t, s, host.Request{})
			diff(t, "asked in one session", 1, asked)
			if err := h.Add(plugin("late")); err != nil {
				t.Fatal(err)
			}
			ask(t, s, host.Request{})
			diff(t, "asked after the plugins changed", 2, asked)
		})
	}
}

// TestAvailableCut checks that a session whose start was interrupted asks again whether tools are available.
func TestAvailableCut(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	asked := 0
	h := newHost(t, host.Options{}, toolOf("p",
		starhost.Tool{Available: func(context.Context) (bool, error) {
			asked++
			cancel()
			return true, nil
		}}))
	s := h.NewSession(host.SessionConfig{})
	if _, err := s.Begin(ctx, host.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin: got %v, want context.Canceled", err)
	}
	diff(t, "tools", 1, len(prompt(t, beginIn(t, s, host.Request{})).Tools))
	diff(t, "asked", 2, asked)
}

func TestToolTimeout(t *testing.T) {
	waits := func(ctx context.Context, _ starhost.ToolCall) (starhost.Result, error) {
		<-ctx.Done()
		return starhost.Result{}, ctx.Err()
	}
	turn := begin(t, newHost(t, host.Options{},
		toolOf("p", starhost.Tool{Timeout: time.Millisecond, Call: waits})), host.Request{})
	got := call(t, turn, "page", "{}").Result
	diff(t, "result", starhost.Result{ForLLM: "tool page failed: no result within 1ms, its timeout", IsError: true}, got)

	h := newHost(t, host.Options{}, toolOf("p", starhost.Tool{Timeout: time.Hour}))
	diff(t, "in time", "from p", call(t, begin(t, h, host.Request{}), "page", "{}").Result.ForLLM)

	ctx, cancel := context.WithCancel(context.Background())
	h = newHost(t, host.Options{}, toolOf("p",
		starhost.Tool{Timeout: time.Hour,
			Call: func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
				cancel()
				return waits(ctx, c)
			}}))
	turn = begin(t, h, host.Request{})
	if _, err := turn.CallTool(ctx, starhost.ToolCall{Name: "page"}); !errors.Is(err, context.Canceled) {
		t.Errorf("CallTool of a cancelled turn: got %v, want context.Canceled", err)
	}
}

func TestSkills(t *testing.T) {
	long := strings.Repeat("x", 2000)
	var many []string
	for i := range 103 {
		many = append(many, fmt.Sprintf("f%03d", i))
	}
	skill := func(name, text string, files ...string) starhost.Skill {
		return starhost.Skill{Name: name, Description: "About " + name + ".", Files: files, Pos: at("p.star", 3),
			Load: func(context.Context) (string, error) {
				if text == "" {
					return "", errors.New("file is gone")
				}
				return text, nil
			}}
	}
	p := starhost.Plugin{Name: "p", Skills: []starhost.Skill{
		skill("review", "# Review", "scripts/run.sh", "api.md"), skill("alone", "# Alone"), skill("gone", ""),
		skill("many", "# Many", many...), skill("long", "# Long", long, long, long, long, long),
	}}
	quiet, wordy := skill("quiet", "# Quiet"), skill("wordy", "# Wordy")
	quiet.Description, wordy.Description = "", "Two\n  lines. "+strings.Repeat("é", 100)
	h := newHost(t, host.Options{}, p, starhost.Plugin{Name: "q", Skills: []starhost.Skill{wordy, quiet}}, starhost.Plugin{Name: "r", Skills: []starhost.Skill{skill("alone", "# Alone")}})
	others := func(but string) string {
		text := "Other skills of p:\n"
		for _, name := range []string{"alone", "gone", "long", "many", "review"} {
			if name != but {
				text += "- skill:p:" + name + ": About " + name + ".\n"
			}
		}
		return text
	}
	tests := []struct{ ref, want string }{
		{"skill:p:review", others("review") + "Files beside this skill:\n- scripts/run.sh\n- api.md\n\n# Review"},
		{"skill:p:alone", others("alone") + "\n# Alone"},
		{"skill:q:quiet", "Other skills of q:\n- skill:q:wordy: Two lines. " + strings.Repeat("é", 94) + "…\n\n# Quiet"},
		{"skill:q:wordy", "Other skills of q:\n- skill:q:quiet\n\n# Wordy"},
		{"skill:r:alone", "# Alone"},
		{"skill:p:many", others("many") + "Files beside this skill:\n- " + strings.Join(many[:100], "\n- ") + "\n- and 3 more\n\n# Many"},
		{"skill:p:long", others("long") + "Files beside this skill:\n" + strings.Repeat("- "+long+"\n", 4) + "- and 1 more\n\n# Long"},
		{"skill:p:gone", "error: file is gone"},
		{"skill:p:reviw", `error: unknown skill "p:reviw" (did you mean p:review?)`},
		{"skill:", `error: unknown skill ""`},
	}
	for _, tt := range tests {
		p, err := h.NewSession(host.SessionConfig{}).Prompt(context.Background(), host.Request{Fragments: []string{tt.ref}})
		if err != nil {
			diff(t, tt.ref, tt.want, "error: "+err.Error())
			continue
		}
		diff(t, tt.ref, tt.want, strings.TrimSuffix(p.Text.String(), "\n"))
		if f := p.Fragments[0]; f.Source != tt.ref || f.Plugin != tt.ref[6:7] {
			t.Errorf("%s: got source %q, plugin %q", tt.ref, f.Source, f.Plugin)
		}
	}
	if ask(t, h.NewSession(host.SessionConfig{}), host.Request{Text: "hi"}).Text.String() != "hi" {
		t.Error("a skill is in a prompt that does not name it")
	}
	var listed []string
	for _, s := range h.Skills()[:5] {
		listed = append(listed, s.Reference()+" "+s.Description)
	}
	want := []string{"skill:p:alone About alone.", "skill:p:gone About gone.", "skill:p:long About long.", "skill:p:many About many.", "skill:p:review About review."}
	diff(t, "skills", want, listed)
}

func TestEndpoint(t *testing.T) {
	acme := starhost.Endpoint{Name: "acme", Aliases: []string{"a"}, BaseURL: "https://acme.test/v1", Models: []string{"small", "meta/big", "both"}, APIKey: "ACME_KEY"}
	local := starhost.Endpoint{Name: "local", BaseURL: "http://127.0.0.1:8080", API: "anthropic", Models: []string{"tiny", "both"}, DefaultModel: "both", Unavailable: "http:127.0.0.1:8080 is not granted"}
	h := newHost(t, host.Options{}, starhost.Plugin{Name: "p", Endpoints: []starhost.Endpoint{local, acme}})
	tests := []struct{ choice, want string }{
		{"acme/small", "acme openai small"},
		{"acme", "acme openai small"},
		{"a", "acme openai small"},
		{"a/meta/big", "acme openai meta/big"},
		{"meta/big", "acme openai meta/big"},
		{"small", "acme openai small"},
		{"acme/smal", `model acme has no "smal" (did you mean small?), want small, meta/big or both`},
		{"acm/small", `unknown model "acm/small" (did you mean acme/small?), want NAME/MODEL, or a model that one endpoint lists`},
		{"smal", `unknown model "smal" (did you mean small?), want NAME/MODEL, or a model that one endpoint lists`},
		{"", `unknown model "", want NAME/MODEL, or a model that one endpoint lists`},
		{"openai/gpt-x", "openai openai gpt-x"},
		{"anthropic/claude-x", "anthropic anthropic claude-x"},
		{"openai", `model "openai": want openai/MODEL, because this endpoint has no default model`},
		{"openai/", `model "openai/": want openai/MODEL, because this endpoint has no default model`},
		{"both", `model "both": both acme and local have it: put the name and / in front`},
		{"local", "model local cannot be used: http:127.0.0.1:8080 is not granted"},
	}
	for _, tt := range tests {
		e, model, err := h.Endpoint(tt.choice)
		got := e.Name + " " + e.API + " " + model
		if err != nil {
			got = err.Error()
		}
		diff(t, "Endpoint of "+tt.choice, tt.want, got)
	}
	names := []string{}
	for _, e := range h.Endpoints() {
		names = append(names, e.PluginName()+" "+e.Name+" "+e.DefaultModel)
	}
	if want := []string{"p acme small", " anthropic ", "p local both", " openai "}; !slices.Equal(names, want) {
		t.Errorf("Endpoints: got %v, want %v", names, want)
	}
}

// TestAddTwice adds one plugin to two hosts and checks that neither host changes data of the other
// or of the program.
func TestAddTwice(t *testing.T) {
	p := starhost.Plugin{
		Name: "twice",
		Tools: []starhost.Tool{{Name: "t", Description: "T.",
			Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
				return starhost.Result{}, nil
			}}},
		Hooks: []starhost.Hook{{Event: "turn_start",
			Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
				return starhost.Decision{}, nil
			}}},
		FragmentLoaders: []starhost.FragmentLoader{{Prefix: "ff",
			Load: func(context.Context, string) (starhost.Context, error) {
				return starhost.Context{}, nil
			}}},
		TemplateLoaders: []starhost.TemplateLoader{{Prefix: "tt",
			Load: func(context.Context, string) (starhost.Template, error) {
				return starhost.Template{}, nil
			}}},
		Commands: []starhost.Command{{Name: "c",
			Call: func(context.Context, starhost.CommandCall) (starhost.Result, error) {
				return starhost.Result{}, nil
			}}},
		Skills:    []starhost.Skill{{Name: "s", Load: func(context.Context) (string, error) { return "", nil }}},
		Endpoints: []starhost.Endpoint{{Name: "e", BaseURL: "https://api.example.com", Models: []string{"m"}}},
	}
	for range 2 {
		h := host.New(host.Options{})
		if err := h.Add(p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("twice", h.Tools()[0].PluginName()); diff != "" {
			t.Errorf("tool of the host (-want +got):\n%s", diff)
		}
	}
	tool, endpoint := p.Tools[0], p.Endpoints[0]
	got := []string{tool.PluginName(), string(tool.Approval), string(tool.Parameters), endpoint.API, endpoint.DefaultModel}
	if diff := cmp.Diff(make([]string, 5), got); diff != "" {
		t.Errorf("plugin of the program (-as it was +now):\n%s", diff)
	}
}
