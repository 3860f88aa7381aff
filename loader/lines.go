package loader

import (
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// keyLines are the lines on which the keys of a TOML text first stand. NUL joins the parts of a
// key.
type keyLines map[string]int

const (
	// maxKeyParts is the most parts of a key whose line is stored: plugin.NAME.limits.steps is
	// the deepest key of a config.
	maxKeyParts = 4
	// maxNesting bounds the parts of a key and the brackets around a value. The
	// parser's work for each key grows with them.
	maxNesting = 32
)

// of returns the line on which a key stands. If the key has no line, it returns the line of the nearest table
// around the key, or 0.
func (k keyLines) of(key []string) int {
	for n := min(len(key), maxKeyParts); n > 0; n-- {
		if line, ok := k[strings.Join(key[:n], "\x00")]; ok {
			return line
		}
	}
	return 0
}

// findLines returns the lines of the keys in a TOML text, because the parser returns values without lines.
// Keys of tables inside an array get the line of the array's key. If values are nested deeper than
// maxNesting, findLines stops there, and deep is the line. It reads the text as the parser does up to the
// first mistake; the lines after a mistake mean nothing.
func findLines(src string) (lines keyLines, deep int) {
	f := &lineFinder{src: strings.TrimPrefix(src, "\ufeff"), line: 1, lines: keyLines{}}
	f.readDocument()
	return f.lines, f.deep
}

// A lineFinder walks over a TOML text.
type lineFinder struct {
	src   string
	pos   int
	line  int
	lines keyLines
	deep  int // the line at which the nesting is too deep; 0 for none
}

// stopIfNested moves to the end of the text if n levels are too deep, and reports whether they are.
func (f *lineFinder) stopIfNested(n int) bool {
	if n <= maxNesting {
		return false
	}
	f.deep, f.pos = f.line, len(f.src)
	return true
}

// readDocument reads headers and key = value pairs up to the end.
func (f *lineFinder) readDocument() {
	var table []string
	for f.skipSpace(); f.pos < len(f.src); f.skipSpace() {
		if f.src[f.pos] != '[' {
			f.readPair(table)
			continue
		}
		f.skip("[")
		table = f.defineKey(nil, f.readKey())
		f.skip("] \t")
	}
}

// readPair reads key = value.
func (f *lineFinder) readPair(table []string) {
	start := f.pos
	key := f.defineKey(table, f.readKey())
	f.skip("= \t")
	f.skipValue(key)
	if f.pos == start {
		f.pos++ // here is a mistake: go on, so that the loop ends
	}
}

// readKey reads the parts of a dotted key.
func (f *lineFinder) readKey() []string {
	var parts []string
	for f.skip(". \t"); f.pos < len(f.src) && strings.IndexByte("=]\r\n#", f.src[f.pos]) < 0; f.skip(". \t") {
		parts = append(parts, f.readPart())
		f.stopIfNested(len(parts))
	}
	return parts
}

// defineKey stores the line of a key in a table, and of the tables that the key's parts open. It returns the
// whole key.
func (f *lineFinder) defineKey(table, parts []string) []string {
	key := slices.Concat(table, parts)
	if f.stopIfNested(len(key)) {
		return key
	}
	for n := len(table) + 1; n <= min(len(key), maxKeyParts); n++ {
		name := strings.Join(key[:n], "\x00")
		if _, ok := f.lines[name]; !ok {
			f.lines[name] = f.line
		}
	}
	return key
}

// readPart reads one part of a dotted key, bare or quoted.
func (f *lineFinder) readPart() string {
	start := f.pos
	if c := f.src[f.pos]; c != '"' && c != '\'' {
		f.until(". \t=]\r\n#")
		return f.src[start:f.pos]
	}
	f.skipString()
	var quoted struct{ K string }
	if _, err := toml.Decode("k = "+f.src[start:f.pos], &quoted); err != nil {
		return f.src[start:f.pos]
	}
	return quoted.K
}

// skipValue skips one value; the keys of an inline table extend key. It uses a slice as its stack
// and no recursion, because a file may nest values deeply.
func (f *lineFinder) skipValue(key []string) {
	var stack []level
	for {
		f.skipSpace()
		if f.stopIfNested(len(stack)) || f.pos >= len(f.src) {
			return
		}
		switch c := f.src[f.pos]; c {
		case '[':
			f.pos++
			stack = append(stack, level{})
		case '{':
			f.pos++
			stack = append(stack, level{table: true, key: key})
		case '"', '\'':
			f.skipString()
		default:
			f.until(",]}\r\n#")
		}
		if stack = f.closeLevels(stack); len(stack) == 0 {
			return
		}
		key = f.nextElement(stack[len(stack)-1])
	}
}

// A level is an array or an inline table that is open while a value is read.
type level struct {
	table bool
	key   []string // the key of the table; nil inside an array
}

// closeLevels skips the commas and brackets after a value, and returns the levels that are still open.
func (f *lineFinder) closeLevels(stack []level) []level {
	for f.skipSpace(); len(stack) > 0 && f.pos < len(f.src); f.skipSpace() {
		switch f.src[f.pos] {
		case ']', '}':
			stack = stack[:len(stack)-1]
		case ',':
		default:
			return stack
		}
		f.pos++
	}
	return stack
}

// nextElement moves to the next value of an array or table and returns its key, or nil in an array.
func (f *lineFinder) nextElement(in level) []string {
	if !in.table {
		return nil
	}
	parts := f.readKey()
	f.skip("= \t")
	if in.key == nil {
		return nil
	}
	return f.defineKey(in.key, parts)
}

// skipString skips a string of any of the four kinds.
func (f *lineFinder) skipString() {
	quote := f.src[f.pos : f.pos+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(f.src[f.pos:], long) {
		f.pos += 3
		f.skipBehind(long)
		for f.pos < len(f.src) && f.src[f.pos:f.pos+1] == quote { // up to two quotes may precede the closing ones
			f.pos++
		}
		return
	}
	f.pos++
	f.skipBehind(quote)
}

// skipBehind moves to the byte after the next end that has no backslash in front.
func (f *lineFinder) skipBehind(end string) {
	for f.pos < len(f.src) {
		switch {
		case strings.HasPrefix(f.src[f.pos:], end):
			f.pos += len(end)
			return
		case f.src[f.pos] == '\\' && end[0] == '"':
			f.pos++
		}
		f.next()
	}
}

// skipSpace skips blanks, line ends and comments.
func (f *lineFinder) skipSpace() {
	for f.pos < len(f.src) {
		switch f.src[f.pos] {
		case ' ', '\t', '\r', '\n':
			f.next()
		case '#':
			f.until("\n")
		default:
			return
		}
	}
}

func (f *lineFinder) skip(set string) {
	for f.pos < len(f.src) && strings.IndexByte(set, f.src[f.pos]) >= 0 {
		f.pos++
	}
}

func (f *lineFinder) until(set string) {
	for f.pos < len(f.src) && strings.IndexByte(set, f.src[f.pos]) < 0 {
		f.pos++
	}
}

// next moves one byte and counts lines.
func (f *lineFinder) next() {
	if f.pos < len(f.src) {
		if f.src[f.pos] == '\n' {
			f.line++
		}
		f.pos++
	}
}
