package effects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// secrets returns secrets of an environment.
func secrets(env map[string]string) *effects.Secrets {
	return effects.NewSecrets(effects.SecretOptions{LookupEnv: lookup(env)})
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// inHook runs f in a hook of the plugin p.
func inHook(t testing.TB, o host.Options, f func(context.Context, *host.Turn)) {
	t.Helper()
	play(t, o, effects.RefOptions{}, nil, f, nil)
}

func inLoader(t testing.TB, o host.Options, f func(context.Context, *host.Turn)) {
	t.Helper()
	play(t, o, effects.RefOptions{}, []string{"run:x"}, nil, f)
}

// play runs one turn with a hook and a loader of the plugin p, and a tool and a loader of the
// plugin q.
func play(
	t testing.TB, o host.Options, refs effects.RefOptions, request []string,
	hook, loader func(context.Context, *host.Turn),
) {
	t.Helper()
	p := starhost.Plugin{Name: "p"}
	if hook != nil {
		p.Hooks = []starhost.Hook{{Event: "turn_start", Call: func(
			ctx context.Context, _ *starhost.Event,
		) (starhost.Decision, error) {
			turn := host.TurnOf(ctx)
			hook(ctx, turn)
			return starhost.Decision{}, nil
		}}}
	}
	if loader != nil {
		p.FragmentLoaders = []starhost.FragmentLoader{{Prefix: "run", Load: func(
			ctx context.Context, _ string,
		) (starhost.Context, error) {
			turn := host.TurnOf(ctx)
			loader(ctx, turn)
			return starhost.Context{}, nil
		}}}
	}
	q := starhost.Plugin{
		Name: "q",
		Tools: []starhost.Tool{{Name: "page", Description: "Pages.", Parameters: json.RawMessage(`{"type":"object"}`), Call: func(
			ctx context.Context, c starhost.ToolCall,
		) (starhost.Result, error) {
			return starhost.Result{ForLLM: host.LaneOf(ctx).Path() + " " + string(c.Arguments)}, nil
		}}},
		FragmentLoaders: []starhost.FragmentLoader{{Prefix: "book", Load: func(
			_ context.Context, arg string,
		) (starhost.Context, error) {
			return starhost.Context{Fragments: []fragments.Fragment{{Content: "book " + arg}}}, nil
		}}},
	}
	o.AppEvents = []starhost.EventSpec{{Name: "app.p.asked", Plugin: "p"}}
	h := host.New(o)
	if err := h.Add(effects.HostPlugin(refs), p, q); err != nil {
		t.Fatal(err)
	}
	prompt, err := h.NewSession(host.SessionConfig{ID: "s"}).Prompt(
		context.Background(), host.Request{Text: "hi", Fragments: request},
	)
	if err != nil || len(prompt.Errors) > 0 {
		t.Fatal(err, prompt.Errors)
	}
}

// everything returns a world that has all parts; its network reaches the server only.
func everything(t testing.TB, server string) *effects.World {
	w := plugin(t, "fs.read:**", "fs.write:**", "http:GET,POST http://a.test", "exec:echo **", "env:*", "secret:*", "store", "tool:*", "fragment:*", "event:app.p.*")
	w.Workspace = effects.NewFiles(memory(t.(*testing.T), map[string]string{"a.md": "A"}), effects.FileOptions{})
	w.Env = lookup(map[string]string{"TEAM": "checkout"})
	w.Secrets = secrets(map[string]string{"TOKEN": "s3cret-value"})
	w.HTTP = network(server)
	w.Exec = &effects.Exec{}
	w.Store = &effects.MemoryKV{}
	return w
}

// An act is an effect with a name.
type act struct {
	name string
	do   func(context.Context, *effects.World, *host.Turn) (any, error)
}

// pair formats two results as one, so that an act can return them.
func pair[T any](v T, ok bool, err error) (any, error) { return fmt.Sprint(v, " ", ok), err }

var value = json.RawMessage(`{"n":1}`)

// readers are the effects that only read, in an order in which all succeed.
var readers = []act{
	{"fs.read", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return w.ReadFile(ctx, "a.md")
	}},
	{"fs.read_bytes", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return w.ReadFileBytes(ctx, "a.md")
	}},
	{"fs.glob", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return w.GlobFiles(ctx, "*")
	}},
	{"fs.exists", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return w.FileExists(ctx, "a.md")
	}},
	{"fs.stat", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return w.StatFile(ctx, "a.md")
	}},
	{"http.get", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return w.Fetch(ctx, effects.Request{URL: "http://a.test/x"})
	}},
	{"env", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return pair(w.GetEnv(ctx, "TEAM"))
	}},
	{"env unset", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return pair(w.GetEnv(ctx, "NONE"))
	}},
	{"secret", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		s, err := w.Secret(ctx, "TOKEN")
		return s.String(), err
	}},
	{"now", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) { return w.Now(ctx, t) }},
	{"random", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) {
		return w.Random(ctx, t, 1000)
	}},
	{"random error", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) { return w.Random(ctx, t, 0) }},
	{"uuid", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) { return w.UUID(ctx, t) }},
	{"state.get", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) {
		return pair(w.StateGet(ctx, t.Session(), "k"))
	}},
	{"state.keys", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) {
		return w.StateKeys(ctx, t.Session())
	}},
	{"store.get", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
		return pair(w.StoreGet(ctx, "k"))
	}},
	{"store.keys", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) { return w.StoreKeys(ctx) }},
	{"fragments.get", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) {
		c, err := w.LoadFragment(ctx, "book:x")
		return fmt.Sprint(c.Fragments), err
	}},
}

// writers are the other effects; sessional are those of them that end with the session.
var (
	writers = []act{
		{"fs.write", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
			return nil, w.WriteFile(ctx, "out/x.md", "X")
		}},
		{"http.post", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
			return w.Fetch(ctx, effects.Request{Method: "POST", URL: "http://a.test/x", Body: "\xff"})
		}},
		{"exec", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
			return w.Run(ctx, effects.Command{Argv: []string{"echo", "hi"}})
		}},
		{"store.set", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
			return nil, w.StoreSet(ctx, "k", value)
		}},
		{"store.delete", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
			return w.StoreDelete(ctx, "k")
		}},
		{"store.add", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
			return w.StoreAdd(ctx, "n", 2)
		}},
		{"store.swap", func(ctx context.Context, w *effects.World, _ *host.Turn) (any, error) {
			return w.StoreSwap(ctx, "k", nil, value)
		}},
	}
	sessional = []act{
		{"state.set", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) {
			return nil, w.StateSet(ctx, t.Session(), "k", value)
		}},
		{"state.delete", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) {
			return w.StateDelete(ctx, t.Session(), "k")
		}},
		{"tools.call", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) {
			r, err := w.CallTool(ctx, t, "page", nil)
			return r.Result.ForLLM, err
		}},
		{"fire", func(ctx context.Context, w *effects.World, t *host.Turn) (any, error) {
			return w.FireEvent(ctx, t, &starhost.Event{Name: "app.p.asked"}, json.RawMessage("{}"))
		}},
	}
)

// results does all acts of the lists, and returns the result of each.
func results(ctx context.Context, w *effects.World, t *host.Turn, lists ...[]act) []string {
	var got []string
	for _, list := range lists {
		for _, a := range list {
			v, err := a.do(ctx, w, t)
			line := fmt.Sprintf("%s: %v", a.name, v)
			if err != nil {
				line = fmt.Sprintf("%s: %s %v", a.name, code(err), err)
			}
			got = append(got, line)
		}
	}
	return got
}

// TestEffectsNeedPermissions checks that every effect on something that exists needs a permission.
func TestEffectsNeedPermissions(t *testing.T) {
	none := map[string]bool{"now": true, "random": true, "uuid": true, "random error": true, "state.get": true, "state.keys": true, "state.set": true, "state.delete": true}
	inHook(t, host.Options{}, func(ctx context.Context, turn *host.Turn) {
		for _, granted := range []bool{true, false} {
			w := everything(t, "")
			if granted {
				w.Declared = nil
			} else {
				w.Granted = nil
			}
			for _, list := range [][]act{readers, writers, sessional} {
				for _, a := range list {
					_, err := a.do(ctx, w, turn)
					var refused *effects.PermissionError
					if errors.As(err, &refused) == none[a.name] {
						t.Errorf("%s: got %v, want a refusal: %v", a.name, err, !none[a.name])
					}
					if refused != nil && (refused.Granted != granted || refused.Declared == granted) {
						t.Errorf("%s: got %+v", a.name, refused)
					}
				}
			}
		}
	})
}

// TestEffectsInLoader checks that loaders can only read.
func TestEffectsInLoader(t *testing.T) {
	server := serve(t, echo)
	inLoader(t, host.Options{}, func(ctx context.Context, turn *host.Turn) {
		w := everything(t, server)
		for _, a := range readers {
			if _, err := a.do(ctx, w, turn); err != nil && a.name != "random error" {
				t.Errorf("%s: %v", a.name, err)
			}
		}
		for _, list := range [][]act{writers, sessional} {
			for _, a := range list {
				_, err := a.do(ctx, w, turn)
				want := a.name + ": got a call in a loader, but loaders only read: they run beside each other"
				if message(err) != want || code(err) != "E0509" {
					t.Errorf("%s: got %v, want %s", a.name, err, want)
				}
			}
		}
	})
}

// TestDryRun checks that a dry run does nothing that outlives the session, and lists what it did not do.
func TestDryRun(t *testing.T) {
	inHook(t, host.Options{}, func(ctx context.Context, turn *host.Turn) {
		w := everything(t, "")
		kv := &effects.MemoryKV{}
		w.Exec, w.HTTP, w.Store, w.DryRun = nil, nil, kv, &effects.DryRun{}
		got := results(ctx, w, turn, writers, sessional)
		want := []string{
			"fs.write: <nil>", "http.post: {0 map[] }", "exec: {0  }", "store.set: <nil>", "store.delete: false", "store.add: 2", "store.swap: true",
			"state.set: <nil>", "state.delete: true", "tools.call: 1/1 {}", "fire: []",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		var would []string
		for _, e := range w.DryRun.Effects() {
			would = append(would, e.Lane+" "+e.Plugin+" "+e.String())
		}
		want = []string{"1 p fs.write out/x.md (1 B)", "1 p http.post http://a.test/x", "1 p exec echo hi", "1 p store.set k", "1 p store.delete k", "1 p store.add n", "1 p store.swap k"}
		if diff := cmp.Diff(want, would); diff != "" {
			t.Errorf("would run (-want +got):\n%s", diff)
		}
		if keys, err := kv.Keys(ctx, "p"); len(keys) > 0 || err != nil {
			t.Errorf("Keys: got %q, %v: a dry run stored", keys, err)
		}
		if ok, err := w.FileExists(ctx, "out"); ok || err != nil {
			t.Errorf("FileExists: got %v, %v: a dry run wrote", ok, err)
		}
	})
}

// TestEmptyWorld checks that a missing part of a world is an error, not a panic.
func TestEmptyWorld(t *testing.T) {
	inHook(t, host.Options{}, func(ctx context.Context, turn *host.Turn) {
		w := everything(t, "")
		w.Workspace, w.Env, w.Secrets, w.HTTP, w.Exec, w.Store = nil, nil, nil, nil, nil, nil
		for _, list := range [][]act{readers, writers, sessional} {
			for _, a := range list {
				_, err := a.do(ctx, w, turn)
				switch family, _, _ := strings.Cut(a.name, "."); family {
				case "fs", "http", "exec", "secret", "store":
					if code(err) == "" || !strings.Contains(message(err), "here") {
						t.Errorf("%s: got %v, want that there is none", a.name, err)
					}
				}
			}
		}
		if _, ok, err := w.GetEnv(ctx, "TEAM"); ok || err != nil {
			t.Errorf("GetEnv: got %v, %v", ok, err)
		}
	})
}

// TestEffectsOutsideOfHandlers checks that effects outside of a handler have a turn and no lane.
func TestEffectsOutsideOfHandlers(t *testing.T) {
	turn, err := host.New(host.Options{}).NewSession(host.SessionConfig{}).Begin(
		t.Context(), host.Request{},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	w := &effects.World{Plugin: "p"}
	if n, err := w.Random(t.Context(), turn, 1); n != 0 || err != nil {
		t.Errorf("Random: got %d, %v", n, err)
	}
	if id, err := w.UUID(t.Context(), turn); len(id) != 36 || err != nil {
		t.Errorf("UUID: got %q, %v", id, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.UUID(ctx, turn); !errors.Is(err, context.Canceled) {
		t.Errorf("UUID: got %v, want context.Canceled", err)
	}
}

// TestDepth checks that a chain of handlers that wait for each other has a maximal length.
func TestDepth(t *testing.T) {
	var w *effects.World
	calls := 0
	var last error
	loop := starhost.Tool{Name: "loop", Description: "Calls itself.", Call: func(
		ctx context.Context, _ starhost.ToolCall,
	) (starhost.Result, error) {
		turn := host.TurnOf(ctx)
		calls++
		if _, err := w.CallTool(ctx, turn, "loop", nil); err != nil {
			last = err
		}
		return starhost.Result{}, nil
	}}
	w = plugin(t, "tool:*", "fragment:*")
	h := host.New(host.Options{})
	if err := h.Add(starhost.Plugin{Name: "p", Tools: []starhost.Tool{loop}}); err != nil {
		t.Fatal(err)
	}
	turn, err := h.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	if _, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "loop"}); err != nil {
		t.Fatal(err)
	}
	want := "handlers wait for each other: got a chain of more than 8, want at most that"
	if calls != 9 || message(last) != want {
		t.Errorf("got %d calls, then %v, want 9, then %s", calls, last, want)
	}
}
