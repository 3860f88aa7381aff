package shell

import "strings"

// clauses are the words that open a clause, or that the parser reads recursively.
var clauses = []string{
	"if", "elif", "while", "until", "for", "select", "case", "do", "time", "coproc", "eval",
	"sudo", "xargs", "!",
}

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
	for i := 0; i <= len(text); i++ {
		b := byte(' ')
		if i < len(text) {
			b = text[i]
		}
		if b >= 'a' && b <= 'z' || b == '-' { // it ends and opens nothing
			continue
		}
		n.count(b)
		if b == '<' && i > 0 && text[i-1] == '<' {
			n.documents++
		}
		if isBreak(b) {
			if word := text[start:i]; word != "" {
				n.chained = countClause(word, n.chained, &n.opened)
			}
			if isSeparator(b) {
				n.chained = 0
			}
			start = i + 1
		}
		if n.isTooDeep() {
			return "depth"
		}
	}
	return ""
}

// A depthCount counts what makes the parser's stack grow.
type depthCount struct {
	open      [3]int // brackets that are open, by their kind: case patterns close ")" without "("
	opened    int    // brackets and clauses that were opened in all
	chained   int    // words in sequence that open a clause
	documents int    // here-documents
}

// count counts a byte that opens or closes a bracket.
func (n *depthCount) count(b byte) {
	switch i := strings.IndexByte("({[)}]`", b); i {
	case -1:
	case 0, 1, 2:
		n.open[i], n.opened = n.open[i]+1, n.opened+1
	case 3, 4, 5:
		n.open[i-3] = max(n.open[i-3]-1, 0)
	default:
		n.opened++ // it opens or closes
	}
}

func (n *depthCount) isTooDeep() bool {
	open := max(n.open[0], n.open[1], n.open[2])
	return open > maxOpen || n.opened > maxOpened || n.chained > maxOpen || n.documents > maxOpen
}

// countClause counts a word that opens a clause. It returns the number of such words in sequence.
func countClause(word string, chained int, opened *int) int {
	if !isOneOf(word, clauses) {
		return 0
	}
	*opened++
	return chained + 1
}

// isSeparator reports whether a byte ends a command.
func isSeparator(b byte) bool { return b == ';' || b == '\n' || b == '|' || b == '&' }

// isBreak reports whether a byte ends a word.
func isBreak(b byte) bool {
	switch b {
	case ' ', '\t', '\n', ';', '|', '&', '(', ')', '<', '>', '`':
		return true
	}
	return false
}
