package starhost

import (
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

// IsEmpty reports whether c has neither fragments nor attachments.
func (c *Context) IsEmpty() bool { return len(c.Fragments) == 0 && len(c.Attachments) == 0 }
