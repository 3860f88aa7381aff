package call

import (
	"fmt"

	"go.starlark.net/starlark"
)

// A KeyFlood detects objects whose keys were chosen to share one hash, so that a dict of them
// takes quadratic time. It ignores strings of 12 bytes and more: upstream hashes these with a
// random seed, so a sender cannot choose them.
type KeyFlood struct {
	keys   int
	shared int      // number of keys in the slot of the last key
	slots  []uint16 // number of keys by the low bits of the hash; nil while there are few keys
}

const (
	floodSlots    = 4096
	floodCounted  = 64   // the first keys are free of checks
	floodFrom     = 1000 // number of keys from which Add returns errors
	floodPerSlot  = 256  // most keys in a slot, in addition to eight times the average
	seededHashLen = 12   // length from which upstream hashes strings with a seed
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
	hash, _ := key.Hash() // keys of dicts are hashable
	slot := &f.slots[hash%floodSlots]
	*slot++
	f.shared = int(*slot)
	if f.keys >= floodFrom && f.shared > floodPerSlot+8*f.keys/floodSlots {
		return fmt.Errorf("an object has too many keys of one hash (%d of %d)", f.shared, f.keys)
	}
	return nil
}

// Steps returns the price of the comparisons that inserting the last key takes.
func (f *KeyFlood) Steps() int { return f.shared }

// Collisions returns the number of pairs of names that share a slot and so perhaps a hash.
func Collisions(names []string) int {
	slots := map[uint32]int{}
	pairs := 0
	for _, name := range names {
		if len(name) < seededHashLen {
			hash, _ := starlark.String(name).Hash() // strings are hashable
			pairs += slots[hash%floodSlots]
			slots[hash%floodSlots]++
		}
	}
	return pairs
}
