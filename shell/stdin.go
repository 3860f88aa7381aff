package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// readInput follows a shell that reads its text from standard input. The text counts as unknown
// unless one here-document is the only thing there.
func (r *reader) readInput(name, via string, j *job) {
	documents, others := inputs(r.stdin)
	if len(documents) == 0 && len(r.stdin) == 1 && r.stdin[0].Op == syntax.RdrIn && others {
		j.certain = j.certain || r.entered && !r.dead
		script := j.inner(name, "script", r.word(r.stdin[0].Word))
		if script.isInput = true; followScript(r, script) {
			return
		}
	}
	if others || len(documents) != 1 {
		r.setWild()
	}
	for _, d := range documents {
		before := r.script.Nodes
		text := j.inner(name, via, r.heredocText(d))
		r.script.Nodes = before
		text.isInput = true
		r.nested(text)
	}
	if len(documents) == 0 {
		r.recordJob(j)
	}
}

// inputs returns the here-documents on standard input, and whether another redirection changes it.
func inputs(list []*syntax.Redirect) (documents []*syntax.Redirect, others bool) {
	for _, d := range list {
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if d.N == nil || d.N.Value == "0" {
				documents = append(documents, d)
			}
		case syntax.RdrIn, syntax.DplIn, syntax.RdrInOut:
			others = others || d.N == nil || d.N.Value == "0"
		default:
			others = others || d.N != nil && d.N.Value == "0"
		}
	}
	return documents, others
}

// readers are commands that may read a part of their standard input only, with the number of words
// from which on they read a file instead. A shell that reads its text from there loses this part,
// so that the rest may have another meaning.
var readers = []struct {
	names string
	words int
}{
	{" read mapfile readarray line dd select getln vared ", 1 << 20},
	{" head tail od xxd hexdump sum ", 1},
	{" sed awk gawk mawk grep egrep fgrep rg ", 2},
}

// sharesInput reports whether a command of a text may read the text itself.
func sharesInput(file *syntax.File) bool {
	found := false
	skipped := map[*syntax.Stmt]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if skipped[n] || slices.ContainsFunc(n.Redirs, isInput) {
				return false
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				skipped[n.Y] = true
			}
		case *syntax.ForClause:
			found = found || n.Select
		case *syntax.CallExpr:
			for i, w := range n.Args {
				found = found || readsInput(w.Lit(), n.Args[i+1:])
			}
		}
		return !found
	})
	return found
}

// isInput reports whether a redirection gives a command its own standard input.
func isInput(d *syntax.Redirect) bool {
	switch d.Op {
	case syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return d.N == nil || d.N.Value == "0"
	}
	return false
}

// readsInput reports whether a program with these arguments may read a part of standard input.
func readsInput(name string, args []*syntax.Word) bool {
	for _, row := range readers {
		if name == "" || !hasName(row.names, name) {
			continue
		}
		operands := 0
		for _, w := range args {
			if text := w.Lit(); (text == "" || text[0] != '-') && !isDigits(strings.TrimRight(text, "kKmMGb")) {
				operands++
			}
			if operands == row.words {
				return false
			}
		}
		return true
	}
	return false
}

// numbersIn returns what stands certainly in each word that xargs, the right side of a pipe, reads from the left one: a
// number, if that is lsof -ti:PORT, which prints those of the processes at a port. It returns nil if nobody knows.
func numbersIn(c *syntax.BinaryCmd, left *syntax.Stmt) *ends {
	call, isCall := left.Cmd.(*syntax.CallExpr)
	next, isNext := c.Y.Cmd.(*syntax.CallExpr)
	if !isCall || !isNext || c.Op != syntax.Pipe || len(call.Assigns) > 0 || len(left.Redirs) > 0 || len(call.Args) != 2 || len(next.Args) == 0 {
		return nil
	}
	port, ok := strings.CutPrefix(call.Args[1].Lit(), "-ti:")
	if !ok || call.Args[0].Lit() != "lsof" || next.Args[0].Lit() != "xargs" || !isDigits(port) {
		return nil
	}
	return &ends{pattern: "[1-9]*"}
}
