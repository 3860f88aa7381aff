//go:build linux

package shell

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// The search looks for texts whose analysis costs too much: units of text, in shapes, in sizes.

// Bounds of the search. It measures the CPU of the test's thread, so that other programs and the
// collector of garbage do not count.
const (
	mostCPU    = 100 * time.Millisecond // for maxBytes
	mostGrowth = 2.5                    // times, for twice the text
	smallCPU   = 20 * time.Millisecond  // below it, growth says nothing
)

// A textShape makes a text of about a size.
type textShape struct {
	name string
	make func(size int) string
}

// repeatTo returns as many whole units as fit between two ends.
func repeatTo(head, unit, tail string, size int) string {
	return head + strings.Repeat(unit, max(1, (size-len(head)-len(tail))/max(1, len(unit)))) + tail
}

// nestTo returns groups of nested units, because few may be open at a time.
func nestTo(open, inner, closing string, depth, size int) string {
	group := strings.Repeat(open, depth) + inner + strings.Repeat(closing, depth)
	return repeatTo("", group+"\n", "", size)
}

// searchUnits returns the units: those of TestHostile, the words and commands of the grammar, the
// rows of the table, and the lines of the corpus.
func searchUnits(t *testing.T) []string {
	units := slices.Concat(hostileUnits, hostilePairs(), grammarWords, grammarCommands)
	for _, row := range programs {
		if row.kind != opaque && row.kind != harmless { // these are all alike
			name, _, _ := strings.Cut(row.names, " ")
			units = append(units, name, name+" -x a=b c;")
		}
	}
	for _, file := range []string{"deletions.txt", "unknown.txt", "harmless.txt", "ordinary.txt"} {
		first, second := corpusLines(t, file)
		units = append(append(units, first...), second...)
	}
	slices.Sort(units)
	units = slices.Compact(units)
	return slices.DeleteFunc(units, func(u string) bool { return u == "" })
}

// hostilePairs returns the brackets and clauses that nestings close.
func hostilePairs() []string {
	var list []string
	for _, n := range nestings {
		list = append(list, n.open, n.open+"a"+n.closing+" ", n.open+"a"+n.closing+";")
	}
	return list
}

// nestings are the two ends of what may stand in itself.
var nestings = []struct{ open, closing string }{
	{"(", ")"}, {"{ ", ";}"}, {"$(", ")"}, {`"$(`, `)"`}, {"$((", "))"}, {"${a:-", "}"}, {`"${a:-`, `}"`}, {"${a/", "/b}"}, {"<(", ")"}, {"a <(", ")"},
	{"if a;then ", ";fi"}, {"if ", ";then a;fi"}, {"while a;do ", ";done"}, {"for x in a;do ", ";done"}, {"case a in a)", ";;esac"}, {"f(){ ", ";}"},
	{"{a,", "}"}, {"{a,b}{", ",c}"}, {"[[ (", ") ]]"}, {"((a[", "]))"}, {"a=(", ")"}, {"$[", "]"}, {"@(", ")"}, {"! ", ""}, {"time ", ""}, {"coproc ", ""},
	{"sudo ", ""}, {"eval ", ""}, {"xargs ", ""}, {"env a=b ", ""}, {"find . -exec ", ` \;`}, {"kubectl exec a -- ", ""}, {"git -c alias.a=!", ""},
	{`"${a:-case a in a)`, `esac}"`}, {`"${a:-'`, `'}"`}, {`"${a:-$(`, `)}"`}, {"$(cat <<A\n", "\nA\n)"}, {"${a[", "]}"}, {"$((a?", ":b))"}, {"((-", "))"},
	{"(a;", ")"}, {"a&&(", ")"}, {"a|(", ")"}, {"a &> b ", ""}, {"{ a;", "} &>b"}, {"select x in a;do ", ";done"}, {"until a;do ", ";done"}, {"for((;;));do ", ";done"},
	{"timeout 1 ", ""}, {"nice ", ""}, {"command ", ""}, {"builtin ", ""}, {"ssh a ", ""}, {"watch ", ""}, {"docker exec a ", ""}, {"exec ", ""}, {"trap ", ""},
}

// joiners stand between units.
var joiners = []string{"", " ", ";", "\n", "&&", "||", "|", "&", "|&", " &>b ", ">b ", "<b ", "=", ",", "\\n", "'", `"`, "$", "{", "}", "#\n", "<<<", ";;", " -- ", " -exec "}

// searchShapes returns the shapes of one unit.
func searchShapes(u string) []textShape {
	var shapes []textShape
	add := func(name string, make func(size int) string) { shapes = append(shapes, textShape{name, make}) }
	for _, j := range joiners {
		add(fmt.Sprintf("%q joined by %q", u, j), func(size int) string { return repeatTo("", u+j, u, size) })
	}
	quoted := "'" + strings.ReplaceAll(u, "'", `'\''`) + "'"
	for _, ends := range [][2]string{
		{"echo ", ""}, {"sudo ", ""}, {"env ", ""}, {"find . ", ""}, {"git ", ""}, {"[[ a", " ]]"}, {"((", "))"}, {"a=(", ")"}, {`"`, `"`}, {"$(", ")"}, {"cat <<A\n", "\nA\n"},
		{"$(cat <<A\n", "\nA\n)"}, {"if ", ";then a;fi"}, {"case ", " in a) b;; esac"}, {"f(){ ", "\n};f"}, {"`", "`"}, {"{a,", "}"}, {"\"${a:-", "}\""}, {"for x in ", ";do a;done"},
		{"sh <<A\n", "\nA\n"}, {"awk '", "'"}, {"set -- ", ""}, {"eval ", ""}, {"export ", ""}, {"printf ", ""}, {"test ", ""}, {"sed ", ""}, {"xargs ", ""}, {"kubectl ", ""}, {"ssh h ", ""},
	} {
		add(fmt.Sprintf("%q between %q", u, ends), func(size int) string { return repeatTo(ends[0], u+" ", ends[1], size) })
	}
	for _, starts := range []string{"sh -c ", "eval ", "sh <<<", "env -S ", "watch ", "find . -exec sh -c ", "f(){ :;};", "x="} {
		add(fmt.Sprintf("%q quoted behind %q", u, starts), func(size int) string { return repeatTo("", starts+quoted+";", "", size) })
	}
	for _, n := range nestings {
		add(fmt.Sprintf("%q in %q 40 times", u, n.open), func(size int) string { return nestTo(n.open, u, n.closing, 40, size) })
	}
	for _, n := range nestings {
		add(fmt.Sprintf("many %q in %q 90 times", u, n.open), func(size int) string {
			return repeatTo(strings.Repeat(n.open, 90), u+"\n", strings.Repeat(n.closing, 90), size)
		})
	}
	add(fmt.Sprintf("%q as one long word", u), func(size int) string { return "echo " + repeatTo("", strings.ReplaceAll(u, " ", ""), "", size) })
	return shapes
}

// pairShapes returns the shapes of two units.
func pairShapes(u, v string) []textShape {
	return []textShape{
		{fmt.Sprintf("%q and %q in turn", u, v), func(size int) string { return repeatTo("", u+v, "", size) }},
		{fmt.Sprintf("%q and %q in turn, a line each", u, v), func(size int) string { return repeatTo("", u+"\n"+v+"\n", "", size) }},
		{fmt.Sprintf("%q, then many %q", u, v), func(size int) string { return repeatTo(u+" ", v+" ", "", size) }},
		{fmt.Sprintf("%q, then %q", u, v), func(size int) string { return repeatTo("", u, "", size/2) + "\n" + repeatTo("", v, "", size/2) }},
		{fmt.Sprintf("%q ; in lines, then %q", u, v), func(size int) string { return repeatTo("", u+"\n", "", size/2) + repeatTo("", v+"\n", "", size/2) }},
	}
}

// analyse does all that a guard's question costs.
func analyse(text string) *Script {
	s := Parse(text, "")
	s.Runs("kubectl", []string{"delete"}, []string{"x"})
	return s
}

// threadTime returns the CPU that this thread has used.
func threadTime() time.Duration {
	var now syscall.Timespec
	const thread = 3 // CLOCK_THREAD_CPUTIME_ID
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, thread, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(now.Nano())
}

// cpuOf returns the least CPU of some runs.
func cpuOf(text string, runs int) time.Duration {
	least := time.Hour
	for range runs {
		start := threadTime()
		analyse(text)
		least = min(least, threadTime()-start)
	}
	return least
}

// judgeShape measures a shape, and returns its cost for maxBytes and a line if it is over a bound.
func judgeShape(s textShape) (worst time.Duration, fault string) {
	const unit = 8 << 10
	if text := s.make(unit); len(text) > maxBytes || cpuOf(text, 1) < mostCPU*unit/maxBytes/8 {
		return 0, "" // to be too dear for maxBytes, it would have to grow by 64 times
	}
	whole, quarter := s.make(maxBytes-64), s.make(maxBytes/4-64)
	cost, before := cpuOf(whole, 1), cpuOf(quarter, 1)
	isFault := func() bool {
		return cost > mostCPU || cost > smallCPU && float64(cost) > mostGrowth*mostGrowth*float64(before)
	}
	if isFault() { // other programs may have taken the caches
		cost, before = min(cost, cpuOf(whole, 8)), min(before, cpuOf(quarter, 8))
	}
	if isFault() {
		fault = fmt.Sprintf("%s: %v of CPU for %d bytes, and %v for a quarter", s.name, cost, len(whole), before)
	}
	return cost, fault
}

// numberedShapes have a different name at each place.
func numberedShapes() []textShape {
	var shapes []textShape
	for _, unit := range []string{
		"f%[1]d(){ a;};", "f%[1]d(){ f%[1]d;};f%[1]d;", "f%[1]d(){ f%[2]d;};", "f%[2]d(){ f%[1]d;};", "function f%[1]d { f%[2]d;\n};", "a%[1]d=1;", "a%[1]d=$a%[2]d;", "a%[1]d;",
		"export a%[1]d=1;", "echo >f%[1]d;", "./f%[1]d >f%[2]d;", "cat <<E%[1]d\na\nE%[1]d\n", "alias a%[1]d=b;", "read a%[1]d;", "f%[1]d(){ :;}&&", "for a%[1]d in b;do c;done;",
		"unset a%[1]d;", "((a%[1]d=1));", "echo $((a%[1]d));", "declare -a a%[1]d=b;", "cp a%[1]d b%[1]d;", "tar --a%[1]d;", "f%[1]d(){ f%[2]d(){ a;};};",
	} {
		shapes = append(shapes, textShape{fmt.Sprintf("%q numbered", unit), func(size int) string {
			var b strings.Builder
			b.WriteString("f1;f99999;")
			for i := 1; b.Len()+2*len(unit)+12 < size; i++ {
				fmt.Fprintf(&b, unit, i, i+1)
			}
			b.WriteString("a")
			return b.String()
		}})
	}
	return shapes
}

// TestSearch searches for texts over the bounds, among 12,000 that it draws. It takes some minutes.
func TestSearch(t *testing.T) {
	if os.Getenv("STARHOST_LONG") == "" {
		t.Skip("it takes minutes: STARHOST_LONG=1 runs it")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	units := searchUnits(t)
	type found struct {
		name string
		cost time.Duration
	}
	var list []found
	judge := func(s textShape) {
		cost, fault := judgeShape(s)
		if list = append(list, found{s.name, cost}); fault != "" {
			t.Error(fault)
		}
	}
	for _, s := range numberedShapes() {
		judge(s)
	}
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() string { return units[random.IntN(len(units))] }
	for len(list) < 12_000 {
		if random.IntN(4) == 0 {
			shapes := pairShapes(draw(), draw())
			judge(shapes[random.IntN(len(shapes))])
			continue
		}
		shapes := searchShapes(draw())
		judge(shapes[random.IntN(len(shapes))])
	}
	slices.SortFunc(list, func(a, b found) int { return cmp.Compare(b.cost, a.cost) })
	for _, f := range list[:20] {
		t.Logf("%v: %s", f.cost, f.name)
	}
	t.Logf("%d of %d units times %d shapes, and of their pairs", len(list), len(units), len(searchShapes("a")))
}

// TestWorkIsLinear counts the work for some hundred texts, without a clock: the nodes that the
// analysis visits, and what it allocates.
func TestWorkIsLinear(t *testing.T) {
	shapes := numberedShapes()
	for _, u := range hostileUnits {
		shapes = append(shapes, textShape{fmt.Sprintf("%q", u), func(size int) string { return repeatTo("", u, "a", size) }})
	}
	for i, n := range nestings {
		inner := nestings[(i*7+3)%len(nestings)]
		shapes = append(shapes,
			textShape{fmt.Sprintf("%q nested", n.open), func(size int) string { return nestTo(n.open, "a", n.closing, 20, size) }},
			textShape{fmt.Sprintf("%q around many", n.open), func(size int) string {
				return repeatTo(strings.Repeat(n.open, 20), "a b;", strings.Repeat(n.closing, 20), size)
			}},
			textShape{fmt.Sprintf("%q and %q", n.open, inner.open), func(size int) string {
				return nestTo(n.open+inner.open, "a", inner.closing+n.closing, 10, size)
			}},
			textShape{fmt.Sprintf("arguments %q", n.open), func(size int) string {
				return repeatTo("find . ", n.open+"a"+n.closing+" ", "", size)
			}})
	}
	type work struct{ nodes, bytes, objects int }
	measure := func(text string) work {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := analyse(text)
		runtime.ReadMemStats(&after)
		return work{s.Nodes + s.Weight, int(after.TotalAlloc - before.TotalAlloc), int(after.Mallocs - before.Mallocs)}
	}
	grows := func(small, large, slack int) bool { return float64(large) > mostGrowth*float64(small)+float64(slack) }
	for _, s := range shapes {
		half, whole := s.make(2<<10), s.make(4<<10)
		if Parse(half, "").OK != Parse(whole, "").OK {
			continue // a bound is between them
		}
		a, b := measure(half), measure(whole)
		isMore := grows(a.nodes, b.nodes, 100) || grows(a.bytes, b.bytes, 128<<10) || grows(a.objects, b.objects, 500)
		if isMore || b.nodes > 8*len(whole) {
			t.Errorf("%s: twice the text takes %+v instead of %+v", s.name, b, a)
		}
	}
	t.Logf("%d shapes", len(shapes))
}
