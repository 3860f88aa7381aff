package starlark

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A program generates random statements over variables of a few types. The rewriter leaves half of
// its arithmetic without guards (see int_kinds.go). Now and then a type is wrong.
type program struct {
	t     *rapid.T
	b     strings.Builder
	depth int
}

// These are variables and leaves of expressions, by type. a and b are parameters, so the rewriter must expect
// any value in them.
var (
	varsOf = map[string][]string{
		"int": {"a", "b", "c", "i", "n"}, "string": {"s", "u"}, "list": {"xs", "ys"}, "dict": {"d"}, "bool": {"ok"},
	}
	leavesOf = map[string][]string{
		"int":    {"0", "1", "-3", "7", "255", "1 << 40", "9223372036854775807", "len(xs)", "len(s)", "d.get(1, 4)"},
		"string": {"'ab'", "''", "'x' * 3", "str(n)", "type(d)"},
		"list":   {"[]", "[1, 2]", "[5] * 3", "list(range(4))", "sorted([3, 1, 2])", "d.keys()"},
		"dict":   {"{}", "{1: 2}", "dict(d)", "{k: 1 for k in [1, 2]}"},
		"bool":   {"True", "False", "1 in d", "3 in xs", "not s"},
	}
	types = []string{"int", "int", "int", "string", "list", "dict", "bool"}
)

func (p *program) pick(what string, from []string) string {
	return rapid.SampledFrom(from).Draw(p.t, what)
}

func (p *program) line(format string, args ...any) {
	fmt.Fprintf(&p.b, strings.Repeat("  ", p.depth+1)+format+"\n", args...)
}

func (p *program) statement() {
	typ := p.pick("type", types)
	switch rapid.IntRange(0, 8).Draw(p.t, "statement") {
	case 0, 1:
		p.line("%s = %s", p.pick("target", varsOf[typ]), p.expr(typ, 3))
	case 2, 3:
		p.line("%s %s %s", p.pick("target", varsOf["int"]), p.pick("augment", []string{"+=", "-=", "*=", "//=", "%=", "|=", ">>="}), p.expr("int", 2))
	case 4:
		p.line("d[%s] = %s", p.expr("int", 1), p.expr("int", 2))
	case 5:
		p.line("%s += %s", p.pick("target", []string{"xs", "ys", "xs[0]", "d[1]", "s", "ys[-1]"}), p.expr(p.pick("operand", []string{"int", "list", "string"}), 2))
	case 6:
		p.line("%s, %s = %s, %s", p.pick("target", varsOf["int"]), p.pick("target", append([]string{"xs[0]", "d[1]"}, varsOf["int"]...)), p.expr("int", 2), p.expr("int", 2))
	case 7:
		p.block("for %s in %s:", p.pick("variable", varsOf["int"]), p.pick("sequence", []string{"range(4)", "range(3, 9, 2)", "[1, 2]", "range(len(xs))", "list(xs)"}))
	case 8:
		p.block("if %s:", p.expr("bool", 2))
	}
}

func (p *program) block(format string, args ...any) {
	if p.depth > 2 {
		p.line("pass")
		return
	}
	p.line(format, args...)
	p.depth++
	for range rapid.IntRange(1, 3).Draw(p.t, "length") {
		p.statement()
	}
	p.depth--
}

// expr returns an expression of a type, or sometimes of another type.
func (p *program) expr(typ string, depth int) string {
	if rapid.IntRange(0, 60).Draw(p.t, "wrong") == 60 {
		typ = p.pick("type", types)
	}
	if depth == 0 || rapid.IntRange(0, 3).Draw(p.t, "leaf") == 0 {
		return p.pick("leaf", append(varsOf[typ], leavesOf[typ]...))
	}
	sub := func(typ string) string { return p.expr(typ, depth-1) }
	switch typ {
	case "int":
		op := p.pick("operator", []string{"+", "-", "*", "//", "%", "&", "|", "^", "neg", "not", "<<", ">>", "if", "max", "["})
		switch op {
		case "neg", "not":
			return map[string]string{"neg": "-", "not": "~"}[op] + "(" + sub("int") + ")"
		case "if":
			return fmt.Sprintf("(%s if %s else %s)", sub("int"), sub("bool"), sub("int"))
		case "max":
			return fmt.Sprintf("max(%s, %s)", sub("int"), sub("int"))
		case "[":
			return fmt.Sprintf("(%s)[%s %% 2]", "[1, n, 3]", sub("int"))
		case "<<", ">>":
			return fmt.Sprintf("(%s %s %d)", sub("int"), op, rapid.IntRange(0, 70).Draw(p.t, "count"))
		}
		return fmt.Sprintf("(%s %s %s)", sub("int"), op, sub("int"))
	case "string":
		return fmt.Sprintf(p.pick("text", []string{"(%s + %s)", "'%%s-%%s' %% (%s, %s)", "%s.replace('a', %s)", "%s.join(['q', %s])"}), sub("string"), sub("string"))
	case "list":
		return fmt.Sprintf(p.pick("list", []string{"(%s + %s)", "[e for e in %s if e not in %s]", "sorted(%s + %s, key = str)", "(%s)[len(%s) //2:]", "list(zip(%s, %s))"}), sub("list"), sub("list"))
	case "dict":
		return fmt.Sprintf("(%s | %s)", sub("dict"), sub("dict"))
	}
	op := p.pick("comparison", []string{"==", "!=", "<", "<=", ">", ">="})
	of := p.pick("type", []string{"int", "int", "string", "list"})
	return fmt.Sprintf("(%s %s %s)", sub(of), op, sub(of))
}

// TestRandomProgramsAreThoseOfStock checks that random programs have the same results with guards
// and without.
func TestRandomProgramsAreThoseOfStock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &program{t: t}
		for range rapid.IntRange(1, 12).Draw(t, "length") {
			p.statement()
		}
		src := "def f(a, b):\n  c = 1\n  i = 0\n  n = 3\n  s = 'st'\n  u = 'uv'\n  xs = [3, 1]\n  ys = [4]\n  d = {1: 2}\n  ok = True\n" + p.b.String() +
			"  return (a, b, c, i, n, s, u, xs, ys, d, ok)\nx = f(1, 5)\ny = f(1 << 70, 4)\n"
		s := New(Options{Limits: Limits{Steps: 200_000, Memory: 8 << 20, Timeout: time.Minute}})
		_, m, err := evalIn(s, src, Exec{})
		var e *Error
		if errors.As(err, &e) && strings.HasPrefix(e.Code, "E04") {
			return
		}
		want, stock := runStock(src)
		switch {
		case (stock == nil) != (err == nil):
			t.Fatalf("stock: %v, guarded: %v\n%s", stock, err, src)
		case stock != nil:
			if !sameFailure(stock, err) {
				t.Fatalf("stock: %q, guarded: %q\n%s", stock, err, src)
			}
		case m.Globals["x"].String() != want["x"].String() || m.Globals["y"].String() != want["y"].String():
			t.Fatalf("stock has %v, guarded %v\n%s", want, m.Globals, src)
		}
	})
}
