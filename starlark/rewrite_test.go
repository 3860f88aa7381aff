package starlark

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/starnames"
)

// stockOptions is the dialect of the sandbox, for runs of the plain interpreter.
func stockOptions() *syntax.FileOptions {
	o := dialect
	return &o
}

// runStock evaluates src without guards.
func runStock(src string) (starlark.StringDict, error) {
	th := &starlark.Thread{Print: func(*starlark.Thread, string) {}}
	th.SetMaxExecutionSteps(1_000_000)
	return starlark.ExecFileOptions(stockOptions(), th, "f.star", src, starlark.StringDict{
		"struct": starlark.NewBuiltin("struct", starlarkstruct.Make),
		"json":   json.Module,
	})
}

// runGuarded evaluates src with guards.
func runGuarded(t testing.TB, src string) (starlark.StringDict, error) {
	s := New(Options{})
	defineAll(t, s, starlark.StringDict{"struct": starlark.NewBuiltin("struct", starlarkstruct.Make)})
	_, m, err := evalIn(s, src, Exec{})
	if err != nil {
		return nil, err
	}
	return m.Globals, nil
}

// backtraceExamples fail at the same positions in stock and with guards.
var backtraceExamples = []string{
	"def f(a, b):\n    return 1 + a + b\ndef g():\n    return f(2, 'x')\ng()",
	"x = [1]\ny = 'k'\nz = x[y]",
	"d = {}\nk = 'a'\nd[k]",
	"x = 'a'.join([1, 2])",
	"x = 'a' + str(1) + 'b'.join([1]) + 'c'",
	"def f(str): return 'a' + str(1) + 'b'\nx = f(lambda i: i)",
	"x = 'a' + 'b'.upper() + 1 + 'c'",
	"x = 3\nx[0] = 1",
	"l = [1]\nl[0] += 'a'",
	"a = {}\nb = [1]\na[b] = 1",
	"x = [i for i in range(3) if i.foo]",
	"def g(p, q): return p < q\ng([1], 'x')",
	"x = sorted([1,2], key = lambda v: v + 'a')",
	"x = max([1,2], key = lambda v: v + 'a')",
	"s = 'abc'\nn = 'x'\ns[n:]",
	"x = {}\nx |= {1: 2}\nx = x | 3",
	"def f(*a, **k): return a\nn = 3\nf(*n)",
	"def f(*a, **k): return a\nn = 3\nf(**n)",
	"def f(**k): return 1 // 0\nf()",
	"m = [1].index(5)",
	"x = int('zz')",
	"a = 'x'\nb = 1\nif a in b: pass",
	"x = 'abc' % (1, 2)",
	"def f():\n    t = (1,)\n    u = t + [2]\n    return u\nf()",
	"fail('boom', 3)",
	"x = {[]: 1}",
	"x = {1: 2, 1: 3}",
	"x = {k: 1 for k in [[]]}",
	"a = [0]\na[3], b = 1, 2",
	"a, b = 1",
	"x = -'a'",
	"x = ~[]",
	"x = 1\nx.y = 2",
	"x = 1\nx.y += 2",
	"x = [].nosuch",
	"x = [1]\nx.nosuch(1)",
	"x = [1]\nx.keys(1)",
	"def f(x): return x\nf(1)(2)(3)",
	"def f(): return f()\nf()",
	"x = [1, 2, 3]\nfor y in x: x.append(y)",
	"x = 1 << 600",
	"x = 1 // 0",
	"x = 1 % 0",
	"x = 'a' * 'b'",
	"x = 'abc'[10]",
	"x = (1, 2)[5]",
	"x = [1, 2][-9]",
	"x = 'a'['b']",
	"x = dict([1])",
	"x = set([[]])",
	"x = set([1]) - 3",
	"x = list(3)",
	"x = zip(1)",
	"x = min([])",
	"x = getattr(1, 'x')",
	"x = 'x'.format('{}')\ny = '{} {}'.format(1)",
	"x = '{a}'.format(b = 1)",
	"x = [][0]",
	"x = struct(a = 1).b",
	"x = struct(f = lambda: 1 // 0)\nx.f()",
	"x = len(1)",
	"x = ord('ab')",
	"def f(a, b = 1): return a\nf(c = 3)",
	"x = range(1, 2, 0)",
	"x = 'abc'.replace(1)",
	"x = {}.pop('a')",
	"x = {}.popitem()",
	"x = [1].remove(2)",
	"x = [].pop()",
	"x = bytes([300])",
	"x = [x for x in 5]",
	"x = 1 + (2 + (3 + 'a'))",
	"def f():\n  x += 1\nf()",
	"x %= {}",
	"len += 1",
	"len |= {}",
	"y = len([1])\nlen += y",
	"if True:\n  x += 1",
	"def f():\n  y = x\n  x = 1\nf()",
}

// backtrace formats the stack of an interpreter's error, without helpers.
func backtrace(err error) string {
	var e *starlark.EvalError
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	var b strings.Builder
	for _, f := range e.CallStack {
		if f.Pos.Line > 0 && f.Name[0] != '$' {
			fmt.Fprintf(&b, "%s: in %s\n", f.Pos, f.Name)
		}
	}
	return b.String() + e.Msg
}

func TestBacktracesAreThoseOfStock(t *testing.T) {
	moved := map[string]bool{
		// With guards, a slice fails at its bracket; stock reports the last operand.
		"s = 'abc'\nn = 'x'\ns[n:]": true,
		// With guards, a missing method fails at the parenthesis of its call, after the arguments;
		// stock reports the point, before the arguments.
		"x = [1]\nx.nosuch(1)": true,
		"x = [1]\nx.keys(1)":   true,
	}
	for _, src := range backtraceExamples {
		_, err := runStock(src)
		if err == nil {
			t.Errorf("%q: stock does not fail", src)
			continue
		}
		_, guarded := runGuarded(t, src)
		if diff := cmp.Diff(backtrace(err), backtrace(guarded)); diff != "" && !moved[src] {
			t.Errorf("%q: backtrace (-stock +guarded):\n%s", src, diff)
		}
	}
}

// sameExamples have the same values in stock and with guards.
var sameExamples = []string{
	"a = [1, 2, 3]\na[1] += 5\na[0], b = 7, a[0]\n",
	"i = 0\na = [5, 6]\ni, a[i] = 1, 9\n",
	"a = [[0], [0]]\nfor a[0][0] in [1, 2, 3]: pass\n",
	"d = {}\nd['a'] = 1\nd['a'] += 2\nd |= {'b': 3}\n",
	"log = []\ndef t(x):\n    log.append(x)\n    return x\na = [0, 0]\na[t(1)] = t(2)\na[t(0)] += t(3)\nd = {t('k'): t('v'), t('k2'): t('v2')}\nt('a') < t('b')\nx = t(1) + t(2) * t(3)\n",
	"def f(a, *args, k = 1, **kw):\n    return (a, args, k, kw)\nx = f(1, *[2, 3], **{'k': 4, 'z': 5})\ny = f(*(1, 2))\nz = f(a = 1, b = 2)\n",
	"x = {k: v for k, v in [('a', 1), ('b', 2), ('a', 3)]}\ny = [i * j for i in range(4) for j in range(i) if i != j]\n",
	"x = 'abc'[::-1] + 'abcdef'[1:4] + 'abcdef'[-2:]\ny = [1, 2, 3, 4, 5][::2]\nz = (1, 2, 3)[::-1]\nw = range(10)[2:8:3]\nv = list(range(10)[::-2])\nu = b'abc'[1:]\n",
	"def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\nx = fib(200)\n",
	"x = 1 << 100\ny = x * x // 3 - x % 7 + (x | 1) - (x & 255) ^ 3\nz = -x\nw = ~x\nv = x >> 90\nu = x > y, x == x, x < 1.5, 2.5 < x, x != y\n",
	"s = set([1, 2]) | set([3])\nt = s & set([1, 3])\nu = s - t\nv = s ^ t\nw = s.union([9], [8])\nx = s.issuperset([1]), s.issubset([1, 2, 3, 4])\n",
	"x = sorted([3, 1, 2], key = lambda v: -v)\ny = sorted(['b', 'a'], reverse = True)\nz = max(3, 1), min([4, 2]), max('a', 'bcd', key = len)\n",
	"x = '%s %r %d %%' % ('a', 'b', 3)\ny = '%(a)s' % {'a': 1}\nz = '{} {a} {0!r}'.format\nw = '{} {}'.format(1, 'x')\n",
	"x = ' a b '.strip().split(' ')\ny = 'a,b,c'.rsplit(',', 1)\nz = 'a\\nb\\n'.splitlines()\nw = 'Hello'.lower().startswith('he'), 'x'.endswith(('y', 'x'))\nv = ','.join(['a', 'b'])\nu = 'aXbX'.replace('X', '-', 1)\nt = 'abc'.find('c'), 'abc'.rfind('z'), 'abc'.count('')\n",
	"x = dict(a = 1)\nx.update([('b', 2)], c = 3)\ny = x.items(), x.keys(), x.values(), x.get('z', 0), x.setdefault('d', 4), x.pop('a')\nz = x.popitem()\nw = 'b' in x, 'q' not in x\n",
	"x = [1, 2, 3]\nx.insert(1, 9)\nx.extend([4])\nx += (5,)\nx.remove(2)\ny = x.index(9), x.pop(), x.pop(0)\nx.append('a')\n",
	"x = struct(a = 1, b = [2]) + struct(c = 3)\ny = x.a, x.b[0], dir(x), hasattr(x, 'q'), getattr(x, 'q', 4)\nz = x == x, struct(a = 1) != struct(a = 2)\n",
	"x = [1, [2, (3, {'a': 4})]] == [1, [2, (3, {'a': 4})]]\ny = (1, 2) < (1, 3), [1] <= [1, 2], 'a' < 'b', (1,) > ()\n",
	"def f():\n    \"\"\"doc\"\"\"\n    return 1\nx = str(f), repr(f), str(len), str('a'.join), type(f)\n",
	"n = 3\nx = 'a' + str(n) + 'b' + ','.join(['c', 'd']) + '%d' % n + ('e' + repr(n)) + 'x'.upper() + 'y'\ny = 'a' + ('b' + 'c') + 'd'\n",
	"def f(str): return 'a' + str(1) + 'b' + str(2)\nx = f(lambda i: 'c' * i)\ndef g(t): return 'a' + 'b'.join([t]) + t + 'c'\ny = g('t')\nz = \"\" + str(\"é\") + '\\x00'\n",
	"def f(n):\n    s = 0\n    for i in range(n):\n        s += i\n        s -= 1\n        t = s * 2 + i % 3 - (i // 2)\n        if t > s and i != 3: s = s + t\n    return s\nx = f(40)\n",
	"x = list(enumerate(['a', 'b'], 3))\ny = zip([1, 2], 'ab'.elems())\nz = list(reversed([1, 2])), tuple('ab'.codepoints()), bytes('é'), any([0, 1]), all([0, 1])\n",
	"x = int('ff', 16), int('0b11', 0), int(3.7), float('1.5'), hash('abc'), abs(-3), bool([]), chr(65), ord('A')\n",
	"x = (lambda a, b = 2: a + b)(1)\ny = [f(2) for f in [lambda v: v + 1]]\nz = (lambda *a, **k: (a, k))(1, b = 2)\n",
	"x = 1 if 2 > 1 else 3\ny = not 1 in [1]\nz = 1 and 2 or 3\n",
	"None_ = 3\nx = 'abc'[1:]\n",
	"x = str(0)" + strings.Repeat(" + str(1) + 'b'", 100) + "\n", // more terms than one call takes
}

func TestValuesAreThoseOfStock(t *testing.T) {
	for _, src := range sameExamples {
		want, err := runStock(src)
		if err != nil {
			t.Errorf("%q: stock: %v", src, err)
			continue
		}
		got, err := runGuarded(t, src)
		if err != nil {
			t.Errorf("%q: guarded: %v", src, err)
			continue
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%q: globals (-stock +guarded):\n%s", src, diff)
		}
	}
}

// unguardedOps returns the operations of a rewritten tree that can amplify. It omits operations on
// small numbers.
func unguardedOps(f *syntax.File) []string {
	var list []string
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DotExpr:
			list = append(list, fmt.Sprintf("%s: .%s", n.Dot, n.Name.Name))
		case *syntax.SliceExpr:
			list = append(list, fmt.Sprintf("%s: slice", n.Lbrack))
		case *syntax.BinaryExpr:
			switch n.Op {
			case syntax.IN, syntax.NOT_IN, syntax.PIPE, syntax.AMP, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT:
				list = append(list, fmt.Sprintf("%s: %s", n.OpPos, n.Op))
			}
		case *syntax.AssignStmt:
			if _, ok := n.LHS.(*syntax.DotExpr); ok {
				return false // an assigned field
			}
			switch n.Op {
			case syntax.EQ, syntax.PLUS_EQ, syntax.MINUS_EQ, syntax.STAR_EQ,
				syntax.SLASH_EQ, syntax.SLASHSLASH_EQ, syntax.PERCENT_EQ:
			default:
				list = append(list, fmt.Sprintf("%s: %s", n.OpPos, n.Op))
			}
		case *syntax.Comprehension:
			if n.Curly {
				list = append(list, fmt.Sprintf("%s: dict comprehension", n.Lbrack))
			}
		}
		return true
	})
	return list
}

func TestNothingIsLeftUnguarded(t *testing.T) {
	for _, src := range append(sameExamples, backtraceExamples...) {
		f, err := New(Options{}).Parse("f.star", []byte(src))
		if err != nil {
			continue
		}
		before := unguardedOps(f.Syntax())
		tree := f.Syntax()
		if err := rewrite(tree, func(string) bool { return false }, nil); err != nil {
			t.Errorf("%q: %v", src, err)
			continue
		}
		if left := unguardedOps(tree); len(left) > 0 {
			t.Errorf("%q: left unguarded: %v", src, left)
		}
		if diff := cmp.Diff(before, unguardedOps(f.Syntax())); diff != "" {
			t.Errorf("%q: the file's own tree was changed (-want +got):\n%s", src, diff)
		}
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"counted loop", "for i in range(3):\n  x = i + 1\n", "i small, x tame"},
		{"sum", "s = 0\nfor i in range(3):\n  s += i\n", "i small, s tame"},
		{"doubling is no sum", "s = 1\nfor i in range(3):\n  s += s\n", "i small, s integer"},
		{"fibonacci", "a, b = 0, 1\nfor _ in range(9):\n  a, b = b, a + b\n", "_ small, a integer, b integer"},
		{"product", "i = 3\nx = i * i\ny = x * x\n", "i small, x term, y integer"},
		{"other values", "s = 0\ns = 'a'\nt = f()\n", ""},
		{"unpacked", "s = 0\ns, t = f()\n", ""},
		{"enumerate", "for i, x in enumerate(xs):\n  n = i\n", "i small, n small"},
		{"redefined range", "range = list\nfor i in range(3): pass\n", ""},
		{"length", "n = len(xs)\nm = n // 2\nk = -n % 7\n", "k small, m tame, n small"},
		{"chain", "a = b\nb = c\nc = 'x'\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := New(Options{}).Parse("f.star", []byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			bound := starnames.Bound(f.tree)
			r := &rewriter{isShadowed: func(name string) bool { return bound[name] }}
			var got []string
			for name, k := range r.findIntKinds(f.tree.Stmts, nil) {
				got = append(got, name+" "+[]string{"unknown", "integer", "tame", "term", "small"}[k])
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("numbers (-want +got):\n%s", diff)
			}
		})
	}
}
