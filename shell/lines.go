package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// readsAsShells reports whether the parser joins the lines of a text as the shells do. The shells
// remove a backslash and the end of its line before they look for operators and delimiters, and
// they do not remove it in a comment. The parser differs there, and takes "\r" for a part of the end
// of a line, or for a blank. A command could hide behind each difference, so the answer is false in doubt.
func readsAsShells(file *syntax.File, text string) bool {
	if strings.Contains(text, "\r") {
		return false
	}
	if !strings.Contains(text, "\\\n") {
		return true
	}
	places := newPlaces(file, len(text))
	start := 0 // the current line begins here
	for i := range len(text) {
		if text[i] != '\n' {
			continue
		}
		if i > 0 && text[i-1] == '\\' && !places.joins(text, start, i-1) {
			return false
		}
		start = i + 1
	}
	return true
}

// losesSeparators reports whether a shell may read the here-documents in a substitution in another
// way. bash 5.2 writes commands in $(…) and <(…) as text, parses this text again, and forgets a ";"
// behind a here-document: "$(cat <<E␤E␤kubectl get; delete x)" runs "kubectl get delete x". It also
// ends a document where a line begins with the delimiter and has a ")", as mksh and ksh93 do in a
// subshell, too. And a document that does not begin within its substitution may be empty, so that its text runs.
func losesSeparators(file *syntax.File, text string) bool {
	if !strings.Contains(text, "<<") || !strings.ContainsAny(text, "(`") {
		return false
	}
	// A surrounding is the innermost substitution around a node, and whether one has been judged
	// as a whole. Walk ends the children of a node with nil.
	type surrounding struct {
		substitution syntax.Node
		isJudged     bool
		isSubshell   bool
	}
	around := []surrounding{{}}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		at := around[len(around)-1]
		isCommands := false // bash writes them as text
		switch n := n.(type) {
		case *syntax.CmdSubst:
			at.substitution, isCommands = n, !n.Backquotes
		case *syntax.ProcSubst:
			at.substitution, isCommands = n, true
		case *syntax.Subshell:
			at.isSubshell = true
		case *syntax.Redirect:
			found = found || at.isSubshell && n.Hdoc != nil && n.Op != syntax.WordHdoc && endsEarly(n, text)
			found = found || at.substitution != nil && movesDocument(n, at.substitution, text)
		}
		if isCommands && !at.isJudged {
			at.isJudged, found = true, found || joinsCommands(n, text)
		}
		around = append(around, at)
		return !found
	})
	return found
}

// movesDocument reports whether shells may disagree about the place of a here-document in the
// substitution around it.
func movesDocument(d *syntax.Redirect, substitution syntax.Node, text string) bool {
	if d.Op != syntax.Hdoc && d.Op != syntax.DashHdoc {
		return false
	}
	from, end := int(d.Pos().Offset()), int(substitution.End().Offset())
	isInside := from < end && end <= len(text) && strings.Contains(text[from:end], "\n") &&
		(d.Hdoc == nil || int(d.Hdoc.Pos().Offset()) < end)
	return !isInside || d.Hdoc != nil && endsEarly(d, text)
}

// endsEarly reports whether a line of a here-document begins with its delimiter and has a ")".
func endsEarly(d *syntax.Redirect, text string) bool {
	from, to := int(d.Hdoc.Pos().Offset()), min(int(d.Hdoc.End().Offset()), len(text))
	if from > to {
		return true
	}
	delimiter := plainDelimiter(d.Word)
	for line := range strings.SplitSeq(text[from:to], "\n") {
		line = strings.TrimLeft(line, "\t")
		if strings.HasPrefix(line, delimiter) && strings.Contains(line, ")") {
			return true
		}
	}
	return false
}

// plainDelimiter returns the delimiter of a here-document without its quotes, or "" if it has
// other parts.
func plainDelimiter(w *syntax.Word) string {
	var out strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			out.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			out.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return ""
				}
				out.WriteString(lit.Value)
			}
		default:
			return ""
		}
	}
	return out.String()
}

// joinsCommands reports whether a substitution has a here-document and a ";" behind a command.
func joinsCommands(substitution syntax.Node, text string) bool {
	document, separator := false, false
	syntax.Walk(substitution, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			document = document || n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc
		case *syntax.Stmt:
			separator = separator || n.Semicolon.IsValid() && text[n.Semicolon.Offset()] == ';'
		}
		return true
	})
	return document && separator
}

// A place says what surrounds a byte of a text.
type place byte

const (
	unquoted place = iota
	literal        // single quotes, or a here-document with a quoted delimiter
	doubled        // double quotes
	document       // a here-document
)

// places are the places of the bytes of a text. delimiters are those of the here-documents. The
// shells remove a backslash and the end of its line in all of a document, and in backquotes, before
// they look for quotes there: early has these bytes.
type places struct {
	list       []place
	early      []bool
	delimiters []string
}

// newPlaces returns the places of the bytes of a text of size bytes.
func newPlaces(file *syntax.File, size int) *places {
	p := &places{list: make([]place, size), early: make([]bool, size)}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			mark(p.list, n, literal)
		case *syntax.DblQuoted:
			p.markTexts(n.Parts, doubled)
		case *syntax.CmdSubst:
			if n.Backquotes {
				mark(p.early, n, true)
			}
		case *syntax.Redirect:
			switch {
			case n.Hdoc == nil:
			case isQuotedDelimiter(n.Word):
				p.markTexts(n.Hdoc.Parts, literal)
			default:
				p.markTexts(n.Hdoc.Parts, document)
				mark(p.early, n.Hdoc, true)
				p.delimiters = append(p.delimiters, n.Word.Lit())
			}
		}
		return true
	})
	return p
}

// mark records something about a node's bytes.
func mark[T any](list []T, n syntax.Node, value T) {
	for i := int(n.Pos().Offset()); i < min(int(n.End().Offset()), len(list)); i++ {
		list[i] = value
	}
}

// markTexts records the place of the plain texts among the parts of a word.
func (p *places) markTexts(parts []syntax.WordPart, at place) {
	for _, part := range parts {
		if _, ok := part.(*syntax.Lit); ok {
			mark(p.list, part, at)
		}
	}
}

// joins reports whether the parser reads the backslash at the end of a line as the shells do.
func (p *places) joins(text string, start, backslash int) bool {
	before, after := byte(' '), byte(' ') // the neighbours of the backslash and of its newline
	if backslash > 0 {
		before = text[backslash-1]
	}
	if backslash+2 < len(text) {
		after = text[backslash+2]
	}
	switch p.list[backslash] {
	case literal:
		return !p.early[backslash]
	case doubled:
		return before != '$' && !p.hasComment(text, start, backslash)
	case document:
		return before != '$' && !slices.ContainsFunc(p.delimiters, func(d string) bool { return strings.HasPrefix(d, strings.TrimLeft(text[start:backslash], "\t")) }) &&
			!p.hasComment(text, start, backslash)
	}
	if p.hasComment(text, start, backslash) || before == '}' {
		return false // zsh reads the brace in "delete}\" as the end of a group that never began
	}
	// No operator goes on with a letter.
	isLetter := after|0x20 >= 'a' && after|0x20 <= 'z'
	return isBlank(before) || isBlank(after) || strings.IndexByte("&|;(", before) >= 0 && isLetter
}

// hasComment reports whether a comment may begin in a part of a line.
func (p *places) hasComment(text string, start, end int) bool {
	for i := start; i < end; i++ {
		if text[i] == '#' && p.list[i] == unquoted && (i == 0 || isBreak(text[i-1]) || text[i-1] < ' ' || text[i-1] >= 0x7f) { // as some shell reads it
			return true
		}
	}
	return false
}

// isBlank reports whether a byte ends a word and begins no operator.
func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }

// isQuotedDelimiter reports whether the delimiter of a here-document has quotes, so that the
// shells expand nothing in the document.
func isQuotedDelimiter(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return true
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	return !ok || strings.Contains(lit.Value, `\`)
}
