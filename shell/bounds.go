package shell

import "strings"

// clauses are the words that open a clause, or that the parser reads recursively.
var clauses = " if elif while until for select case do time coproc eval sudo xargs ! "

// checkBounds returns "", or the reason for which the parser must not see a text. It runs before
// the parser, because the parser's stack grows with the text. It counts brackets without regard
// to quotes, and therefore also limits how many a text may open in all.
func checkBounds(text string) string {
	if len(text) > maxBytes {
		return "size"
	}
	if strings.IndexByte(text, 0) >= 0 {
		return "syntax: a NUL byte"
	}
	open, opened, chained, documents := 0, 0, 0, 0
	start := 0 // the current word begins here
	for i := 0; i <= len(text); i++ {
		b := byte(' ')
		if i < len(text) {
			b = text[i]
		}
		switch b {
		case '(', '{', '[':
			open, opened = open+1, opened+1
		case '`':
			opened++ // it opens or closes
		case ')', '}', ']':
			open = max(open-1, 0)
		case '<':
			if i > 0 && text[i-1] == '<' {
				documents++
			}
		}
		if isBreak(b) {
			if word := text[start:i]; word != "" {
				chained = countClause(word, chained, &opened)
			}
			if b == ';' || b == '\n' || b == '|' || b == '&' {
				chained = 0
			}
			start = i + 1
		}
		if open > maxOpen || opened > maxOpened || chained > maxOpen || documents > maxOpen {
			return "depth"
		}
	}
	return ""
}

// countClause counts a word that opens a clause. It returns the number of such words in sequence.
func countClause(word string, chained int, opened *int) int {
	if len(word) > 6 || !strings.Contains(clauses, " "+word+" ") {
		return 0
	}
	*opened++
	return chained + 1
}

// isBreak reports whether a byte ends a word.
func isBreak(b byte) bool {
	switch b {
	case ' ', '\t', '\n', ';', '|', '&', '(', ')', '<', '>', '`':
		return true
	}
	return false
}
