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
	// front of the text, as are the plugin's other skills, so that the model knows
	// what there is.
	Files []string
	// Load returns the text. It must only read.
	Load func(ctx context.Context, t *Turn) (string, error)
	// Pos is where the skill was registered.
	Pos Pos

	plugin string
}

// skillPrefix is the prefix of references to skills.
const skillPrefix = "skill"

func (r *registry) addSkill(p *Plugin, s *Skill) error {
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
	r.skills[key] = s
	return nil
}

// loaderOf returns a skill as a loader of its one reference.
func (r *registry) loaderOf(s *Skill) *FragmentLoader {
	load := func(ctx context.Context, t *Turn, _ string) (Context, error) {
		text, err := s.Load(ctx, t)
		return Context{Fragments: []fragments.Fragment{{Content: r.besides(s) + text, Title: s.Name}}}, err
	}
	return &FragmentLoader{Prefix: skillPrefix, Load: load, Pos: s.Pos, plugin: s.plugin}
}

// besides returns the lines in front of a skill's text, which say what else there
// is: the other skills of the plugin, and the skill's files.
func (r *registry) besides(s *Skill) string {
	var others []string
	for _, key := range sortedKeys(r.skills) {
		if o := r.skills[key]; o.plugin == s.plugin && o != s {
			others = append(others, o.entry())
		}
	}
	text := listing("Other skills of "+s.plugin, others) + listing("Files beside this skill", s.Files)
	if text == "" {
		return ""
	}
	return text + "\n"
}

// entry returns the skill's line in a list.
func (s *Skill) entry() string {
	about := strings.Join(strings.Fields(s.Description), " ")
	if len(about) > maxSkillLine {
		about = strings.ToValidUTF8(about[:maxSkillLine], "") + "…"
	}
	return strings.TrimSuffix(skillPrefix+":"+s.plugin+":"+s.Name+": "+about, ": ")
}

// The most entries of a list in front of a skill: by number, by bytes of all, and
// by bytes of a description in it.
const (
	maxSkillEntries = 100
	maxSkillBytes   = 8 << 10
	maxSkillLine    = 200
)

// listing returns a list with a title, "" if nothing is in it.
func listing(title string, entries []string) string {
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
