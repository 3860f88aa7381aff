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
func Cut(s string) string { return CutTo(s, MaxText, "…") }

// MaxClip is the most bytes of a text that [Clip] returns.
const MaxClip = 200

// Clip returns s, or its start and "…" if s is longer than [MaxClip].
func Clip(s string) string { return CutTo(s, MaxClip, "…") }

// CutTo returns s, or its first bytes and the mark if s has more than most bytes. The bytes are
// whole characters: CutTo omits what is no UTF-8.
func CutTo(s string, most int, mark string) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + mark
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
