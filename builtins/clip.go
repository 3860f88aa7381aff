package builtins

import (
	"strconv"
	"unicode/utf8"
)

// maxShown is the most bytes of a text that a message shows: what a reader can take in.
const maxShown = 120

// quoteShort quotes s for a message, cut to what a reader can take in. It looks at
// no more of s, which may be megabytes.
func quoteShort(s string) string { return cut(strconv.Quote(s[:min(len(s), maxShown+utf8.UTFMax)])) }

// cut returns s for a message, cut to what a reader can take in.
func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return s[:runeStart(s, maxShown)] + "…"
}

// runeStart returns the last start of a character of s at or before i. Of text
// that is not UTF-8 it gives up no more than a character could be long.
func runeStart(s string, i int) int {
	for back := 0; back < utf8.UTFMax && back <= i; back++ {
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}
