package lsp

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A cursor describes the text in front of an offset. It comes from the text's words and not from a
// tree, because a text that somebody types mostly does not parse.
type cursor struct {
	comment bool
	def     bool // the cursor is at the name that a def defines
	// literal is set inside of a string: the text from its start to the cursor.
	literal *literal
	path    string // the path that ends at the cursor: "ctx.ht"
	from    int    // offset of the last part of path
	calls   []bracket
}

// A literal is a string that begins before the cursor and does not end before it.
type literal struct {
	from int // offset behind the opening quotes
	text string
}

// A bracket is open at the cursor.
type bracket struct {
	open    byte
	path    string // the path of the called function; "" if the bracket begins no call
	def     bool   // the bracket begins the parameters of a def
	arg     int    // the number of commas
	name    string // the keyword of the current argument
	names   []string
	hasText bool // the current argument has begun
}

// scan returns the cursor at an offset.
func scan(text string, offset int) cursor {
	s := scanner{text: text[:offset]}
	for s.at < len(s.text) {
		s.token()
	}
	c := s.cursor
	if c.literal == nil && !c.comment {
		c.path, c.from = s.path, s.wordFrom
		if s.wordEnd != len(s.text) {
			c.from = len(s.text)
			if !strings.HasSuffix(c.path, ".") {
				c.path = ""
			}
		}
	}
	return c
}

// A scanner reads words from left to right.
type scanner struct {
	cursor
	text     string
	at       int
	path     string // the path that ends at the last token: "ctx", "ctx.", "ctx.http"
	wordFrom int
	wordEnd  int
	keyword  string // the last keyword, if it is the last token
}

func (s *scanner) token() {
	s.cursor.comment, s.cursor.literal, s.cursor.def = false, nil, false
	c := s.text[s.at]
	switch {
	case c == '\n':
		s.at++
		if len(s.calls) == 0 {
			s.path, s.keyword = "", ""
		}
	case c == ' ' || c == '\t' || c == '\\':
		s.at++
	case c == '#':
		s.comment()
	case c == '"' || c == '\'':
		s.str(s.at)
	case isWordStart(s.text[s.at:]):
		s.word()
	case c >= '0' && c <= '9':
		s.number()
	default:
		s.sign(c)
	}
}

func isWordStart(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r == '_' || unicode.IsLetter(r)
}

// wordLength returns the length of the word at the start of a text.
func wordLength(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if n < 0 {
		return len(text)
	}
	return n
}

func (s *scanner) comment() {
	end := strings.IndexByte(s.text[s.at:], '\n')
	if end < 0 {
		s.cursor.comment, s.at = true, len(s.text)
		return
	}
	s.at += end
}

func (s *scanner) number() {
	isEnd := func(r rune) bool { return r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	n := strings.IndexFunc(s.text[s.at:], isEnd)
	if n < 0 {
		n = len(s.text) - s.at
	}
	s.at += n
	s.value()
}

// value ends a token that is the start of an argument.
func (s *scanner) value() {
	s.path, s.keyword = "", ""
	s.begin()
}

func (s *scanner) begin() {
	if n := len(s.calls); n > 0 {
		s.calls[n-1].hasText = true
	}
}

// str reads a string. from is the offset of its prefix.
func (s *scanner) str(quoteAt int) {
	quote := s.text[quoteAt : quoteAt+1]
	raw := quoteAt > 0 && strings.IndexByte("rR", s.text[quoteAt-1]) >= 0
	long := strings.HasPrefix(s.text[quoteAt:], quote+quote+quote)
	if long {
		quote += quote + quote
	}
	s.begin()
	from := quoteAt + len(quote)
	for at := from; at < len(s.text); at++ {
		switch {
		case s.text[at] == '\\' && !raw:
			at++
		case s.text[at] == '\n' && !long:
			s.at = at
			s.path, s.keyword = "", ""
			return
		case strings.HasPrefix(s.text[at:], quote):
			s.at = at + len(quote)
			s.path, s.keyword = "", ""
			return
		}
	}
	s.cursor.literal = &literal{from, s.text[min(from, len(s.text)):]}
	s.at = len(s.text)
}

// enders are the keywords with which no expression goes on. An open bracket before them was
// forgotten.
var enders = map[string]bool{"def": true, "return": true, "pass": true, "break": true, "continue": true, "elif": true}

// keywords are the words of the language that are no names. The keywords of Starlark are part of
// its grammar, which no table lists.
var keywords = []string{
	"and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass", "return",
}

func (s *scanner) word() {
	n := wordLength(s.text[s.at:])
	word := s.text[s.at : s.at+n]
	next := s.at + n
	isPrefix := len(word) <= 2 && strings.Trim(word, "rRbB") == ""
	if isPrefix && next < len(s.text) && (s.text[next] == '"' || s.text[next] == '\'') {
		s.at = next
		return
	}
	s.wordFrom, s.wordEnd, s.at = s.at, next, next
	s.cursor.def = s.keyword == "def" && next == len(s.text)
	if enders[word] && next < len(s.text) {
		s.calls = nil
	}
	isKeyword := word != "load" && slices.Contains(keywords, word)
	switch {
	case strings.HasSuffix(s.path, "."):
		s.path += word
	case isKeyword && next < len(s.text):
		s.path, s.keyword = "", word
		return
	default:
		s.path = word
	}
	if s.keyword != "def" {
		s.keyword = ""
	}
	if s.wordEnd < len(s.text) {
		s.begin()
	}
}

func (s *scanner) sign(c byte) {
	s.at++
	n := len(s.calls)
	switch c {
	case '(', '[', '{':
		s.begin()
		b := bracket{open: c}
		if c == '(' {
			b.path, b.def = strings.TrimSuffix(s.path, "."), s.keyword == "def"
		}
		s.calls = append(s.calls, b)
	case ')', ']', '}':
		if n > 0 {
			s.calls = s.calls[:n-1]
		}
		s.begin()
	case ',':
		if n > 0 {
			b := &s.calls[n-1]
			b.arg, b.name, b.hasText = b.arg+1, "", false
		}
	case '.':
		if s.path != "" && !strings.HasSuffix(s.path, ".") {
			s.path += "."
			s.keyword = ""
			return
		}
	case '=', '!', '<', '>', '+', '-', '*', '/', '%', '|', '&', '^':
		isPair := s.at < len(s.text) && s.text[s.at] == '='
		if isPair {
			s.at++
		}
		if c == '=' && !isPair && n > 0 {
			s.calls[n-1].addName(s.path)
		}
	}
	s.path, s.keyword = "", ""
}

// addName notes that an argument of a call has a name.
func (b *bracket) addName(path string) {
	if b.open == '(' && path != "" && !strings.Contains(path, ".") {
		b.name, b.hasText = path, false
		b.names = append(b.names, path)
	}
}

// call returns the innermost call around the cursor, and the brackets inside of it.
func (c *cursor) call() (call *bracket, inner []bracket) {
	for i := len(c.calls) - 1; i >= 0; i-- {
		if b := &c.calls[i]; b.open == '(' && b.path != "" {
			return b, c.calls[i+1:]
		}
	}
	return nil, nil
}

// pathAround returns the path whose last part is the word at an offset, and the word's bounds:
// "ctx.http" if the offset is in the http of ctx.http.get.
func pathAround(text string, offset int) (path string, from, to int) {
	from, to = offset, offset
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		from -= size
	}
	to += wordLength(text[to:])
	if from == to || !isWordStart(text[from:]) {
		return "", from, to
	}
	return scan(text, to).path, from, to
}
