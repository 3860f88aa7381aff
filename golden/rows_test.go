package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
)

// rowsCase is a case that calls the tool upper with the text of each row.
const rowsCase = `Capitals.
-- case.star --
call_tool("upper", text = row("text"))
-- rows.jsonl --
{"name": "a", "text": "x"}

{"name": "b-2", "text": "y"}
{"name": "c", "text": "z"}
`

func rowWant(name, text string) string {
	return "-- want/" + name + " --\n== call_tool upper\n\"" + text + "\"\n"
}

// wholeRows is a case whose rows pass.
var wholeRows = rowsCase + rowWant("a", "X") + rowWant("b-2", "Y") + rowWant("c", "Z")

// results returns a line for each result: its name, status and line.
func results(s golden.Summary) (list []string) {
	for _, r := range s.Results {
		list = append(list, fmt.Sprintf("%s %s %d", r.Name, r.Status, r.Line))
	}
	return list
}

// rowsTree returns a folder with the plugin and a case with the text, and the case's file.
func rowsTree(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir = tree(t, map[string]string{"p.star": upperPlugin, "golden/p_rows.txtar": text})
	return dir, filepath.Join(dir, "golden", "p_rows.txtar")
}

// TestRows checks that each row has a result and can be selected, and that a failure is at the row's line.
func TestRows(t *testing.T) {
	stale := strings.Replace(wholeRows, `"Y"`, `"old"`, 1)
	tests := []struct {
		name, text string
		o          golden.Options
		want       []string
	}{
		{"all", wholeRows, golden.Options{}, []string{"/a passed 0", "/b-2 passed 0", "/c passed 0"}},
		{"one at a time", wholeRows, golden.Options{Jobs: 1}, []string{"/a passed 0", "/b-2 passed 0", "/c passed 0"}},
		{"a difference", stale, golden.Options{}, []string{"/a passed 0", "/b-2 failed 7", "/c passed 0"}},
		{"fail fast", stale, golden.Options{FailFast: true}, []string{"/a passed 0", "/b-2 failed 7", "/c not run 0"}},
		{"by path", stale, golden.Options{Paths: []string{"p.star::p_rows/c"}}, []string{"/c passed 0"}},
		{"by paths, in the order of the table", wholeRows, golden.Options{Paths: []string{"p.star::p_rows/c", "golden/p_rows.txtar::p_rows/a"}},
			[]string{"/a passed 0", "/c passed 0"}},
		{"by a path and all", wholeRows, golden.Options{Paths: []string{"p.star::p_rows/c", "p.star"}}, []string{"/a passed 0", "/b-2 passed 0", "/c passed 0"}},
		{"by name", wholeRows, golden.Options{Run: regexp.MustCompile(`rows/(a|c)$`)}, []string{"/a passed 0", "/c passed 0"}},
		{"by the name of no row", wholeRows, golden.Options{Run: regexp.MustCompile(`rows$`)}, nil},
		{"without a want", strings.Replace(wholeRows, rowWant("c", "Z"), "", 1), golden.Options{}, []string{"/a passed 0", "/b-2 passed 0", "/c failed 8"}},
		{"a step that fails", strings.Replace(wholeRows, "-- rows", "assert_eq(row(\"name\") == \"a\", False)\n-- rows", 1), golden.Options{},
			[]string{"/a failed 6", "/b-2 passed 0", "/c passed 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Dir, _ = rowsTree(t, tt.text)
			s, out := test(t, tt.o)
			for i := range tt.want {
				tt.want[i] = "p.star::p_rows" + tt.want[i]
			}
			if diff := cmp.Diff(tt.want, results(s)); diff != "" {
				t.Errorf("results (-want +got):\n%s%s", diff, out)
			}
		})
	}
}

// TestRowsUpdate checks that Update and Prune change only the sections of the rows that run.
func TestRowsUpdate(t *testing.T) {
	stale := rowsCase + rowWant("c", "old") + rowWant("a", "X")
	gone := strings.Replace(wholeRows, rowWant("b-2", "Y"), rowWant("b-2", "Y")+rowWant("gone", "G")+"-- want --\nG\n", 1)
	unread := strings.ReplaceAll(wholeRows, `", "text"`, `", "unread": [1], "text"`)
	tests := []struct {
		name, before string
		o            golden.Options
		after        string
		want         []string
	}{
		{"all are new", rowsCase, golden.Options{Update: true}, wholeRows, []string{"/a updated 0", "/b-2 updated 0", "/c updated 0"}},
		{"an old one and a new one", stale, golden.Options{Update: true}, rowsCase + rowWant("c", "Z") + rowWant("a", "X") + rowWant("b-2", "Y"),
			[]string{"/a passed 0", "/b-2 updated 0", "/c updated 0"}},
		{"one row", stale, golden.Options{Update: true, Paths: []string{"p.star::p_rows/b-2"}}, stale + rowWant("b-2", "Y"), []string{"/b-2 updated 0"}},
		{"the first row", rowsCase + rowWant("b-2", "Y") + rowWant("c", "Z"), golden.Options{Update: true}, wholeRows,
			[]string{"/a updated 0", "/b-2 passed 0", "/c passed 0"}},
		{"wants of no row", gone, golden.Options{}, gone, []string{"/a passed 0", "/b-2 passed 0", "/c passed 0", " failed 18"}},
		{"wants of no row, pruned", gone, golden.Options{Prune: true}, wholeRows, []string{"/a passed 0", "/b-2 passed 0", "/c passed 0", " pruned 0"}},
		{"wants of no row, and one row", gone, golden.Options{Paths: []string{"p.star::p_rows/a"}, Prune: true}, gone, []string{"/a passed 0"}},
		{"an unread key", unread, golden.Options{}, unread, []string{"/a passed 0", "/b-2 passed 0", "/c passed 0", " failed 4"}},
		{"an unread key, pruned", unread, golden.Options{Prune: true}, wholeRows, []string{"/a passed 0", "/b-2 passed 0", "/c passed 0", " pruned 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, file := rowsTree(t, tt.before)
			tt.o.Dir = dir
			s, out := test(t, tt.o)
			for i := range tt.want {
				tt.want[i] = "p.star::p_rows" + tt.want[i]
			}
			if diff := cmp.Diff(tt.want, results(s)); diff != "" {
				t.Errorf("results (-want +got):\n%s%s", diff, out)
			}
			got, err := os.ReadFile(file)
			if diff := cmp.Diff(tt.after, string(got)); err != nil || diff != "" {
				t.Errorf("case (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestRowsShareParts checks that a file, a variable or an effect counts as used if one row uses it, and that
// each row gets all replies.
func TestRowsShareParts(t *testing.T) {
	const plugin = `plugin(permissions = ["exec:date", "env:*"], requires_env = [])

def run(ctx, what):
    """Runs.

    Args:
      what: a program or a file.
    """
    if what == "date":
        return ctx.exec(["date"]).stdout
    return ctx.fs.read(what)

register_tool(run)
`
	const text = `-- case.star --
call_tool("run", what = row("what"))
-- rows.jsonl --
{"name": "a", "what": "date"}
{"name": "b", "what": "date"}
{"name": "c", "what": "f.md"}
-- effects.jsonl --
{"exec":{"argv":["date"]},"reply":{"code":0,"stdout":"noon","stderr":""}}
-- workspace/f.md --
F
`
	dir := tree(t, map[string]string{"p.star": strings.ReplaceAll(plugin, `"env:*"`, `"fs.read:**"`), "golden/p_case.txtar": text})
	if s, out := test(t, golden.Options{Dir: dir, Update: true}); s.Updated != 3 || strings.Count(out, `+"noon"`) != 2 {
		t.Fatalf("got %s", out)
	}
	if s, out := test(t, golden.Options{Dir: dir}); s.Passed != 3 {
		t.Errorf("got %s", out)
	}
}

// TestRowErrors checks that a mistake in a table is reported with its place, and that nothing runs.
func TestRowErrors(t *testing.T) {
	long := strings.Repeat("n", 65)
	many := strings.Builder{}
	for i := range 1001 {
		fmt.Fprintf(&many, "{\"name\": \"r%d\", \"text\": \"x\"}\n", i)
	}
	const first = `{"name": "a", "text": "x"}` + "\n"
	tests := []struct {
		name, table, want string
		line              int
	}{
		{"empty", "\n", `line 1: got no row, want a JSON object a line, as {"name": "checkout"}`, 5},
		{"no JSON", first + "{\n", "line 2: unexpected end of file", 6},
		{"no object", "[1]\n", "line 1: got [1], want a JSON object", 5},
		{"two objects", first + "{} {}\n", "line 2: unexpected character '{' after value", 6},
		{"no name", `{"text": "x"}` + "\n", `line 1: want "name" as the first key, with a text`, 5},
		{"the name behind", `{"text": "x", "name": "a"}` + "\n", `line 1: want "name" as the first key, with a text`, 5},
		{"no text as name", `{"name": 1}` + "\n", `line 1: want "name" as the first key, with a text`, 5},
		{"a name with a slash", `{"name": "a/../b"}` + "\n", `line 1: name: got "a/../b", want letters, digits, _ and -, at most 64 of them`, 5},
		{"a long name", `{"name": "` + long + `"}` + "\n", `line 1: name: got "` + long + `", want letters, digits, _ and -, at most 64 of them`, 5},
		{"a name twice", first + "\n" + first, `line 3: the name "a" is that of line 1 too, want another`, 7},
		{"a key twice", `{"name": "a", "text": 1, "text": 2}` + "\n", `line 1: the key "text" is there twice`, 5},
		{"a missing key", first + `{"name": "b"}` + "\n", `line 2: no key "text", which line 1 has: want null if it has no value`, 6},
		{"another key", first + `{"name": "b", "txet": ""}` + "\n", `line 2: got the key "txet" (did you mean text?), which line 1 does not have`, 6},
		{"a long row", `{"name": "a", "text": "` + strings.Repeat("x", 64<<10) + "\"}\n", "line 1: got 65562 bytes, want at most 65536", 5},
		{"too many rows", many.String(), "line 1001: got more than 1000 rows", 1005},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, _ := rowsTree(t, "Capitals.\n-- case.star --\ncall_tool(\"upper\", text = row(\"text\"))\n-- rows.jsonl --\n"+tt.table)
			s, out := test(t, golden.Options{Dir: dir})
			if len(s.Results) != 1 || s.Failed != 1 || s.Results[0].Line != tt.line {
				t.Errorf("got line %d:\n%s", s.Results[0].Line, out)
			}
			if !strings.Contains(out, "\nrows.jsonl: "+tt.want+"\n") {
				t.Errorf("got %s\nwant %s", out, tt.want)
			}
		})
	}
}

// TestRowMistakes checks steps that ask for a row in a case without rows, and names that no row or table has.
func TestRowMistakes(t *testing.T) {
	const noRow = `row: there is no row: want a case with the section rows.jsonl`
	const noKey = `row: no key "txt" (did you mean text?) in line 1 of rows.jsonl`
	for text, want := range map[string]string{
		"-- case.star --\nrow(\"x\")\n": noRow,
		"-- case.star --\nrow(\"txt\")\n-- rows.jsonl --\n{\"name\":\"a\",\"text\":1}\n": noKey,
		upperCase + "-- want/a --\n" + upperWant:                                         `unused section "want/a": no row has this name`,
		upperCase + "-- want/a.base64 --\n":                                              `section "want/a.base64": want want/ROW, where ROW is letters`,
	} {
		dir, _ := rowsTree(t, text)
		if s, out := test(t, golden.Options{Dir: dir}); s.Failed != 1 || !strings.Contains(out, want) {
			t.Errorf("got %s\nwant %s", out, want)
		}
	}
	dir, _ := rowsTree(t, wholeRows)
	for path, want := range map[string]string{
		"p.star::p_rows/b-3": `p.star::p_rows has no row "b-3" (did you mean b-2?)`,
		"p.star::p_rows/":    `p.star::p_rows has no row ""`,
	} {
		if _, err := golden.Test(t.Context(), golden.Options{Dir: dir, Paths: []string{path}}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	dir = tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase + upperWant})
	_, err := golden.Test(t.Context(), golden.Options{Dir: dir, Paths: []string{"p.star::p_case/a"}})
	if want := `p.star::p_case has no row "a": it has no section rows.jsonl`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestRowsRecord checks that Record runs all rows and writes one effects.jsonl. It refuses a selection of
// rows, because the file would have only a part of the effects.
func TestRowsRecord(t *testing.T) {
	const plugin = `plugin(permissions = ["exec:echo *"])

def say(ctx, text):
    """Says.

    Args:
      text: the words.
    """
    return ctx.exec(["echo", text]).stdout

register_tool(say)
`
	const text = "-- case.star --\ncall_tool('say', text = row('text'))\n-- rows.jsonl --\n{\"name\":\"a\",\"text\":\"A\"}\n{\"name\":\"b\",\"text\":\"B\"}\n"
	dir := tree(t, map[string]string{"p.star": plugin, "golden/p_case.txtar": text})
	s, out := test(t, golden.Options{Dir: dir, Record: true, Paths: []string{"p.star::p_case/a"}})
	if s.Failed != 1 || !strings.Contains(out, "--record: got 1 of 2 rows, want the whole case: its rows share effects.jsonl") {
		t.Errorf("one row: got %s", out)
	}
	if s, out = test(t, golden.Options{Dir: dir, Record: true, Update: true}); s.Updated != 2 || s.Recorded != 1 {
		t.Errorf("all rows: got %s", out)
	}
	if s, out = test(t, golden.Options{Dir: dir}); s.Passed != 2 {
		t.Errorf("afterwards: got %s", out)
	}
}

// TestRowsAreApart checks that state that leaks from one row to the next is reported as nondeterminism, as
// between cases.
func TestRowsAreApart(t *testing.T) {
	const plugin = "seen = {}\ndef count(ctx):\n    \"\"\"Counts.\"\"\"\n    ctx.state.set(\"n\", ctx.state.get(\"n\", 0) + 1)\n    return ctx.state.get(\"n\")\n\nregister_tool(count)\n"
	text := "-- case.star --\ncall_tool('count')\nprint(row('name'))\n-- rows.jsonl --\n{\"name\":\"a\"}\n{\"name\":\"b\"}\n"
	for _, name := range []string{"a", "b"} {
		text += "-- want/" + name + " --\n== call_tool count\n\"1\"\n" + name + "\n"
	}
	dir := tree(t, map[string]string{"p.star": plugin, "golden/p_case.txtar": text})
	if s, out := test(t, golden.Options{Dir: dir}); s.Passed != 2 {
		t.Errorf("got %s", out)
	}
}
