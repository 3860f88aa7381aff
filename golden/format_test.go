package golden

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
)

// TestFormat runs the example of each section, and checks that the example has the section. All
// examples have a section.
func TestFormat(t *testing.T) {
	Run(t, "format")
	files, err := formatCases.ReadDir("format")
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, chapter := range Format() {
		for _, e := range chapter.Entries {
			if e.Example == "" {
				continue
			}
			used++
			section, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(e.Name, ".error"), ".load"), "/")
			if !strings.Contains(e.Example, "\n-- "+section) {
				t.Errorf("%s: its example has no such section:\n%s", e.Name, e.Example)
			}
		}
	}
	if used != len(files) {
		t.Errorf("got %d examples in the table, want %d, as in the folder format", used, len(files))
	}
	for _, name := range slices.Concat(sectionNames(fileSection), sectionNames(folderSection)) {
		if i := slices.IndexFunc(format, func(c formatChapter) bool {
			return slices.ContainsFunc(c.parts, func(p formatPart) bool { return p.name == name && p.example != "" })
		}); i < 0 {
			t.Errorf("%s has no example", name)
		}
	}
}

// TestFormatMembers compares the members in the table with those that the code reads.
func TestFormatMembers(t *testing.T) {
	var got []string
	for _, name := range sectionNames(member) {
		if !strings.HasPrefix(name, effectsFile) && name != rowsFile+"."+nameKey {
			got = append(got, name)
		}
	}
	want := tagsOf(t, eventsFile, eventLine{})
	want = append(want, slices.Concat(tagsOf(t, sessionFile, startSession{}), tagsOf(t, recordedFile, recorded{}))...)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members of the table (-want +got):\n%s", diff)
	}
	for _, line := range []string{`"reply":{}`, `"error":{"message":"down","code":"E0511","cause":"not-exist"}`} {
		for _, kind := range []string{"http.get", "http.post", "http.request", "exec"} {
			text, _ := effects.AnswerLine(json.RawMessage(`{"` + kind + `":{},` + line + `}`))
			if !strings.Contains(text, line) {
				t.Errorf("%s with %s: got %s", kind, line, text)
			}
		}
	}
	if text, _ := effects.AnswerLine(json.RawMessage(`{"env":{},"reply":""}`)); text != "" {
		t.Error("env: got a line, want only http and exec, as the table says")
	}
}

// tagsOf returns the names that JSON gives to the fields of a struct.
func tagsOf(t *testing.T, section string, v any) []string {
	t.Helper()
	var names []string
	for i := range reflect.TypeOf(v).NumField() {
		name, _, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ",")
		names = append(names, section+"."+name)
	}
	return names
}
