package modules

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/starhost/starhost/builtins/call"
)

// A search reads the text through a textReader, which pays piece by piece for what the engine
// reads. So the price is that of the work, wherever the search ends, and the clock can stop a
// search between two pieces. Package regexp alone reads a text at one go, and its time does not
// follow from the text's length: "<[^>]*>|a" looks for a ">" up to the end of the text before it
// settles for an "a", and does so again for the next one.

// The most that is read of a text before it is paid for.
const (
	pieceBytes = 256
	pieceSteps = 1000
	skipBytes  = 64 << 10 // where only the prefix is looked for
)

// A reRest finds a pattern behind a first character, which it sees but does not
// match: "^" and "\b" depend on it. It is compiled when it is first needed.
type reRest struct {
	once sync.Once
	tree string
	re   *regexp.Regexp
	err  error // the pattern is nested too deeply for one more group
}

func (r *reRest) regexp() (*regexp.Regexp, error) {
	r.once.Do(func() { r.re, r.err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + r.tree + `)`) })
	return r.re, r.err
}

// all returns the positions of at most limit matches (0: of all), as package regexp does:
// there is no empty match right behind another.
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

// find returns the positions of the first match at or behind pos, or nil.
func (p *rePattern) find(c call.Call, text string, pos int) ([]int, error) {
	pos, err := p.skip(c, text, pos)
	if err != nil || pos < 0 {
		return nil, err
	}
	re, groups, from := p.re, 0, pos
	if pos > 0 && p.prefix == "" { // what stands in front of a literal cannot matter
		_, before := utf8.DecodeLastRuneInString(text[:pos])
		if re, err = p.rest.regexp(); err != nil {
			return nil, c.Fail("E0202", "%v", explainRE(p.source, err))
		}
		groups, from = 2, pos-before // the first group is the match
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

// skip returns the first place at or behind pos where a match can begin, or -1.
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

// A textReader pays for the characters that are read from a text. The text seems to
// end where that fails.
type textReader struct {
	text  string
	at    int
	due   int // bytes read and not paid for
	piece int // the most of these
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

// end pays for what was read last, and returns the error of any payment.
func (r *textReader) end() error {
	if r.err == nil {
		r.err = r.pay(r.due)
	}
	r.due = 0
	return r.err
}
