package shell

import "strings"

// checkBounds returns "", or the reason for which the parser must not see a text. It runs before
// the parser, because the parser's stack grows with the text. It counts brackets without regard
// to quotes, and therefore each kind apart, and also how many a text may open in all.
func checkBounds(text string) string {
	if len(text) > maxBytes {
		return "size"
	}
	if strings.IndexByte(text, 0) >= 0 {
		return "syntax: a NUL byte"
	}
	var n depthCount
	start := 0 // the current word begins here
	for i := range len(text) {
		b := text[i]
		if b >= 'a' && b <= 'z' || b == '-' { // it ends and opens nothing
			continue
		}
		n.count(b)
		if b == '<' && i > 0 && text[i-1] == '<' {
			n.documents++
		}
		if isBreak(b) {
			n.countWord(text[start:i])
			if b == ';' || b == '\n' || b == '|' || b == '&' {
				n.chained = 0
			}
			start = i + 1
		}
		if n.isTooDeep() {
			return "depth"
		}
	}
	if n.countWord(text[start:]); n.isTooDeep() {
		return "depth"
	}
	return ""
}

// A depthCount counts what makes the parser's stack grow.
type depthCount struct {
	open      [4]int // brackets that are open, by their kind: case patterns close ")" without "("
	opened    int    // brackets and clauses that were opened in all
	chained   int    // words in sequence that open a clause
	documents int    // here-documents
}

// count counts a byte that opens or closes a bracket.
func (n *depthCount) count(b byte) {
	switch kind := b >> 5 & 3; b { // 1 for round ones, 2 for square ones, 3 for braces
	case '(', '{', '[':
		n.open[kind], n.opened = n.open[kind]+1, n.opened+1
	case ')', '}', ']':
		n.open[kind] = max(n.open[kind]-1, 0)
	case '`':
		n.opened++ // it opens or closes
	}
}

func (n *depthCount) isTooDeep() bool {
	open := max(n.open[1], n.open[2], n.open[3])
	return open > maxOpen || n.opened > maxOpened || n.chained > maxOpen || n.documents > maxOpen
}

// countWord counts a word if it opens a clause, or if the parser reads it recursively.
func (n *depthCount) countWord(word string) {
	switch word {
	case "":
	case "if", "elif", "while", "until", "for", "select", "case", "do", "time", "coproc", "eval", "sudo", "xargs", "!":
		n.opened, n.chained = n.opened+1, n.chained+1
	default:
		n.chained = 0
	}
}

// isBreak reports whether a byte ends a word.
func isBreak(b byte) bool {
	switch b {
	case ' ', '\t', '\n', ';', '|', '&', '(', ')', '<', '>', '`':
		return true
	}
	return false
}
