package builtins_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

// forgetful is a plugin with a loader of each kind: pages reads much of the workspace,
// note one file that may not be there, seen what changes by itself, and plain nothing.
const forgetful = `
plugin(permissions = ["fs.read:docs/**", "env:REGION"], config = {"team": "a", "more": 0})

def work():
    return len([n * n for n in range(100)])

def pages(ctx, arg):
    found = ctx.fs.glob("docs/" + arg + "*.md")
    ctx.log("info", "found", count = len(found))
    parts = []
    for name in found:
        text = ctx.fs.read(name)
        print(name, text)
        parts.append(fragment(text, source = name, title = "%d %d" % (ctx.fs.stat(name).size, len(ctx.fs.read_bytes(name)))))
    if ctx.fs.exists("docs/more"):
        parts.append("there is more")
    return parts + [config.team * (config.more + work())]

def seen(ctx, arg):
    n = ctx.state.get("seen", 0) + work()
    return "%d %s %s %s" % (n, ctx.now, ctx.random(1000), ctx.env("REGION"))

def hook(ctx, user_message, round):
    work()
    print(user_message)
    return "%s in round %d, of %s" % (user_message, round, ctx.plugin) if ctx.fs.exists("docs/a.md") else None

register_fragment_loader("pages", pages)
register_fragment_loader("note", lambda ctx, arg: str(work()) + ctx.fs.read("docs/" + arg + ".md"))
register_fragment_loader("seen", seen)
register_fragment_loader("plain", lambda arg: [arg * work(), files.read("own.txt")])
register_hook("pre_llm_call", hook)
register_hook("pre_llm_call", lambda messages: messages.last().content * work())
`

// A report is all that can be seen of a prompt.
type report struct {
	Prompt  string
	Hooks   []starhost.HookTrace
	Err     string
	Logs    []starhost.LogLine
	Entries []string
}

// prompt makes the first prompt of a session.
func (l *loaded) prompt(text string, refs ...string) report {
	l.logs, l.entries = nil, nil
	var r report
	p, err := l.NewSession(starhost.SessionConfig{ID: "s"}).Prompt(context.Background(), starhost.Request{Text: text, Fragments: refs})
	if err != nil {
		r.Err = err.Error()
	} else {
		r.Prompt, r.Hooks, r.Err = p.Rendering(), p.Hooks, fmt.Sprint(errors.Join(p.Errors...))
	}
	r.Logs, r.Entries = l.logs, l.entries
	return r
}

// Whatever happens to files, settings and grants meanwhile, and whatever is asked, what
// can be seen is the same with a memo and without.
func TestLawMemo(t *testing.T) {
	memo, dir := new(builtins.Memo), t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		docs := filepath.Join(dir, "docs")
		if err := errors.Join(os.RemoveAll(docs), os.MkdirAll(filepath.Join(docs, "sub"), 0o755)); err != nil {
			t.Fatal(err)
		}
		with, without := drawPair(t, rt, dir, memo)
		for range rapid.IntRange(5, 20).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"ask", "ask", "ask", "ask", "edit", "edit", "load", "learn"}).Draw(rt, "step") {
			case "edit":
				edit(t, rt, docs)
			case "load":
				with, without = drawPair(t, rt, dir, memo)
			case "learn": // which takes it out of what is read from now on
				with.world.Secrets.Watch("TOKEN")
				without.world.Secrets.Watch("TOKEN")
			default:
				text := rapid.SampledFrom([]string{"why", "the secret two"}).Draw(rt, "text")
				refs := rapid.SliceOfN(rapid.SampledFrom([]string{"pages:", "pages:a", "pages:sub/", "note:a", "note:b", "seen:a", "plain:a", "plain:b"}), 0, 3).Draw(rt, "refs")
				if diff := cmp.Diff(without.prompt(text, refs...), with.prompt(text, refs...)); diff != "" {
					rt.Fatalf("%q %q (-without +with a memo):\n%s", text, refs, diff)
				}
			}
		}
	})
	if memo.Hits() == 0 {
		t.Error("nothing was ever recalled")
	}
}

// drawPair loads the plugin twice, with some grants and settings.
func drawPair(t *testing.T, rt *rapid.T, dir string, m *builtins.Memo) (with, without *loaded) {
	s := script{
		src: forgetful, dir: dir, journal: true, files: map[string]string{"own.txt": "own"}, env: map[string]string{"REGION": "eu", "TOKEN": "secret two"},
		granted:  rapid.SampledFrom([][]string{{"fs.read:docs/**", "env:REGION"}, {"fs.read:docs/a*", "env:REGION"}, {"fs.read:docs/**"}, {}}).Draw(rt, "grants"),
		settings: []builtins.Setting{{Key: "team", Value: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "team")}},
	}
	without = s.mustLoad(t)
	s.memo = m
	return s.mustLoad(t), without
}

// edit changes something in a folder, which may look as before to who is not careful.
func edit(t *testing.T, rt *rapid.T, docs string) {
	name := filepath.Join(docs, rapid.SampledFrom([]string{"a.md", "b.md", "ab.md", "sub/c.md", "more"}).Draw(rt, "file"))
	var err error
	switch rapid.SampledFrom([]string{"write", "write", "replace", "delete", "link"}).Draw(rt, "edit") {
	case "write":
		text := rapid.SampledFrom([]string{"text one", "text two", "more", "a secret two", "\xff"}).Draw(rt, "content")
		err = os.WriteFile(name, []byte(text), 0o644)
	case "replace":
		err = errors.Join(os.WriteFile(name+".new", []byte("text new"), 0o644), os.Rename(name+".new", name))
	case "delete":
		os.Remove(name) // if it is there
	case "link":
		os.Remove(name)
		err = os.Symlink("a.md", name)
	}
	if info, stat := os.Stat(name); err == nil && stat == nil && rapid.Bool().Draw(rt, "long ago") {
		err = os.Chtimes(name, info.ModTime(), time.Unix(1000, 0))
	}
	if err != nil && !errors.Is(err, syscall.ELOOP) {
		t.Fatal(err)
	}
}

// What a call does decides whether it is remembered.
func TestMemoRemembers(t *testing.T) {
	echo := starhost.Plugin{Name: "echo", Tools: []starhost.Tool{{Name: "echo", Description: "E.", Call: func(context.Context, *starhost.Turn, starhost.ToolCall) (starhost.Result, error) {
		return starhost.Result{}, nil
	}}}, FragmentLoaders: []starhost.FragmentLoader{{Prefix: "other", Load: func(context.Context, *starhost.Turn, string) (starhost.Context, error) {
		return starhost.Context{}, nil
	}}}}
	tests := []struct {
		body string
		want int64 // hits of the second call
	}{
		{`pass`, 1},
		{`ctx.plugin + ctx.config.team`, 1},
		{`ctx.log("info", "x", y = 1) or print("z")`, 1},
		{`ctx.fs.read("a.md") + str(ctx.fs.read_bytes("a.md")) + str(ctx.fs.stat("a.md"))`, 1},
		{`ctx.fs.glob("*") + [ctx.fs.exists("a.md"), ctx.fs.exists("b.md")]`, 1},
		{`[attachment(path = p) for p in ("a.md", "own.txt")] + files.glob("*")`, 1},
		{`ctx.session`, 0},
		{`ctx.turn`, 0},
		{`ctx.now`, 0},
		{`ctx.random`, 0},
		{`ctx.uuid()`, 0},
		{`ctx.env("REGION")`, 0},
		{`ctx.secret("TOKEN")`, 0},
		{`ctx.state.get("x")`, 0},
		{`ctx.store.get("x")`, 0},
		{`ctx.http.get`, 0},
		{`ctx.exec`, 0},
		{`ctx.tools.call("echo")`, 0},
		{`ctx.fragments.get("other:x")`, 0},
		{`ctx.progress(1)`, 0},
		{`ctx.fs.write`, 0},
		{`getattr(ctx, "now")`, 0},
		{`[ctx.log("info", str(i)) for i in range(200)]`, 0},
		{`[ctx.fs.exists("a.md") for i in range(200)]`, 0},
		{`["x" * 100000 for i in range(20)]`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.body, func(t *testing.T) {
			memo := new(builtins.Memo)
			l := script{
				src: `plugin(config = {"team": "a"}, permissions = ["fs.read:**", "env:REGION", "secret:TOKEN", "store", "tool:echo", "fragment:other"])` + `
def hook(ctx):
    [n for n in range(100)]
    ` + tt.body + `

register_hook("app.x", hook)
`,
				memo: memo, workspace: map[string]string{"a.md": "A"}, files: map[string]string{"own.txt": "own"}, others: []starhost.Plugin{echo},
				env: map[string]string{"TOKEN": "a secret"}, events: []starhost.EventSpec{{Name: "app.x"}},
			}.mustLoad(t)
			for range 2 {
				if _, errs := l.fire(t, &starhost.Event{Name: "app.x"}); errs != nil {
					t.Fatal(errs)
				}
			}
			if got := memo.Hits(); got != tt.want {
				t.Errorf("got %d hits, want %d", got, tt.want)
			}
		})
	}
}

// What a call is given and what it returns decide, too.
func TestMemoValues(t *testing.T) {
	tests := []struct {
		handler string
		want    int64
	}{
		{`lambda user_message, round, is_first_turn: work()`, 1},
		{`lambda messages: work()`, 0},
		{`lambda tools: work()`, 0},
		{`lambda **all: work()`, 0},
		{`lambda: work() and None`, 1},
		{`lambda: [fragment(work()), attachment(content = work())]`, 1},
		{`lambda: (work(), work())`, 1},
		{`lambda: work() and modify(model = "m")`, 1},
		{`lambda: work() and modify(options = {})`, 0},
		{`lambda: work() and abort("no")`, 1},
		{`lambda: "so little"`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.handler, func(t *testing.T) {
			memo := new(builtins.Memo)
			l := script{memo: memo, src: "def work():\n    return str([n for n in range(100)])\n\nregister_hook(\"pre_llm_call\", " + tt.handler + ")\n"}.mustLoad(t)
			first := l.prompt("hi")
			if diff := cmp.Diff(first, l.prompt("hi")); diff != "" {
				t.Errorf("again (-first +second):\n%s", diff)
			}
			if got := memo.Hits(); got != tt.want {
				t.Errorf("got %d hits, want %d", got, tt.want)
			}
		})
	}
}

// A call that another handler makes spends what that one has left, so it always runs.
func TestMemoNested(t *testing.T) {
	memo := new(builtins.Memo)
	l := script{memo: memo, src: `
plugin(permissions = ["fragment:inner"])

register_fragment_loader("inner", lambda arg: str([n for n in range(100)]))
register_fragment_loader("outer", lambda ctx, arg: ctx.fragments.get("inner:" + arg))
`}.mustLoad(t)
	l.prompt("hi", "inner:a")
	want := l.prompt("hi", "outer:a")
	if diff := cmp.Diff(want, l.prompt("hi", "outer:a")); diff != "" || memo.Hits() != 0 {
		t.Errorf("got %d hits, want none (-first +second):\n%s", memo.Hits(), diff)
	}
	if l.prompt("hi", "inner:a"); memo.Hits() != 1 {
		t.Errorf("by itself: got %d hits, want 1", memo.Hits())
	}
}

func TestMemoBounds(t *testing.T) {
	memo := new(builtins.Memo)
	l := script{memo: memo, src: `register_fragment_loader("big", lambda arg: ("x" * 500000)[:len(arg)])`}.mustLoad(t)
	for i := range 100 {
		l.prompt("hi", "big:"+strings.Repeat("a", i))
		if bytes, calls := memo.Size(); bytes > builtins.MaxMemo || calls == 0 {
			t.Fatalf("after %d calls: got %d bytes of %d calls, want at most %d", i+1, bytes, calls, builtins.MaxMemo)
		}
	}
	l.prompt("hi", "big:"+strings.Repeat("a", 5000))
	before := memo.Hits()
	if l.prompt("hi", "big:"+strings.Repeat("a", 5000)); memo.Hits() != before {
		t.Error("an argument over the limit was remembered")
	}
}

func TestMemoTogether(t *testing.T) {
	memo, dir := new(builtins.Memo), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "docs"), 0o755), os.WriteFile(filepath.Join(dir, "docs/a.md"), []byte("A"), 0o644)); err != nil {
		t.Fatal(err)
	}
	l := script{memo: memo, dir: dir, src: `
plugin(permissions = ["fs.read:**"])

def work(arg):
    return arg + str([n for n in range(100)])

register_fragment_loader("read", lambda ctx, arg: ctx.fs.read(arg) + work(arg))
register_fragment_loader("plain", work)
register_hook("pre_llm_call", lambda user_message: [user_message, work("")])
register_tool(lambda: ["a", work("")], name = "list", description = "Lists.")
`}.mustLoad(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				p, err := l.NewSession(starhost.SessionConfig{}).Prompt(t.Context(), starhost.Request{Text: "hi", Fragments: []string{"read:docs/a.md", "plain:a", "plain:b"}})
				if err != nil || !strings.Contains(p.Rendering(), "[0, 1, 2") {
					t.Errorf("got %v, %v", p, err)
				}
				if reply := l.call(t, "list", "{}"); !strings.HasPrefix(reply.Result.ForLLM, `["a","[0, 1`) {
					t.Errorf("got %v", reply)
				}
			}
		})
	}
	wg.Wait()
	if memo.Hits() == 0 {
		t.Error("nothing was recalled")
	}
}

// Arguments have the same key if they are the same.
func TestMemoKey(t *testing.T) {
	values := []starlark.Value{starlark.None, starlark.True, starlark.MakeInt(1), starlark.Float(1), starlark.String(""), starlark.String("s"), starlark.String("n")}
	keys := map[string]string{} // and what they are of
	add := func(args starlark.Tuple, kwargs ...starlark.Tuple) {
		key, ok := builtins.AppendKey(nil, args, kwargs)
		what := fmt.Sprint(args, kwargs)
		if old, taken := keys[string(key)]; !ok || taken {
			t.Errorf("%s: got the key of %s, want one of its own", what, old)
		}
		keys[string(key)] = what
	}
	name := starlark.String("s")
	add(nil)
	for _, x := range values {
		add(starlark.Tuple{x})
		add(nil, starlark.Tuple{name, x})
		for _, y := range values {
			add(starlark.Tuple{x, y})
			add(starlark.Tuple{x}, starlark.Tuple{name, y})
			add(nil, starlark.Tuple{name, x}, starlark.Tuple{name, y})
		}
	}
}
