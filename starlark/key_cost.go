package starlark

import (
	"iter"
	"math"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// payKey charges for hashing v, and for one comparison with an equal key.
func (w *worker) payKey(op string, v starlark.Value) error {
	_, err := w.payWeighedKey(op, v)
	return err
}

// payWeighedKey charges as payKey does. It returns the weight of the key: the number of values that
// a comparison with another key of the same hash may read.
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
	case starlark.Float:
		return 1, w.payAs(op, floatKey, exponentBits(v))
	case starlark.Tuple, *starlarkstruct.Struct:
		k := keyWalk{w: w, op: op}
		if err := k.visit(v); err != nil {
			return 0, err
		}
		return k.total + k.nodes, w.charge(op, k.nodes+keyBytes.steps(k.bytes), 0)
	}
	return 1, nil
}

// exponentBits returns the number of bits by which f is larger or smaller than 1, beyond a machine
// word. Hashing a float and comparing it with an integer convert it to an integer of so many bits.
func exponentBits(f starlark.Float) uint64 {
	x := math.Abs(float64(f))
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	n := math.Ilogb(x)
	return uint64(max(0, max(n, -n)-64))
}

// A keyWalk visits the expanded tree of a key, as hashing does.
type keyWalk struct {
	w            *worker
	op           string
	depth        int
	nodes, bytes uint64 // visited since the last charge
	total        uint64 // nodes that are charged
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
	case starlark.Float:
		k.bytes += 8 * exponentBits(v)
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

// payKeys charges for hashing every element of v again, as bulk operations on dicts and sets do.
func (w *worker) payKeys(op string, v starlark.Value) error {
	return w.forEach(op, elementVisit, v, func(k starlark.Value) error { return w.payKey(op, k) })
}

// setKey inserts an entry into a dict of the script, and charges for it.
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

// addKey inserts an element into a set of the script, and charges for it.
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

// watchGrowth charges for the collisions of k, which was inserted into a table of n entries. Small
// tables of light keys cost nothing.
func (w *worker) watchGrowth(op string, t table, k starlark.Value, n int, weight uint64) error {
	if t.Len() == n || n < watchedLen && weight < heavyWeight {
		return nil
	}
	return w.chargeCollisions(op, t, k, n, weight)
}

// A table of fewer than watchedLen entries costs nothing extra unless its keys are heavy. A table of fewer
// than largeLen entries has a small sketch. The interpreter hashes a string of seededLen bytes or more
// differently in each process, so no script can choose such strings that collide.
const (
	watchedLen  = 64
	largeLen    = 1024
	heavyWeight = 2
	seededLen   = 12
)

// A sketch counts the keys of one table by their hashes. chains counts the keys whose hashes share the low
// bits, so that the table has them in one chain. hashes counts the keys whose hashes share all bits, because
// each lookup compares all of these.
type sketch struct {
	chains, hashes []uint16
	total          uint64
}

// chargeCollisions charges for a key that was inserted into a table of n entries, if more keys
// share its hash than chance explains. The charge grows with the square of their number. So a
// script cannot afford a table whose later lookups, which cost nothing extra, are slow.
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

// increment adds one to a counter and returns the result.
func increment(counts []uint16, i uint32) uint64 {
	if counts[i] < math.MaxUint16 {
		counts[i]++
	}
	return uint64(counts[i])
}

// sketchOf returns the sketch of a table of n entries, and makes one if there is none.
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

// recordPeak records the length of a table before a script removes entries. The table does not shrink, so the
// time to clear it depends on its greatest length.
func (w *worker) recordPeak(t table) {
	if n := t.Len(); n >= watchedLen && n > w.peaks[t] {
		if w.peaks == nil {
			w.peaks = map[starlark.Value]int{}
		}
		w.peaks[t] = n
	}
}
