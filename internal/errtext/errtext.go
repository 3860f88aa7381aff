// Package errtext writes parts of error texts: texts cut to what a reader can take in, and
// the path to a value inside of another.
package errtext

import (
	"strconv"
	"unicode/utf8"
)

// MaxText is the most bytes of a text that a message shows: what a reader can take in.
const MaxText = 120

// Quote quotes s for a message, cut to what a reader can take in. It looks at
// no more of s, which may be megabytes.
func Quote(s string) string { return Cut(strconv.Quote(s[:min(len(s), MaxText+utf8.UTFMax)])) }

// Cut returns s for a message, cut to what a reader can take in.
func Cut(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return s[:RuneStart(s, MaxText)] + "…"
}

// RuneStart returns the last start of a character of s at or before i. In text
// that is not UTF-8 it gives up no more than a character could be long.
func RuneStart(s string, i int) int {
	for back := 0; back < utf8.UTFMax && back <= i; back++ {
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}
