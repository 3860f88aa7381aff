package starlark

import (
	"math"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// payKey pays for hashing v, and for comparing it with an equal key.
func (w *worker) payKey(op string, v starlark.Value) error {
	switch v := v.(type) {
	case starlark.String:
		if len(v) > smallEqual {
			return w.payAs(op, keyBytes, uint64(len(v)))
		}
	case starlark.Bytes:
		if len(v) > smallEqual {
			return w.payAs(op, keyBytes, uint64(len(v)))
		}
	case starlark.Int:
		if !isSmallInt(v) {
			return w.payAs(op, wordPair, words(v))
		}
	case starlark.Tuple, *starlarkstruct.Struct:
		k := keyWalk{w: w, op: op}
		if err := k.visit(v); err != nil {
			return err
		}
		return w.charge(op, k.nodes+k.bytes/keyBytes.per, 0)
	}
	return nil
}

// A keyWalk visits the expanded tree of a key, as hashing does.
type keyWalk struct {
	w            *worker
	op           string
	depth        int
	nodes, bytes uint64 // not yet charged
}

func (k *keyWalk) visit(v starlark.Value) error {
	if k.nodes++; k.nodes >= 64 {
		if err := k.w.charge(k.op, k.nodes+k.bytes/keyBytes.per, 0); err != nil {
			return err
		}
		k.nodes, k.bytes = 0, 0
	}
	switch v := v.(type) {
	case starlark.String:
		k.bytes += uint64(len(v))
	case starlark.Bytes:
		k.bytes += uint64(len(v))
	case starlark.Int:
		k.bytes += words(v)
	case starlark.Tuple:
		return k.parts(v.Elements())
	case *starlarkstruct.Struct:
		return k.parts(func(yield func(starlark.Value) bool) {
			for name, x := range v.Entries() {
				k.bytes += uint64(len(name))
				if !yield(x) {
					return
				}
			}
		})
	}
	return nil
}

func (k *keyWalk) parts(values func(yield func(starlark.Value) bool)) error {
	if k.depth++; k.depth > maxDepth {
		return k.w.exceed("depth", k.op, uint64(k.depth), maxDepth, 0)
	}
	for x := range values {
		if err := k.visit(x); err != nil {
			return err
		}
	}
	k.depth--
	return nil
}

// payKeys pays for hashing every element of v again, as bulk operations on dicts
// and sets do.
func (w *worker) payKeys(op string, v starlark.Value) error {
	return w.forEach(op, visited, v, func(k starlark.Value) error { return w.payKey(op, k) })
}

// setKey inserts into a dict that the script built, and pays.
func (w *worker) setKey(op string, d *starlark.Dict, k, v starlark.Value) error {
	if err := w.payKey(op, k); err != nil {
		return err
	}
	n := d.Len()
	if err := d.SetKey(k, v); err != nil {
		return err
	}
	if n >= floodFrom && d.Len() > n {
		return w.flood(op, d, k, n)
	}
	return nil
}

// addKey inserts into a set that the script built, and pays.
func (w *worker) addKey(op string, s *starlark.Set, k starlark.Value) error {
	if err := w.payKey(op, k); err != nil {
		return err
	}
	n := s.Len()
	if err := s.Insert(k); err != nil {
		return err
	}
	if n >= floodFrom && s.Len() > n {
		return w.flood(op, s, k, n)
	}
	return nil
}

// Tables below floodFrom entries are not watched, those below floodLarge with
// few counters. seeded is the length from which strings have a hash that no
// script can aim at.
const (
	floodFrom  = 64
	floodLarge = 1024
	seeded     = 12
)

// A sketch counts how many keys of one table share the low bits of their hash.
// More than a fair hash gives means a chain in that table.
type sketch struct {
	counts []uint16
	total  uint64
}

// flood charges for a key that was put into a table of n entries when its hash
// collides with more keys than chance explains.
func (w *worker) flood(op string, table, k starlark.Value, n int) error {
	if isSeeded(k) {
		return nil
	}
	h, err := k.Hash()
	if err != nil {
		return nil // it could not be inserted
	}
	s, err := w.sketchOf(table, n)
	if err != nil {
		return err
	}
	size := uint64(len(s.counts))
	c := &s.counts[uint64(h)%size]
	if *c < math.MaxUint16 {
		*c++
	}
	s.total++
	if fair := 64 + 8*s.total/size; uint64(*c) > fair {
		return w.payAs(op, collision, uint64(*c))
	}
	return nil
}

// sketchOf returns the counters of a table of n entries.
func (w *worker) sketchOf(table starlark.Value, n int) (*sketch, error) {
	if w.lastTable == table && (n < floodLarge) == (len(w.lastSketch.counts) == smallSketch) {
		return w.lastSketch, nil
	}
	size := smallSketch
	if n >= floodLarge {
		size = largeSketch
	}
	s := w.sketches[table]
	if s == nil || len(s.counts) != size {
		if err := w.pay(sketchMem, uint64(size)); err != nil {
			return nil, err
		}
		s = &sketch{counts: make([]uint16, size)}
		if w.sketches == nil {
			w.sketches = map[starlark.Value]*sketch{}
		}
		w.sketches[table] = s
	}
	w.lastTable, w.lastSketch = table, s
	return s, nil
}

const (
	smallSketch = 256
	largeSketch = 4096
)

// isSeeded reports whether the hash of k depends on the process.
func isSeeded(k starlark.Value) bool {
	switch k := k.(type) {
	case starlark.String:
		return len(k) >= seeded
	case starlark.Bytes:
		return len(k) >= seeded
	case starlark.Tuple:
		for _, x := range k {
			if isSeeded(x) {
				return true
			}
		}
	case *starlarkstruct.Struct:
		for _, x := range k.Entries() {
			if isSeeded(x) {
				return true
			}
		}
	}
	return false
}
