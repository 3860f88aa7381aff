package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// A word is one argument as a program would get it.
type word struct {
	text  string
	known bool // otherwise the text is decided at run time only
	many  bool // the word may become any number of words
	// number is true for an unknown word that has no text but a number, if it has one.
	number bool
	ends   *ends // of an unknown word, or nil
}

// ends are what stands certainly in an unknown word, at its two ends. pattern is the glob if nothing else makes the
// word unknown, and home the same for a word below a home folder, and for the variable of a loop. operand is true if
// the word is certainly no flag.
type ends struct {
	start, end, pattern, home string
	operand                   bool
}

// open returns the ends of a word.
func (w word) open() ends {
	if w.ends == nil {
		return ends{}
	}
	return *w.ends
}

// globWord returns a word that is a glob.
func globWord(pattern string) word { return word{ends: &ends{pattern: pattern}} }

// glob returns what Glob does.
func (w word) glob() string {
	open := w.open()
	switch {
	case open.pattern+open.home != "":
		return open.pattern + open.home
	case w.known, open.start+open.end == "":
		return ""
	case w.many:
		return "$$" + open.start + "*" + strings.TrimPrefix(open.end, "]")
	}
	return "$" + open.start + "*" + strings.TrimPrefix(open.end, "]")
}

// mayFlag reports whether a word, or a part of it, may be a flag.
func (w word) mayFlag() bool {
	if w.known {
		return len(w.text) > 1 && w.text[0] == '-'
	}
	open := w.open()
	return !open.operand && (open.start == "" || open.start[0] == '-' || w.many && open.pattern == "")
}

// mayBe reports whether a word may be one of the texts, which have no slash.
func (w word) mayBe(texts ...string) bool {
	if w.known {
		return isOneOf(w.text, texts)
	}
	open := w.open()
	if open.pattern == "" || strings.Contains(open.pattern, "[[") {
		return slices.ContainsFunc(texts, func(text string) bool { return w.many || strings.HasPrefix(text, open.start) })
	}
	pattern := strings.ToLower(strings.ReplaceAll(open.pattern, "[!", "[^"))
	return slices.ContainsFunc(texts, func(text string) bool {
		ok, err := path.Match(pattern, text)
		return ok || err != nil
	})
}

// pointer returns the text, or nil if it is decided at run time.
func (w *word) pointer() *string {
	if !w.known {
		return nil
	}
	return &w.text
}

// expand returns the arguments that a word becomes, after brace expansion. It visits the
// commands inside of it.
func (r *reader) expand(list []*syntax.Word) []word {
	words := make([]word, 0, len(list))
	for _, w := range list {
		r.script.Nodes++
		split := *w // words with empty parts have no position, so w must stay as it is
		if r.manner >= asBusybox || !syntax.SplitBraces(&split) {
			words = append(words, r.word(w))
			continue
		}
		n := countBraces(&split)
		r.words += n
		r.inner += n * int(w.End().Offset()-w.Pos().Offset())
		r.parts += n * len(split.Parts)
		r.script.Nodes += n * len(split.Parts)
		if r.words > maxWords || r.parts > maxParts || r.inner > maxInner {
			r.fail("size")
			return words
		}
		for _, flat := range flatten(split.Parts) {
			words = append(words, r.word(&syntax.Word{Parts: flat}))
		}
	}
	return words
}

// isPlain reports whether unquoted text means itself.
func isPlain(text string) bool {
	for i := range len(text) {
		switch b := text[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		case strings.IndexByte("-_./:,@%+", b) >= 0, b == '=' && i > 0:
		default:
			return false
		}
	}
	return true
}

// countBraces returns an upper bound of the number of words that a word becomes.
func countBraces(w *syntax.Word) int {
	product := 1
	for _, p := range w.Parts {
		if b, ok := p.(*syntax.BraceExp); ok {
			sum := 0
			for _, e := range b.Elems {
				sum = min(sum+countBraces(e), maxWords+1)
			}
			product = min(product*max(sum, 1), maxWords+1)
		}
	}
	return product
}

// flatten returns the parts of each word that brace expansion makes. A sequence such as {1..9}
// remains.
func flatten(parts []syntax.WordPart) [][]syntax.WordPart {
	lists := [][]syntax.WordPart{nil}
	for _, p := range parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok || b.Sequence {
			for i := range lists {
				lists[i] = append(lists[i], p)
			}
			continue
		}
		var ends, next [][]syntax.WordPart
		for _, e := range b.Elems {
			ends = append(ends, flatten(e.Parts)...)
		}
		for _, start := range lists {
			for _, end := range ends {
				next = append(next, slices.Concat(start, end))
			}
		}
		lists = next
	}
	return lists
}

// word evaluates one word without braces.
func (r *reader) word(w *syntax.Word) word {
	if len(w.Parts) == 1 {
		if value, ok := onlyPart(r, w.Parts[0]); ok {
			return value
		}
	}
	out := wordBuilder{word: word{known: true}}
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			r.markDollar(w.Parts[:i], lit, &out)
			out.addLit(lit.Value, out.known && out.buf.Len() == 0, len(w.Parts) == 1)
			if i > 0 && strings.HasPrefix(lit.Value, "[") {
				if e, ok := w.Parts[i-1].(*syntax.ParamExp); ok && e.Short {
					r.setWild() // zsh reads $x[…] as an index, which it calculates
				}
			}
			continue
		}
		if value, ok := constant(r, w.Parts[i:], false); ok {
			out.buf.WriteString(value.text)
			continue
		}
		r.part(p, &out)
	}
	if out.known || len(w.Parts) != 1 || !r.isNumber(w) {
		return out.finish()
	}
	out.number = true
	if e, ok := w.Parts[0].(*syntax.ParamExp); ok && strings.Contains("#?$", e.Param.Value) {
		out.many = false // it is there, and no shell splits a number
	}
	return out.finish()
}

// onlyPart returns the word that has one part: a plain text, or the value of a quoted variable whose letters are
// known in part.
func onlyPart(r *reader, p syntax.WordPart) (value word, ok bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		return word{text: p.Value, known: true}, isPlain(p.Value)
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			value, ok = constant(r, p.Parts, true)
			return value, ok && !value.many && value.glob() != ""
		}
	}
	return word{}, false
}

// markDollar makes a word unknown if a text stands behind a dollar so that zsh expands both, as in
// $=x and $~x.
func (r *reader) markDollar(before []syntax.WordPart, behind *syntax.Lit, out *wordBuilder) {
	if len(before) == 0 || behind.Value == "" || !contains("=~^", behind.Value[0]) {
		return
	}
	if lit, ok := before[len(before)-1].(*syntax.Lit); ok && lit.Value == "$" {
		if out.setUnknown(true); strings.Contains(behind.Value, "[") {
			r.setWild() // an index, which zsh calculates
		}
	}
}

// A wordBuilder joins the parts of a word.
type wordBuilder struct {
	word
	buf      strings.Builder
	behind   int  // the end begins here
	expanded bool // not only a glob makes it unknown
}

// finish returns the word.
func (b *wordBuilder) finish() word {
	b.text = b.buf.String()
	if strings.ContainsRune(b.text, '\r') || !utf8.ValidString(b.text) {
		b.setUnknown(false)
	}
	if !b.known {
		if !b.expanded && b.ends.start == "/" && b.text[0] == '~' {
			b.ends.home = b.text
		} else if !b.expanded {
			b.ends.pattern = b.text
		} else if b.text != "" {
			b.ends.home = ""
		}
		b.ends.end = b.text[min(b.behind, len(b.text)):]
		b.text = ""
	}
	return b.word
}

// setGlob records a part of a glob.
func (b *wordBuilder) setGlob() {
	before := b.expanded
	b.setUnknown(true)
	b.expanded = before
}

// setHome records that a word, whose first part was just made unknown, begins with a home folder.
func (b *wordBuilder) setHome() { b.ends.start, b.expanded = "/", false }

// setVariable records a variable, or another expansion that is decided at run time.
func (b *wordBuilder) setVariable(r *reader, p syntax.WordPart, many bool) {
	e, ok := p.(*syntax.ParamExp)
	isFirst := b.known && b.buf.Len() == 0 && ok && isPlainParam(e)
	switch b.setUnknown(many); {
	case !isFirst:
	case e.Param.Value == "HOME":
		b.setHome()
		b.buf.WriteByte('~')
	default:
		b.ends.home = r.constants[e.Param.Value].open().home // of a loop over files
	}
}

// setUnknown records a part that is decided at run time.
func (b *wordBuilder) setUnknown(many bool) {
	if b.known {
		b.ends = &ends{start: b.buf.String()}
	}
	b.known, b.expanded, b.behind = false, true, b.buf.Len()
	b.many = b.many || many
}

// addLit adds unquoted text. first says that a word begins with it, whole that it is the word.
func (b *wordBuilder) addLit(text string, first, whole bool) {
	if first && text != "" && (text[0] == '~' || text[0] == '=' && len(text) > 1) {
		if b.setUnknown(false); text[0] == '~' { // a home folder; in zsh, =cmd is the path of a program
			b.setHome()
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i == len(text) {
				b.setUnknown(false) // bash and dash keep a backslash at the end of the text
			} else if text[i] != '\n' {
				b.buf.WriteByte(text[i])
			}
			continue
		case '*', '?':
			b.setGlob()
		case '[', ']':
			if !whole || len(text) > 2 || c == '[' && len(text) == 2 && text != "[[" {
				b.setGlob()
			}
		case '$':
			if i+1 < len(text) {
				b.setUnknown(true) // zsh expands $=x and $~x
			}
		}
		b.buf.WriteByte(text[i])
	}
}

// doubleQuoted adds a part in double quotes.
func doubleQuoted(r *reader, q *syntax.DblQuoted, out *wordBuilder) {
	if q.Dollar && r.manner != asBash {
		out.buf.WriteByte('$')
	}
	for i, inner := range q.Parts {
		if lit, ok := inner.(*syntax.Lit); ok {
			r.markDollar(q.Parts[:i], lit, out)
		}
		value, ok := constant(r, q.Parts[i:], true)
		first, open := out.known && out.buf.Len() == 0, value.open()
		switch {
		case ok && value.known:
			out.buf.WriteString(value.text)
			continue
		case ok && first && open.home != "" && !value.many:
			out.setUnknown(false)
			out.setHome()
			out.buf.WriteString(open.home)
			continue
		}
		r.quotedPart(inner, out)
		if ok && first && out.buf.Len() == 0 && (len(q.Parts) == 1 || open.start != "" || open.operand) {
			out.ends.start, out.ends.operand = open.start, open.operand
		}
	}
}

// part adds a part that is no plain text.
func (r *reader) part(p syntax.WordPart, out *wordBuilder) {
	switch p := p.(type) {
	case *syntax.SglQuoted:
		r.addSingleQuoted(p, out)
	case *syntax.DblQuoted:
		doubleQuoted(r, p, out)
	case *syntax.BraceExp:
		for _, e := range p.Elems {
			r.word(e)
		}
		out.setUnknown(true)
	case *syntax.ProcSubst:
		if r.isNew(p) {
			r.substitute("proc", p.Stmts)
		}
		out.setUnknown(false)
	case *syntax.ExtGlob:
		r.setWild() // zsh may read qualifiers that run code
		out.setUnknown(true)
	default:
		r.expansion(p)
		_, number := p.(*syntax.ArithmExp)
		if e, ok := p.(*syntax.ParamExp); ok && isPlainParam(e) {
			_, isLoop := r.constants[e.Param.Value]
			number = isLoop && r.numbers()[e.Param.Value]
		}
		out.setVariable(r, p, !number)
	}
}

// addSingleQuoted adds '…' or $'…'.
func (r *reader) addSingleQuoted(p *syntax.SglQuoted, out *wordBuilder) {
	if !p.Dollar {
		out.buf.WriteString(p.Value)
		return
	}
	if r.manner == asDash {
		out.buf.WriteString("$" + p.Value)
		return
	}
	if strings.Contains(p.Value, `\'`) {
		r.setWild() // dash ends the quote here
	}
	text, ok := decodeQuoted(p.Value)
	if !ok {
		out.setUnknown(false)
	}
	out.buf.WriteString(text)
}

// quotedPart adds a part within double quotes.
func (r *reader) quotedPart(p syntax.WordPart, out *wordBuilder) {
	if lit, ok := p.(*syntax.Lit); ok {
		out.buf.WriteString(unescapeQuoted(lit.Value, `"`))
		return
	}
	r.expansion(p)
	e, ok := p.(*syntax.ParamExp)
	judgeQuotes(r, p)
	// "$@" and "${a[@]}" may be any number of words.
	out.setVariable(r, p, ok && (e.Param == nil || e.Param.Value == "@" || e.Index != nil || e.Excl || e.Exp != nil))
}

// judgeQuotes judges the single quotes in an expansion within double quotes. In some of its forms
// they quote nothing: "${x:-'$(cmd)'}".
func judgeQuotes(r *reader, p syntax.WordPart) {
	e, ok := p.(*syntax.ParamExp)
	if !ok || e.Exp == nil && e.Repl == nil {
		return
	}
	syntax.Walk(e, func(n syntax.Node) bool {
		r.script.Nodes++
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if strings.ContainsAny(n.Value, "$`\"{}\\") {
				r.setWild()
			}
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.DblQuoted: // these are judged on their own
			return false
		}
		return true
	})
}

// expansion visits an expansion of a variable, a command or a number.
func (r *reader) expansion(p syntax.WordPart) {
	r.script.Nodes++
	if !r.isNew(p) {
		return
	}
	switch p := p.(type) {
	case *syntax.CmdSubst:
		r.substitute("subst", p.Stmts)
	case *syntax.ArithmExp:
		if p.Bracket {
			r.setWild() // dash reads $[ as text
		}
		r.arithmetic(p.X)
	case *syntax.ParamExp:
		r.parameter(p)
	default:
		r.setWild()
	}
}

// unescapeQuoted removes the backslashes that a shell removes within double quotes, or in a
// here-document if quote is empty.
func unescapeQuoted(text, quote string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			switch next := text[i+1]; {
			case next == '\n':
				i++
				continue
			case strings.IndexByte("$`\\"+quote, next) >= 0:
				i++
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// escapes are the letters of $'…' and their bytes.
const escapes = "n\nt\tr\ra\ab\be\x1bE\x1bf\fv\v\\\\''\"\"??"

// decodeQuoted decodes the text of $'…'. ok is false for rare escapes.
func decodeQuoted(text string) (decoded string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			continue
		}
		i++
		if i == len(text) {
			return "", false
		}
		if at := strings.IndexByte(escapes, text[i]); at >= 0 && at%2 == 0 {
			out.WriteByte(escapes[at+1])
			continue
		}
		digits, base, most := text[i:], 8, 3
		switch text[i] {
		case 'x':
			digits, base, most = text[i+1:], 16, 2
			i++
		case '0', '1', '2', '3', '4', '5', '6', '7':
		default:
			return "", false
		}
		n := 0
		for n < most && n < len(digits) && isDigit(digits[n], base) {
			n++
		}
		code, err := strconv.ParseUint(digits[:n], base, 16)
		if err != nil || code == 0 || code > 255 {
			return "", false
		}
		out.WriteByte(byte(code))
		i += n - 1
	}
	return out.String(), true
}

// isDigit reports whether b is a digit of the base.
func isDigit(b byte, base int) bool {
	if base == 8 {
		return b >= '0' && b <= '7'
	}
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

// heredocText returns the text that a command reads from its here-document or here-string.
func (r *reader) heredocText(d *syntax.Redirect) word {
	if d.Op == syntax.WordHdoc {
		return r.word(d.Word)
	}
	if d.Hdoc == nil {
		return word{known: true}
	}
	quoted := isQuotedDelimiter(d.Word)
	out := wordBuilder{word: word{known: true}}
	for i, p := range d.Hdoc.Parts {
		lit, ok := p.(*syntax.Lit)
		if ok && !quoted {
			r.markDollar(d.Hdoc.Parts[:i], lit, &out)
		}
		switch {
		case ok && quoted:
			out.buf.WriteString(lit.Value)
		case ok:
			out.buf.WriteString(unescapeQuoted(lit.Value, ""))
		default:
			if value, ok := constant(r, d.Hdoc.Parts[i:], true); ok && value.known {
				out.buf.WriteString(value.text)
				continue
			}
			r.expansion(p)
			judgeQuotes(r, p)
			out.setUnknown(false)
		}
	}
	text := out.finish()
	if d.Op == syntax.DashHdoc {
		lines := strings.Split(text.text, "\n")
		for i, line := range lines {
			lines[i] = strings.TrimLeft(line, "\t")
		}
		text.text = strings.Join(lines, "\n")
	}
	return text
}
