package call

import (
	"fmt"

	"go.starlark.net/starlark"
)

// A KeyFlood finds objects whose keys were chosen to share one hash, which would
// make a dict quadratic. The hash of short strings has no seed, so that a sender
// can aim; that of longer ones does, and they do not count.
type KeyFlood struct {
	keys   int
	shared int      // keys that the last one shares a hash with, about
	slots  []uint16 // keys by the low bits of their hash, made when there are many
}

const (
	floodSlots    = 4096
	floodCounted  = 64   // keys that may share anything for nothing
	floodFrom     = 1000 // keys that may share anything
	floodPerSlot  = 256  // keys of one slot, beyond an even share eight times over
	seededHashLen = 12   // upstream hashes strings of this length with a seed
)

// Add counts one key.
func (f *KeyFlood) Add(key starlark.Value) error {
	f.keys, f.shared = f.keys+1, 0
	if s, ok := key.(starlark.String); f.keys < floodCounted || ok && len(s) >= seededHashLen {
		return nil
	}
	if f.slots == nil {
		f.slots = make([]uint16, floodSlots)
	}
	hash, _ := key.Hash() // keys always have one
	slot := &f.slots[hash%floodSlots]
	*slot++
	f.shared = int(*slot)
	if f.keys >= floodFrom && f.shared > floodPerSlot+8*f.keys/floodSlots {
		return fmt.Errorf("an object has too many keys of one hash (%d of %d)", f.shared, f.keys)
	}
	return nil
}

// Steps is the price of the comparisons that the last key takes.
func (f *KeyFlood) Steps() int { return f.shared }

// Collisions returns how many pairs of names share a slot, and so perhaps a hash.
func Collisions(names []string) int {
	slots := map[uint32]int{}
	pairs := 0
	for _, name := range names {
		if len(name) < seededHashLen {
			hash, _ := starlark.String(name).Hash() // strings always have one
			pairs += slots[hash%floodSlots]
			slots[hash%floodSlots]++
		}
	}
	return pairs
}
