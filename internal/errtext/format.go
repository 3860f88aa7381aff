package errtext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPart is the most bytes that a message takes from one argument whose verb does not quote:
// the message of another error, or a list that the program made.
const maxPart = 800

// Format formats like fmt.Sprintf, but the length of the result is bounded: a text for %q is cut
// to [MaxText] bytes before it is quoted, and any other text or error to 800 bytes. Use it, or
// [Errorf], wherever a message contains a text of a plugin, a model or a server.
func Format(format string, args ...any) string { return fmt.Sprintf(format, bounded(format, args)...) }

// Errorf is fmt.Errorf with the bounds of [Format]. It does not cut an error that %w wraps.
func Errorf(format string, args ...any) error { return fmt.Errorf(format, bounded(format, args)...) }

// bounded returns args with long texts cut. Each verb of the format takes the next argument, or
// the one whose number is in brackets.
func bounded(format string, args []any) []any {
	short := append([]any(nil), args...)
	next := 0
	for i := strings.IndexByte(format, '%'); i >= 0 && i+1 < len(format); i = nextPercent(format, i) {
		i++
		for i < len(format) && strings.IndexByte("+-# 0123456789.[]", format[i]) >= 0 {
			if format[i] == '[' && i+1 < len(format) {
				next = int(format[i+1]-'0') - 1
			}
			i++
		}
		if i == len(format) || format[i] == '%' {
			continue
		}
		if next >= 0 && next < len(short) {
			short[next] = boundArgument(format[i], short[next])
		}
		next++
	}
	return short
}

// nextPercent returns the index of the first % after index i, or -1.
func nextPercent(format string, i int) int {
	i = min(i+1, len(format))
	if n := strings.IndexByte(format[i:], '%'); n >= 0 {
		return i + n
	}
	return -1
}

// boundArgument returns an argument, or its text cut to the bound of a verb.
func boundArgument(verb byte, arg any) any {
	switch arg := arg.(type) {
	case string:
		if verb == 'q' {
			return cutQuoted(arg)
		}
		return CutTo(arg, maxPart, "…")
	case error:
		if verb == 'w' {
			return arg
		}
		if text := arg.Error(); len(text) > maxPart {
			return CutTo(text, maxPart, "…")
		}
	}
	return arg
}

// cutQuoted returns s, or its start and "…" if the quoted text would have more than [MaxText]
// bytes.
func cutQuoted(s string) string {
	size := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		size += quotedSize(r, n)
		if size > MaxText {
			return s[:i] + "…"
		}
		i += n
	}
	return s
}

// quotedSize returns the most bytes that %q writes for a character of n bytes.
func quotedSize(r rune, n int) int {
	switch {
	case r == utf8.RuneError && n == 1:
		return len(`\xff`)
	case r == '"' || r == '\\':
		return len(`\"`)
	case strconv.IsPrint(r):
		return n
	case r < utf8.RuneSelf:
		return len(`\x7f`)
	case r < 1<<16:
		return len(`\u2028`)
	}
	return len(`\U0010ffff`)
}
