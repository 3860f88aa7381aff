package loader

import (
	"encoding/binary"

	"github.com/starhost/starhost/fragments"
)

// A coder writes values as bytes, or reads them back: one description of a type does
// both. It writes the same bytes for the same value on every machine.
type coder struct {
	out     []byte // what was written
	in      string // what is left to be read
	reading bool
	broken  bool // what was read is something else; the values mean nothing
}

// cut takes n bytes of what is left.
func (c *coder) cut(n uint64) string {
	if n > uint64(len(c.in)) {
		c.in, c.broken = "", true
		return ""
	}
	text := c.in[:n]
	c.in = c.in[n:]
	return text
}

func (c *coder) number(n *uint64) {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, *n)
		return
	}
	*n = 0
	for shift := 0; shift < 64; shift += 7 {
		b := c.cut(1)
		if b == "" {
			return
		}
		*n |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return
		}
	}
	c.broken = true
}

func (c *coder) flag(f *bool) {
	var n uint64
	if *f {
		n = 1
	}
	c.number(&n)
	*f = n == 1
}

// codeInteger is for the kinds of integers that have a sign; small ones take few bytes.
func codeInteger[T ~int | ~int32 | ~int64](c *coder, n *T) {
	i := int64(*n)
	u := uint64(i)<<1 ^ uint64(i>>63)
	c.number(&u)
	*n = T(int64(u>>1) ^ -int64(u&1))
}

func codeText[T ~string](c *coder, s *T) {
	n := uint64(len(*s))
	c.number(&n)
	if c.reading {
		*s = T(c.cut(n))
		return
	}
	c.out = append(c.out, *s...)
}

func codeHash(c *coder, h *fragments.Hash) {
	if c.reading {
		copy(h[:], c.cut(uint64(len(h))))
		return
	}
	c.out = append(c.out, h[:]...)
}

// codeItems codes a list; none at all is another one than an empty one.
func codeItems[T any](c *coder, list *[]T, item func(*coder, *T)) {
	n := uint64(len(*list)) + 1
	if *list == nil {
		n = 0
	}
	c.number(&n)
	if c.reading {
		*list = nil
		if n > uint64(len(c.in))+1 { // an item takes a byte or more
			c.broken = true
		}
		if n == 0 || c.broken {
			return
		}
		*list = make([]T, n-1)
	}
	for i := range *list {
		item(c, &(*list)[i])
	}
}

func codeTexts(c *coder, list *[]string) { codeItems(c, list, codeText) }
