package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A manner is how a shell reads words.
type manner int

// The manners of the shells, each with the differences of those in front.
const (
	asBash    manner = iota
	asZsh            // the dollar of $"…" is a text
	asBusybox        // braces are a text
	asDash           // $'…' is a dollar and a text in quotes
)

// otherwise visits words again in each manner in which they are others.
func (r *reader) otherwise(words []*syntax.Word, redirections []*syntax.Redirect, visit func()) {
	var has [asDash + 1]bool // the differences of each manner
	for _, w := range words {
		noteManners(w, &has)
	}
	for _, d := range redirections {
		if d.Op == syntax.WordHdoc {
			noteManners(d.Word, &has)
		}
	}
	differs := false
	for m := asZsh; m <= asDash; m++ {
		if differs = differs || has[m]; differs && (m == asDash || has[m+1]) { // otherwise the next manner is the same
			r.manner = m
			visit()
			r.manner = asBash
		}
	}
}

// noteManners notes which manners a word tells apart.
func noteManners(w *syntax.Word, has *[asDash + 1]bool) {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			has[asBusybox] = has[asBusybox] || strings.Contains(p.Value, "{")
		case *syntax.SglQuoted:
			has[asDash] = has[asDash] || p.Dollar
		case *syntax.DblQuoted:
			has[asZsh] = has[asZsh] || p.Dollar
		}
	}
}

// readDashBackground adds the command that dash reads behind &>, which it reads as "&" and ">".
func readDashBackground(r *reader, c *syntax.CallExpr, s *syntax.Stmt) {
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
func dashTest(r *reader, x syntax.TestExpr) {
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
func timeInDash(r *reader, s *syntax.Stmt) {
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
