package starhost_test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestHouseWords checks the words of comments, of documentation and of the strings that
// documentation is made from: house rule 3, plain English.
func TestHouseWords(t *testing.T) {
	var found []violation
	for _, p := range passages(t) {
		found = append(found, p.check()...)
	}
	checkHouse(t, found)
}

// A wording is a phrase, in lower case, and its remedy.
type wording struct{ phrase, remedy string }

// openers are the words that no sentence begins with.
var openers = []wording{
	{"but for", "name the exception: except"},
	{"those of", "name the things"},
	{"what", "begin with the thing that the sentence is about"},
	{"who", "begin with the caller, the user, the plugin or another name"},
	{"that", "name the thing instead of pointing back at it"},
	{"of", "begin with the thing, then say what belongs to it"},
	{"where", "write if or when, or begin with the thing"},
	{"nobody", "say which caller or plugin does not"},
}

// bannedWords have too many meanings in this code base, or none. Each has verbs and
// nouns in place of it.
var bannedWords = []wording{
	{"told", "say who reports, logs, passes or prints it"},
	{"kept", "write cached, stored, retained, remains or sent"},
	{"held", "write contains, stored in or locked"},
	{"known", "write registered, cached, declared, named or decoded"},
	{"recalled", "write found in the cache, read back or looked up"},
	{"noted", "write recorded, logged or reported"},
	{"looked at", "write checked, read, parsed or compared"},
	{"made anew", "write created by each call or rebuilt"},
	{"of its own", "write its own X, or a separate X"},
	{"but for", "write except"},
	{"no use", "say what is unsupported, unused or wrong"},
}

// A passage is a paragraph, an item of a list, a cell of a table or a trailing comment.
type passage struct {
	file    string
	line    int    // the first one
	text    string // its lines, or one line if the source spells newlines otherwise
	heading bool   // the passage heads a page or a chapter, so that it may ask a question
	cell    bool   // the passage is a table's cell: a phrase rather than a sentence
	message bool   // the passage is an error or another text that code formats: its words count, not its start
}

var (
	// quoted matches parts of a passage that are no English: code in backquotes, quoted
	// text, references of Go comments, names with a dot in them, names with underscores.
	quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|“[^”]*”|\\[[^\\]\n]*\\](\\([^)]*\\))?|\\b\\w+(\\.\\w+)+|\\b\\w*_\\w*|\\b(?i:well)-known\\b")
	// sentenceEnd matches the end of a sentence and the space behind it.
	sentenceEnd = regexp.MustCompile("[.?!][)\"”*_]*\\s+[(*_“\"]*")
	// ornament matches the markers in front of a paragraph's first word.
	ornament = regexp.MustCompile(`^(?:[\s*_>#(]|[-+] |\d+[.)] )+`)
	// listMarker matches the start of a list's item.
	listMarker = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`)

	openerPattern = regexp.MustCompile(`^(?i:` + alternatives(openers) + `)\b`)
	wordPattern   = regexp.MustCompile(`(?i)\b(?:` + alternatives(bannedWords) + `)\b`)
)

// alternatives joins phrases to a regular expression in which spaces match newlines.
func alternatives(list []wording) string {
	phrases := make([]string, len(list))
	for i, w := range list {
		phrases[i] = strings.ReplaceAll(w.phrase, " ", `\s+`)
	}
	return strings.Join(phrases, "|")
}

// remedy returns what to write in place of a found phrase.
func remedy(list []wording, found string) string {
	plain := strings.ToLower(strings.Join(strings.Fields(found), " "))
	i := slices.IndexFunc(list, func(w wording) bool { return w.phrase == plain })
	return list[i].remedy
}

// check returns the places of a passage that are not plain English.
func (p passage) check() []violation {
	text := quoted.ReplaceAllStringFunc(p.text, func(s string) string {
		return "x" + strings.Repeat("\n", strings.Count(s, "\n"))
	})
	var found []violation
	report := func(at int, phrase, remedy string) {
		line := p.line + strings.Count(text[:at], "\n")
		found = append(found, violation{p.file, line, strconv.Quote(phrase) + ": " + remedy})
	}
	for i, at := range sentenceStarts(text) {
		opener := openerPattern.FindString(text[at:])
		switch {
		case opener == "", p.message, p.heading && isQuestion(text[at:]):
		case (i > 0 || p.cell) && opener[0] >= 'a': // behind the point of an abbreviation
		default:
			report(at, opener+" …", remedy(openers, opener))
		}
	}
	for _, at := range wordPattern.FindAllStringIndex(text, -1) {
		if word := text[at[0]:at[1]]; !p.message || !isStatus(p.file, word) {
			report(at[0], word, remedy(bannedWords, word))
		}
	}
	return found
}

// isStatus reports whether a word in a file is the public name of a fragment's status,
// which reports print as it is.
func isStatus(file, word string) bool {
	return word == "kept" && (file == "golden/report.go" || strings.HasPrefix(file, "report/"))
}

// sentenceStarts returns where the sentences of a text begin.
func sentenceStarts(text string) []int {
	starts := []int{len(ornament.FindString(text))}
	for _, end := range sentenceEnd.FindAllStringIndex(text, -1) {
		starts = append(starts, end[1])
	}
	return starts
}

// isQuestion reports whether the first sentence of a text ends in a question mark.
func isQuestion(text string) bool {
	end := strings.IndexAny(text, ".?!")
	return end >= 0 && text[end] == '?'
}

// passages returns everything that the rule of words is for.
func passages(t *testing.T) []passage {
	t.Helper()
	var list []passage
	for _, s := range goSources(t) {
		list = append(list, commentPassages(s)...)
		if !s.test {
			list = append(list, stringPassages(s)...)
		}
	}
	err := walkHouse(func(name string) error {
		var split func(name, text string) []passage
		switch {
		case isPage(name):
			split = pagePassages
		case strings.HasPrefix(name, "scripts/") && path.Ext(name) == ".star":
			split = starPassages
		default:
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		list = append(list, split(name, string(text))...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// isPage reports whether a file is a page of the documentation.
func isPage(name string) bool {
	folder := path.Dir(name)
	return path.Ext(name) == ".md" && (folder == "." || folder == "docs" || folder == "bench")
}

// commentPassages returns the paragraphs of a Go file's comments, without the code that
// is indented in them and without the expected output of examples.
func commentPassages(s *source) []passage {
	names := documentedNames(s.syntax)
	var list []passage
	for _, group := range s.syntax.Comments {
		var lines []string
		first := s.pos(group.Pos())
		for _, c := range group.List {
			for len(lines) < s.pos(c.Pos())-first {
				lines = append(lines, "")
			}
			lines = append(lines, strings.Split(commentText(c.Text), "\n")...)
		}
		found := paragraphs(s.name, first, lines)
		for _, name := range names[group] {
			if len(found) > 0 {
				found[0].text = cutName(found[0].text, name)
			}
		}
		list = append(list, found...)
	}
	return list
}

// cutName replaces the name that a comment documents, if the comment begins with it.
func cutName(text, name string) string {
	rest, ok := strings.CutPrefix(text, name)
	if ok && (rest == "" || strings.ContainsAny(rest[:1], " \n")) {
		return "x" + rest
	}
	return text
}

// commentText returns a comment without its markers, "" for a directive.
func commentText(text string) string {
	if inner, ok := strings.CutPrefix(text, "/*"); ok {
		return strings.TrimSuffix(inner, "*/")
	}
	text = strings.TrimPrefix(text, "//")
	if text != "" && text[0] != ' ' && text[0] != '\t' {
		if tool, _, ok := strings.Cut(text, ":"); ok && !strings.Contains(tool, " ") {
			return ""
		}
	}
	return strings.TrimPrefix(text, " ")
}

// paragraphs splits the lines of a comment at empty lines and at items of lists.
func paragraphs(file string, first int, lines []string) []passage {
	var list []passage
	open := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		item := listMarker.MatchString(line)
		switch indented := line != "" && (line[0] == '\t' || strings.HasPrefix(line, "  ")); {
		case trimmed == "Output:", trimmed == "Unordered output:":
			return list
		case trimmed == "":
			open = false
		case item, !open && !indented:
			text := listMarker.ReplaceAllString(line, "")
			list, open = append(list, passage{file: file, line: first + i, text: text}), true
		case open:
			list[len(list)-1].text += "\n" + line
		}
	}
	return list
}

// documentedNames returns the names that each doc comment is about.
func documentedNames(f *ast.File) map[*ast.CommentGroup][]string {
	names := map[*ast.CommentGroup][]string{}
	add := func(group *ast.CommentGroup, ids ...*ast.Ident) {
		for _, id := range ids {
			names[group] = append(names[group], id.Name, "A "+id.Name, "An "+id.Name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Doc, n.Name)
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(n.Doc, spec.Name)
				case *ast.ValueSpec:
					add(n.Doc, spec.Names...)
				}
			}
		case *ast.TypeSpec:
			add(n.Doc, n.Name)
		case *ast.ValueSpec:
			add(n.Doc, n.Names...)
		case *ast.Field:
			add(n.Doc, n.Names...)
		}
		return true
	})
	delete(names, nil)
	return names
}

// docFields are the fields of tables that contain prose for the documentation, in lower
// case.
var docFields = []string{"doc", "text", "title", "short", "long", "fires", "why", "wants", "help", "usage", "summary", "description"}

// codeFields are the fields of tables that contain examples of code, in lower case.
var codeFields = []string{"example", "bad", "good"}

// stringPassages returns the prose that a Go file's string literals contain: fields of
// tables that documentation is printed from, help texts of flags, rows of strings that
// are sentences; and the messages that code formats. Examples of code are no prose.
func stringPassages(s *source) []passage {
	var list []passage
	done := map[*ast.BasicLit]bool{}
	add := func(e ast.Expr) {
		for _, lit := range stringLiterals(e) {
			if !done[lit] {
				list = append(list, literalPassages(s, lit)...)
			}
			done[lit] = true
		}
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			key, ok := n.Key.(*ast.Ident)
			switch {
			case !ok:
			case slices.Contains(docFields, strings.ToLower(key.Name)):
				add(n.Value)
			case slices.Contains(codeFields, strings.ToLower(key.Name)):
				return false
			}
		case *ast.CompositeLit:
			for _, elt := range n.Elts {
				if lits := stringLiterals(elt); len(lits) > 0 && isSentence(lits[len(lits)-1]) {
					add(elt)
				}
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && flagFunc.MatchString(f.Sel.Name) && len(n.Args) > 2 {
				add(n.Args[len(n.Args)-1])
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && !done[n] && len(strings.Fields(n.Value)) > 2 {
				for _, p := range literalPassages(s, n) {
					p.message = true
					list = append(list, p)
				}
			}
		}
		return true
	})
	return list
}

// flagFunc matches the methods of a flag set that define a flag. The flag's help text is
// the last argument.
var flagFunc = regexp.MustCompile(`^(Bool|String|Int|Int64|Uint64|Duration|StringSlice|StringArray|StringToString)?Var(P|PF)?$`)

// stringLiterals returns the literals that a string expression joins by +.
func stringLiterals(e ast.Expr) []*ast.BasicLit {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return []*ast.BasicLit{e}
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return append(stringLiterals(e.X), stringLiterals(e.Y)...)
		}
	}
	return nil
}

// isSentence reports whether a literal ends as a sentence does and has several words.
func isSentence(lit *ast.BasicLit) bool {
	text, err := strconv.Unquote(lit.Value)
	return err == nil && strings.HasSuffix(text, ".") && len(strings.Fields(text)) > 3
}

// literalPassages returns the paragraphs of a literal.
func literalPassages(s *source, lit *ast.BasicLit) []passage {
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return nil
	}
	list := paragraphs(s.name, s.pos(lit.Pos()), strings.Split(text, "\n"))
	if lit.Value[0] == '"' { // its newlines are not lines of the source
		for i := range list {
			list[i].line, list[i].text = s.pos(lit.Pos()), strings.ReplaceAll(list[i].text, "\n", " ")
		}
	}
	return list
}

// starPassages returns the comments of a Starlark file.
func starPassages(name, text string) []passage {
	lines := strings.Split(text, "\n")
	quote := "" // the open one of three characters
	var list []passage
	var block []string
	flush := func(end int) {
		list = append(list, paragraphs(name, end-len(block)+1, block)...)
		block = nil
	}
	for i, line := range lines {
		code, comment := "", ""
		code, comment, quote = splitStar(line, quote)
		switch {
		case comment == "":
			flush(i)
		case strings.TrimSpace(code) == "":
			block = append(block, strings.TrimPrefix(strings.TrimPrefix(comment, "#"), " "))
		default:
			flush(i)
			list = append(list, paragraphs(name, i+1, []string{strings.TrimSpace(strings.TrimPrefix(comment, "#"))})...)
		}
	}
	flush(len(lines))
	return list
}

// splitStar splits a line of Starlark before its comment. quote is the string of three
// quotes that is open at the line's start and, in the result, at its end.
func splitStar(line, quote string) (code, comment, open string) {
	for i := 0; i < len(line); i++ {
		rest := line[i:]
		switch {
		case rest[0] == '\\':
			i++
		case quote != "":
			if strings.HasPrefix(rest, quote) {
				i += len(quote) - 1
				quote = ""
			}
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
			quote = rest[:3]
			i += 2
		case rest[0] == '"', rest[0] == '\'':
			quote = rest[:1]
		case rest[0] == '#':
			return line[:i], rest, ""
		}
	}
	if len(quote) == 1 {
		quote = ""
	}
	return line, "", quote
}

// pagePassages returns the paragraphs, headings, items and table cells of a page in
// Markdown, without its code.
func pagePassages(name, text string) []passage {
	var list []passage
	open := false // a paragraph or item
	for i, line := range pageLines(text) {
		trimmed := strings.TrimSpace(line)
		heading := strings.HasPrefix(trimmed, "#")
		switch {
		case trimmed == "":
			open = false
		case strings.HasPrefix(trimmed, "|"):
			open = false
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), "|") {
				list = append(list, passage{file: name, line: i + 1, text: strings.TrimSpace(cell), cell: true})
			}
		case heading, listMarker.MatchString(line), !open:
			open = !heading
			asks := heading || strings.HasPrefix(trimmed, "**") // as in RATIONALE.md
			text := listMarker.ReplaceAllString(line, "")
			list = append(list, passage{file: name, line: i + 1, text: text, heading: asks})
		default:
			list[len(list)-1].text += "\n" + line
		}
	}
	return list
}

// pageLines returns the lines of a page; lines of code blocks are empty.
func pageLines(text string) []string {
	lines := strings.Split(text, "\n")
	fence := ""
	blank := true // the line before was empty, so that an indented one begins a code block
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			lines[i] = ""
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence, lines[i] = trimmed[:3], ""
		case strings.HasPrefix(trimmed, "<!--"), blank && strings.HasPrefix(line, "    ") && !listMarker.MatchString(line):
			lines[i] = ""
		}
		blank = trimmed == "" || blank && lines[i] == ""
	}
	return lines
}

// TestHouseWordsRefuses shows that the rule finds bad sentences and leaves good ones.
func TestHouseWordsRefuses(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{"What a plugin wants is refused.", 1},
		{"of all copies", 1},
		{"A host adds plugins. Where two have one name, the first wins.", 1},
		{"Works. That of\nanother is not.", 1},
		{"The value is kept,\nlooked\nat and of no\nuse.", 3},
		{"Nobody reads it! Who would?", 2},
		{"But for this, it works.", 2}, // an opener and a word
		{"The status `kept` and \"held\" are names, as is [Known].", 0},
		{"The caller asks what is unknown, and that of course works: Where it does.", 0},
		{"A file in /.well-known/ is read, e.g. that of a server.", 0},
		{"Whatever happens, fragments.Kept and is_known remain.", 0},
	}
	for _, tt := range tests {
		if got := (passage{text: tt.text}).check(); len(got) != tt.want {
			t.Errorf("%q: got %v, want %d violations", tt.text, got, tt.want)
		}
	}
	page := "# What is it?\n\nText that is told.\n\n```\nkept\n```\n\n- item\n  held\n\n| a | known |\n"
	var found []violation
	for _, p := range pagePassages("a.md", page) {
		found = append(found, p.check()...)
	}
	if len(found) != 3 || found[0].line != 3 || found[1].line != 10 || found[2].line != 12 {
		t.Errorf("page: got %v, want violations in lines 3, 10, 12", found)
	}
	star := "x = \"# kept\" # is told\n\"\"\"\n# held\n\"\"\"\n# What\n# is known\n"
	found = nil
	for _, p := range starPassages("a.star", star) {
		found = append(found, p.check()...)
	}
	if len(found) != 3 || found[0].line != 1 || found[1].line != 5 || found[2].line != 6 {
		t.Errorf("script: got %v, want violations in lines 1, 5, 6", found)
	}
}
