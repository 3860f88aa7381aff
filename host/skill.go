// This file offers skills as fragments, with lines that list what else is in the skill's folder.

package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// skillPrefix is the prefix of references to skills.
const skillPrefix = "skill"

// skillLoader returns a loader whose only reference is the skill.
func (r *registry) skillLoader(s *starhost.Skill) *starhost.FragmentLoader {
	load := func(ctx context.Context, _ string) (starhost.Context, error) {
		text, err := s.Load(ctx)
		return starhost.Context{Fragments: []fragments.Fragment{{Content: r.relatedLines(s) + text, Title: s.Name}}}, err
	}
	return &starhost.FragmentLoader{Prefix: skillPrefix, Load: load, Pos: s.Pos, Plugin: s.Plugin}
}

// relatedLines returns the lines before a skill's text. They list the plugin's other skills and the skill's
// files.
func (r *registry) relatedLines(s *starhost.Skill) string {
	var others []string
	for _, key := range slices.Sorted(maps.Keys(r.skills)) {
		if o := r.skills[key]; o.Plugin == s.Plugin && o != s {
			others = append(others, skillLine(o))
		}
	}
	text := formatList("Other skills of "+s.Plugin.Name, others) + formatList("Files beside this skill", s.Files)
	if text == "" {
		return ""
	}
	return text + "\n"
}

// skillLine returns the skill's line in a list.
func skillLine(s *starhost.Skill) string {
	about := strings.Join(strings.Fields(s.Description), " ")
	about = errtext.CutTo(about, maxSkillLine, "…")
	return strings.TrimSuffix(skillPrefix+":"+s.Plugin.Name+":"+s.Name+": "+about, ": ")
}

// The limits of a list in front of a skill: its entries, its bytes, and the bytes of a description.
const (
	maxSkillEntries = 100
	maxSkillBytes   = 8 << 10
	maxSkillLine    = 200
)

// formatList returns a list with a title, or "" for no entries.
func formatList(title string, entries []string) string {
	if len(entries) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(title + ":\n")
	for i, e := range entries {
		if i == maxSkillEntries || b.Len()+len(e) > maxSkillBytes {
			fmt.Fprintf(&b, "- and %d more\n", len(entries)-i)
			break
		}
		b.WriteString("- " + e + "\n")
	}
	return b.String()
}
