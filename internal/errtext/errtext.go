// Package errtext writes parts of error texts: texts cut to a readable length, and the path to
// a value inside another value.
package errtext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxText is the most bytes of a text that a message shows.
const MaxText = 120

// Quote quotes the start of s for a message. It reads no more of s, which may have megabytes.
func Quote(s string) string { return strconv.Quote(cutQuoted(s)) }

// Word returns s for a message: unchanged if it is short and printable, else quoted by [Quote].
func Word(s string) string {
	unprintable := func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }
	if len(s) > MaxText || strings.ContainsFunc(s, unprintable) {
		return Quote(s)
	}
	return s
}

// Cut returns s, or its start and "…" if s is longer than [MaxText].
func Cut(s string) string { return cutTo(s, MaxText) }

func cutTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:RuneStart(s, most)] + "…"
}

// RuneStart returns the start of the character of s that contains byte i. In text that is not
// UTF-8 it may return i.
func RuneStart(s string, i int) int {
	for back := 0; back < utf8.UTFMax && back <= i; back++ {
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}
