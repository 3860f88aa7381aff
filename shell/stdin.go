package shell

import (
	"cmp"
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

// A printer is a command that prints nothing but numbers of processes, names of files, which count as files as those that
// a glob finds, or lines of its input.
type printer struct {
	starts   []string // of its words, with a space behind each
	flags    string   // those that it may have; "" are all
	operands int      // the most words that are no flags; 0 is any number
	prints   *ends    // what stands certainly in each word; nil if its input decides
}

var printers = []printer{
	{[]string{"lsof -t ", "lsof -ti", "lsof -nti"}, "", 0, &ends{pattern: "[1-9]*"}},
	{[]string{"pgrep "}, " -f -x ", 0, &ends{pattern: "[1-9]*"}},
	{[]string{"find ", "fd "}, " -name -iname -type -path -not -maxdepth -mindepth -newer -size -mtime -o -print -print0 -e -t -0 ", 0, &ends{operand: true}},
	{[]string{"ls "}, " -1 -d -t -r -A ", 0, &ends{operand: true}},
	{[]string{"git ls-files ", "git diff --name-only "}, " --name-only --cached --staged -z -- ", 0, &ends{operand: true}},
	{[]string{"grep -l ", "grep -rl ", "grep -rlE ", "grep -rli ", "rg -l ", "rg --files ", "git grep -l "},
		" -l -rl -rlE -rli -r -i -E -F -w --files --include -g -t -- ", 0, &ends{operand: true}},
	{[]string{"sort ", "head ", "tail "}, " -u -r -n -1 -5 -10 -20 ", 1, nil},
	{[]string{"grep "}, " -v -i -E -F -w -vE -iE ", 2, nil},
}

// printedBy returns what stands certainly in each word that a statement prints into the pipe c. before is that of its own
// input. It returns nil if nobody knows.
func printedBy(c *syntax.BinaryCmd, s *syntax.Stmt, before *ends) *ends {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || c.Op != syntax.Pipe || len(call.Assigns) > 0 || slices.ContainsFunc(s.Redirs, func(d *syntax.Redirect) bool {
		return d.N == nil || d.N.Value != "2" || d.Op != syntax.RdrOut // errors are no names
	}) {
		return nil
	}
	line, flags, operands := "", []string(nil), 0
	for _, w := range call.Args {
		text := plainDelimiter(w)
		switch {
		case text == "":
			return nil
		case text[0] == '-':
			flags = append(flags, text)
		default:
			operands++
		}
		line += text + " "
	}
	for _, p := range printers {
		isOther := func(flag string) bool { return p.flags != "" && !hasName(p.flags, flag) }
		if hasStart(line, p.starts...) && !slices.ContainsFunc(flags, isOther) && (p.operands == 0 || operands <= p.operands) {
			return cmp.Or(p.prints, before)
		}
	}
	return nil
}
