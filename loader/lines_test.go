package loader

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

func TestFindLines(t *testing.T) {
	const src = `# [not.a.table]
top = """
[not.a.table]
key = 1 \"""
""""" # two quotes belong to the text
[plugins] # comment
paths = [ # a list
  "a=b", '''
[x]''', { inner = 1, deep = { x = 2 } },
]
disabled = []
[plugin.oncall]
team = "a # b"
limits = { steps = 1, memory = "1 ] MiB" }
opts.deep.er = 1
opts.deep.er2 = 1
[ "plugin" . 'on call' ]
"m\u00F6de" = 1979-05-27 07:32:00 # date
[[list]]
a = 1
[[list]]
a = 1
b = 2
`
	if _, err := toml.Decode(src, new(map[string]any)); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	lines, _ := findLines(src)
	for key, line := range lines {
		got[strings.ReplaceAll(key, "\x00", "/")] = line
	}
	want := map[string]int{
		"top":                         2,
		"plugins":                     6,
		"plugins/paths":               7,
		"plugins/disabled":            11,
		"plugin":                      12,
		"plugin/oncall":               12,
		"plugin/oncall/team":          13,
		"plugin/oncall/limits":        14,
		"plugin/oncall/limits/steps":  14,
		"plugin/oncall/limits/memory": 14,
		"plugin/oncall/opts":          15,
		"plugin/oncall/opts/deep":     15,
		"plugin/on call":              17,
		"plugin/on call/m\u00f6de":    18,
		"list":                        19,
		"list/a":                      20,
		"list/b":                      23,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestLineOfNearestTable(t *testing.T) {
	lines, _ := findLines("\n[a.b]\nc = 1\n")
	for key, want := range map[string]int{"a b c d e": 3, "a b x": 2, "a": 2, "x": 0} {
		if got := lines.of(strings.Fields(key)); got != want {
			t.Errorf("line of %s: got %d, want %d", key, got, want)
		}
	}
}

// The law: each key that the parser decodes, and no other, has a line. The line is in the text and
// names the key or is quoted. findLines also ends for text that is no TOML.
func FuzzFindLines(f *testing.F) {
	for _, seed := range []string{
		"a = 1\n[b.c]\nd = [{e = 1}, [2]]\n", "a.b.c = {d = 1, e.f = \"}\"}\r\n", "[[a]]\nb = '''\n'''\n", "\"a\\u0062\" = \"\\\"\" # x",
		"a = {\n b = 1, # c\n}\n", "[a]\n[a.b]\nc = \"\"\"\\\n  x\"\"\"\"\n", "a = [1, # ]\n2]", "= [", "a = {", "[", "\ufeffa = 1",
		"'' = 1979-05-27 07:32:00", "a = [[[]]]\nb = {}", "{}]", "a = ,",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		lines, deep := findLines(src)
		if checkText("f", []byte(src)) != nil || deep > 0 {
			return
		}
		var table map[string]any
		if _, err := toml.Decode(src, &table); err != nil {
			return
		}
		keys := map[string]bool{}
		collect(keys, nil, table)
		last := strings.Count(src, "\n") + 1
		for key := range keys {
			if line := lines[key]; line < 1 || line > last {
				t.Errorf("key %q: got line %d of %d", key, line, last)
			}
		}
		for key := range lines {
			if !keys[key] {
				t.Errorf("key %q has line %d, but the parser has no such key", key, lines[key])
			}
		}
	})
}

// collect adds all keys of a table with at most maxKeyParts parts.
func collect(keys map[string]bool, table []string, v any) {
	if len(table) > maxKeyParts {
		return
	}
	if len(table) > 0 {
		keys[strings.Join(table, "\x00")] = true
	}
	switch v := v.(type) {
	case map[string]any:
		for name, sub := range v {
			collect(keys, append(table[:len(table):len(table)], name), sub)
		}
	case []map[string]any: // written as [[headers]], or an array of inline tables
		for _, sub := range v {
			collect(keys, table, sub)
		}
	}
}
