package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bazelbuild/buildtools/build"
	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/editor/lint"
)

// words is a small vocabulary.
var words = lint.Vocabulary{
	Params: map[string][]string{
		"ctx.session": nil, "ctx.state.set": {"key", "value"}, "ctx.state.get": {"key", "default=None"},
		"json.encode": {"x"}, "approve": {}, "modify": {"**changes"}, "fail": {"*args", `sep=" "`},
	},
	Modules: []string{"json"},
	Views:   map[string][]string{"messages": {"last", "roles"}},
	Decisions: map[string][]string{
		"": {"deny", "ask", "abort", "modify"}, "call": {"deny", "ask", "modify"}, "prompt": {"abort"}, "told": {},
	},
}

func TestMisuses(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"a member of ctx", "def f(ctx):\n  return ctx.sesion", "2:14 ctx has no sesion (did you mean session?)"},
		{"a member of a part of ctx", "def f(ctx):\n  return ctx.state.add(1)", "2:20 ctx.state has no add, it has get, set"},
		{"deeper than the table", "def f(ctx):\n  return ctx.session.id", ""},
		{"ctx of the file", "ctx = struct()\nx = ctx.sesion", ""},
		{"a module", "x = json.dumps", "1:10 json has no dumps, it has encode"},
		{"a module of the file", "json = struct()\nx = json.dumps", ""},
		{"a parameter that hides a module", "def f(json):\n  return json.dumps", ""},
		{"a lambda's parameter", "f = lambda json: json.dumps", ""},
		{"a comprehension's name", "x = [json.dumps for json in []]", ""},
		{"a view", "def f(messages):\n  return messages.lst()\nregister_hook('e', f)", "2:19 messages has no lst (did you mean last?)"},
		{"a view by name", "def f(messages):\n  return messages.lst()\nregister_hook('e', handler = f)", "2:19 messages has no lst (did you mean last?)"},
		{"no handler", "def f(messages):\n  return messages.lst()", ""},
		{"too many", "approve('x')", "1:1 approve: got 1 arguments by position, want at most 0; want approve()"},
		{"missing", "def f(ctx):\n  ctx.state.set('n')", "2:3 ctx.state.set: missing argument value; want ctx.state.set(key, value)"},
		{"unknown", "def f(ctx):\n  ctx.state.get('n', defalt = 1)", "2:3 ctx.state.get: unknown argument defalt (did you mean default?); want ctx.state.get(key, default=None)"},
		{"by name", "def f(ctx):\n  ctx.state.set(value = 1, key = 'n')", ""},
		{"starred", "def f(ctx, a):\n  ctx.state.set(*a)\n  approve(**a)", ""},
		{"any names", "modify(a = 1)", ""},
		{"any number", "fail(1, 2, 3)", ""},
		{"an item", "def f(ctx):\n  ctx.state['n'] += 1", "2:3 ctx.state takes no assignment to items: write ctx.state.set(key, value)"},
		{"a refusal in another form", "register_hook('prompt', lambda: deny('no'))", "1:33 prompt has no deny, which counts as abort there: return abort(...)"},
		{"an abort of a call", "def f():\n  if x:\n    return abort('no')\nregister_hook('call', f)", "3:12 call has no abort, which counts as deny there: return deny(...)"},
		{"in a branch", "register_hook('prompt', lambda: (ask('no') if x else None))", "1:34 prompt has no ask, which counts as abort there: return abort(...)"},
		{"a change", "register_hook(event = 'prompt', handler = lambda: modify(a = 1))",
			"1:51 prompt has no modify, so the handler fails whenever it returns this: it has abort"},
		{"a decision about what is told", "register_hook('told', lambda: deny('no'))",
			"1:31 told has no deny, so the handler fails whenever it returns this: it has nothing"},
		{"a decision of the event", "register_hook('call', lambda: deny('no'))", ""},
		{"of an inner function", "def f():\n  def g():\n    return abort('no')\n  return deny('no')\nregister_hook('call', f)", ""},
		{"an unknown event", "register_hook('mine', lambda: deny('no'))", ""},
		{"the file's own function", "def abort(why):\n  return None\nregister_hook('call', lambda: abort('no'))", ""},
		{"an item of a dict", "def f(state):\n  state['n'] = 1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := build.ParseDefault("f.star", []byte(tt.src+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range lint.Misuses(f, words) {
				got = append(got, fmt.Sprintf("%d:%d %s", w.Line, w.Col, w.Msg))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
