package starhost

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/starhost/starhost/fragments"
)

// A Context is what handlers offer for a prompt. The zero value offers nothing.
type Context struct {
	Fragments   []fragments.Fragment
	Attachments []fragments.Attachment
}

// Bytes returns the size of all contents.
func (c Context) Bytes() int64 {
	var n int64
	for _, f := range c.Fragments {
		n += int64(len(f.Content))
	}
	for _, a := range c.Attachments {
		n += int64(len(a.Content))
	}
	return n
}

// size returns the size as text for people.
func (c Context) size() string { return strconv.FormatInt(c.Bytes(), 10) + " B" }

// empty reports whether c has neither fragments nor attachments.
func (c *Context) empty() bool { return len(c.Fragments) == 0 && len(c.Attachments) == 0 }

// attribute returns a copy of c with its origin: the source if a part has none, and always the
// plugin and the place of the registration. Nothing in the copy is pinned.
func (c Context) attribute(source, plugin, at string) Context {
	if c.empty() {
		return c
	}
	out := Context{Fragments: slices.Clone(c.Fragments), Attachments: slices.Clone(c.Attachments)}
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

// attributeMissing is attribute for the parts that do not name a plugin. It leaves the others as
// they are.
func (c Context) attributeMissing(source, plugin string, pos Pos) Context {
	out := c.attribute(source, plugin, pos.String())
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

// setTarget marks all parts as system text, if system is true, and as pinned, if the user typed the
// reference.
func (c *Context) setTarget(system, typed bool) {
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

// maxParts is the most fragments and attachments of one handler's context.
const maxParts = 10_000

// fragmentLists returns a list of fragments for each offer.
func fragmentLists(offers []Context) [][]fragments.Fragment {
	lists := make([][]fragments.Fragment, len(offers))
	for i, o := range offers {
		lists[i] = o.Fragments
	}
	return lists
}
