package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A manner is how a shell reads words.
type manner int

// The manners of the shells. zsh takes the dollar of $"…" for a text. So do dash and busybox, which also expand neither
// braces nor $'…'.
const (
	asBash manner = iota
	asZsh
	asDash
)

// otherwise visits words again in each manner in which they are others.
func (r *reader) otherwise(words []*syntax.Word, redirections []*syntax.Redirect, visit func()) {
	for m := asZsh; m <= asDash; m++ {
		if slices.ContainsFunc(words, m.differs) || slices.ContainsFunc(redirections, func(d *syntax.Redirect) bool { return d.Op == syntax.WordHdoc && m.differs(d.Word) }) {
			r.manner = m
			visit()
			r.manner = asBash
		}
	}
}

// differs reports whether a word may be another one than bash reads.
func (m manner) differs(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if m == asDash && strings.Contains(p.Value, "{") {
				return true
			}
		case *syntax.SglQuoted:
			if m == asDash && p.Dollar {
				return true
			}
		case *syntax.DblQuoted:
			if p.Dollar {
				return true
			}
		}
	}
	return false
}

// readDashBackground adds the command that dash reads behind &>, which it reads as "&" and ">".
func (r *reader) readDashBackground(c *syntax.CallExpr, s *syntax.Stmt) {
	args, found := c.Args, false // args are the words that no command has yet
	end := func(at syntax.Pos) {
		n := 0
		for n < len(args) && !args[n].Pos().After(at) {
			n++
		}
		if found && n > 0 {
			r.runInDash(r.expand(args[:n]))
		}
		args = args[n:]
	}
	for _, d := range s.Redirs {
		if d.Op == syntax.RdrAll || d.Op == syntax.AppAll {
			end(d.Pos())
			found = true
		}
	}
	end(s.End())
}

// runInDash follows a command that only dash runs, so that Commands does not list it. Assignments
// may stand in front.
func (r *reader) runInDash(words []word) {
	for len(words) > 0 && r.assignText(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	r.runQuietly(&job{argv: words, via: r.via, wrappers: r.wrapped})
}

// dashTest adds the program that dash runs behind [[ … ||.
func (r *reader) dashTest(x syntax.TestExpr) {
	for {
		switch y := x.(type) {
		case *syntax.BinaryTest:
			x = y.X
			continue
		case *syntax.Word:
			r.addCall([]word{r.word(y), {many: true}}, false)
		case *syntax.UnaryTest:
			if y.Op == syntax.TsNot {
				x = y.X
				continue
			}
			// The program is the operator, such as -f.
		default:
			r.setWild()
		}
		return
	}
}

// dashArithmetic adds the programs that dash runs for ((…)), which it reads as two subshells.
func (r *reader) dashArithmetic(x syntax.ArithmExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			r.addCall([]word{r.word(w), {many: true}}, false)
			return false
		}
		return true
	})
}

// timeInDash adds the program that dash runs behind "time" and its flags. dash has no such reserved
// word, and bash does not read it as one in front of "--".
func (r *reader) timeInDash(s *syntax.Stmt) {
	for { // to the first command of a pipe
		pipe, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		s = pipe.X
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return
	}
	words := r.expand(c.Args)
	if len(words) == 0 || !words[0].mayFlag() {
		return
	}
	r.runInDash(append([]word{{text: "time", known: true}}, words...))
}

// hasComment reports whether a word begins with "#". Inside of [[ ]] only dash reads a comment
// there.
func hasComment(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && isBreak(text[i-1]) {
			return true
		}
	}
	return false
}

// breaksLine reports whether a text has the end of a line that is not behind "&&" or "||".
func breaksLine(text string) bool {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more {
			return false
		}
		line = strings.TrimRight(line, " \t")
		if !strings.HasSuffix(line, "&&") && !strings.HasSuffix(line, "||") {
			return true
		}
		text = rest
	}
}
