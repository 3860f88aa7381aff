// This file has the system text of a session, which only grows.

package host

import (
	"slices"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// A systemText is the system text of a session, which is rendered once. If a plugin offers another text under
// a source that it has used before, the new text replaces the old one. A text under a new source is added.
type systemText struct {
	ownText string       // the request's own system text without surrounding space
	parts   []systemPart // the fragments in the order in which they were offered
	text    string       // the last rendering
	stale   bool         // ownText or parts have changed since the last rendering
}

// A systemPart is a fragment of the system text, with the origins that offered it last.
type systemPart struct {
	fragments.Fragment
	id      fragments.Hash
	origins []fragments.Origin
}

// setOwnText sets the system text that the request has. An empty text changes nothing.
func (s *systemText) setOwnText(text string) {
	if text = strings.TrimSpace(text); text != "" && text != s.ownText {
		s.ownText, s.stale = text, true
	}
}

// markPresent marks the fragments of set that the system text already contains.
func (s *systemText) markPresent(set *fragments.Set) {
	here := make(map[fragments.Hash]bool, len(s.parts))
	for i := range s.parts {
		here[s.parts[i].id] = true
	}
	for _, r := range set.Rows() {
		if r.Target == fragments.System && r.Status == fragments.Kept && here[r.ID] {
			r.Status, r.Reason = fragments.InSession, "in the system text"
		}
	}
}

// update changes the parts to the fragments of a prompt. It returns the first fragment that is new, or nil. A
// fragment that replaces a part takes the part's place.
func (s *systemText) update(set *fragments.Set) (fresh *fragments.Row) {
	offers := map[fragments.Origin][]*fragments.Row{}
	for _, r := range set.Rows() {
		if r.Target != fragments.System || r.Status == fragments.Dropped {
			continue
		}
		for _, o := range r.Provenance() {
			offers[o] = append(offers[o], r)
		}
		if r.Status == fragments.Kept && fresh == nil {
			fresh = r
		}
	}
	if len(offers) == 0 {
		return nil
	}
	s.addOrigins(set)
	var parts []systemPart
	placed := map[*fragments.Row]bool{}
	place := func(rows []*fragments.Row) {
		for _, r := range rows {
			if r.Target == fragments.System && r.Status == fragments.Kept && !placed[r] {
				placed[r] = true
				parts = append(parts, systemPart{r.Offer(), r.ID, r.Provenance()})
			}
		}
	}
	for _, p := range s.parts {
		if left := p.remainingOrigins(offers); len(left) > 0 {
			p.origins = left
			parts = append(parts, p)
			continue
		}
		s.stale = true
		for _, o := range p.origins {
			place(offers[o])
		}
	}
	place(set.Rows())
	s.parts, s.stale = parts, s.stale || fresh != nil
	return fresh
}

// addOrigins adds to the parts the new origins of fragments that did not change.
func (s *systemText) addOrigins(set *fragments.Set) {
	rows := map[fragments.Hash]*fragments.Row{}
	for _, r := range set.Rows() {
		if r.Target == fragments.System && r.Status == fragments.InSession {
			rows[r.ID] = r
		}
	}
	for i := range s.parts {
		p := &s.parts[i]
		if r := rows[p.id]; r != nil {
			fresh := slices.DeleteFunc(r.Provenance(), func(o fragments.Origin) bool {
				return slices.Contains(p.origins, o)
			})
			p.origins = slices.Concat(p.origins, fresh)
		}
	}
}

// remainingOrigins returns the origins of a part, without those that have offered another fragment in its
// place.
func (p *systemPart) remainingOrigins(offers map[fragments.Origin][]*fragments.Row) []fragments.Origin {
	var left []fragments.Origin
	again := func(r *fragments.Row) bool { return r.ID == p.id }
	for _, o := range p.origins {
		if rows := offers[o]; len(rows) == 0 || slices.ContainsFunc(rows, again) {
			left = append(left, o)
		}
	}
	return left
}

// render returns the system text, and sets the offsets of its new fragments in set.
func (s *systemText) render(set *fragments.Set) string {
	if !s.stale {
		return s.text
	}
	list := make([]fragments.Fragment, len(s.parts))
	for i := range s.parts {
		list[i] = s.parts[i].Fragment
	}
	all := fragments.Merge(list)
	text, _ := all.Render(fragments.Plain, 0)
	at := map[fragments.Hash]*fragments.Row{}
	for _, r := range all.Rows() {
		at[r.ID] = r
	}
	for _, r := range set.Rows() {
		if r.Target == fragments.System && r.Status == fragments.Kept {
			r.Offset, r.Length = at[r.ID].Offset, at[r.ID].Length
		}
	}
	if text != "" && s.ownText != "" {
		text += "\n\n"
	}
	s.text, s.stale = text+s.ownText, false
	return s.text
}
