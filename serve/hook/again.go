package hook

import (
	"bytes"
	"cmp"
	"slices"
)

// An agent sends its whole conversation with each request, and most of it stood in the
// request before. A value that is there again, at the same place among its siblings, is
// not read again: its bytes are compared, which takes a twentieth of the time, and its
// nodes are copied. What comes of it is what reading gives.

// maxAgain is how deep the values lie that are compared: messages and tools, and what
// they are in. Below that reading costs as little.
const maxAgain = 4

// A copied value stands at one index, and in the document before at another one.
type copied struct{ at, like int }

// origin returns the index that a value of the document before has, where this one
// repeats it, and none where it was read.
func (d *document) origin(i int) int {
	n, found := slices.BinarySearchFunc(d.known, i, func(c copied, i int) int { return cmp.Compare(c.at, i) })
	if !found {
		n--
	}
	if n < 0 || i >= d.behind(d.known[n].at) {
		return none
	}
	return i - d.known[n].at + d.known[n].like
}

// again takes over the nodes of a value of the document before, like, if the text goes on
// with the same bytes at i. It returns the place behind them.
func (d *document) again(i, depth, like int) (int, bool) {
	if like == none || depth > maxAgain {
		return i, false
	}
	before := d.before
	old := &before.nodes[like]
	same := before.as(like)
	if old.kind == isOther || !bytes.HasPrefix(d.text[i:], same) { // the end of a number is not in it
		return i, false
	}
	at := len(d.nodes)
	d.known = append(d.known, copied{at, like})
	d.nodes = append(d.nodes, before.nodes[like:old.after]...)
	if moved, further := int32(i)-old.start, int32(at-like); moved != 0 || further != 0 {
		moving := d.nodes[at:]
		for j := range moving {
			n := &moving[j]
			n.start, n.end, n.after = n.start+moved, n.end+moved, n.after+further
		}
	}
	return i + len(same), true
}

// siblings are what an object or an array of the document before has in it, one after
// another.
type siblings struct {
	of        *document
	next, end int
}

// inside returns what is in the value like, if it is of a kind.
func (d *document) inside(like int, kind byte) siblings {
	if like == none || d.before.nodes[like].kind != kind {
		return siblings{}
	}
	return siblings{d.before, like + 1, d.before.behind(like)}
}

// take returns the next of them, none behind the last.
func (s *siblings) take() int {
	if s.next == s.end {
		return none
	}
	i := s.next
	s.next = s.of.behind(i)
	return i
}
