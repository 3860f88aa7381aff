package builtins

import (
	"io"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// How a pattern finds all its matches. One search takes time by the length of the
// text, but many need not: "<[^>]*>|a" looks to the end of the text for a ">"
// before it settles for an "a", and does so again for the next one. Patterns that
// cannot look far beyond their matches are left to package regexp. With others each
// match is searched by itself, and each character is paid for when it is looked at.

// reNearProgram is the most instructions of a pattern that looks no further beyond
// a match than it is long.
const reNearProgram = 16

// looksFar reports whether the pattern of a tree may look far beyond its matches: it
// is long, or can repeat something without a match at each turn.
func looksFar(tree *syntax.Regexp, program int) bool {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || program > reNearProgram {
		return true
	}
	w := loopWalk{prog: prog, state: make([]walkState, len(prog.Inst))}
	for pc := range prog.Inst {
		if w.loops(uint32(pc)) {
			return true
		}
	}
	return false
}

// A loopWalk looks for a loop of a program in which no match can end.
type loopWalk struct {
	prog  *syntax.Prog
	state []walkState // of each instruction
}

type walkState byte

const (
	walkNew walkState = iota
	walkOpen
	walkDone
)

// loops reports whether such a loop can be reached from pc. Where a match can end,
// the walk ends as well: loops through there have one at each turn.
func (w *loopWalk) loops(pc uint32) bool {
	if w.state[pc] != walkNew || w.ends(pc, len(w.prog.Inst)) {
		return w.state[pc] == walkOpen
	}
	w.state[pc] = walkOpen
	for _, next := range afterInst(&w.prog.Inst[pc]) {
		if w.loops(next) {
			return true
		}
	}
	w.state[pc] = walkDone
	return false
}

// ends reports whether a match can end at pc, without another character, in so
// many instructions at most.
func (w *loopWalk) ends(pc uint32, most int) bool {
	inst := &w.prog.Inst[pc]
	switch inst.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstAlt, syntax.InstAltMatch, syntax.InstCapture, syntax.InstNop:
		for _, next := range afterInst(inst) {
			if most > 0 && w.ends(next, most-1) {
				return true
			}
		}
	}
	return false
}

// afterInst returns the instructions that may follow.
func afterInst(inst *syntax.Inst) []uint32 {
	switch inst.Op {
	case syntax.InstMatch, syntax.InstFail:
		return nil
	case syntax.InstAlt, syntax.InstAltMatch:
		return []uint32{inst.Out, inst.Arg}
	}
	return []uint32{inst.Out}
}

// A reRest finds a pattern behind a first character, which it sees but does not
// match: "^" and "\b" depend on it. It is compiled when it is first needed.
type reRest struct {
	once sync.Once
	tree string
	re   *regexp.Regexp
}

func (r *reRest) regexp() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + r.tree + `)`) })
	return r.re
}

// each returns the positions of at most limit matches, as package regexp does:
// there is no empty match right behind another.
func (p *rePattern) each(c modCall, text string, limit int) ([][]int, error) {
	var found [][]int
	for pos, end := 0, -1; len(found) < limit && pos <= len(text); {
		at, err := p.findFrom(c, text, pos)
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
		if err := c.pay(8, p.matchBytes()); err != nil {
			return nil, err
		}
		found = append(found, at)
	}
	return found, nil
}

// findFrom returns the positions of the first match at or behind pos, or nil.
func (p *rePattern) findFrom(c modCall, text string, pos int) ([]int, error) {
	_, before := utf8.DecodeLastRuneInString(text[:pos])
	r := textReader{text: text, at: pos - before, pay: func(n int) error { return c.pay(1+p.rangeSteps(n), 0) }}
	var at []int
	if pos == 0 {
		at = p.re.FindReaderSubmatchIndex(&r)
	} else if at = p.rest.regexp().FindReaderSubmatchIndex(&r); at != nil {
		at = at[2:] // the first group is the match
	}
	if err := r.end(); err != nil || at == nil {
		return nil, err
	}
	for i := range at {
		if at[i] >= 0 {
			at[i] += pos - before
		}
	}
	return at, nil
}

// A textReader pays for the characters that are read from a text. The text seems to
// end where that fails.
type textReader struct {
	text string
	at   int
	due  int // bytes read and not paid for
	pay  func(bytes int) error
	err  error
}

// ReadRune implements io.RuneReader.
func (r *textReader) ReadRune() (rune, int, error) {
	if r.due >= 256 {
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
