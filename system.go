package starhost

import (
	"slices"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// A systemText is a session's system text: rendered once, then kept. A plugin
// that offers something else under a source that it used before replaces that;
// a source that was not there before is added.
type systemText struct {
	own  string               // the request's own system text
	kept []fragments.Fragment // in gathering order
	text string               // as rendered last
}

// mark marks the system fragments of set that are in the system text already.
func (s *systemText) mark(set *fragments.Set) {
	for _, r := range set.Rows() {
		if r.Target == fragments.System && r.Status == fragments.Kept && s.holds(r.ID) {
			r.Status, r.Reason = fragments.InSession, "in the system text"
		}
	}
}

func (s *systemText) holds(id fragments.Hash) bool {
	return slices.ContainsFunc(s.kept, func(f fragments.Fragment) bool { return fragments.Sum(f.Content) == id })
}

// take brings the text up to date with what a prompt offered, and returns the
// first fragment that is new to a session that had prompts before, or nil.
func (s *systemText) take(set *fragments.Set) *fragments.Row {
	var fresh *fragments.Row
	offered := map[fragments.Origin][]fragments.Hash{}
	for _, r := range set.Rows() {
		if r.Target != fragments.System || r.Status == fragments.Dropped {
			continue
		}
		for _, o := range r.Provenance {
			offered[o] = append(offered[o], r.ID)
		}
		if r.Status == fragments.Kept && fresh == nil {
			fresh = r
		}
	}
	s.kept = slices.DeleteFunc(s.kept, func(f fragments.Fragment) bool {
		ids := offered[fragments.Origin{Source: f.Source, Plugin: f.Plugin}]
		return ids != nil && !slices.Contains(ids, fragments.Sum(f.Content))
	})
	for _, f := range set.Fragments() {
		if f.Target == fragments.System {
			s.kept = append(s.kept, f)
		}
	}
	return fresh
}

// render returns the system text, and says in set where its fragments stand.
func (s *systemText) render(set *fragments.Set) string {
	all := fragments.Merge(s.kept)
	text, _ := all.Render(fragments.Plain, 0)
	for _, r := range set.Rows() {
		if r.Target != fragments.System || r.Status != fragments.Kept {
			continue
		}
		for _, at := range all.Rows() {
			if at.ID == r.ID {
				r.Offset, r.Length = at.Offset, at.Length
			}
		}
	}
	if own := strings.TrimSpace(s.own); own != "" {
		if text != "" {
			text += "\n\n"
		}
		text += s.own
	}
	s.text = text
	return text
}
