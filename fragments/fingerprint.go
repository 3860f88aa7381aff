package fragments

import (
	"encoding/binary"
	"hash/maphash"
)

// seed of fingerprints: nothing that can be seen depends on them.
var seed = maphash.MakeSeed()

// Where a fingerprint looks at a long text: so many places, so many bytes each.
const samples, width = 4, 32

// fingerprint returns a number that equal texts share and others mostly do not. Of a
// long text it reads some bytes and the length, whatever the text's size. So it finds
// what may be the same, and a comparison must prove it; where texts are made to share
// it, they are told apart by their hashes, as texts are that nobody knows.
func fingerprint(text string) uint64 {
	var space [8 + samples*width]byte
	b := binary.LittleEndian.AppendUint64(space[:0], uint64(len(text)))
	if len(text) <= samples*width {
		b = append(b, text...)
	} else {
		for i := range samples {
			at := (len(text) - width) * i / (samples - 1) // the last one ends the text
			b = append(b, text[at:at+width]...)
		}
	}
	return maphash.Bytes(seed, b)
}
