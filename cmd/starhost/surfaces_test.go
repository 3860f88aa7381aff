package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/decide"
	"github.com/starhost/starhost/serve/mcp"
	"github.com/starhost/starhost/serve/proxy"
)

// A faulty is a folder of plugins whose guard a test can break, with what the surfaces of starhost need.
type faulty struct {
	t     *testing.T
	dir   string
	files map[string]string // the files, as use wrote them last
	live  *host.LiveHost
	model *scriptedEndpoint // the model at modelURL
	url   string
}

// The plugins of a faulty: a guard that refuses nothing, and a tool. Whoever sees the text ran knows that the
// tool ran.
const (
	ran        = "THE TOOL RAN"
	passGuard  = "register_hook(\"pre_tool_call\", lambda: None)\n"
	touchTool  = "def touch():\n    \"\"\"Touches.\"\"\"\n    return \"" + ran + "\"\n\nregister_tool(touch)\n"
	requireIt  = "[plugins]\npaths = [\"plugins\"]\nrequired = [\"guard\"]\n"
	noPlugin   = "\x00" // the content that stands for a missing file
	ownCall    = `{"calls": [{"name": "touch", "arguments": {}}]}` + "\n" + `{"text": "done"}` + "\n"
	agentsCall = `{"calls": [{"name": "Bash", "arguments": {"command": "ls"}}]}` + "\n" + `{"text": "done"}` + "\n"
)

// faults are the reasons for which a session has no guard.
var faults = []struct{ name, guard, config string }{
	{"a syntax error", passGuard + "def\n", requireIt},
	{"an unknown event", passGuard + "register_hook(\"pre_tol_call\", lambda: None)\n", requireIt},
	{"a missing variable", "plugin(requires_env = [\"NEVER\"])\n" + passGuard, requireIt},
	{"requires", "plugin(requires = [\"nobody\"])\n" + passGuard, requireIt},
	{"a missing library", "load(\"@team//x.star\", \"x\")\n" + passGuard, requireIt},
	{"the required plugin is disabled", passGuard, requireIt + "disabled = [\"guard\"]\n"},
	{"the required plugin is missing", noPlugin, requireIt},
	{"not required, a syntax error", passGuard + "def\n", "[plugins]\npaths = [\"plugins\"]\n"},
	{hadGuard, noPlugin, "[plugins]\npaths = [\"plugins\"]\n"},
}

// hadGuard is the fault of a session that had a guard before.
const hadGuard = "the session had a guard"

// A way is a surface of starhost through which a call can come. open returns a function that makes the call,
// each time in the same session. The function reports whether the call passed, and what it saw.
type way struct {
	name string
	open func(f *faulty) func() (passed bool, seen string)
}

// ways are all surfaces, with a call of a plugin's tool and, where the surface has one, a call of an agent's
// tool.
var ways = []way{
	{"hook, an agent's tool", hookWay("Bash")},
	{"hook, a plugin's tool", hookWay("mcp__starhost__touch")},
	{"serve --hooks, an agent's tool", decideWay("/hooks/claude-code", preToolUse("Bash"))},
	{"serve --hooks, a plugin's tool", decideWay("/hooks/claude-code", preToolUse("mcp__starhost__touch"))},
	{"serve --hooks, a program's tool", decideWay("/v1/fire/pre_tool_call", `{"session":"s","input":{"tool":"Bash","agent":"x","arguments":{}}}`)},
	{"serve --guardrail", decideWay("/litellm/beta/litellm_basic_guardrail_api", `{"texts":[],"tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{}"}}],"request_data":{},"input_type":"response","litellm_trace_id":"s"}`)},
	{"serve --mcp stdio", mcpStdioWay},
	{"serve --mcp over HTTP", mcpHTTPWay},
	{"serve --proxy, a plugin's tool", proxyWay(ownCall, ran)},
	{"serve --proxy, an agent's tool", proxyWay(agentsCall, `"tool_calls"`)},
	{"run", modelWay("run", "-p", "Hi")},
	{"chat", modelWay("chat")},
	{"embedding, a plugin's tool", embedWay(func(ctx context.Context, s *host.Session) (string, error) {
		turn, err := s.Begin(ctx, host.Request{Text: "Hi"})
		if err != nil {
			return "", err
		}
		defer turn.End(ctx)
		reply, err := turn.CallTool(ctx, starhost.ToolCall{Name: "touch"})
		return reply.Result.ForLLM, err
	})},
	{"embedding, an agent's tool", embedWay(func(ctx context.Context, s *host.Session) (string, error) {
		out, err := s.Fire(ctx, &starhost.Event{Name: "pre_tool_call", Tool: "Bash", Foreign: true})
		if err == nil && out.Decision.Action == "" {
			return ran, nil
		}
		return out.Decision.String(), err
	})},
	{"golden", goldenWay},
}

// TestNoSurfacePasses checks that no surface lets a call pass while the guard is missing, for any reason, and
// that each surface lets the call pass with the guard.
func TestNoSurfacePasses(t *testing.T) {
	for _, fault := range faults {
		for _, w := range ways {
			if w.name == "golden" && slices.Contains([]string{hadGuard, "a missing variable"}, fault.name) {
				continue // golden cases load plugins without these variables, and their plugins do not change
			}
			t.Run(fault.name+"/"+w.name, func(t *testing.T) {
				f := newFaulty(t)
				f.use(passGuard, requireIt)
				call := w.open(f)
				if fault.name == hadGuard || fault.name == faults[0].name {
					if passed, seen := call(); !passed {
						t.Fatalf("with the guard, the call must pass: got %s", seen)
					}
				}
				f.use(fault.guard, fault.config)
				if fault.name != hadGuard { // each of these faults needs a new session
					call = w.open(f)
				}
				if passed, seen := call(); passed {
					t.Errorf("the call passed: %s", seen)
				}
			})
		}
	}
}

// TestHaltOfSurfaces checks that each surface refuses calls while the administrator halts them, also in
// a session that is under way, and lets them pass afterwards.
func TestHaltOfSurfaces(t *testing.T) {
	for _, w := range ways {
		if w.name == "golden" {
			continue // golden cases ignore the managed config, to run alike on all machines
		}
		t.Run(w.name, func(t *testing.T) {
			f := newFaulty(t)
			f.use(passGuard, requireIt)
			call := w.open(f)
			for _, halted := range []bool{false, true, false} {
				if halted {
					writeFiles(t, f.dir, map[string]string{"etc/halt": "stop\n"})
				} else {
					_ = os.RemoveAll(filepath.Join(f.dir, "etc")) // the file may not exist
				}
				passed, seen := call()
				if passed == halted {
					t.Errorf("halted %v: passed %v: %s", halted, passed, seen)
				}
				if halted && !strings.Contains(seen, "halted all calls: stop") && !strings.HasPrefix(w.name, "embedding") && !strings.Contains(seen, `"action":"deny"`) {
					t.Errorf("got %s, want the reason", seen)
				}
			}
		})
	}
}

// managed returns the path of the managed config. The file is missing.
func (f *faulty) managed() string { return filepath.Join(f.dir, "etc", "config.toml") }

func newFaulty(t *testing.T) *faulty {
	f := &faulty{t: t, dir: t.TempDir(), model: new(scriptedEndpoint)}
	server := httptest.NewServer(f.model)
	t.Cleanup(server.Close)
	f.url = server.URL
	t.Setenv("HOME", filepath.Join(f.dir, "home"))
	return f
}

// use writes the guard and the config, and loads the plugins.
func (f *faulty) use(guard, config string) {
	f.t.Helper()
	f.files = map[string]string{
		"config.toml":        config + "\n[model.acme]\nbase_url = \"" + f.url + "/v1\"\nmodels = [\"small\"]\n",
		"plugins/touch.star": touchTool,
		"plugins/guard.star": guard,
	}
	if guard == noPlugin {
		delete(f.files, "plugins/guard.star")
		_ = os.Remove(filepath.Join(f.dir, "plugins/guard.star"))
	}
	writeFiles(f.t, f.dir, f.files)
	c, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: f.dir, File: "config.toml"})
	if err != nil {
		f.t.Fatal(err)
	}
	set, err := loader.Load(f.t.Context(), loader.Options{
		Config: c, Dir: f.dir, AllowMissing: true, Host: host.Options{Halt: func() error { return loader.Halted(f.managed()) }},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { set.Close() })
	if f.live == nil {
		f.live = host.NewLiveHost(set.Host)
	}
	f.live.Swap(set.Host)
}

// run runs the program in the folder.
func (f *faulty) run(stdin string, args ...string) string {
	var out bytes.Buffer
	p := &program{env: Env{
		stdin: strings.NewReader(stdin), stdout: &out, stderr: &out,
		getenv: os.Getenv, lookupEnv: os.LookupEnv, managed: f.managed(),
		deadline: testDeadline,
	}}
	p.run(f.t.Context(), append([]string{"-C", f.dir, "-c", "config.toml"}, args...))
	return out.String()
}

// testDeadline is the deadline of a hook on a busy machine.
const testDeadline = 10 * 60 * 1e9

// preToolUse returns the event of Claude Code for a call.
func preToolUse(tool string) string {
	return `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"` + tool + `","tool_input":{"command":"ls"}}`
}

func hookWay(tool string) func(*faulty) func() (bool, string) {
	return func(f *faulty) func() (bool, string) {
		return func() (bool, string) {
			seen := f.run(preToolUse(tool), "hook", "claude-code")
			return !strings.Contains(seen, `"deny"`), seen
		}
	}
}

func decideWay(path, body string) func(*faulty) func() (bool, string) {
	return func(f *faulty) func() (bool, string) {
		server := decide.NewServer(decide.Options{
			Host: f.live.Host, Warn: func(string) {}, Deadline: testDeadline,
			Outcome: func(_ string, out host.Outcome) any {
				return map[string]string{"action": string(out.Decision.Action)}
			},
		})
		mux := http.NewServeMux()
		mux.Handle("/hooks/", server.Hooks())
		mux.Handle("/v1/", server.Hooks())
		mux.Handle("/litellm/", server.Guardrails())
		return func() (bool, string) {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequestWithContext(f.t.Context(), "POST", path, strings.NewReader(body)))
			seen := w.Body.String()
			refused := strings.Contains(seen, `"deny"`) || strings.Contains(seen, "BLOCKED")
			return w.Code == http.StatusOK && !refused, seen
		}
	}
}

func mcpStdioWay(f *faulty) func() (bool, string) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	return mcpWay(f, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, func(ctx context.Context, s *mcp.Server) {
		_ = s.ServeStdio(ctx, in, out)
	})
}

func mcpHTTPWay(f *faulty) func() (bool, string) {
	var protocol http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol.ServeHTTP(w, r)
	}))
	f.t.Cleanup(server.Close)
	transport := &sdk.StreamableClientTransport{Endpoint: server.URL + mcp.Path, MaxRetries: -1}
	return mcpWay(f, transport, func(_ context.Context, s *mcp.Server) {
		o, handler := s.Front("")
		protocol = o.Handler(handler)
	})
}

// mcpWay calls the plugin's tool over a transport to a server that serve serves.
func mcpWay(f *faulty, transport sdk.Transport, serve func(context.Context, *mcp.Server)) func() (bool, string) {
	s := mcp.NewServer(f.live, mcp.Options{})
	if _, isHTTP := transport.(*sdk.StreamableClientTransport); isHTTP {
		serve(f.t.Context(), s)
	} else {
		go serve(f.t.Context(), s)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(
		f.t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { client.Close() })
	return func() (bool, string) {
		result, err := client.CallTool(f.t.Context(), &sdk.CallToolParams{Name: "touch", Arguments: map[string]any{}})
		if err != nil {
			return false, err.Error()
		}
		text, _ := json.Marshal(result.Content)
		return strings.Contains(string(text), ran), string(text)
	}
}

func proxyWay(script, mark string) func(*faulty) func() (bool, string) {
	return func(f *faulty) func() (bool, string) {
		server, err := proxy.NewServer(proxy.Options{
			Host: f.live.Host, Upstream: f.url, Tools: []string{"*"}, Warn: func(string) {},
		})
		if err != nil {
			f.t.Fatal(err)
		}
		return func() (bool, string) {
			f.model.restart(script)
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, "/v1/chat/completions",
				strings.NewReader(`{"model":"small","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"Bash","parameters":{"type":"object"}}}]}`)))
			seen := w.Body.String()
			if mark == ran {
				seen += f.model.requests.String()
			}
			return strings.Contains(seen, mark), seen
		}
	}
}

func modelWay(command string, args ...string) func(*faulty) func() (bool, string) {
	return func(f *faulty) func() (bool, string) {
		had := 0 // the number of results in the session's history
		return func() (bool, string) {
			f.model.restart(ownCall)
			seen := f.run("Hi\n", append([]string{command, "-m", "acme/small", "--session", "s"}, args...)...)
			requests := strings.Split(strings.TrimSpace(f.model.requests.String()), "\n")
			before, last := had, requests[len(requests)-1]
			had = strings.Count(last, ran)
			return had > before, seen + last
		}
	}
}

func embedWay(use func(context.Context, *host.Session) (string, error)) func(*faulty) func() (bool, string) {
	return func(f *faulty) func() (bool, string) {
		s := f.live.NewSession(host.SessionConfig{})
		return func() (bool, string) {
			seen, err := use(f.t.Context(), s)
			if err != nil {
				seen += err.Error()
			}
			return strings.Contains(seen, ran), seen
		}
	}
}

func goldenWay(f *faulty) func() (bool, string) {
	return func() (bool, string) {
		config, _, _ := strings.Cut(f.files["config.toml"], "\n[model")
		text := "A call.\n-- config.toml --\n" + strings.Replace(config, "paths = [\"plugins\"]\n", "", 1) +
			"-- case.star --\nassert_eq(call_tool(\"touch\").output, \"\")\n"
		if guard, ok := f.files["plugins/guard.star"]; ok {
			text += "-- plugins/guard.star --\n" + guard
		}
		writeFiles(f.t, f.dir, map[string]string{"plugins/golden/touch_case.txtar": text})
		seen := f.run("", "test", "plugins/touch.star")
		return strings.Contains(seen, ran+`", want ""`) || strings.Contains(seen, `"`+ran), seen
	}
}

// restart makes the endpoint answer with another script.
func (e *scriptedEndpoint) restart(script string) {
	next, err := newScriptedEndpoint(script)
	if err != nil {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines, e.used = next.lines, 0
	e.requests.Reset()
}
