package starhost

import (
	"context"
	"fmt"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// A Skill is a text that is loaded on demand, by the reference
// skill:PLUGIN:NAME. It is never in a prompt by itself.
type Skill struct {
	// Name is ^[A-Za-z0-9_-]{1,64}$, unique in its plugin.
	Name string
	// Description says when the skill is of use.
	Description string
	// Files are the paths of the files that stand beside it. They are listed in
	// front of the text, so that the model knows what there is.
	Files []string
	// Load returns the text. It must only read.
	Load func(ctx context.Context, t *Turn) (string, error)
	// Pos is where the skill was registered.
	Pos Pos

	plugin string
}

// skillPrefix is the prefix of references to skills.
const skillPrefix = "skill"

func (r *registry) addSkill(p *Plugin, s Skill) error {
	key := p.Name + ":" + s.Name
	switch old := r.skills[key]; {
	case !toolName.MatchString(s.Name):
		return refuse(s.Pos, "skill name %q: want 1 to 64 of A-Z a-z 0-9 _ -", s.Name)
	case s.Load == nil:
		return refuse(s.Pos, "skill %q has no Load", s.Name)
	case old != nil:
		return &ConflictError{What: fmt.Sprintf("skill %q", s.Name), Pos: s.Pos, Old: old.Pos}
	}
	s.plugin = p.Name
	r.skills[key] = &s
	return nil
}

// loader returns the skill as a loader of its one reference.
func (s *Skill) loader() *FragmentLoader {
	load := func(ctx context.Context, t *Turn, _ string) (Context, error) {
		text, err := s.Load(ctx, t)
		return Context{Fragments: []fragments.Fragment{{Content: s.listing() + text, Title: s.Name}}}, err
	}
	return &FragmentLoader{Prefix: skillPrefix, Load: load, Pos: s.Pos, plugin: s.plugin}
}

// The most of a skill's files that are listed: by number, and by bytes of their
// paths.
const (
	maxSkillFiles = 100
	maxSkillBytes = 8 << 10
)

// listing returns the lines in front of a skill's text.
func (s *Skill) listing() string {
	if len(s.Files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Files beside this skill:\n")
	for i, f := range s.Files {
		if i == maxSkillFiles || b.Len()+len(f) > maxSkillBytes {
			fmt.Fprintf(&b, "- and %d more\n", len(s.Files)-i)
			break
		}
		b.WriteString("- " + f + "\n")
	}
	return b.String() + "\n"
}

// A SkillInfo describes a registered skill.
type SkillInfo struct {
	Name, Plugin, Description string
	Pos                       Pos
}

// Reference returns what loads the skill.
func (s SkillInfo) Reference() string { return skillPrefix + ":" + s.Plugin + ":" + s.Name }

// Skills returns all skills by plugin and name.
func (h *Host) Skills() []SkillInfo {
	r := h.registry.Load()
	var infos []SkillInfo
	for _, key := range sortedKeys(r.skills) {
		s := r.skills[key]
		infos = append(infos, SkillInfo{Name: s.Name, Plugin: s.plugin, Description: s.Description, Pos: s.Pos})
	}
	return infos
}
