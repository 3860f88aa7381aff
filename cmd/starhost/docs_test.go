package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/docgen"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// TestDocs compares the pages in docs with the output of docs --format md. With -update it
// writes the pages.
func TestDocs(t *testing.T) {
	r := wholeReference()
	for _, p := range docgen.Pages() {
		t.Run(p.Name, func(t *testing.T) {
			file := "../../docs/" + p.Name + ".md"
			want := p.Text(r)
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(got), want); diff != "" {
				t.Errorf("%s is stale (go test ./cmd/starhost -run Docs -update writes it; -as it is +as it should be):\n%s", file, diff)
			}
		})
	}
}

// TestDocsIndex checks that the index links to every page, or to the page above it, and that its
// commands run.
func TestDocsIndex(t *testing.T) {
	src := readTestFile(t, "../../docs/README.md")
	for _, p := range docgen.Pages() {
		index := src
		if above, _, ok := strings.Cut(p.Name, "/"); ok {
			index = readTestFile(t, "../../docs/"+above+".md")
		}
		if !strings.Contains(index, "]("+p.Name+".md)") {
			t.Errorf("no index has a link to %s.md", p.Name)
		}
	}
	files, err := filepath.Glob("../../docs/modules/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := "modules/" + strings.TrimSuffix(filepath.Base(file), ".md")
		if !slices.ContainsFunc(docgen.Pages(), func(p docgen.Page) bool { return p.Name == name }) {
			t.Errorf("%s: there is no such module", file)
		}
	}
	dir := t.TempDir()
	for line := range strings.Lines(src) {
		if command, ok := strings.CutPrefix(line, "starhost "); ok {
			command, _, _ = strings.Cut(command, "#")
			runDocs(t, append([]string{"-C", dir}, strings.Fields(command)...)...)
		}
	}
}

// runDocs runs a command that must succeed, and returns what it prints.
func runDocs(t *testing.T, args ...string) string {
	t.Helper()
	var out, diagnostics bytes.Buffer
	if code := run(t.Context(), args, nil, &out, &diagnostics); code != report.ExitOK {
		t.Errorf("starhost %s: got exit code %d: %s", strings.Join(args, " "), code, diagnostics.String())
	}
	return out.String()
}

// TestDocsExamples executes the examples that no other test executes: the blocks of the
// introductions, the permissions and the example config.
func TestDocsExamples(t *testing.T) {
	parseConfig := func(t *testing.T, src string) {
		t.Helper()
		_, warnings, err := loader.ParseConfig("starhost.toml", t.TempDir(), []byte(src))
		warnings = slices.DeleteFunc(warnings, func(w loader.Warning) bool { return strings.HasSuffix(w.Msg, "only the managed config may set it") })
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, warnings %v", src, err, warnings)
		}
	}
	for _, p := range docgen.Pages() {
		if p.Name == "testing" { // TestDocsNewcomersPath runs the whole page
			continue
		}
		for _, b := range blocksOf(p.Intro()) {
			switch b.language {
			case "toml":
				parseConfig(t, b.text)
			case "python":
				if stderr := try(t, b.text); stderr != "" {
					t.Errorf("%s: %s", b.text, stderr)
				}
			default:
				t.Errorf("%s: a block of %q, want toml or python", p.Name, b.language)
			}
		}
	}
	r := wholeReference()
	for _, k := range r.Permissions {
		if stderr := try(t, docgen.PermissionExample(k)); stderr != "" {
			t.Errorf("%s: %s", k.Example, stderr)
		}
	}
	parseConfig(t, docgen.ExampleConfig(r.Keys))
}

// TestDocsSubjects checks that docs finds words that users type, that no word has two subjects, and
// that docs explains the names that a subject refers to. TestDocsLinks checks their pages.
func TestDocsSubjects(t *testing.T) {
	r := wholeReference()
	seen := map[string]bool{}
	for _, s := range r.Subjects {
		for _, word := range s.Words() {
			if seen[word] || word != strings.ToLower(word) {
				t.Errorf("the word %s stands twice, or has capitals", word)
			}
			seen[word] = true
		}
		for _, name := range s.See() {
			if r.Part(name).IsEmpty() {
				t.Errorf("%s: docs does not explain %s", s.Words()[0], name)
			}
		}
	}
	words := "load dedup enum image library attachment trust secret approval permission weekday golden warn uninstall cost"
	for word := range strings.FieldsSeq(words + " guard test ci session state timeout limit budget schema import merge picture") {
		if part := r.Part(word); len(part.Subjects) != 1 {
			t.Errorf("docs %s: got %d subjects, want one", word, len(part.Subjects))
		}
	}
}

type block struct{ language, text string }

// blocksOf returns the fenced blocks of a page.
func blocksOf(page string) []block {
	var blocks []block
	for i, part := range strings.Split(page, "```") {
		if i%2 == 1 {
			language, text, _ := strings.Cut(part, "\n")
			blocks = append(blocks, block{language, text})
		}
	}
	return blocks
}

// notHere gives the reasons why some codes of effects cannot occur in this test.
var notHere = map[string]string{
	"E0511": "needs a network",
	"E0515": "needs a case with effects.jsonl",
	"E0517": "needs a case with effects.jsonl",
	"E0521": "needs a store",
}

// TestEffectsExamples checks that the bad example of each code of effects fails with the code,
// and that the good example does not.
func TestEffectsExamples(t *testing.T) {
	for _, c := range effects.Codes() {
		t.Run(c.Code, func(t *testing.T) {
			if why := notHere[c.Code]; why != "" {
				t.Skip(why)
			}
			if stderr := tryEffect(t, c.Bad, "--allow-effects"); !strings.Contains(stderr, "["+c.Code+"]") {
				t.Errorf("the bad example does not fail with it:\n%s", stderr)
			}
			if stderr := tryEffect(t, c.Good, "-q"); stderr != "" && !strings.Contains(stderr, "[E0511]") { // no server answers
				t.Errorf("the good example fails:\n%s", stderr)
			}
		})
	}
}

// permitted are the permissions of those examples that are expressions.
var permitted = []string{"fs.read:**", "fs.write:**", "http:http://127.0.0.1", "exec:kubectl **", "exec:./deploy.sh", "secret:PAGER_*", "store"}

// sameQuestion is the case that examples replay.
const sameQuestion = `-- case.star --
prompt("The same question")
-- session.json --
{"id":"session-1","platform":"cli"}
-- recorded.json --
{"seed":0}
`

// tryEffect runs an example in a workspace with files, on a host without a store. The example
// is a command line, a plugin whose loader gets a.md, or an expression with the permissions
// above. It returns the diagnostics.
func tryEffect(t *testing.T, example string, flags ...string) string {
	t.Setenv("PAGER_TOKEN", "a token of the pager")
	dir := t.TempDir()
	plugin, args := example, []string{"eval", "-f", "doc:a.md", "-p", "hi", "--grant", "fs.read:**"}
	switch {
	case strings.HasPrefix(example, "starhost "):
		plugin, args = "", words(t, strings.TrimPrefix(example, "starhost "))
	case strings.Contains(example, "ctx.") && !strings.Contains(example, "register_"):
		plugin = "plugin(permissions = " + string(jsontext.Must(permitted)) + ")\n"
		args = []string{"eval", "-e", example}
		for _, p := range permitted {
			args = append(args, "--grant", p)
		}
	case !strings.Contains(example, "doc"):
		args = []string{"eval", "-p", "hi"}
	}
	writeFiles(t, dir, map[string]string{
		"plugins/a.star": plugin, "oncall.star": "", "changed/oncall.star": `register_hook("turn_start", lambda ctx: ctx.log("info", ctx.uuid()))`, "starhost.toml": "[plugins]\npaths = [\"plugins\"]\n[store]\nurl = \"none\"\n",
		"notes/a.md": "A note.\n", "dash.png": "\x89PNG\r\n\x1a\n\xff", "huge.log": strings.Repeat("line\n", 1<<18), "why.txtar": sameQuestion,
	})
	var out, diagnostics bytes.Buffer
	args = append(append([]string{"-C", dir, "-c", dir + "/starhost.toml"}, args...), flags...)
	run(t.Context(), args, strings.NewReader(""), &out, &diagnostics)
	return diagnostics.String()
}

// TestDocsOfEveryName explains each name in each format that can show it.
func TestDocsOfEveryName(t *testing.T) {
	whole := wholeReference()
	for _, name := range topics() {
		if out := runDocs(t, "docs", name); !strings.Contains(strings.ToLower(out), strings.ToLower(name)) {
			t.Errorf("docs %s says nothing of it:\n%s", name, out)
		}
		out := runDocs(t, "docs", "-F", "md", name)
		if !strings.Contains(strings.ToLower(out), strings.ToLower(name)) || out[0] == '\n' {
			t.Errorf("docs -F md %s: got\n%s", name, out)
		}
		var got docgen.ReferenceJSON
		out = runDocs(t, "docs", "-F", "json", name)
		if err := json.Unmarshal([]byte(out), &got); err != nil || got.Schema != "starhost.docs/1" || strings.Contains(out, "null,") {
			t.Errorf("docs -F json %s: %v\n%s", name, err, out)
		}
		part := whole.Part(name)
		n := len(got.Builtins) + len(got.Cases) + len(got.Events)
		n += len(got.Permissions) + len(got.Config) + len(got.Errors) + len(got.Topics)
		all := len(part.Entries()) + caseEntries(part) + len(part.Events) + len(part.Permissions)
		if n != all+len(part.Keys)+len(part.Codes)+len(part.Subjects) {
			t.Errorf("docs -F json %s: got %d entries\n%s", name, n, out)
		}
	}
}

// caseEntries counts the entries about golden cases, except steps.
func caseEntries(r docgen.Reference) int {
	n := 0
	for _, t := range r.Cases {
		n += len(t.Entries)
	}
	return n
}

// TestStubs checks that the stubs declare each name once, without Python's own names, and that
// parameters with defaults come last.
func TestStubs(t *testing.T) {
	stubs := runDocs(t, "docs", "-F", "pyi")
	for _, e := range wholeReference().Entries() {
		if e.Type == "" || docgen.IsParameter(e) {
			continue
		}
		member := e.Name[strings.LastIndexByte(e.Name, '.')+1:]
		want := "def " + member + "("
		if e.Signature == "" {
			want = member + ": "
		}
		if !strings.Contains(stubs, want) {
			t.Errorf("the stubs have no %s for %s", want, e.Name)
		}
		defaults := slices.IndexFunc(docgen.ParamsOf(e), func(p docgen.Param) bool { return p.Default != "" })
		for i, p := range docgen.ParamsOf(e) {
			if defaults >= 0 && i > defaults && p.Default == "" && !strings.HasPrefix(p.Name, "*") {
				t.Errorf("%s: %s has no default, behind one that has", e.Name, p.Name)
			}
		}
	}
	for _, e := range wholeReference().Events {
		if !strings.Contains(stubs, "# "+e.Name+": ") {
			t.Errorf("the stubs say nothing of %s", e.Name)
		}
	}
}
