package starlark

import (
	"iter"
	"math"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// payKey pays for hashing v, and for comparing it with an equal key.
func (w *worker) payKey(op string, v starlark.Value) error {
	_, err := w.payWeighedKey(op, v)
	return err
}

// payWeighedKey is payKey, and returns how many values a comparison of v with another
// key of the same hash looks at.
func (w *worker) payWeighedKey(op string, v starlark.Value) (weight uint64, err error) {
	switch v := v.(type) {
	case starlark.String:
		if len(v) > smallEqual {
			return 1, w.payAs(op, keyBytes, uint64(len(v)))
		}
	case starlark.Bytes:
		if len(v) > smallEqual {
			return 1, w.payAs(op, keyBytes, uint64(len(v)))
		}
	case starlark.Int:
		if n := words(v); n > 1 {
			return 1 + n/8, w.payAs(op, wordPair, n)
		}
	case starlark.Tuple, *starlarkstruct.Struct:
		k := keyWalk{w: w, op: op}
		if err := k.visit(v); err != nil {
			return 0, err
		}
		return k.total + k.nodes, w.charge(op, k.nodes+keyBytes.steps(k.bytes), 0)
	}
	return 1, nil
}

// A keyWalk visits the expanded tree of a key, as hashing does.
type keyWalk struct {
	w            *worker
	op           string
	depth        int
	nodes, bytes uint64 // not yet charged
	total        uint64 // nodes charged
}

func (k *keyWalk) visit(v starlark.Value) error {
	if k.nodes++; k.nodes >= 64 {
		if err := k.w.charge(k.op, k.nodes+keyBytes.steps(k.bytes), 0); err != nil {
			return err
		}
		k.total += k.nodes
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
		return k.visitParts(v.Elements())
	case *starlarkstruct.Struct:
		return k.visitParts(func(yield func(starlark.Value) bool) {
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

func (k *keyWalk) visitParts(values iter.Seq[starlark.Value]) error {
	if k.depth++; k.depth > maxDepth {
		return k.w.stopAtLimit("depth", k.op, uint64(k.depth), maxDepth, 0)
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
	return w.forEach(op, elementVisit, v, func(k starlark.Value) error { return w.payKey(op, k) })
}

// setKey inserts into a dict that the script built, and pays.
func (w *worker) setKey(op string, d *starlark.Dict, k, v starlark.Value) error {
	weight, err := w.payWeighedKey(op, k)
	if err != nil {
		return err
	}
	n := d.Len()
	if err := d.SetKey(k, v); err != nil {
		return err
	}
	return w.watchGrowth(op, d, k, n, weight)
}

// addKey inserts into a set that the script built, and pays.
func (w *worker) addKey(op string, s *starlark.Set, k starlark.Value) error {
	weight, err := w.payWeighedKey(op, k)
	if err != nil {
		return err
	}
	n := s.Len()
	if err := s.Insert(k); err != nil {
		return err
	}
	return w.watchGrowth(op, s, k, n, weight)
}

// A table is a dict or a set.
type table interface {
	starlark.Value
	Len() int
}

// watchGrowth watches a table that had n entries before k was put into it.
func (w *worker) watchGrowth(op string, t table, k starlark.Value, n int, weight uint64) error {
	if t.Len() == n || n < watchedLen && weight < heavyWeight {
		return nil
	}
	return w.chargeCollisions(op, t, k, n, weight)
}

// Tables below watchedLen entries are not watched unless their keys are heavy,
// those below largeLen with few counters. seeded is the length from which
// strings have a hash that no script can aim at.
const (
	watchedLen  = 64
	largeLen    = 1024
	heavyWeight = 2
	seededLen   = 12
)

// A sketch counts how many keys of one table share the low bits of their hash,
// which makes a chain in the table, and how many share all of it, which makes
// each lookup compare them all.
type sketch struct {
	chains, hashes []uint16
	total          uint64
}

// chargeCollisions charges for a key that was put into a table of n entries when its hash
// collides with more keys than chance explains. The price grows so fast that the
// lookups of what can be built are cheap enough to go unwatched.
func (w *worker) chargeCollisions(op string, t starlark.Value, k starlark.Value, n int, weight uint64) error {
	if s, ok := k.(starlark.String); ok && len(s) >= seededLen {
		return nil
	}
	h := stableHash(k)
	s, err := w.sketchOf(t, n)
	if err != nil {
		return err
	}
	s.total++
	size := uint32(len(s.chains))
	chain, same := increment(s.chains, h%size), increment(s.hashes, h*0x9E3779B1>>12%size)
	fair := 8 * s.total / uint64(size)
	steps := uint64(0)
	if chain > fair+watchedLen {
		steps = chain
	}
	if same > fair+watchedLen/2 || same > fair+watchedLen/8 && weight >= heavyWeight {
		steps = multiplyClamped(32*same*same, weight)
	}
	if steps == 0 {
		return nil
	}
	return w.payAs(op, keyCollision, steps)
}

// increment adds one to a counter and returns it.
func increment(counts []uint16, i uint32) uint64 {
	if counts[i] < math.MaxUint16 {
		counts[i]++
	}
	return uint64(counts[i])
}

// sketchOf returns the counters of a table of n entries.
func (w *worker) sketchOf(t starlark.Value, n int) (*sketch, error) {
	size := smallSketch
	if n >= largeLen {
		size = largeSketch
	}
	if w.lastTable == t && len(w.lastSketch.chains) == size {
		return w.lastSketch, nil
	}
	s := w.sketches[t]
	if s == nil || len(s.chains) != size {
		if err := w.pay(sketchCounter, uint64(size)); err != nil {
			return nil, err
		}
		s = &sketch{chains: make([]uint16, size), hashes: make([]uint16, size)}
		if w.sketches == nil {
			w.sketches = map[starlark.Value]*sketch{}
		}
		w.sketches[t] = s
	}
	w.lastTable, w.lastSketch = t, s
	return s, nil
}

const (
	smallSketch = 256
	largeSketch = 4096
)

// recordPeak notes the length of a table before entries are taken out of it: the
// table itself keeps its size, and clearing it again takes as long.
func (w *worker) recordPeak(t table) {
	if n := t.Len(); n >= watchedLen && n > w.peaks[t] {
		if w.peaks == nil {
			w.peaks = map[starlark.Value]int{}
		}
		w.peaks[t] = n
	}
}
