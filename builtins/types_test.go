package builtins

import (
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// TestTypes checks that every name has a type that fits its signature, unless Python has the
// same name.
func TestTypes(t *testing.T) {
	language := map[string]bool{}
	for _, e := range languageEntries(nil) {
		language[e.Name] = true
	}
	for _, e := range append(Table(nil), CaseTable(nil, nil)...) {
		types, _ := TypeOf(e)
		if e.Type == "" && !language[e.Name] {
			t.Errorf("%s has no type", e.Name)
			continue
		}
		params := SplitParams(strings.TrimSuffix(strings.TrimPrefix(e.Signature, e.Name+"("), ")"))
		if e.Type != "" && len(types) != len(params) {
			t.Errorf("%s: got types %q for the parameters %q", e.Name, types, params)
		}
	}
}

func TestSplitParams(t *testing.T) {
	tests := map[string][]string{
		"":                              nil,
		"x":                             {"x"},
		`a, b=[1, 2], sep=", ", **rest`: {"a", "b=[1, 2]", `sep=", "`, "**rest"},
		"Callable[[Match], str], x={}":  {"Callable[[Match], str]", "x={}"},
	}
	for list, want := range tests {
		if diff := cmp.Diff(want, SplitParams(list)); diff != "" {
			t.Errorf("SplitParams(%q) (-want +got):\n%s", list, diff)
		}
	}
}

// TestArgs checks that every argument of every event has a description and a name that Python
// accepts.
func TestArgs(t *testing.T) {
	for _, event := range starhost.Events() {
		for _, arg := range event.Args {
			if !slices.ContainsFunc(Args(), func(a Arg) bool { return a.Name == arg }) {
				t.Errorf("%s: %s has no row in eventArgs", event.Name, arg)
			}
		}
	}
	for _, a := range Args() {
		if !token.IsIdentifier(a.Name) || a.Type == "" || !strings.HasSuffix(a.Doc, ".") {
			t.Errorf("got %+v, want a name, a type and a sentence", a)
		}
	}
}

// TestClasses compares the classes for editors with the attributes of the values.
func TestClasses(t *testing.T) {
	attributes := regexp.MustCompile(`(?m)^    (?:def )?([a-z]\w*)[:(]`)
	declared := map[string][]string{}
	for _, class := range strings.Split(Classes, "class ")[1:] {
		name := regexp.MustCompile(`^\w+`).FindString(class)
		for _, m := range attributes.FindAllStringSubmatch(class, -1) {
			declared[name] = append(declared[name], m[1])
		}
		slices.Sort(declared[name])
	}
	own := func(names, inherited []string) []string {
		rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(inherited, n) })
		return slices.Sorted(slices.Values(rest))
	}
	message := &view[starhost.Message]{kind: &messageKind}
	tool := &view[starhost.Tool]{kind: &toolKind}
	row := &view[fragments.Row]{kind: &rowKind}
	want := map[string][]string{
		"Decision":     nil,
		"Fragment":     own(fieldNames(fragmentFields), nil),
		"Attachment":   own(fieldNames(attachmentFields), nil),
		"Result":       own(fieldNames(resultFields), nil),
		"Template":     own(fieldNames(templateFields), nil),
		"Secret":       nil,
		"Response":     own((&responseValue{}).AttrNames(), nil),
		"Message":      own(message.AttrNames(), dictMethods),
		"Messages":     own((&listView[starhost.Message]{kind: &messageKind}).AttrNames(), listMethods),
		"Tool":         own(tool.AttrNames(), dictMethods),
		"Tools":        own((&listView[starhost.Tool]{kind: &toolKind}).AttrNames(), listMethods),
		"FragmentRow":  own(row.AttrNames(), dictMethods),
		"FragmentRows": own((&listView[fragments.Row]{kind: &rowKind}).AttrNames(), listMethods),
		"Match":        attrNames(t, `re.search("", "")`),
		"Time":         attrNames(t, `time.time(2026)`),
		"Duration":     attrNames(t, `time.hour`),
	}
	for name := range want {
		if diff := cmp.Diff(want[name], declared[name]); diff != "" {
			t.Errorf("class %s (-values +classes.pyi):\n%s", name, diff)
		}
	}
}

// attrNames returns the names of the attributes of an expression's value.
func attrNames(t *testing.T, expr string) []string {
	t.Helper()
	globals, err := runFree("x = " + expr)
	if err != nil {
		t.Fatal(err)
	}
	return globals["x"].(starlark.HasAttrs).AttrNames()
}
