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
//
// The text is that of its parts, whatever these are.
func fingerprint(parts []string) uint64 {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	var space [8 + samples*width]byte
	b := binary.LittleEndian.AppendUint64(space[:0], uint64(size))
	if size <= samples*width {
		b = appendText(b, parts, 0, size)
	} else {
		for i := range samples {
			b = appendText(b, parts, (size-width)*i/(samples-1), width) // the last one ends the text
		}
	}
	return maphash.Bytes(seed, b)
}

// appendText appends n bytes, from the one at on, of the text of parts.
func appendText(b []byte, parts []string, at, n int) []byte {
	for _, part := range parts {
		if at >= len(part) {
			at -= len(part)
			continue
		}
		piece := part[at:min(at+n, len(part))]
		b, at, n = append(b, piece...), 0, n-len(piece)
	}
	return b
}
