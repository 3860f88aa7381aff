package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/host"
)

func TestCompare(t *testing.T) {
	sections := func(tools, system, text string, blocks ...Block) []Section {
		return []Section{{Name: "tools", Text: tools}, {Name: "system text", Text: system}, {Name: "prompt", Text: text, Blocks: blocks}}
	}
	before := sections("t\n", "be brief", "first\nsecond",
		Block{Offset: 0, Content: "first\n", Source: "a.md (p)", Plugin: "p"}, Block{Offset: 6, Content: "second", Source: "b.md (p)", Plugin: "p"})
	tests := []struct {
		name string
		now  []Section
		want Comparison
	}{
		{"same", before, Comparison{Text: "the same as old"}},
		{"longer", sections("t\n", "be brief", "first\nsecond and more"), Comparison{Text: "begins with all of old, 9 B more"}},
		{"system text", sections("t\n", "be quick", "first"), Comparison{
			Text:   "a prompt cache of old breaks at byte 3 of the system text: system text changed",
			Before: "be brief", Now: "be quick", Break: &host.CacheBreak{Offset: 5, Cause: "system text changed"},
		}},
		{"fragment", sections("t\n", "be brief", "first\nother", Block{Offset: 6, Content: "other", Source: "c.md (q)", Plugin: "q"}), Comparison{
			Text:   "a prompt cache of old breaks at byte 6 of the prompt: fragment c.md (q) changed",
			Before: "second", Now: "other", Break: &host.CacheBreak{Offset: 16, Cause: "fragment c.md (q) changed", Plugin: "q"},
		}},
		{"shorter", sections("t\n", "be brief", "first\n"), Comparison{
			Text:   "a prompt cache of old breaks at byte 6 of the prompt: prompt changed",
			Before: "first\nsecond", Now: "first\n", Break: &host.CacheBreak{Offset: 16, Cause: "prompt changed"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Compare("old", before, tt.now)); diff != "" {
				t.Errorf("Compare (-want +got):\n%s", diff)
			}
		})
	}
}
