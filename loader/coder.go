package loader

import (
	"encoding/binary"
	"unsafe"

	"github.com/starhost/starhost/fragments"
)

// A coder writes values as bytes, or reads them back: one description of a type does
// both. It writes the same bytes for the same value on every machine.
type coder struct {
	out     []byte // what was written
	in      []byte // what is left to be read; nobody changes it
	reading bool
	broken  bool // what was read is something else; the values mean nothing
}

// cut takes n bytes of what is left, nil if there are not so many.
func (c *coder) cut(n uint64) []byte {
	if n > uint64(len(c.in)) {
		c.in, c.broken = nil, true
		return nil
	}
	part := c.in[:n:n]
	c.in = c.in[n:]
	return part
}

func (c *coder) number(n *uint64) {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, *n)
		return
	}
	size := 0
	if *n, size = binary.Uvarint(c.in); size <= 0 {
		c.in, c.broken = nil, true
		return
	}
	c.in = c.in[size:]
}

func (c *coder) flag(f *bool) {
	var n uint64
	if !c.reading && *f {
		n = 1
	}
	c.number(&n)
	*f = n == 1
}

// codeInteger is for the kinds of integers that have a sign; small ones take few bytes.
func codeInteger[T ~int | ~int32 | ~int64](c *coder, n *T) {
	if !c.reading {
		i := int64(*n)
		c.out = binary.AppendUvarint(c.out, uint64(i)<<1^uint64(i>>63))
		return
	}
	var u uint64
	c.number(&u)
	*n = T(int64(u>>1) ^ -int64(u&1))
}

func codeText[T ~string](c *coder, s *T) {
	if !c.reading {
		c.out = append(binary.AppendUvarint(c.out, uint64(len(*s))), *s...)
		return
	}
	part := c.sized()
	*s = T(unsafe.String(unsafe.SliceData(part), len(part))) // a copy would take as long as all else
}

// sized takes bytes behind their number.
func (c *coder) sized() []byte {
	var n uint64
	c.number(&n)
	return c.cut(n)
}

// codeBytes is codeText for bytes that nobody changes; those that are read are nil if
// there are none.
func codeBytes[T ~[]byte](c *coder, b *T) {
	if !c.reading {
		c.out = append(binary.AppendUvarint(c.out, uint64(len(*b))), *b...)
		return
	}
	if *b = c.sized(); len(*b) == 0 {
		*b = nil
	}
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
	if c.reading {
		*list = makeItems[T](c)
	} else {
		n := uint64(len(*list)) + 1
		if *list == nil {
			n = 0
		}
		c.number(&n)
	}
	for i := range *list {
		item(c, &(*list)[i])
	}
}

// makeItems makes a list of as many items as are to be read. It writes to them, though
// they are zero: a page of new memory that is looked at before it is written to is mapped
// twice, the second time with all processors of the program stopped. For the same reason,
// what reads a value does not look at what it was.
func makeItems[T any](c *coder) []T {
	var n uint64
	c.number(&n)
	if n > uint64(len(c.in))+1 { // an item takes a byte or more
		c.broken = true
	}
	if n == 0 || c.broken {
		return nil
	}
	list := make([]T, n-1)
	clear(list)
	return list
}

func codeTexts(c *coder, list *[]string) { codeItems(c, list, codeText) }
