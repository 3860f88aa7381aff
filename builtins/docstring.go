package builtins

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// toolDescription returns the description that a docstring has of a tool: the first paragraph on one line,
// then the other lines without their common indentation. If argsInSchema is true, it omits the section
// "Args:", because the derived schema has its content.
func toolDescription(doc string, argsInSchema bool) string {
	lines := strings.Split(strings.TrimSpace(doc), "\n")
	if argsInSchema {
		lines = withoutArgs(lines)
	}
	n := 0
	for n < len(lines) && strings.TrimSpace(lines[n]) != "" {
		n++
	}
	description := firstParagraph(strings.Join(lines[:n], "\n"))
	if rest := dedentLines(lines[n:]); rest != "" {
		description += "\n\n" + rest
	}
	return strings.TrimSpace(description)
}

// withoutArgs returns the lines without the section that parseArgs reads. It changes the slice lines.
func withoutArgs(lines []string) []string {
	head := -1 // the indentation of the section's head
	out, done := lines[:0], false
	for i, line := range lines {
		text, depth := strings.TrimSpace(line), indentation(line)
		switch {
		case done:
		case head >= 0 && (text == "" || depth > head):
			continue
		case head >= 0:
			done = true
		case text == "Args:":
			if head = depth; i == 0 {
				head = 0
			}
			continue
		}
		out = append(out, line)
	}
	return out
}

// dedentLines joins lines. It removes the indentation that all lines share, white space at the ends of lines,
// and all but one of several blank lines.
func dedentLines(lines []string) string {
	common := -1
	for _, line := range lines {
		if depth := indentation(line); strings.TrimSpace(line) != "" && (common < 0 || depth < common) {
			common = depth
		}
	}
	var b strings.Builder
	blank := true
	for _, line := range lines {
		if line = strings.TrimRight(line, " \t\r"); strings.TrimSpace(line) == "" {
			line = ""
		}
		if line != "" {
			b.WriteString(line[common:])
		}
		if line != "" || !blank {
			b.WriteByte('\n')
		}
		blank = line == ""
	}
	return strings.Trim(b.String(), "\n")
}

// parseType parses the name of a type in a docstring.
func parseType(text string) (*jsonType, error) {
	text = strings.TrimSpace(text)
	if of, ok := strings.CutPrefix(text, "array of "); ok {
		items, err := parseType(of)
		if err != nil {
			return nil, err
		}
		return &jsonType{name: "array", items: items}, nil
	}
	names := []string{}
	for _, row := range jsonTypes[:6] {
		names = append(names, row.name)
		if row.name == text {
			return &jsonType{name: text}, nil
		}
	}
	found := near.Name(text, names)
	for _, row := range jsonTypes {
		if row.starlark == text {
			found = row.name
		}
	}
	return nil, fmt.Errorf("unknown type %s%s, want %s, array of TYPE or texts such as \"low\", \"high\"", errtext.Quote(text), near.Hint(found), strings.Join(names, ", "))
}

// An argDoc is what a docstring says about one parameter.
type argDoc struct {
	name string
	typ  *jsonType // nil if the docstring states no type
	text string
	enum []starlark.Value // the texts that stand in place of the type, or after "one of"
}

// quotedTexts matches "a", "b" or "c".
const quotedTexts = `("[^"]*"(?:(?:,\s*(?:or\s+)?|\s+or\s+|\s*\|\s*)"[^"]*")*)`

// enumForms match the two forms in which a docstring lists the values of a parameter: a type such as `array
// of one of "a", "b"`, and a text that contains `one of "a", "b"`.
var enumForms = sync.OnceValue(func() [2]*regexp.Regexp {
	return [2]*regexp.Regexp{
		regexp.MustCompile(`^\s*(?:string,?\s+)?(array of )?(?:string,?\s+)?(?:one of )?` + quotedTexts + `\s*$`),
		regexp.MustCompile(`\b[oO]ne of ()` + quotedTexts),
	}
})

// parseArgs parses the section "Args:" of a docstring: entries `name (type): text`, whose text
// may continue on lines with a deeper indentation. The section ends at a line that is indented
// like its head.
func parseArgs(doc string) ([]argDoc, error) {
	var docs []argDoc
	var words []string    // the text of the last entry, line by line
	head, entry := -1, -1 // the indentations of the head and of the entries
	end := func() {
		if len(docs) > 0 {
			docs[len(docs)-1].text = strings.Join(words, " ")
		}
	}
	for line := range strings.Lines(doc) {
		text := strings.TrimSpace(line)
		depth := indentation(line)
		switch {
		case text == "":
		case head < 0:
			if text == "Args:" {
				head = depth
			}
		case depth <= head:
			end()
			return finishArgDocs(docs)
		case entry < 0 || depth <= entry:
			entry = depth
			d, err := parseArg(text)
			if err != nil {
				return nil, err
			}
			end()
			docs, words = append(docs, d), []string{d.text}
		default:
			words = append(words, text)
		}
	}
	end()
	return finishArgDocs(docs)
}

func indentation(line string) int {
	return len(line) - len(strings.TrimLeft(line, " \t"))
}

// parseArg parses the first line of an entry for a parameter.
func parseArg(line string) (argDoc, error) {
	name, typ, text, ok := splitArgLine(line)
	if !ok {
		return argDoc{}, fmt.Errorf("the docstring's Args: got %s, want a line \"name (type): text\"", errtext.Quote(line))
	}
	d := argDoc{name: name, text: text}
	if typ == "" {
		return d, nil
	}
	if array, enum := enumOf(enumForms()[0], typ); enum != nil {
		d.enum, d.typ = enum, &jsonType{name: "string"}
		if array {
			d.typ = &jsonType{name: "array", items: d.typ}
		}
		return d, nil
	}
	var err error
	if d.typ, err = parseType(typ); err != nil {
		return d, fmt.Errorf("the docstring's Args: %s: %w", d.name, err)
	}
	return d, nil
}

// splitArgLine splits "name (type): text". The type is optional.
func splitArgLine(line string) (name, typ, text string, ok bool) {
	const word = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	rest := strings.TrimLeft(line, word)
	name = line[:len(line)-len(rest)]
	if inner, typed := strings.CutPrefix(strings.TrimSpace(rest), "("); typed {
		end := closingParen(inner)
		if end < 0 {
			return "", "", "", false
		}
		typ, rest = inner[:end], inner[end+1:]
	}
	text, ok = strings.CutPrefix(strings.TrimSpace(rest), ":")
	return name, typ, strings.TrimSpace(text), ok && name != ""
}

// closingParen returns the index of the first ")" outside of quotes, or -1.
func closingParen(s string) int {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ')' && !quoted:
			return i
		}
	}
	return -1
}

// finishArgDocs parses those parts of entries that may go over several lines. Two entries for one parameter
// are an error.
func finishArgDocs(docs []argDoc) ([]argDoc, error) {
	seen := map[string]bool{}
	for i := range docs {
		d := &docs[i]
		if seen[d.name] {
			return nil, fmt.Errorf("the docstring's Args: %s is described twice", d.name)
		}
		seen[d.name] = true
		if d.enum == nil && strings.Contains(d.text, `ne of "`) {
			_, d.enum = enumOf(enumForms()[1], d.text)
		}
	}
	return docs, nil
}

// enumOf returns the quoted texts that a form finds in a text, or nil. array is true if "array of" precedes
// them.
func enumOf(form *regexp.Regexp, text string) (array bool, enum []starlark.Value) {
	match := form.FindStringSubmatch(text)
	if match == nil {
		return false, nil
	}
	for i, part := range strings.Split(match[2], `"`) {
		if i%2 == 1 { // parts with odd numbers were between quotes
			enum = append(enum, starlark.String(part))
		}
	}
	return match[1] != "", enum
}
