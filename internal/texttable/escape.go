package texttable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Escape returns text that a terminal shows as it is: control characters, characters that change
// the direction of text, and other line separators stand as \u001b. Line breaks and tabs stay.
// Invalid UTF-8 becomes U+FFFD. In a text that is JSON, the escapes mean the same characters.
func Escape(text string) string {
	return escape(text, func(r rune) bool { return r == '\n' || r == '\t' })
}

// EscapeLine is [Escape] for text of one line: line breaks and tabs stand as \n and \t, so that
// the text cannot forge another line or cell.
func EscapeLine(text string) string { return escape(text, func(rune) bool { return false }) }

// Hang is [Escape] for text inside of a message. Each further line has a bar in front, so that it
// does not look like another message.
func Hang(text string) string {
	return strings.ReplaceAll(Escape(text), "\n", "\n"+bar)
}

const bar = "  | "

// Bar is [Escape] for text of several lines that other lines follow. Each line has a bar in front,
// and the last line ends.
func Bar(text string) string {
	if text == "" {
		return ""
	}
	return bar + Hang(strings.TrimSuffix(text, "\n")) + "\n"
}

// OneLine returns text as it is, or quoted if it has characters that [EscapeLine] escapes.
func OneLine(text string) string {
	if EscapeLine(text) != text {
		return EscapeLine(strconv.Quote(text))
	}
	return text
}

func escape(text string, stays func(rune) bool) string {
	if isPlain(text, stays) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !isHarmful(r) || stays(r):
			b.WriteRune(r)
		case shortEscapes[r] != "":
			b.WriteString(shortEscapes[r])
		default:
			for _, unit := range utf16.AppendRune(nil, r) { // as JSON escapes it
				fmt.Fprintf(&b, "\\u%04x", unit)
			}
		}
	}
	return b.String()
}

var shortEscapes = map[rune]string{'\n': `\n`, '\t': `\t`, '\r': `\r`}

// isPlain reports whether a text is ASCII and has no character to escape, quickly.
func isPlain(text string, stays func(rune) bool) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && !stays(rune(c)) || c >= 0x7f {
			return false
		}
	}
	return true
}

// invisible are characters that look like nothing or like a space: a person who reads a command
// or a name would approve another one. Joiners, which emoji need, are not among them.
const invisible = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b" +
	"\u2060\u2061\u2062\u2063\u2064\u2800\u3164\ufeff\uffa0"

// isHarmful reports whether a terminal does more with a character than to show it, or shows
// nothing.
func isHarmful(r rune) bool {
	const firstTag, lastTag = 0xe0000, 0xe007f
	isInvisible := strings.ContainsRune(invisible, r) || firstTag <= r && r <= lastTag
	return isInvisible || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
