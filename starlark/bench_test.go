package starlark

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	sjson "go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// benchScripts are pairs of a name and a file with a function main. The first file is a typical hook; each of
// the others does one kind of work.
var benchScripts = []struct{ name, src string }{
	{"prompt hook", `
TEMPLATE = "You are {name}. Tools: {tools}."
def on_prompt(ctx):
    msgs = ctx["messages"]
    out = []
    for m in msgs:
        if m["role"] == "system":
            continue
        t = m["content"].strip()
        if len(t) > 200:
            t = t[:200] + "..."
        out.append({"role": m["role"], "content": t})
    tools = ", ".join([t["name"] for t in ctx["tools"] if t.get("enabled", True)])
    head = TEMPLATE.format(name = ctx["name"], tools = tools)
    return {"system": head, "messages": out, "n": len(out)}
CTX = {"name": "bot", "tools": [{"name": "t%d" % i, "enabled": i % 2 == 0} for i in range(8)],
       "messages": [{"role": "user" if i % 2 else "system", "content": "  hello number %d " % i * 20} for i in range(20)]}
def main():
    for _ in range(10):
        r = on_prompt(CTX)
    return r
`},
	{"fib", `
def main():
    return a(16)
def a(n):
    if n < 2: return n
    return b(n-1) + b(n-2)
def b(n):
    if n < 2: return n
    return c(n-1) + c(n-2)
def c(n):
    if n < 2: return n
    return d(n-1) + d(n-2)
def d(n):
    if n < 2: return n
    return n + (n-1) + (n-2)
`},
	{"loop s += i", `
def main():
    s = 0
    for i in range(10000):
        s += i
    return s
`},
	{"loop c = a + b", `
def main():
    a = 1
    b = 2
    for i in range(5000):
        c = a + b
        a = c - b
        if a > c:
            a = b
    return a
`},
	{"sieve", `
def main():
    n = 2000
    f = [True] * n
    for i in range(2, n):
        if f[i]:
            for j in range(i*i, n, i):
                f[j] = False
    return len([i for i in range(n) if f[i]])
`},
	{"build and join", `
def main():
    out = []
    for i in range(1000):
        out.append("line %d: %s" % (i, "x"))
    return "\n".join(out)
`},
	{"concatenate", `
def main():
    s = ""
    for i in range(500):
        s += "abc" + str(i)
    return s
`},
	{"string methods", `
def main():
    n = 0
    for i in range(500):
        w = " Hello, World %d " % i
        w = w.strip().lower().replace("world", "there")
        if w.startswith("hello") and "there" in w:
            n += len(w.split(","))
    return n
`},
	{"count in a dict", `
WORDS = "the quick brown fox jumps over the lazy dog and the cat".split(" ")
def main():
    d = {}
    for i in range(200):
        for w in WORDS:
            d[w] = d.get(w, 0) + 1
    return d
`},
	{"dict of integers", `
def main():
    d = {}
    for i in range(2000):
        d[i] = i * 2
    s = 0
    for k, v in d.items():
        s += v
    for k in d:
        s += d[k]
    return s
`},
	{"lists and sorting", `
def main():
    xs = [i % 7 for i in range(1000)]
    ys = sorted(xs)
    zs = [x for x in ys if x in (1, 2, 3)]
    return len(zs) + sum_(zs)
def sum_(l):
    t = 0
    for x in l:
        t += x
    return t
`},
	{"matrix", `
def main():
    n = 16
    a = [[i + j for j in range(n)] for i in range(n)]
    c = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            s = 0
            for k in range(n):
                s += a[i][k] * a[k][j]
            c[i][j] = s
    return c[3][4]
`},
	{"json", `
D = {"a": [1, 2, 3, {"b": "text", "c": None}], "k": {"x%d" % i: i for i in range(20)}}
def main():
    for i in range(20):
        s = json.encode(D)
        v = json.decode(s)
    return v
`},
	{"structs", `
def main():
    n = 0
    for i in range(1000):
        p = struct(x = i, y = 2)
        if p.x != 3 and p.y == 2:
            n += 1
    return n
`},
}

// benchMain returns the function main of a script, and a thread for its calls.
func benchMain(t testing.TB, src string, guarded bool) (starlark.Value, *starlark.Thread) {
	t.Helper()
	env := starlark.StringDict{"json": sjson.Module, "struct": starlark.NewBuiltin("struct", starlarkstruct.Make)}
	if !guarded {
		th := &starlark.Thread{}
		globals, err := starlark.ExecFileOptions(stockOptions(), th, "f.star", src, env)
		if err != nil {
			t.Fatal(err)
		}
		return globals["main"], th
	}
	delete(env, "json") // the guarded sandbox has its own module json
	s := New(Options{})
	defineAll(t, s, env)
	_, m, err := evalIn(s, src, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(Options{Limits: Limits{Steps: math.MaxUint64 / 2, Memory: math.MaxUint64 / 2, Timeout: time.Hour}}).startRun(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m.Globals["main"], &w.thread
}

func TestBenchScriptsAgree(t *testing.T) {
	for _, s := range benchScripts {
		stock, th := benchMain(t, s.src, false)
		want, err := starlark.Call(th, stock, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		guarded, th := benchMain(t, s.src, true)
		got, err := starlark.Call(th, guarded, nil, nil)
		if err != nil || got.String() != want.String() {
			t.Errorf("%s: got %v, %v, want %v", s.name, got, err, want)
		}
	}
}

// BenchmarkOverhead runs every script in the plain interpreter and guarded.
func BenchmarkOverhead(b *testing.B) {
	for _, s := range benchScripts {
		for _, guarded := range []bool{false, true} {
			name := strings.ReplaceAll(s.name, " ", "_") + map[bool]string{false: "/stock", true: "/guarded"}[guarded]
			b.Run(name, func(b *testing.B) {
				main, th := benchMain(b, s.src, guarded)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := starlark.Call(th, main, nil, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkOverheadTable measures both sides in turns, so that another program slows down both. It
// prints the table of docs/sandbox.md.
func BenchmarkOverheadTable(b *testing.B) {
	product, n := 1.0, 0
	for b.Loop() {
		product, n = 1, 0
		for _, s := range benchScripts {
			ratio := measureOverhead(b, s.src)
			b.Logf("| %s | %.2f |", s.name, ratio)
			product, n = product*ratio, n+1
		}
	}
	mean := math.Pow(product, 1/float64(n))
	b.Logf("| geometric mean | %.2f |", mean)
	b.ReportMetric(mean, "x-stock")
}

// measureOverhead returns the time of src with guards, divided by its time in the plain interpreter. Each of
// the two times is the fastest of several turns.
func measureOverhead(b *testing.B, src string) float64 {
	const turns = 15
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	mains, threads := [2]starlark.Value{}, [2]*starlark.Thread{}
	for side := range best {
		mains[side], threads[side] = benchMain(b, src, side == 1)
	}
	for range turns {
		for side := range best {
			start := time.Now()
			for range 4 {
				if _, err := starlark.Call(threads[side], mains[side], nil, nil); err != nil {
					b.Fatal(err)
				}
			}
			best[side] = min(best[side], time.Since(start))
		}
	}
	return float64(best[1]) / float64(best[0])
}

// BenchmarkCall measures the path of every hook: a call of a trivial function, with all set-up.
func BenchmarkCall(b *testing.B) {
	s, m, err := runText(b, "def f(): return None\n", Exec{})
	if err != nil {
		b.Fatal(err)
	}
	f := m.Globals["f"].(starlark.Callable)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Call(b.Context(), f, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// benchPlugin returns a plugin of about that many lines.
func benchPlugin(lines int) string {
	var b strings.Builder
	for i := range lines / 13 {
		fmt.Fprintf(&b, `
def hook_%d(ctx, limit = %d):
    """Rewrites the prompt."""
    out = []
    for m in ctx.get("messages", []):
        text = m["content"].strip()
        if len(text) > limit and m["role"] != "system":
            text = text[:limit] + "..."
        elif text.startswith("/skip"):
            continue
        out.append({"role": m["role"], "content": text, "n": len(out) + %d})
    return {"messages": out, "note": "%%s:%%d" %% ("p", %d)}
`, i, 100+i, i, i)
	}
	return b.String()
}

// BenchmarkLoad measures the loading of a plugin, from its source to frozen globals.
func BenchmarkLoad(b *testing.B) {
	for _, lines := range []int{100, 2000} {
		src := benchPlugin(lines)
		s := New(Options{})
		b.Run(fmt.Sprintf("%d/parse", lines), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if _, err := s.Parse("f.star", []byte(src)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/whole", lines), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() { // a new sandbox, because s remembers the program
				if _, _, err := evalIn(New(Options{}), src, Exec{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/stock", lines), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if _, err := runStock(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
