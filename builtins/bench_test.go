package builtins_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/fragments"
	"go.starlark.net/starlark"
)

// benchHooks are hooks of pre_llm_call: one that does nothing, and the standard
// one of comparisons between hosts, which reads five roles and three names.
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

// benchEvent is a pre_llm_call with so many messages of so many bytes, and three
// tools.
func benchEvent(messages, size int) *starhost.Event {
	list := make([]starhost.Message, messages)
	for i := range list {
		list[i] = starhost.Message{Role: []string{starhost.RoleUser, starhost.RoleAssistant}[i%2], Content: fragments.NewText(strings.Repeat("x", size))}
	}
	tools := []starhost.Tool{{Name: "page"}, {Name: "restart"}, {Name: "search"}}
	return &starhost.Event{Name: "pre_llm_call", Messages: starhost.NewList(list), Tools: starhost.NewList(tools), Model: "m1", UserMessage: "hi"}
}

// BenchmarkHook measures a hook as the host fires it, the Go func that is
// registered for it, and the bare call of the same compiled function by the
// interpreter, which is what a host cannot go below.
func BenchmarkHook(b *testing.B) {
	for _, hook := range benchHooks {
		l := script{src: hook.def + "\nregister_hook(\"pre_llm_call\", hook)\n", endless: true}.mustLoad(b)
		e := benchEvent(5, 200)
		b.Run(hook.name+"/fire", func(b *testing.B) {
			l.inTurns(b, func(turn *starhost.Turn) error {
				_, err := turn.Fire(b.Context(), e)
				return err
			})
		})
		b.Run(hook.name+"/call", func(b *testing.B) {
			l.inTurns(b, func(turn *starhost.Turn) error {
				_, err := l.plugin.Hooks[0].Call(b.Context(), turn, e)
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

// inTurns runs work over and over, a new turn every thousand times, as a turn
// keeps a trace of all that happened in it.
func (l *loaded) inTurns(b *testing.B, work func(*starhost.Turn) error) {
	s := l.NewSession(starhost.SessionConfig{ID: "s1", Model: "m1"})
	var turn *starhost.Turn
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if n++; n%1000 == 1 {
			if turn != nil {
				turn.End(b.Context())
			}
			var err error
			if turn, err = s.Begin(b.Context(), starhost.Request{}); err != nil {
				b.Fatal(err)
			}
		}
		if err := work(turn); err != nil {
			b.Fatal(err)
		}
	}
}

// raw runs work with a call of the script's first handler by the interpreter
// alone, on a thread of the sandbox that stays the same, with arguments that
// were made before.
func (l *loaded) raw(t testing.TB, e *starhost.Event, args []string, work func(call func() error)) {
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
	inside := starlark.NewBuiltin("raw", func(th *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
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

// assembly is a host of ten plugins, each with a hook and a loader of five fragments
// of 4 KiB, of which 40 of 50 differ. A loader makes its texts for each call, or returns
// texts that its plugin made when it was loaded. refs returns references to all loaders.
func assembly(t testing.TB, made bool) (h *starhost.Host, refs func(arg string) []string) {
	t.Helper()
	text := "TEXTS[i]"
	if made {
		text = `"%s %d\n" % (arg, (FIRST + i) % 40) + BODY`
	}
	h = starhost.New(starhost.Options{})
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

// BenchmarkAssembly builds first prompts of sessions: of texts that no prompt had before,
// of texts that loaders make again, and of texts that plugins made once.
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
				if _, err := h.NewSession(starhost.SessionConfig{}).Prompt(b.Context(), starhost.Request{Text: "Why?", Fragments: refs(fmt.Sprint(n))}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
