package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

func ownTest(argv []string) bool {
	return len(argv) > 2 && filepath.Base(argv[0]) == "starhost" && argv[1] == "hook" && argv[2] == "agent"
}

const wantJSON = `{
  "hooks": {
    "PostToolUse": [
      {
        "command": "starhost hook agent"
      }
    ],
    "PreToolUse": [
      {
        "hooks": [
          {
            "command": "starhost hook agent",
            "type": "command"
          }
        ],
        "matcher": "*"
      }
    ]
  },
  "version": 1
}
`

const wantYAML = `hooks:
  pre_tool_call:
    - command: "starhost hook agent"
      timeout: 60
      fail_closed: true
  post_llm_call:
    - command: "starhost hook agent"
      timeout: 60
`

const wantTOML = "[plugins]\npaths = [\"~/.config/agent/plugins\"]\n"

// A jsonWriter writes random JSON with comments.
type jsonWriter struct {
	t        *rapid.T
	newline  string
	comments []string
}

// space returns white space, and perhaps a comment.
func (w *jsonWriter) space() string {
	switch rapid.IntRange(0, 9).Draw(w.t, "space") {
	case 0:
		w.comments = append(w.comments, fmt.Sprintf("/*c%d {\"*/", len(w.comments)))
		return " " + w.comments[len(w.comments)-1]
	case 1:
		w.comments = append(w.comments, fmt.Sprintf("// c%d }],", len(w.comments)))
		return w.comments[len(w.comments)-1] + w.newline
	case 2, 3, 4:
		return w.newline + "\t"
	case 5:
		return "  "
	}
	return ""
}

// list writes a list or an object from its parts.
func (w *jsonWriter) list(open, end string, parts []string) string {
	var b strings.Builder
	b.WriteString(open)
	for i, part := range parts {
		b.WriteString(w.space() + part + w.space())
		if i < len(parts)-1 || rapid.IntRange(0, 4).Draw(w.t, "comma") == 0 {
			b.WriteString(",")
		}
	}
	return b.String() + w.space() + end
}

// entry returns a hook of another tool, or a group with such a hook.
func (w *jsonWriter) entry() string {
	other := []string{`"audit.sh"`, `"starhost hook other"`, `"x; starhost hook agent"`, `"FOO=1 starhost hook agent"`, `["a","b"]`}
	entry := w.list("{", "}", []string{`"command":` + w.space() + rapid.SampledFrom(other).Draw(w.t, "command")})
	if rapid.Bool().Draw(w.t, "group") {
		return w.list("{", "}", []string{`"matcher": "Bash"`, `"hooks":` + w.list("[", "]", []string{entry})})
	}
	return entry
}

// settings returns random settings.
func (w *jsonWriter) settings() string {
	parts := []string{}
	for i := range rapid.IntRange(0, 3).Draw(w.t, "members") {
		value := rapid.SampledFrom([]string{`"é\n\\\""`, `{"hooks": {"command": "starhost hook agent"}}`, `-1.50e3`, `null`, `[1, /*in*/ [], {}]`}).Draw(w.t, "value")
		parts = append(parts, fmt.Sprintf(`"k%d"%s:%s%s`, i, w.space(), w.space(), value))
	}
	if rapid.Bool().Draw(w.t, "hooks") {
		var events []string
		for _, event := range []string{"Stop", "PreToolUse", "PostToolUse"} {
			var entries []string
			for range rapid.IntRange(0, 2).Draw(w.t, "entries") {
				entries = append(entries, w.entry())
			}
			if entries != nil {
				events = append(events, `"`+event+`":`+w.list("[", "]", entries))
			}
		}
		if events != nil {
			parts = append(parts, `"hooks":`+w.list("{", "}", events))
		}
	}
	parts = rapid.Permutation(parts).Draw(w.t, "order")
	text := w.space() + w.list("{", "}", parts) + w.space()
	if rapid.IntRange(0, 5).Draw(w.t, "mark") == 0 {
		text = "\uFEFF" + text
	}
	return text
}

// values decodes JSON with comments.
func values(t rapid.TB, text []byte) (v map[string]any) {
	t.Helper()
	plain, err := hujson.Standardize(bytes.TrimPrefix(bytes.Clone(text), []byte("\uFEFF")))
	if err == nil {
		err = json.Unmarshal(plain, &v)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return v
}

func TestJSONMergeAndRemove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &jsonWriter{t: t, newline: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")}
		text := []byte(w.settings())
		before := values(t, text)
		with, err := formJSON.Merge(text, []byte(wantJSON), ownTest)
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if got, want := values(t, with), merged(before, values(t, []byte(wantJSON))); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v\nwant %v\nfrom %s\nto %s", got, want, text, with)
		}
		again, err := formJSON.Merge(with, []byte(wantJSON), ownTest)
		if err != nil || !bytes.Equal(again, with) {
			t.Fatalf("a second merge changed the file: %v\n%s\n%s", err, with, again)
		}
		without, err := formJSON.Remove(with, ownTest)
		if err != nil {
			t.Fatal(err)
		}
		before["version"] = 1.0 // uninstall leaves the version, because nobody knows who set it
		if got := values(t, without); !reflect.DeepEqual(got, before) {
			t.Fatalf("got %v\nwant %v\nfrom %s\nto %s\nto %s", got, before, text, with, without)
		}
		for _, comment := range w.comments {
			if !bytes.Contains(with, []byte(comment)) || !bytes.Contains(without, []byte(comment)) {
				t.Fatalf("comment %s is lost:\n%s\n%s\n%s", comment, text, with, without)
			}
		}
	})
}

// TestJSONRemoveUndoesMerge checks that removing our entries undoes a merge, whatever else changes in the
// file meanwhile: the file gets the bytes that the same change gives without a merge.
func TestJSONRemoveUndoesMerge(t *testing.T) {
	want := []byte(strings.Replace(wantJSON, ",\n  \"version\": 1", "", 1)) // uninstall would leave the version
	rapid.Check(t, func(t *rapid.T) {
		w := &jsonWriter{t: t, newline: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")}
		text := []byte(w.settings())
		change := func(text []byte) []byte {
			text = bytes.ReplaceAll(text, []byte("-1.50e3"), []byte("[7]"))
			return append(bytes.ReplaceAll(text, []byte("audit.sh"), []byte("audit.sh 2")), "// mine\n"...)
		}
		with, err := formJSON.Merge(text, want, ownTest)
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		without, err := formJSON.Remove(change(with), ownTest)
		if diff := cmp.Diff(string(change(text)), string(without)); err != nil || diff != "" {
			t.Fatalf("%v, (-want +got):\n%s\nmerged:\n%s", err, diff, with)
		}
	})
}

// TestJSONOtherLine replaces the line of an earlier install, and keeps the entries beside it.
func TestJSONOtherLine(t *testing.T) {
	text := `{"version":1,"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"command":"/x/starhost hook agent old"},{"command":"audit"}]}],"Gone":[{"command":"starhost hook agent"}]}}`
	got, err := formJSON.Merge([]byte(text), []byte(wantJSON), ownTest)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(got), "starhost hook agent old"); n != 0 || !strings.Contains(string(got), "audit") {
		t.Errorf("got the old line %d times, want 0:\n%s", n, got)
	}
}

// TestFileRestores checks that uninstall restores the bytes and the mode.
func TestFileRestores(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := &jsonWriter{t: t, newline: "\n"}
		f := &File{Root: folder, Name: "a/settings.json", Mode: 0o600}
		want, text := wantJSON, w.settings()
		switch rapid.SampledFrom([]string{"json", "yaml", "toml", "empty"}).Draw(t, "format") {
		case "yaml":
			f.Name, want, text = "a/c.yaml", wantYAML, randomYAML(t)
		case "toml":
			f.Name, want, text = "a/c.toml", wantTOML, randomTOML(t)
		case "empty":
			text = rapid.SampledFrom([]string{"", " \n", "{}", "{}\n", "{\"hooks\":{}}", "{\"version\":1}"}).Draw(t, "text")
		}
		f.format = formatOf(f.Name)
		if err := os.RemoveAll(filepath.Join(folder, "a")); err != nil {
			t.Fatal(err)
		}
		write(t, f.Path(), text)
		if err := os.Chmod(f.Path(), 0o640); err != nil {
			t.Fatal(err)
		}
		install(t, f, want)
		if err := checkTwice(f, want); errors.Is(err, errByHand) {
			if got := read(t, f.Path()); got != text {
				t.Fatalf("got %q, want the file as it was, %q", got, text)
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "other line") {
			install(t, f, strings.ReplaceAll(strings.ReplaceAll(want, "hook agent", "hook agent more"), "agent/plugins", "agent/more"))
		}
		void, err := f.Remove([]byte(want), ownTest)
		if err != nil && !errors.Is(err, errByHand) {
			t.Fatal(err)
		}
		c, err := f.Uninstall(void, ownTest)
		if err == nil {
			err = c.Apply()
		}
		if got := read(t, f.Path()); err != nil || got != text {
			t.Fatalf("got %v, %q, want %q", err, got, text)
		}
		if info, err := os.Stat(f.Path()); err != nil || info.Mode().Perm() != 0o640 {
			t.Fatalf("got %v, mode %v, want 640", err, info.Mode())
		}
		if left, _ := os.ReadDir(filepath.Dir(f.Path())); len(left) != 1 {
			t.Fatalf("got %v beside the file, want nothing", left)
		}
	})
}

// TestFileBackups checks that uninstall leaves no backup behind, also after an edit and two installs, and
// changes no other file.
func TestFileBackups(t *testing.T) {
	f := &File{Root: t.TempDir(), Name: "a/settings.json", Mode: 0o600, format: formJSON}
	const mine = `{"model": "opus", "hooks": {"Stop": [{"command": "audit.sh"}]}}` + "\n"
	write(t, f.Path(), mine)
	others := []string{"settings.json.bak", "settings.json.starhost-zz.bak", "x.json.starhost-0123456789ab.bak"}
	for _, name := range others {
		write(t, filepath.Join(f.Root, "a", name), "")
	}
	want := strings.Replace(wantJSON, ",\n  \"version\": 1", "", 1)
	apply := func(c *change, err error) {
		t.Helper()
		if err == nil {
			err = c.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	apply(f.Install([]byte(want), ownTest))
	write(t, f.Path(), strings.Replace(read(t, f.Path()), "opus", "haiku", 1))
	apply(f.Install([]byte(strings.ReplaceAll(want, "hook agent", "hook agent more")), ownTest))
	write(t, f.Path(), strings.Replace(read(t, f.Path()), "audit.sh", "audit.sh 2", 1))
	apply(f.Uninstall([]byte("{}"), ownTest))
	if got, want := read(t, f.Path()), `{"model": "haiku", "hooks": {"Stop": [{"command": "audit.sh 2"}]}}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	left, err := os.ReadDir(filepath.Dir(f.Path()))
	if err != nil || len(left) != 1+len(others) {
		t.Errorf("got %v, %v, want the file and %q", left, err, others)
	}
}

// install merges starhost's entries into the settings, unless a person must do that.
func install(t *rapid.T, f *File, want string) {
	t.Helper()
	c, err := f.Install([]byte(want), ownTest)
	if err == nil {
		err = c.Apply()
	}
	if err != nil && !errors.Is(err, errByHand) {
		t.Fatalf("%v:\n%s", err, read(t, f.Path()))
	}
}

// checkTwice returns an error if another install changes the file.
func checkTwice(f *File, want string) error {
	c, err := f.Install([]byte(want), ownTest)
	if err == nil && c.IsNeeded() {
		err = fmt.Errorf("a second install changes the file:\n%s\n%s", c.old, c.Text)
	}
	return err
}

// randomYAML returns random settings in YAML.
func randomYAML(t *rapid.T) string {
	parts := []string{
		"# comment\n", "model: x # y\n", "list:\n- a\n- b\n", "text: |\n  # >>> not a mark\n  hooks:\n\n  more\n", "a: {b: [1, 2]}\n", "\n", "other:\n    deep:\n        - x: 1\n          y: 2\n",
	}
	hooks := []string{
		"", "", "hooks:\n  pre_tool_call:\n    - command: audit.sh\n      # why\n      timeout: 3\n\n  # between\n  other:\n  - command: z\n",
		"hooks:\n    post_llm_call:\n    -   command: |\n            a\n            b\n", "hooks: {}\n", "hooks:\n", "hooks: {pre_tool_call: []}\n", "hooks:\n  pre_tool_call: []\n",
		"\"hooks\":\n  'pre_tool_call':\n    - {command: audit.sh}\n# end\n", "hooks: &a\n  x:\n    - command: y\n",
	}
	parts = rapid.SliceOfNDistinct(rapid.SampledFrom(parts), 0, 4, rapid.ID).Draw(t, "parts")
	parts = slices.Insert(parts, rapid.IntRange(0, len(parts)).Draw(t, "at"), rapid.SampledFrom(hooks).Draw(t, "hooks"))
	text := strings.Join(parts, "")
	if rapid.Bool().Draw(t, "end") {
		text = strings.TrimRight(text, "\n")
	}
	if rapid.Bool().Draw(t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// randomTOML returns random settings in TOML.
func randomTOML(t *rapid.T) string {
	parts := []string{"# comment\n", "[env]\nA = \"b\"\n", "[[list]]\nx = '''\n[plugins]\n'''\n", "\n", "[a.b]\nc = [\n  1,\n]\n"}
	plugins := []string{"", "", "[plugins]\n", "[plugins] # mine\nenabled = [\"x\"]\n", "[plugins]\npaths = [\"~/.config/agent/plugins\", \"y\"]\n", "[plugins]\npaths = [\"y\"]\n", "[plugins.x]\ny = 1\n"}
	parts = rapid.SliceOfNDistinct(rapid.SampledFrom(parts), 0, 4, rapid.ID).Draw(t, "parts")
	parts = slices.Insert(parts, rapid.IntRange(0, len(parts)).Draw(t, "at"), rapid.SampledFrom(plugins).Draw(t, "plugins"))
	text := "top = 1\n" + strings.Join(parts, "")
	if rapid.Bool().Draw(t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

func write(t rapid.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t rapid.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHostileText checks that no text makes a format panic, and that errors have the place of the mistake.
func TestHostileText(t *testing.T) {
	aliases := "a: &a [1]\n"
	for c := 'b'; c < 'h'; c++ {
		aliases += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9))
	}
	tests := []struct {
		format     format
		text, want string
	}{
		{formJSON, "{\n\"a\": 1\n", "line 3: "},
		{formJSON, "[]", "line 1: got a list, want an object"},
		{formJSON, "{\n\"a\": \"\xff\"}", "line 2: got bytes that are not UTF-8"},
		{formJSON, "{\"a\":\n" + strings.Repeat("[", 1<<20), "line 2: got more than 200 values in each other"},
		{formJSON, strings.Repeat(" ", 5<<20), "got 5242880 bytes, want at most 4194304"},
		{formJSON, "{\"hooks\": {},\n\"hooks\": {}}", "line 2: hooks: got two members of this name, want one"},
		{formJSON, "{\"hooks\": []}", "line 1: hooks: got a list, want an object"},
		{formJSON, "{\"hooks\":\n{\"PreToolUse\": {}}}", "line 2: hooks.PreToolUse: got an object, want a list"},
		{formJSON, "{\n\"version\": 2}", "line 2: version: got 2, want 1"},
		{formJSON, "{\"a\": /* ", "line 1: "},
		{formJSON, "{} {}", "line 1: "},
		{formJSON, "{\"a\": 1}\x00", "line 1: "},
		{formYAML, "a: [", "line 1: "},
		{formYAML, "a: 1\na: 2\n", "line 2: got the key \"a\" twice"},
		{formYAML, "- a\n", "line 1: cannot unmarshal"},
		{formYAML, "a: 1\n---\nb: 2\n", "several documents"},
		{formYAML, "a: 1\n...\n", errByHand.Error()},
		{formYAML, "  a: 1\n", errByHand.Error()},
		{formYAML, "a: |\n  # >>> starhost hook\n", "in a text"},
		{formYAML, "# <<< starhost hook\n", "line 1: got \"# <<< starhost hook\", which has no pair"},
		{formYAML, "# >>> starhost hook\nx: 1\n", "line 1: got \"# >>> starhost hook\" without"},
		{formYAML, "hooks:\n  x:\n  - command: starhost hook agent\n", "without marks"},
		{formYAML, aliases, "excessive aliasing"},
		{formTOML, "a = \n", "line 1: "},
		{formTOML, "a = 1\na = 2\n", "line 2: "},
		{formTOML, strings.Repeat("a.", 60000) + "b = 1\n", "line 1: got more than 500 dots"},
		{formYAML, strings.Repeat("a: 1\n", 26000), "line 2: got the key \"a\" twice"},
		{formYAML, "a: " + strings.Repeat("[", 130000), "exceeded max depth"},
		{formYAML, strings.Repeat("#", 1<<20), "got 1048576 bytes, want at most 131072"},
		{formTOML, "plugins = 1\n", errByHand.Error()},
	}
	for _, tt := range tests {
		want := map[format]string{formJSON: wantJSON, formYAML: wantYAML, formTOML: wantTOML}[tt.format]
		got, err := tt.format.Merge([]byte(tt.text), []byte(want), ownTest)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60q: got %v, %q, want %s", tt.text, err, got, tt.want)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(0, []byte(`{"hooks": {"PreToolUse": [/**/],}, "x": 1}`))
	f.Add(1, []byte("hooks:\n  pre_tool_call:\n    - command: x\n"))
	f.Add(2, []byte("[plugins]\nx = 1\n"))
	f.Fuzz(func(t *testing.T, n int, text []byte) {
		kind := format((n%3 + 3) % 3)
		want := []string{wantJSON, wantYAML, wantTOML}[kind]
		with, err := kind.Merge(text, []byte(want), ownTest)
		if err != nil {
			return
		}
		again, err := kind.Merge(with, []byte(want), ownTest)
		if err != nil || !bytes.Equal(again, with) {
			t.Fatalf("a second merge: %v\n%q\n%q\n%q", err, text, with, again)
		}
		if _, err := kind.Remove(with, ownTest); err != nil && !errors.Is(err, errByHand) {
			t.Fatalf("remove: %v\n%q\n%q", err, text, with)
		}
	})
}

func TestSplit(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"starhost hook x", []string{"starhost", "hook", "x"}},
		{`'/a b/starhost' hook  "x y" 'it'\''s'`, []string{"/a b/starhost", "hook", "x y", "it's"}},
		{`a ''`, []string{"a", ""}},
		{"starhost hook x; rm -rf /", nil},
		{"X=1 starhost hook x", nil},
		{"starhost hook $(id)", nil},
		{"starhost hook `id`", nil},
		{`starhost hook "$X"`, nil},
		{"starhost hook x > y", nil},
		{"starhost hook x # y", nil},
		{"starhost hook x\nid", nil},
		{"starhost hook 'x", nil},
		{"starhost hook *", nil},
		{"~/starhost hook", nil},
		{"", nil},
	}
	for _, tt := range tests {
		if got, ok := Split(tt.line); !slices.Equal(got, tt.want) || ok != (tt.want != nil) {
			t.Errorf("%s: got %q, %v, want %q", tt.line, got, ok, tt.want)
		}
	}
}
