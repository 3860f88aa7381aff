package builtins_test

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// benchHooks are hooks of pre_llm_call: an empty one, and the standard hook of comparisons
// between hosts, which reads five roles and three names.
var benchHooks = []struct {
	name, def string
	args      []string
}{
	{"noop", "def hook():\n    return None\n", nil},
	{"standard", `
def hook(messages, tools):
    return "%s; tools: %s" % (", ".join([m.role for m in messages]), ", ".join([t["name"] for t in tools]))
`, []string{"messages", "tools"}},
	{"columns", `
def hook(messages, tools):
    return "%s; tools: %s" % (", ".join(messages.roles), ", ".join(tools.names))
`, []string{"messages", "tools"}},
}

// benchEvent returns a pre_llm_call with three tools and the given number and size of messages.
func benchEvent(messages, size int) *starhost.Event {
	list := make([]starhost.Message, messages)
	for i := range list {
		role := []string{starhost.RoleUser, starhost.RoleAssistant}[i%2]
		list[i] = starhost.Message{Role: role, Content: fragments.NewText(strings.Repeat("x", size))}
	}
	tools := []starhost.Tool{{Name: "page"}, {Name: "restart"}, {Name: "search"}}
	return &starhost.Event{
		Name: "pre_llm_call", Model: "m1", UserMessage: "hi",
		Messages: starhost.NewList(list), Tools: starhost.NewList(tools),
	}
}

// BenchmarkHook measures a hook at three levels: fired by the host, as a registered Go
// function, and as a bare call by the interpreter. No host can be faster than the last.
func BenchmarkHook(b *testing.B) {
	for _, hook := range benchHooks {
		l := script{src: hook.def + "\nregister_hook(\"pre_llm_call\", hook)\n", endless: true}.mustLoad(b)
		e := benchEvent(5, 200)
		b.Run(hook.name+"/fire", func(b *testing.B) {
			l.inTurns(b, func(turn *host.Turn) error {
				_, err := turn.Fire(b.Context(), e)
				return err
			})
		})
		b.Run(hook.name+"/call", func(b *testing.B) {
			l.inTurns(b, func(turn *host.Turn) error {
				_, err := l.plugin.Hooks[0].Call(b.Context(), e)
				return err
			})
		})
		b.Run(hook.name+"/raw", func(b *testing.B) {
			l.raw(b, e, hook.args, func(call func() error) {
				b.ReportAllocs()
				for b.Loop() {
					if err := call(); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// inTurns repeats work, with a new turn every thousand times, because a turn stores a trace of
// its events.
func (l *loadedScript) inTurns(b *testing.B, work func(*host.Turn) error) {
	s := l.NewSession(host.SessionConfig{ID: "s1", Model: "m1"})
	var turn *host.Turn
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if n++; n%1000 == 1 {
			if turn != nil {
				turn.End(b.Context())
			}
			var err error
			if turn, err = s.Begin(b.Context(), host.Request{}); err != nil {
				b.Fatal(err)
			}
		}
		if err := work(turn); err != nil {
			b.Fatal(err)
		}
	}
}

// raw runs work with a function that makes the interpreter call the script's first handler. All
// calls use the same thread of the sandbox and the same arguments.
func (l *loadedScript) raw(t testing.TB, e *starhost.Event, args []string, work func(call func() error)) {
	t.Helper()
	fn := l.rec.Handlers()[0].(*starlark.Function)
	var values starlark.Tuple
	for _, name := range args {
		v, err := builtins.ArgumentValue(e.Arg(name))
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	inside := starlark.NewBuiltin("raw", func(
		th *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple,
	) (starlark.Value, error) {
		work(func() error {
			_, err := starlark.Call(th, fn, values, nil)
			return err
		})
		return starlark.None, nil
	})
	if _, _, err := l.box.Call(t.Context(), inside, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// assembly returns a host of ten plugins, each with a hook and a loader of five fragments of 4 KiB. 40 of the
// 50 fragments differ. If made is true, a loader returns texts that its plugin created when starhost loaded
// the plugin; otherwise the loader creates its texts in each call. refs returns references to all loaders.
func assembly(t testing.TB, made bool) (h *host.Host, refs func(arg string) []string) {
	t.Helper()
	text := "TEXTS[i]"
	if made {
		text = `"%s %d\n" % (arg, (FIRST + i) % 40) + BODY`
	}
	h = host.New(host.Options{})
	for i := range 10 {
		l := script{src: fmt.Sprintf(`
FIRST = %d
BODY = "0123456789abcde\n" * 255
TEXTS = ["%%d\n" %% ((FIRST + i) %% 40) + BODY for i in range(5)]
def load_docs(arg):
    return [fragment(%s, source = "%%d.md" %% i) for i in range(5)]
register_fragment_loader("docs%d", load_docs)
register_hook("pre_llm_call", lambda messages: "remember %d")
`, 5*i, text, i, i)}.mustLoad(t)
		l.plugin.Name = fmt.Sprintf("p%d", i)
		if err := h.Add(*l.plugin); err != nil {
			t.Fatal(err)
		}
	}
	return h, func(arg string) (refs []string) {
		for i := range 10 {
			refs = append(refs, fmt.Sprintf("docs%d:%s", i, arg))
		}
		return refs
	}
}

// BenchmarkAssembly builds first prompts of sessions: with new texts, with texts that the
// loaders create again, and with texts that the plugins created once.
func BenchmarkAssembly(b *testing.B) {
	for _, name := range []string{"new", "again", "held"} {
		b.Run(name, func(b *testing.B) {
			h, refs := assembly(b, name != "held")
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				if name == "new" {
					n++
				}
				r := host.Request{Text: "Why?", Fragments: refs(fmt.Sprint(n))}
				if _, err := h.NewSession(host.SessionConfig{}).Prompt(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
