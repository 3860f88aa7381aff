package fragments_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/fragments"
)

func TestParseXML(t *testing.T) {
	want := []fragments.Fragment{
		{Content: "a\n", Source: "a.md"},
		{Content: "", Source: "&quot;\"\n\xff", Title: "A & B"},
		{Content: "</document>\n</document-0123>", Source: "c.md"},
		{Content: "<document index=\"9\" source=\"\">\n", Source: "d.md", Title: " title=\"x\""},
	}
	_, prompt := render(fragments.Merge(want), fragments.XML, 4)
	got, err := fragments.ParseXML(prompt)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseXML (-want +got):\n%s", diff)
	}
	if got, err := fragments.ParseXML(""); got != nil || err != nil {
		t.Errorf("ParseXML of nothing: got %v, %v, want nothing", got, err)
	}
}

func TestParseXMLErrors(t *testing.T) {
	id := fragments.Sum("x").String()
	good := `<document index="1" source="s" sha256="` + id + "\">\nx\n</document>"
	longName := "document-" + id[:8]
	tests := []struct{ name, text, want string }{
		{"no document", "hello", `xml: byte 0: got "h", want "<"`},
		{"no tag", "<", `xml: byte 1: got no " " to the end`},
		{"no index", "<document >", `xml: byte 10: got ">", want "index=\""`},
		{"index is no number", `<document index="x" source="s" sha256="` + id + `">`, `xml: byte 19: index: got "x", want a positive number`},
		{"index is not positive", strings.Replace(good, "1", "0", 1), `xml: byte 19: index: got "0", want a positive number`},
		{"index is written otherwise", strings.Replace(good, "1", "+1", 1), `xml: byte 20: index: got "+1", want a positive number`},
		{"no source", `<document index="1" sha256="">`, `xml: byte 19: got " sha256=\"", want " source=\""`},
		{"open attribute", `<document index="1" source="s`, `xml: byte 28: got no "\"" to the end`},
		{"title is no attribute", `<document index="1" source="s" titles="t">`, `xml: byte 30: got " titles=", want " title=\""`},
		{"no hash", `<document index="1" source="s">`, `xml: byte 30: got ">", want " sha256=\""`},
		{"other attribute", `<document index="1" source="s" sha256="" x="">`, `xml: byte 40: got " x", want ">\n"`},
		{"no end", strings.TrimSuffix(good, ">"), `xml: byte 106: got no "\n</document>" to the end`},
		{"other hash", strings.Replace(good, id, "0", 1), `xml: byte 56: sha256: got "0", want ` + id},
		{"other tag", strings.ReplaceAll(good, "document", longName), `xml: byte 137: tag: got "` + longName + `", want "document"`},
		{"no line break between", good + good, `xml: byte 119: got "<", want "\n"`},
		{"more at the end", good + "\n", `xml: byte 120: got "", want "<"`},
		{"same number", good + "\n" + good, `xml: byte 239: index: got 1, want 2`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := fragments.ParseXML(tt.text)
			if diff := cmp.Diff(tt.want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if list != nil {
				t.Errorf("got %v beside an error", list)
			}
		})
	}
}
