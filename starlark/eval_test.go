package starlark

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
)

const evalModule = `
LIMIT = 3
seen = ["a"]

def double(x):
    return 2 * x

def forever(n):
    return [i for i in range(n) for _ in range(n)]
`

func TestEval(t *testing.T) {
	s, m, err := runText(t, evalModule, Exec{Env: starlark.StringDict{"config": starlark.String("c")}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ expr, want string }{
		{"1 + 1", "2"},
		{"double(LIMIT)", "6"},
		{" [double(x) for x in range(LIMIT)]\n", "[0, 2, 4]"},
		{"(lambda x: x + LIMIT)(1)", "4"},
		{"config + str(LIMIT)", `"c3"`},
		{"given + config", `"gc"`},
		{"None", "None"},
		{"1, 2", "(1, 2)"},
		{"{\n  1: 2,\n}", "{1: 2}"},
		{`"docstring"`, `"docstring"`},
		{"double", "<function double>"},
		{"", "expr: got nothing, want an expression"},
		{"# nothing", "expr: got nothing, want an expression"},
		{"x = 1", "expr:1:1: got a statement, want an expression"},
		{"1\n2", "expr:2:1: got more behind the expression, want one"},
		{"1 +", "expr:1:4: got end of file, want primary expression"},
		{"dubble(1)", "expr:1:1: undefined: dubble (did you mean double?)"},
		{"double(None)", "f.star:6:14: unknown binary op: int * NoneType"},
		{`seen.append("b")`, "expr:1:12: append: cannot append to frozen list"},
		{"(lambda: [x for x in [1]] + nothing)()", "expr:1:29: undefined: nothing"},
		{`load("x", "y")`, "expr:1:1: got a statement, want an expression"},
		{"$result", "expr:1:1: unexpected input character '$'"},
	}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			got, _, err := s.Eval(context.Background(), m, starlark.StringDict{"given": starlark.String("g")}, tt.expr)
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Eval (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEvalIsGuarded checks that an expression spends a budget as files and handlers do.
func TestEvalIsGuarded(t *testing.T) {
	s, m, err := runText(t, evalModule, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	for _, expr := range []string{"[i for i in range(1000000) for _ in range(1000000)]", "'x' * (1 << 29)", "forever(100000)", "[[1] * 10000000] * 100", "(lambda x: [[x] * 1000] * 1000)([1] * 1000)"} {
		_, usage, err := s.Eval(context.Background(), m, nil, expr)
		if _, ok := errors.AsType[*LimitError](err); !ok {
			t.Errorf("%s: got %v after %d steps, want a limit", expr, err, usage.Steps)
		}
	}
	_, usage, err := s.Eval(context.Background(), m, nil, "[double(x) for x in range(100)]")
	if err != nil || usage.Steps < 500 {
		t.Errorf("got %d steps and %v, want more than 500", usage.Steps, err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := s.Eval(cancelled, m, nil, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it is cancelled", err)
	}
	if _, _, err := s.Eval(context.Background(), m, nil, strings.Repeat("(", 5000)+"1"+strings.Repeat(")", 5000)); err == nil {
		t.Error("an expression nested too deeply was evaluated")
	}
}

// TestEvalSharesItsModule checks that concurrent expressions change neither the module nor each
// other.
func TestEvalSharesItsModule(t *testing.T) {
	s, m, err := runText(t, evalModule, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	for range 4 {
		go func() {
			text, _, err := s.Eval(context.Background(), m, nil, "[double(LIMIT)] + seen")
			if err != nil {
				text = err.Error()
			}
			done <- text
		}()
	}
	for range 4 {
		if diff := cmp.Diff(`[6, "a"]`, <-done); diff != "" {
			t.Errorf("Eval (-want +got):\n%s", diff)
		}
	}
}

// TestEncodeJSON checks that json.encode writes a character in one way, whatever else its text has.
func TestEncodeJSON(t *testing.T) {
	s := New(Options{})
	_, m, err := evalIn(s, `u = json.encode(["<&>", "<&>é", "<&>\n"])`, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Globals["u"], starlark.String(`["<&>","<&>é","<&>\n"]`); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
