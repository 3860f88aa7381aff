package modules

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/starhost/starhost/builtins/call"
)

// A search reads the text through a textReader, which pays for each piece before the engine reads the piece.
// So the price grows with the work, and the clock can stop a search between two pieces. Package regexp alone
// reads a text in one go, and its work can be quadratic: "<[^>]*>|a" looks for a ">" up to the end of the
// text before it takes an "a", and starts again for the next "a".

// These are the most bytes of a text that one payment covers.
const (
	pieceBytes = 256
	pieceSteps = 1000
	skipBytes  = 64 << 10 // while the search looks for a literal prefix
)

// A reRest finds a match that begins after the first character of a text. It reads that character without
// matching it, because "^" and "\b" depend on it. The first search that needs a reRest compiles it.
type reRest struct {
	once    sync.Once
	pattern string
	re      *regexp.Regexp
	err     error
}

func (r *reRest) regexp() (*regexp.Regexp, error) {
	r.once.Do(func() { r.re, r.err = regexp.Compile(`(?:)\A(?s:.)(?s:.*?)(` + r.pattern + `)`) })
	return r.re, r.err
}

// all returns the positions of at most limit matches, or of all matches if limit is 0. Like package regexp,
// it returns no empty match right after another match.
func (p *rePattern) all(c call.Call, text string, limit int) ([][]int, error) {
	var found [][]int
	for pos, end := 0, -1; (limit == 0 || len(found) < limit) && pos <= len(text); {
		at, err := p.find(c, text, pos)
		if err != nil || at == nil {
			return found, err
		}
		again := at[1] == pos && at[0] == end
		if end = at[1]; end == pos {
			_, width := utf8.DecodeRuneInString(text[pos:])
			pos += max(1, width)
		} else {
			pos = end
		}
		if again {
			continue
		}
		if err := c.Pay(8, p.matchBytes()); err != nil {
			return nil, err
		}
		found = append(found, at)
	}
	return found, nil
}

// find returns the positions of the first match that begins at pos or later, or nil.
func (p *rePattern) find(c call.Call, text string, pos int) ([]int, error) {
	pos, err := p.skip(c, text, pos)
	if err != nil || pos < 0 {
		return nil, err
	}
	re, groups, from := p.re, 0, pos
	if pos > 0 && p.prefix == "" { // a literal does not depend on the text before it
		_, before := utf8.DecodeLastRuneInString(text[:pos])
		if re, err = p.rest.regexp(); err != nil {
			return nil, c.Fail("E0202", "%v", explainRE(p.source, err))
		}
		groups, from = 2, pos-before // the first group is the match itself
	}
	pay := func(n int) error { return c.Pay(1+p.rangeSteps(n), 0) }
	r := textReader{text: text, at: from, piece: p.pieceBytes(), pay: pay}
	at := re.FindReaderSubmatchIndex(&r)
	if err := r.end(); err != nil || at == nil {
		return nil, err
	}
	at = at[groups:]
	for i := range at {
		if at[i] >= 0 {
			at[i] += from
		}
	}
	return at, nil
}

// skip returns the first position from pos on at which a match can begin, or -1.
func (p *rePattern) skip(c call.Call, text string, pos int) (int, error) {
	if p.prefix == "" {
		return pos, nil
	}
	for ; len(text)-pos >= len(p.prefix); pos += skipBytes {
		skipped := strings.Index(text[pos:min(pos+skipBytes+len(p.prefix), len(text))], p.prefix)
		if skipped >= 0 {
			return pos + skipped, c.Pay(p.skipSteps(skipped), 0)
		}
		if err := c.Pay(p.skipSteps(min(skipBytes, len(text)-pos)), 0); err != nil {
			return -1, err
		}
	}
	return -1, nil
}

// A textReader reads the characters of a text and pays for them. If a payment fails, the text
// seems to end.
type textReader struct {
	text  string
	at    int
	due   int // bytes that the engine has read and that are not paid for
	piece int // the most that due may be
	pay   func(bytes int) error
	err   error
}

// ReadRune implements io.RuneReader.
func (r *textReader) ReadRune() (rune, int, error) {
	if r.due >= r.piece {
		r.end()
	}
	if r.err != nil || r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRuneInString(r.text[r.at:])
	r.at += n
	r.due += n
	return c, n, nil
}

// end pays for the last bytes, and returns the first error of a payment.
func (r *textReader) end() error {
	if r.err == nil {
		r.err = r.pay(r.due)
	}
	r.due = 0
	return r.err
}
