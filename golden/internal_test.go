package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/difftext"
	"github.com/starhost/starhost/loader"
)

// newCase returns a case that contains its plugins.
func newCase(t *testing.T, text string) *testCase {
	t.Helper()
	file := filepath.Join(t.TempDir(), "case.txtar")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := loader.Path{Shown: "cases/case.txtar", Real: file}
	in := inspectFolder(parentFolder(at))
	c := newCases([]*caseFile{in.locate(at)})[0]
	c.read()
	c.prepare(newPluginCache(nil), t.TempDir())
	return c
}

// runWith runs a case once on a host that also has a Go plugin.
func runWith(t *testing.T, c *testCase, cond conditions, more starhost.Plugin) outcome {
	t.Helper()
	st, err := newStage(cond, []starhost.Plugin{more})
	if err != nil {
		t.Fatal(err)
	}
	defer st.closeHosts()
	return st.run(t.Context(), c)
}

const goCase = `Nothing depends on who comes first.
-- case.star --
prompt("hi", fragments = ["count:a", "count:b"])
-- plugins/p.star --
`

// counting returns a plugin whose loader returns the number of its calls.
func counting() starhost.Plugin {
	var n atomic.Int64
	return starhost.Plugin{Name: "counting", FragmentLoaders: []starhost.FragmentLoader{{
		Prefix: "count",
		Load: func(_ context.Context, arg string) (starhost.Context, error) {
			text := fmt.Sprintf("%s is number %d", arg, n.Add(1))
			return starhost.Context{Fragments: []fragments.Fragment{{Content: text}}}, nil
		},
	}}}
}

func TestNondeterminism(t *testing.T) {
	c := newCase(t, goCase)
	t.Run("state outside of the host", func(t *testing.T) {
		more := counting()
		c.first, c.second = runWith(t, c, conditions{workers: 1}, more), runWith(t, c, conditions{workers: 2}, more)
		r, _ := c.judge(&Options{Update: true})
		if r.Status != Failed || !strings.HasPrefix(r.Text, "nondeterminism: two runs of the case differ\n--- first run\n+++ second run\n") {
			t.Errorf("got %s: %s", r.Status, r.Text)
		}
		for _, line := range []string{"\n-a is number 1\n", "\n+a is number "} {
			if !strings.Contains(r.Text, line) {
				t.Errorf("got %s\nwant it to contain %q", r.Text, line)
			}
		}
	})
	t.Run("the order of loaders", func(t *testing.T) {
		c.first = runWith(t, c, conditions{workers: 1}, counting())
		c.second = runWith(t, c, conditions{workers: 1, lastFirst: true}, counting())
		if r, _ := c.judge(&Options{}); !strings.Contains(r.Text, "nondeterminism") {
			t.Errorf("got %s", r.Text)
		}
	})
	t.Run("an error in one of them", func(t *testing.T) {
		c.first, c.second = outcome{output: "a\n"}, outcome{output: "a\n", err: errors.New("late")}
		if r, _ := c.judge(&Options{}); !strings.Contains(r.Text, "\n+late\n") {
			t.Errorf("got %s", r.Text)
		}
	})
}

// TestPanic checks that a panic of a Go plugin is the result of a step like any other error, and that the
// case goes on.
func TestPanic(t *testing.T) {
	c := newCase(t, "-- case.star --\nassert_eq(call_tool(\"boom\").is_error, True)\nprompt(\"hi\")\n-- plugins/p.star --\n")
	got := runWith(t, c, conditions{}, starhost.Plugin{Name: "boom", Tools: []starhost.Tool{{
		Name: "boom", Description: "Panics.",
		Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) { panic("no") },
	}}})
	if got.err != nil || !strings.Contains(got.output, "error: \"tool boom failed: panic: no\"\nlog error boom: ") || !strings.Contains(got.output, "== prompt 1") {
		t.Errorf("got %v\n%s", got.err, got.output)
	}
}

func TestOutputIsBounded(t *testing.T) {
	c := newCase(t, "-- case.star --\nfor i in range(100):\n    load_fragments(\"large:x\")\n-- plugins/p.star --\n")
	large := strings.Repeat("x", 250<<10)
	got := runWith(t, c, conditions{}, starhost.Plugin{Name: "large", FragmentLoaders: []starhost.FragmentLoader{{
		Prefix: "large",
		Load: func(context.Context, string) (starhost.Context, error) {
			return starhost.Context{Fragments: []fragments.Fragment{{Content: large}}}, nil
		},
	}}})
	if got.err == nil || !strings.Contains(got.err.Error(), "limit 16777216") {
		t.Errorf("got %v, want the limit", got.err)
	}
}

// TestSplit states laws: the joined sections of a text are the text, pruning changes nothing else, and
// pruning again changes nothing.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(texts.Draw(t, "case"))
		if got := joinSections(splitSections(src)); string(got) != string(src) {
			t.Errorf("joinSections(split(%q)): got %q", src, got)
		}
		gone := []part{{section: "a"}, {section: envSection, variable: "A"}, {section: effectsFile, line: 1}}
		once := pruneSections(src, gone)
		if twice := pruneSections(once, gone); string(twice) != string(once) {
			t.Errorf("pruned once: %q, twice: %q", once, twice)
		}
		for _, f := range txtar.Parse(once).Files {
			if f.Name == "a" {
				t.Errorf("pruned %q: got %q", src, once)
			}
		}
	})
}

// texts draws texts whose lines may look like the beginning of a section.
var texts = rapid.Custom(func(t *rapid.T) string {
	lines := rapid.SliceOf(rapid.SampledFrom([]string{"", "text", "-- want --", "-- a --", "--  --", "-- b --\r", "-- -- --", " -- c --", `\-- want --`, `\\-- a --`}))
	return strings.Join(lines.Draw(t, "lines"), "\n")
})

// TestEscapeIsOneSection states a law: an escaped text stays within one section.
func TestEscapeIsOneSection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := escapeMarkers(texts.Draw(t, "text"))
		a := txtar.Parse([]byte("-- want --\n" + text))
		if len(a.Files) != 1 || string(a.Files[0].Data) != text {
			t.Errorf("got %d sections, %q, want %q", len(a.Files), a.Files[0].Data, text)
		}
	})
}

// TestEscapeRoundTrip states a law: unescapeMarkers returns the text that escapeMarkers got.
func TestEscapeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := difftext.EndLine(texts.Draw(t, "text"))
		if got := string(unescapeMarkers([]byte(escapeMarkers(text)))); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	})
}

// checkReplaceWant checks the law that replacing the want changes only the want. The law does not hold for a
// text that ends in half a line break.
func checkReplaceWant(t interface{ Errorf(string, ...any) }, src, want string) {
	src = strings.TrimRight(src, "\r")
	before, after := txtar.Parse([]byte(src)), txtar.Parse(replaceSection([]byte(src), wantSection, want))
	found := false
	for i, f := range before.Files {
		if f.Name == wantSection {
			found = true
			before.Files[i].Data = []byte(want)
		}
	}
	if !found {
		before.Files = append(before.Files, txtar.File{Name: wantSection, Data: []byte(want)})
	}
	if diff := cmp.Diff(string(txtar.Format(before)), string(txtar.Format(after))); diff != "" {
		t.Errorf("replaceSection(%q, %q) (-want +got):\n%s", src, want, diff)
	}
}

func TestReplaceWant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkReplaceWant(t, texts.Draw(t, "case"), escapeMarkers(texts.Draw(t, "want")))
	})
}

func FuzzReplaceWant(f *testing.F) {
	f.Add("prose\n-- want --\nold\n-- case.star --\n", "new")
	f.Add("-- case.star --\r\nprompt(1)\r\n-- want --\r\n", "-- want --")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, src, want string) { checkReplaceWant(t, src, escapeMarkers(want)) })
}

func TestQuote(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "\"\"\n"},
		{"a \"b\" é\t", "\"a \\\"b\\\" é\\t\"\n"},
		{`{"a": 1}`, "{\"a\": 1}\n"},
		{`[1]`, "[1]\n"},
		{`{a}`, "\"{a}\"\n"},
		{"1", "\"1\"\n"},
		{"a\n\nb\n", "| a\n|\n| b\n|\n"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, quote(tt.text)); diff != "" {
			t.Errorf("quote(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestDecisionText(t *testing.T) {
	pos := starhost.Pos{File: "p.star", Line: 3, Col: 1}
	messages := starhost.NewList([]starhost.Message{
		{Role: starhost.RoleAssistant, ToolCalls: []starhost.ToolCall{{Name: "page", Arguments: json.RawMessage(`{}`)}}},
		{Role: starhost.RoleTool, ToolName: "page", IsError: true, Content: fragments.NewText("no")},
		{Role: starhost.RoleUser, Content: fragments.NewText("see"), Attachments: []fragments.Attachment{{Content: "x", Name: "a.txt", Type: "text/plain"}}},
	})
	tests := []struct {
		name string
		d    starhost.Decision
		want string
	}{
		{"deny", starhost.Deny("no\nticket"), "deny: \"no\\nticket\" (p.star:3:1)\n"},
		{"approve", starhost.Decision{Action: starhost.ActionApprove}, "approve (p.star:3:1)\n"},
		{"context", starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Fragments: []fragments.Fragment{{Content: "four"}}}}, "context: 4 B (p.star:3:1)\n"},
		{"respond", starhost.Decision{Action: starhost.ActionRespond, Result: &starhost.Result{ForLLM: "a\nb", Silent: true, Handled: true}},
			"respond (p.star:3:1):\n| a\n| b\nsilent\nhandled\n"},
		{"a string", starhost.Modify("user_message", "hi"), "modify user_message (p.star:3:1): \"hi\"\n"},
		{"an object", starhost.Modify("arguments", json.RawMessage(`{"a":1}`)), "modify arguments (p.star:3:1): {\"a\":1}\n"},
		{"a result", starhost.Modify("result", starhost.Result{ForLLM: "x"}), "modify result (p.star:3:1): \"x\"\n"},
		{"tools", starhost.Modify("tools", []string{"a", "b"}), "modify tools (p.star:3:1): a, b\n"},
		{"another value", starhost.Modify("round", 2), "modify round (p.star:3:1): 2\n"},
		{"messages", starhost.Modify("messages", messages), "modify messages (p.star:3:1):\n| [assistant]\n| [call page {}]\n| [tool page, error]\n| no\n" +
			"| [user]\n| see\n| [attachment  2d711642b726  a.txt  text/plain  1 B]\n"},
		{"a refusal with changes", starhost.Decision{Action: starhost.ActionAsk, Reason: "sure?", Changes: map[string]any{"b": "2", "a": "1"}},
			"ask: sure? (p.star:3:1)\nmodify a (p.star:3:1): \"1\"\nmodify b (p.star:3:1): \"2\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.d.Pos = pos
			if diff := cmp.Diff(tt.want, decisionText(tt.d)); diff != "" {
				t.Errorf("decisionText (-want +got):\n%s", diff)
			}
		})
	}
	if got, want := decisionText(starhost.Decision{Action: starhost.ActionDeny, Reason: "no", Plugin: "host"}), "deny: no (host)\n"; got != want {
		t.Errorf("without a place: got %q, want %q", got, want)
	}
}

func TestNews(t *testing.T) {
	tests := []struct {
		name        string
		before, now []string
		want        string
	}{
		{"first", nil, []string{"s", "a"}, "sa"},
		{"grown", []string{"s", "a"}, []string{"s", "a", "b"}, "b"},
		{"changed in the middle", []string{"s", "a", "b"}, []string{"s", "x", "b", "c"}, "xbc"},
		{"nothing", []string{"s", "a"}, []string{"s", "a"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := changedBlocks(tt.before, tt.now); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestNothingIsLeftOnTheStage checks that a case sees nothing of the case that ran before on the same stage
// and host, even if that case failed in the middle of a turn: not its turn, time, files, state or output.
func TestNothingIsLeftOnTheStage(t *testing.T) {
	const plugin = `def look(ctx):
    """Looks at all that a case brings."""
    print("looked")
    n = ctx.state.get("n", 0)
    ctx.state.set("n", n + 1)
    return "%s %s %s" % (n, ctx.now, ctx.fs.glob("*"))

plugin(permissions = ["fs.read:*"])
register_tool(look)
`
	const script = "-- case.star --\nprompt(\"hi\")\ncall_tool(\"look\")\n"
	dir := t.TempDir()
	prepared := func(name, text string) *testCase {
		if err := unpack(dir, map[string][]byte{"p/plugin.star": []byte(plugin), "p/golden/" + name: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		at := loader.NewPath(dir, "p/golden/"+name)
		in := inspectFolder(parentFolder(at))
		c := newCases([]*caseFile{in.locate(at)})[0]
		c.read()
		c.prepare(newPluginCache(nil), t.TempDir())
		return c
	}
	before := prepared("a.txtar", script+"advance(hours = 1)\ncall_tool(\"look\")\nassert_eq(1, 2)\n-- workspace/a.md --\na\n-- fragments/unseen --\nb\n")
	after := prepared("b.txtar", script)
	st, err := newStage(conditions{workers: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.closeHosts()
	alone := st.run(t.Context(), after)
	first := st.run(t.Context(), before)
	printed := strings.Contains(first.output, `1 2026-01-01T01:00:00Z [\"a.md\"]`)
	if first.err == nil || !printed || len(first.unused) != 1 {
		t.Fatalf("the first case: got %v, unused %v\n%s", first.err, first.unused, first.output)
	}
	if diff := cmp.Diff(alone.text(), st.run(t.Context(), after).text()); diff != "" || len(st.hosts) != 1 {
		t.Errorf("after another case, in %d hosts (-alone +after):\n%s", len(st.hosts), diff)
	}
}

// TestAnswersBy checks that an observer of a case's host learns that the case answered a question, or that
// nobody did.
func TestAnswersBy(t *testing.T) {
	p := &play{answers: []bool{true, false}}
	var got []string
	observe := func(e starhost.Event, o host.Outcome) error {
		if o.Answer != nil {
			got = append(got, fmt.Sprint(e.Tool, " ", o.Decision.Action, " by ", o.Answer.By))
		}
		return nil
	}
	h := host.New(host.Options{Approver: p.Approve, Observe: observe})
	err := h.Add(starhost.Plugin{Name: "ops", Tools: []starhost.Tool{{
		Name: "drop", Description: "Drops.", Approval: starhost.ApprovalAsk,
		Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: "dropped"}, nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := h.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "drop"}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"drop approve by answers", "drop deny by answers", "drop deny by nobody"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProseIsBounded checks that a report shows the beginning of a long description alone.
func TestProseIsBounded(t *testing.T) {
	r := Result{Name: "a", Prose: strings.Repeat("a line\n", 1_000_000)}
	if text := r.describe(); len(text) > 4000 || !strings.HasSuffix(text, " …\n") {
		t.Errorf("got %d bytes, which end with %q", len(text), text[max(0, len(text)-20):])
	}
}
