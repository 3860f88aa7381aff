// This file says where a part of a context comes from, and how many parts one handler may offer.

package host

import (
	"cmp"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// maxParts is the most fragments and attachments of one handler's context.
const maxParts = 10_000

// attribute returns a copy of a context with its origin: the source if a part has none, and always the
// plugin and the place of the registration. Nothing in the copy is pinned.
func attribute(c starhost.Context, source, plugin, at string) starhost.Context {
	if c.IsEmpty() {
		return c
	}
	out := starhost.Context{Fragments: slices.Clone(c.Fragments), Attachments: slices.Clone(c.Attachments)}
	for i := range out.Fragments {
		f := &out.Fragments[i]
		f.Source, f.Plugin, f.Pos, f.Pinned = cmp.Or(f.Source, source), plugin, at, false
	}
	for i := range out.Attachments {
		a := &out.Attachments[i]
		a.Source, a.Plugin, a.Pos, a.Pinned = cmp.Or(a.Source, source), plugin, at, false
	}
	return out
}

// attributeMissing sets the origin of the parts that do not name a plugin, as attribute does. It leaves the
// other parts as they are.
func attributeMissing(c starhost.Context, source, plugin string, pos starhost.Pos) starhost.Context {
	out := attribute(c, source, plugin, pos.String())
	for i, f := range c.Fragments {
		if f.Plugin != "" {
			out.Fragments[i] = f
		}
	}
	for i, a := range c.Attachments {
		if a.Plugin != "" {
			out.Attachments[i] = a
		}
	}
	return out
}

// attributeResult returns a result with the origin of the attachments that do not name a plugin.
func attributeResult(r starhost.Result, source, plugin string, pos starhost.Pos) starhost.Result {
	r.Attachments = attributeMissing(starhost.Context{Attachments: r.Attachments}, source, plugin, pos).Attachments
	return r
}

// setTarget makes all parts of a context system text if system is true. It pins them if typed is true,
// because the user typed the reference.
func setTarget(c *starhost.Context, system, typed bool) {
	for i := range c.Fragments {
		c.Fragments[i].Pinned = typed
		if system {
			c.Fragments[i].Target = fragments.System
		}
	}
	for i := range c.Attachments {
		c.Attachments[i].Pinned = typed
	}
}

// fragmentLists returns the fragments of each offer, as one list for each.
func fragmentLists(offers []starhost.Context) [][]fragments.Fragment {
	lists := make([][]fragments.Fragment, len(offers))
	for i, o := range offers {
		lists[i] = o.Fragments
	}
	return lists
}
