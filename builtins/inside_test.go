package builtins_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/starlark"
)

// TestInside checks that an expression inside a plugin sees its ctx and config, and cannot
// register.
func TestInside(t *testing.T) {
	l, err := script{src: "plugin(config = {\"team\": \"ops\"})\n"}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	box := starlark.New(starlark.Options{})
	for _, e := range builtins.Table(box) {
		if e.Value == nil {
			continue
		}
		if err := box.Define(e.Name, e.Value, e.Cost); err != nil {
			t.Fatal(err)
		}
	}
	turn, err := l.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	eval := func(expr string) (text string) {
		err := turn.As(t.Context(), "test", func(ctx context.Context) error {
			ctx, names := l.rec.Inside(ctx)
			file, err := box.Parse("x.star", []byte("x = "+expr))
			if err != nil {
				return err
			}
			m, _, err := box.Run(ctx, file, starlark.Exec{Env: names})
			if err == nil {
				text = m.Globals["x"].String()
			}
			return err
		})
		if err != nil {
			return err.Error()
		}
		return text
	}
	tests := []struct{ expr, want string }{
		{"ctx.plugin + config.team", `"testops"`},
		{"ctx.turn", "1"},
		{"[ctx.state.set('k', 1), ctx.state.get('k')]", "[None, 1]"},
		{"ctx.state.get('k')", "1"},
		{"ctx.log('info', 'hello')", "None"},
		{"register_hook('pre_llm_call', lambda: None)", "x.star:1:18: register_hook: got a registration in a handler, want it while the plugin is loaded: move it to the top level"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, eval(tt.expr)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.expr, diff)
		}
	}
	if len(l.logs) != 1 || l.logs[0].Text != "hello" {
		t.Errorf("got the log lines %v, want hello", l.logs)
	}
}
