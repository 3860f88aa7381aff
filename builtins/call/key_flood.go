package call

import (
	"fmt"

	"go.starlark.net/starlark"
)

// A KeyFlood detects that somebody chose the keys of an object so that they share one hash, which makes a
// dict of them take quadratic time. It ignores strings of 12 bytes and more: upstream hashes these with a
// random seed, so nobody can choose them.
type KeyFlood struct {
	keys   int
	shared int      // how many keys are in the slot of the last key
	slots  []uint16 // how many keys each slot has, by the low bits of the hash; nil while there are few keys
}

const (
	floodSlots    = 4096
	floodCounted  = 64   // Add does not check this many first keys
	floodFrom     = 1000 // from this number of keys on, Add returns errors
	floodPerSlot  = 256  // the most keys in a slot, in addition to eight times the average
	seededHashLen = 12   // upstream hashes strings of this many bytes or more with a seed
)

// Add counts one key. It returns an error if too many keys share a hash.
func (f *KeyFlood) Add(key starlark.Value) error {
	f.keys, f.shared = f.keys+1, 0
	if s, ok := key.(starlark.String); f.keys < floodCounted || ok && len(s) >= seededHashLen {
		return nil
	}
	if f.slots == nil {
		f.slots = make([]uint16, floodSlots)
	}
	hash, _ := key.Hash() // no error, because keys of dicts can be hashed
	slot := &f.slots[hash%floodSlots]
	*slot++
	f.shared = int(*slot)
	if f.keys >= floodFrom && f.shared > floodPerSlot+8*f.keys/floodSlots {
		return fmt.Errorf("an object has too many keys of one hash (%d of %d)", f.shared, f.keys)
	}
	return nil
}

// Steps returns the price of inserting the last key: of comparing it with the keys in its slot.
func (f *KeyFlood) Steps() int { return f.shared }

// Collisions returns how many pairs of names share a slot. The two names of such a pair may share a hash.
func Collisions(names []string) int {
	slots := map[uint32]int{}
	pairs := 0
	for _, name := range names {
		if len(name) < seededHashLen {
			hash, _ := starlark.String(name).Hash() // no error, because strings can be hashed
			pairs += slots[hash%floodSlots]
			slots[hash%floodSlots]++
		}
	}
	return pairs
}
