package effects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// standing is a clock that stands still, as that of a recorded turn.
func standing() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC) }

// TestRecordReplay checks that a replay of a recorded turn in an empty folder has the same results, and does
// no effect there.
func TestRecordReplay(t *testing.T) {
	server := serve(t, echo)
	dir := folder(t, map[string]string{"notes.md": "notes", "pixel.gif": pixelGIF})
	turn := func(o host.Options, w *effects.World, refs effects.RefOptions) (inHook, inLoader []string) {
		use := func(ctx context.Context, turn *host.Turn) {
			s, err := w.Secret(ctx, "TOKEN")
			if err != nil {
				t.Error(err)
			}
			r, err := w.Fetch(ctx, effects.Request{URL: "http://a.test/secret", Headers: map[string]effects.Secret{"Authorization": s}, Auth: nil, Params: map[string]effects.Secret{"k": s}})
			inHook = append(inHook, r.Body, message(err))
			out, err := w.Run(ctx, effects.Command{Argv: []string{"echo", "-n", "\xff"}, Stdin: s, Env: map[string]effects.Secret{"A": s}})
			inHook = append(inHook, out.Stdout, message(err))
			_, err = w.ReadFile(ctx, "none.md")
			inHook = append(inHook, message(err), fmt.Sprint(isNotExist(err)))
		}
		play(t, o, refs, []string{"notes.md", "file:pixel.gif", "file:notes.md", "run:x", "run:y"},
			func(ctx context.Context, turn *host.Turn) {
				inHook = results(ctx, w, turn, sessional[:1], readers, writers, sessional, readers)
				use(ctx, turn)
			},
			func(ctx context.Context, turn *host.Turn) {
				if host.LaneOf(ctx).Path() == "6" {
					inLoader = append(inLoader, results(ctx, w, turn, readers)...)
				}
			})
		return inHook, inLoader
	}

	j := new(effects.Journal)
	wide := grants(t, "http:GET,POST http://a.test", "fs.read:**", "fs.write:**", "exec:echo **", "env:*", "secret:*", "store", "tool:*", "fragment:*", "event:*")
	w := everything(t, server)
	hook, loaded := turn(host.Options{
		Record: j.Record, Clock: standing,
	}, w, effects.RefOptions{Dir: dir, World: &effects.World{}})
	text, err := j.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), "<secret TOKEN>") {
		t.Errorf("journal: got a secret, or no name of one:\n%s", text)
	}

	replay, err := effects.ReadJournal("journal", text)
	if err != nil {
		t.Fatal(err)
	}
	empty := &effects.World{Plugin: "p", Declared: wide, Granted: wide, Answers: replay}
	again := new(effects.Journal)
	hook2, loaded2 := turn(host.Options{
		Record: again.Record, Clock: standing,
	}, empty, effects.RefOptions{Dir: t.TempDir(), World: &effects.World{Answers: replay}})
	if diff := cmp.Diff(hook, hook2); diff != "" {
		t.Errorf("in a hook (-recorded +replayed):\n%s", diff)
	}
	if diff := cmp.Diff(loaded, loaded2); diff != "" || len(loaded) != len(readers) {
		t.Errorf("in a loader (-recorded +replayed):\n%s", diff)
	}
	if err := replay.End(); err != nil {
		t.Errorf("End: %v", err)
	}
	checkMembersOf(t, string(text))
	copied, err := again.Bytes()
	if diff := cmp.Diff(string(text), string(copied)); diff != "" || err != nil {
		t.Errorf("journal of the replay (-want +got), %v:\n%s", err, diff)
	}
}

// checkMembersOf checks that each member of a journal with all effects is one that the line of a golden case
// may have.
func checkMembersOf(t *testing.T, journal string) {
	t.Helper()
	_, err := effects.ReadAnswers("", []byte("{}"))
	_, list, _ := strings.Cut(message(err), "want one of ")
	missing := strings.Split(list, ", ")
	for line := range strings.Lines(journal) {
		a, err := effects.ReadAnswers("effects.jsonl", []byte(line))
		if err != nil {
			t.Errorf("a recorded line is no answer: %v\n%s", err, line)
			continue
		}
		kind, _, _ := strings.Cut(a.Unused()[0].Effect, " ")
		missing = slices.DeleteFunc(missing, func(k string) bool { return k == kind })
	}
	if diff := cmp.Diff([]string{"http.request", "process"}, missing); diff != "" { // the effects that the turn lacks
		t.Errorf("effects that the journal lacks (-want +got):\n%s", diff)
	}
}

// TestJournalLines checks that a journal has its lines in the order of lanes, on any number of workers.
func TestJournalLines(t *testing.T) {
	want := `{"lane":"1","plugin":"p","state.set":{"key":"k","value":{"n":1}},"reply":{}}
{"lane":"1","plugin":"p","tools.call":{"name":"page","arguments":{"a":"<b>"}},"reply":{}}
{"lane":"1","plugin":"p","env":{"name":"TEAM"},"reply":"checkout"}
{"lane":"1","plugin":"p","env":{"name":"NONE"},"reply":null}
{"lane":"1","plugin":"p","fs.read":{"path":"none.md"},"error":{"message":"file \"none.md\": no such file or folder","code":"E0504","cause":"not-exist"}}
{"lane":"2","plugin":"host","reference":{"ref":"a.md"},"reply":[{"source":"a.md","content":"A"}]}
{"lane":"3","plugin":"p","state.get":{"key":"k"},"reply":{"value":{"n":1},"found":true}}
{"lane":"3","plugin":"p","fragments.get":{"ref":"book:x"},"reply":{}}
{"lane":"4","plugin":"p","state.get":{"key":"k"},"reply":{"value":{"n":1},"found":true}}
{"lane":"4","plugin":"p","fragments.get":{"ref":"book:x"},"reply":{}}
`
	for _, o := range []host.Options{{Workers: 1}, lastFirst(4)} {
		j := new(effects.Journal)
		o.Record, o.Clock = j.Record, standing
		w := everything(t, "")
		play(t, o, effects.RefOptions{FS: memory(t, map[string]string{"a.md": "A"}), World: &effects.World{}}, []string{"a.md", "run:x", "run:y"},
			func(ctx context.Context, turn *host.Turn) {
				if err := w.StateSet(ctx, turn.Session(), "k", value); err != nil {
					t.Error(err)
				}
				if _, err := w.CallTool(ctx, turn, "page", json.RawMessage(`{"a":"<b>"}`)); err != nil {
					t.Error(err)
				}
				for _, name := range []string{"TEAM", "NONE"} {
					if _, _, err := w.GetEnv(ctx, name); err != nil {
						t.Error(err)
					}
				}
				if _, err := w.ReadFile(ctx, "none.md"); err == nil {
					t.Error("ReadFile: got no error")
				}
			},
			func(ctx context.Context, turn *host.Turn) {
				if _, _, err := w.StateGet(ctx, turn.Session(), "k"); err != nil {
					t.Error(err)
				}
				if _, err := w.LoadFragment(ctx, "book:x"); err != nil {
					t.Error(err)
				}
			})
		got, err := j.Bytes()
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("journal (-want +got), %v:\n%s", err, diff)
		}
	}
}

// lastFirst returns options that start the loaders in reverse order.
func lastFirst(workers int) host.Options {
	o := host.Options{Workers: workers}
	o.LoadersLastFirst = true
	return o
}

// replaying returns the errors of a turn's hook and loaders in a replay, and the error of its
// End.
func replaying(
	t *testing.T, journal string, refs []string, hook, loader func(context.Context, *effects.World) error,
) (said []string, end string) {
	t.Helper()
	r, err := effects.ReadJournal("journal", []byte(journal))
	if err != nil {
		t.Fatal(err)
	}
	w := plugin(t, "env:*", "tool:*")
	w.Answers = r
	wrap := func(f func(context.Context, *effects.World) error) func(context.Context, *host.Turn) {
		return func(ctx context.Context, turn *host.Turn) {
			if f == nil {
				return
			}
			if err := f(ctx, w); err != nil {
				said = append(said, host.LaneOf(ctx).Path()+" "+err.Error())
			}
		}
	}
	play(t, lastFirst(1), effects.RefOptions{}, refs, wrap(hook), wrap(loader))
	err = r.End()
	if err != nil && code(err) != "E0516" {
		t.Errorf("End: got %v, want code E0516", err)
	}
	return said, message(err)
}

func TestReplayDiverges(t *testing.T) {
	env := func(names ...string) func(context.Context, *effects.World) error {
		return func(ctx context.Context, w *effects.World) (err error) {
			for _, n := range names {
				if _, _, e := w.GetEnv(ctx, n); e != nil && err == nil {
					err = e
				}
			}
			return err
		}
	}
	inLane := func(bad string) func(context.Context, *effects.World) error {
		return func(ctx context.Context, w *effects.World) error {
			name := "A"
			if strings.Contains(bad, host.LaneOf(ctx).Path()) {
				name = "B"
			}
			return env(name)(ctx, w)
		}
	}
	line := func(lane, name string) string {
		return fmt.Sprintf(`{"lane":%q,"plugin":"p","env":{"name":%q},"reply":"x"}`+"\n", lane, name)
	}
	tests := []struct {
		name    string
		journal string
		refs    []string
		hook    func(context.Context, *effects.World) error
		loader  func(context.Context, *effects.World) error
		said    []string
		end     string
	}{
		{"the same", line("1", "A") + line("1", "B"), nil, env("A", "B"), nil, nil, ""},
		{"another request", line("1", "A") + line("1", "B"), nil, env("A", "C"), nil,
			[]string{`1 replay: lane 1 of p: effect 2: got env {"name":"C"}, want env {"name":"B"} as recorded`},
			`replay: lane 1 of p: effect 2: got env {"name":"C"}, want env {"name":"B"} as recorded`},
		{"another kind", `{"lane":"1","plugin":"p","uuid":{},"reply":""}`, nil, env("A"), nil,
			[]string{`1 replay: lane 1 of p: effect 1: got env {"name":"A"}, want uuid {} as recorded`},
			`replay: lane 1 of p: effect 1: got env {"name":"A"}, want uuid {} as recorded`},
		{"another plugin", strings.Replace(line("1", "A"), `"p"`, `"q"`, 1), nil, env("A"), nil,
			[]string{`1 replay: lane 1 of p: effect 1: got env {"name":"A"}, want env {"name":"A"} of q as recorded`},
			`replay: lane 1 of p: effect 1: got env {"name":"A"}, want env {"name":"A"} of q as recorded`},
		{"one more, and what comes after", line("1", "A"), nil, env("A", "B", "C"), nil,
			[]string{`1 replay: lane 1 of p: effect 2: got env {"name":"B"}, want no further effect as recorded`},
			`replay: lane 1 of p: effect 2: got env {"name":"B"}, want no further effect as recorded`},
		{"one less", line("1", "A") + line("1", "B"), nil, env("A"), nil, nil,
			`replay: lane 1 of p: effect 2: got no further effect, want env {"name":"B"} as recorded`},
		{"a lane less", line("1", "A") + line("10", "B") + line("9", "C"), nil, env("A"), nil, nil,
			`replay: lane 9 of p: effect 1: got no further effect, want env {"name":"C"} as recorded`},
		// The loaders start in reverse order, and the first lane's divergence is reported.
		{"beside each other", line("2", "A") + line("3", "A") + line("4", "A"), []string{"run:1", "run:2", "run:3"}, nil, inLane("23"),
			[]string{
				`3 replay: lane 3 of p: effect 1: got env {"name":"B"}, want env {"name":"A"} as recorded`,
				`2 replay: lane 2 of p: effect 1: got env {"name":"B"}, want env {"name":"A"} as recorded`,
			},
			`replay: lane 2 of p: effect 1: got env {"name":"B"}, want env {"name":"A"} as recorded`},
		{"later lanes stop", line("1", "X") + line("2", "A"), []string{"run:1"}, env("A"), env("A"),
			[]string{
				`1 replay: lane 1 of p: effect 1: got env {"name":"A"}, want env {"name":"X"} as recorded`,
				`2 replay: lane 1 of p: effect 1: got env {"name":"A"}, want env {"name":"X"} as recorded`,
			},
			`replay: lane 1 of p: effect 1: got env {"name":"A"}, want env {"name":"X"} as recorded`},
		{"a long request", line("1", strings.Repeat("X", 600)), nil, env("A"), nil,
			[]string{`1 replay: lane 1 of p: effect 1: got env {"name":"A"}, want env {"name":"` + strings.Repeat("X", 191) + `… as recorded`},
			`replay: lane 1 of p: effect 1: got env {"name":"A"}, want env {"name":"` + strings.Repeat("X", 191) + `… as recorded`},
		{"a reply of another type", `{"lane":"1","plugin":"p","env":{"name":"A"},"reply":[1]}`, nil, env("A"), nil,
			[]string{`1 reply to env: got [1]: got array, want a string`}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said, end := replaying(t, tt.journal, tt.refs, tt.hook, tt.loader)
			if diff := cmp.Diff(tt.said, said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.end, end); diff != "" {
				t.Errorf("End (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReplayRefused checks a replay in which a plugin may no longer do an effect of its journal: the plugin
// gets the refusal, and the turn diverges there.
func TestReplayRefused(t *testing.T) {
	const line = `{"lane":"1","plugin":"p","store.get":{"key":"k"},"reply":{}}` + "\n"
	refused := func(ctx context.Context, w *effects.World) error {
		_, _, err := w.StoreGet(ctx, "k")
		return err
	}
	for journal, want := range map[string]string{
		line: `replay: lane 1 of p: effect 1: got no permission for store.get {"key":"k"}, want store.get {"key":"k"} as recorded`,
		"":   ``, // the recorded turn refused it too
	} {
		said, end := replaying(t, journal, nil, refused, nil)
		if diff := cmp.Diff(want, end); diff != "" || len(said) != 1 || !strings.HasPrefix(said[0], "1 plugin p has no permission store") {
			t.Errorf("said %q, End (-want +got):\n%s", said, diff)
		}
	}
}

// TestReplayNestedDivergence checks that a handler does not continue after the tool that it called diverges.
func TestReplayNestedDivergence(t *testing.T) {
	r, err := effects.ReadJournal("journal", []byte(`{"lane":"1/1","plugin":"p","env":{"name":"A"},"reply":"a"}
{"lane":"1","plugin":"p","tools.call":{"name":"inner","arguments":{}},"reply":{}}
{"lane":"1","plugin":"p","env":{"name":"A"},"reply":"a"}
`))
	if err != nil {
		t.Fatal(err)
	}
	w := plugin(t, "env:*", "tool:*")
	w.Answers = r
	var inner, outer error
	h := host.New(host.Options{})
	err = h.Add(starhost.Plugin{
		Name: "p",
		Tools: []starhost.Tool{{Name: "inner", Description: "Inner.", Call: func(
			ctx context.Context, _ starhost.ToolCall,
		) (starhost.Result, error) {
			_, _, inner = w.GetEnv(ctx, "B")
			return starhost.Result{}, nil
		}}},
		Hooks: []starhost.Hook{{Event: "turn_start", Call: func(
			ctx context.Context, _ *starhost.Event,
		) (starhost.Decision, error) {
			turn := host.TurnOf(ctx)
			if _, err := w.CallTool(ctx, turn, "inner", nil); err != nil {
				t.Error(err)
			}
			_, _, outer = w.GetEnv(ctx, "A")
			return starhost.Decision{}, nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.NewSession(host.SessionConfig{}).Prompt(t.Context(), host.Request{}); err != nil {
		t.Fatal(err)
	}
	var d *effects.DivergenceError
	if !errors.As(inner, &d) || outer != inner || r.End() != inner {
		t.Errorf("got %v inside, %v outside, %v at the end, want one divergence", inner, outer, r.End())
	}
}

func TestReadJournalErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no effect", `{"lane":"1"}`, `no effect, want one of`},
		{"no JSON", "x", `journal: line 1: got no JSON from byte 1 on, want an object`},
		{"a journal of an earlier starhost", `{"journal":1}`, `journal: line 1: got no effect, want one of`},
		{"another effect", "\n\n" + `{"http.gte":{}}`, `journal: line 3: got no effect, want one of env, exec, fire, fragments.get, fs.exists, fs.glob, fs.read, fs.read_bytes, fs.stat, fs.write, ` +
			`http.get, http.post, http.request, now, process, random, reference, secret, state.delete, state.get, state.keys, state.set, store.add, store.delete, store.get, store.keys, store.set, store.swap, tools.call, uuid`},
		{"two effects", `{"env":{},"uuid":{}}`, `journal: line 1: got both env and uuid, want one effect a line`},
		{"a member", `{"env":{},"repyl":{}}`, `journal: line 1: the line has no member "repyl", want env, reply, error, lane, plugin, would_run, steps (did you mean reply?)`},
		{"half a line", `{"env":{}`, `journal: line 1: got no JSON from byte 9 on, want an object`},
		{"a lane", `{"lane":1,"env":{}}`, `journal: line 1: lane: got number, want a string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := effects.ReadJournal("journal", []byte(tt.text)); !strings.Contains(message(err), tt.want) || code(err) != "E0515" {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestJournalBounds(t *testing.T) {
	j := new(effects.Journal)
	big := host.Entry{Line: json.RawMessage(strings.Repeat("x", effects.MaxJournal/2))}
	j.Record(big)
	if _, err := j.Bytes(); err != nil {
		t.Errorf("Bytes: %v", err)
	}
	j.Record(big)
	if _, err := j.Bytes(); message(err) != "journal: got more than 67108864 bytes, want at most that" || code(err) != "E0506" {
		t.Errorf("Bytes: got %v", err)
	}
}

// TestReplayDryRun checks that starhost records and replays a dry run as a dry run.
func TestReplayDryRun(t *testing.T) {
	j := new(effects.Journal)
	w := everything(t, "")
	w.DryRun = &effects.DryRun{}
	var recorded, replayed []string
	inHook(t, host.Options{Record: j.Record}, func(ctx context.Context, turn *host.Turn) {
		recorded = results(ctx, w, turn, writers)
	})
	b, err := j.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	r, err := effects.ReadJournal("journal", b)
	if err != nil {
		t.Fatal(err)
	}
	again := *w
	again.Answers, again.DryRun = r, &effects.DryRun{}
	inHook(t, host.Options{}, func(ctx context.Context, turn *host.Turn) {
		replayed = results(ctx, &again, turn, writers)
	})
	if diff := cmp.Diff(recorded, replayed); diff != "" {
		t.Errorf("results (-recorded +replayed):\n%s", diff)
	}
	diff := cmp.Diff(w.DryRun.Effects(), again.DryRun.Effects())
	if diff != "" || len(again.DryRun.Effects()) != len(writers) {
		t.Errorf("would run (-recorded +replayed):\n%s", diff)
	}
}

func TestAnswers(t *testing.T) {
	a, err := effects.ReadAnswers("effects.jsonl", []byte(`
{"http.get":{"url":"https://pager.internal/oncall?team=checkout"},"reply":{"status":200,"body":"Ada"}}
{"http.get":{"url":"https://pager.internal/down"},"error":{"message":"it is down","code":"E0511"}}
{"http.post":{"url":"https://pager.internal/page","body":"a"},"reply":{"status":201,"headers":{"x":"1"}}}
{"http.post":{"url":"https://pager.internal/page"},"reply":{"status":202,"body":{"base64":"/w=="}}}
{"exec":{"argv":["kubectl","get","pods"]},"reply":{"stdout":"none"}}
{"env":{"name":"TEAM"},"reply":"answered"}
{"exec":{"argv":["never"]},"reply":{}}
{"env":{"name":"TURN"},"reply":"first"}
{"env":{"name":"TURN"},"reply":"second"}
`))
	if err != nil {
		t.Fatal(err)
	}
	w := plugin(t, "http:GET,POST,PUT pager.internal", "exec:kubectl **", "env:*", "secret:*")
	w.Answers, w.Env, w.Secrets = a, lookup(map[string]string{"TEAM": "real", "OTHER": "real"}), secrets(map[string]string{"TOKEN": "s3cret-value"})
	inHook(t, host.Options{}, func(ctx context.Context, _ *host.Turn) {
		token, err := w.Secret(ctx, "TOKEN")
		if err != nil {
			t.Error(err)
		}
		fetch := func(method, path, body string) string {
			r, err := w.Fetch(ctx, effects.Request{Method: method, URL: "https://pager.internal" + path, Body: body, Headers: map[string]effects.Secret{"Authorization": token}})
			if err != nil {
				return code(err) + " " + err.Error()
			}
			return fmt.Sprintf("%d %v %q", r.Status, r.Headers, r.Body)
		}
		run := func(argv ...string) string {
			out, err := w.Run(ctx, effects.Command{Argv: argv})
			if err != nil {
				return code(err) + " " + err.Error()
			}
			return fmt.Sprintf("%d %q %q", out.Code, out.Stdout, out.Stderr)
		}
		env := func(name string) string {
			value, _, err := w.GetEnv(ctx, name)
			return value + message(err)
		}
		const none = "E0517 effects.jsonl does not answer an effect%s: add this line, with its reply: "
		unfit := func(differs, line string) string { return fmt.Sprintf(none, differs) + line }
		tests := []struct{ got, want string }{
			{fetch("", "/oncall?team=checkout", ""), `200 map[] "Ada"`},
			{fetch("GET", "/oncall?team=checkout", ""), `200 map[] "Ada"`},
			{fetch("", "/down", ""), `E0511 it is down`},
			{fetch("POST", "/page", "a"), `201 map[x:1] ""`},
			{fetch("POST", "/page", "b"), `202 map[] "\xff"`},
			{fetch("", "/oncall?team=search", ""), unfit(" (line 2 has another url)", `{"http.get":{"url":"https://pager.internal/oncall?team=search","headers":{"Authorization":"<secret TOKEN>"}},"reply":{"status":200,"body":""}}`)},
			{fetch("PUT", "/oncall", "x"), unfit("", `{"http.request":{"method":"PUT","url":"https://pager.internal/oncall","headers":{"Authorization":"<secret TOKEN>"},"body":"x"},"reply":{"status":200,"body":""}}`)},
			{fetch("POST", "/pages", "a"), unfit(" (line 4 has another url)", `{"http.post":{"url":"https://pager.internal/pages","headers":{"Authorization":"<secret TOKEN>"},"body":"a"},"reply":{"status":200,"body":""}}`)},
			{run("kubectl", "get", "pods"), `0 "none" ""`},
			{run("kubectl", "get"), unfit(" (line 6 has another argv)", `{"exec":{"argv":["kubectl","get"]},"reply":{"code":0,"stdout":"","stderr":""}}`)},
			{env("TEAM"), "answered"},
			{env("OTHER"), "real"},
			{env("TURN") + env("TURN") + env("TURN"), "firstsecondsecond"},
		}
		for i, tt := range tests {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("effect %d (-want +got):\n%s", i+1, diff)
			}
		}
	})
	if diff := cmp.Diff([]effects.UnusedAnswer{{Line: 8, Effect: `exec {"argv":["never"]}`}}, a.Unused()); diff != "" {
		t.Errorf("Unused (-want +got):\n%s", diff)
	}
	_, err = effects.ReadAnswers("case/effects.jsonl", []byte("\n{}"))
	if want := "case/effects.jsonl: line 2: got no effect, want one of env"; !strings.HasPrefix(message(err), want) {
		t.Errorf("ReadAnswers: got %v, want %s...", err, want)
	}
}

// TestAnswersMembers checks that a line of answers with an unknown member is an error. Otherwise the line
// would answer no effect, or would answer with an empty value.
func TestAnswersMembers(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`{"http.get":{"url":"https://x.test/"},"replies":{"status":200}}`, "the line has no member \"replies\", want http.get, reply, error, lane, plugin, would_run, steps (did you mean reply?)"},
		{`{"http.get":{"uri":"https://x.test/"},"reply":{"status":200}}`, `http.get has no member "uri", want url, headers, auth, body (did you mean url?)`},
		{`{"http.get":{"url":"https://x.test/","method":"GET"},"reply":{}}`, `http.get has no member "method", want url, headers, auth, body`},
		{`{"http.request":{"method":"PUT","header":{}},"reply":{}}`, `http.request has no member "header", want method, url, headers, auth, body (did you mean headers?)`},
		{`{"http.post":{},"reply":{"code":200}}`, `the reply to http.post has no member "code", want status, headers, body (did you mean body?)`},
		{`{"exec":{"args":["a"]},"reply":{}}`, `exec has no member "args", want argv, stdin, env (did you mean argv?)`},
		{`{"exec":{"argv":["a"]},"reply":{"Stdout":"x"}}`, `the reply to exec has no member "Stdout", want code, stdout, stderr (did you mean stdout?)`},
		{`{"env":{"nmae":"A"},"reply":"x"}`, `env has no member "nmae", want name (did you mean name?)`},
		{`{"fs.read":{"pth":"a.md"},"reply":"x"}`, `fs.read has no member "pth", want path (did you mean path?)`},
		{`{"fs.stat":{"path":"a.md"},"reply":{"isdir":true}}`, `the reply to fs.stat has no member "isdir", want name, size, is_dir (did you mean is_dir?)`},
		{`{"store.get":{"key":"k"},"reply":{"val":1,"found":true}}`, `the reply to store.get has no member "val", want value, found (did you mean value?)`},
		{`{"uuid":{"n":1},"reply":"x"}`, `uuid has no member "n", want none`},
		{`{"fs.read_bytes":{"path":"a"},"reply":{"base64":"AA=="}}`, ""},
		{`{"env":{"name":"A"},"reply":"x","note":1}`, `the line has no member "note", want env, reply, error, lane, plugin, would_run, steps`},
		{`{"lane":"1","plugin":"p","exec":{"argv":["a"],"stdin":"","env":{}},"would_run":true,"reply":{"code":1,"stdout":{"base64":""},"stderr":""}}`, ""},
	} {
		want := tt.want
		if want != "" {
			want = "effects.jsonl: line 1: " + want
		}
		if _, err := effects.ReadAnswers("effects.jsonl", []byte(tt.line)); message(err) != want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.line, err, want)
		}
	}
}

// TestAnswerLine checks that a recorded line answers the effect that it records.
func TestAnswerLine(t *testing.T) {
	server := serve(t, echo)
	w := everything(t, server)
	acts := []act{readers[5], writers[1], writers[2]}
	var file strings.Builder
	record := func(e host.Entry) {
		if line, _ := effects.AnswerLine(e.Line); line != "" {
			file.WriteString(line + "\n")
		}
	}
	var recorded, answered []string
	inHook(t, host.Options{Record: record}, func(ctx context.Context, turn *host.Turn) {
		recorded = results(ctx, w, turn, acts)
		results(ctx, w, turn, readers[:5], sessional)
	})
	a, err := effects.ReadAnswers("effects.jsonl", []byte(file.String()))
	if err != nil || strings.Count(file.String(), "\n") != len(acts) {
		t.Fatalf("got %v from\n%s", err, file.String())
	}
	w.Answers, w.HTTP, w.Exec = a, nil, nil
	inHook(t, host.Options{}, func(ctx context.Context, turn *host.Turn) {
		answered = results(ctx, w, turn, acts)
	})
	for i := range recorded {
		recorded[i] = strings.ReplaceAll(recorded[i], "date: ", "") // AnswerLine leaves out what differs each time
	}
	if diff := cmp.Diff(recorded, answered); diff != "" {
		t.Errorf("results (-recorded +answered):\n%s", diff)
	}
	if line, _ := effects.AnswerLine(json.RawMessage("{")); line != "" {
		t.Errorf("AnswerLine: got %s", line)
	}
}

func TestAnswerSummary(t *testing.T) {
	for _, tt := range []struct{ line, want, answer string }{
		{`{"http.get":{"url":"https://x.test/a"},"reply":{"status":200,"headers":{"date":"now","etag":"1","gh-request-id":"2"},"body":"Ada"}}`,
			"http.get https://x.test/a: 200, 3 B (left out date, gh-request-id)",
			`{"http.get":{"url":"https://x.test/a"},"reply":{"status":200,"headers":{"etag":"1"},"body":"Ada"}}`},
		{`{"exec":{"argv":["date","-u","a b"]},"reply":{"code":1,"stdout":{"base64":"/w=="},"stderr":""}}`,
			"exec date -u 'a b': exit 1, 1 B of output", ""},
		{`{"http.post":{"url":"https://x.test/"},"error":{"message":"no network"}}`, "http.post https://x.test/: error: no network", ""},
		{`{"env":"A","reply":"x"}`, "", ""},
		{`{`, "", ""},
	} {
		answer, got := effects.AnswerLine(json.RawMessage(tt.line))
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
		if tt.answer != "" && answer != tt.answer {
			t.Errorf("AnswerLine: got %s, want %s", answer, tt.answer)
		}
	}
}
