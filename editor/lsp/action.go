package lsp

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// maxFixed bounds the lines behind a finding in which its misspelt word is searched.
const maxFixed = 40

// actions answers textDocument/codeAction: an edit for each suggestion of a diagnostic in the
// range.
func (s *server) actions(d *document, p docParams) (any, error) {
	list := []codeAction{}
	if d.script == nil {
		return list, nil
	}
	for _, g := range d.shown {
		if g.Range.Start.Line > p.Range.End.Line || g.Range.End.Line < p.Range.Start.Line {
			continue
		}
		for _, fix := range []func(*document, diagnostic) (string, []textEdit){fixName, fixReturn} {
			if title, edits := fix(d, g); edits != nil {
				list = append(list, codeAction{
					Title: title, Kind: "quickfix", Diagnostics: []diagnostic{g}, IsPreferred: true,
					Edit: &workspaceEdit{map[string][]textEdit{d.uri: edits}},
				})
			}
		}
	}
	return list, nil
}

// fixName replaces a misspelt word by the name that the message suggests.
func fixName(d *document, g diagnostic) (string, []textEdit) {
	name, before := near.Hinted(g.Message)
	if name == "" {
		return "", nil
	}
	text := d.script.text
	from := d.script.offset(g.Range.Start)
	last := d.script.lineAt(from) + maxFixed
	for at := from; at < len(text) && d.script.lineAt(at) < last; {
		n := wordLength(text[at:])
		if n == 0 {
			at++
			continue
		}
		word := text[at : at+n]
		if word != name && mentions(before, word) && near.Name(word, []string{name}) == name {
			return "Change " + word + " to " + name, []textEdit{{d.script.span(at, at+n), name}}
		}
		at += n
	}
	return "", nil
}

// mentions reports whether a word stands in a text as a whole.
func mentions(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		after := text[i+len(word):]
		if (i == 0 || !isWordStart(text[i-1:])) && wordLength(after) == 0 {
			return true
		}
		text = after
	}
}

// fixReturn puts return before a decision that does nothing as a statement.
func fixReturn(d *document, g diagnostic) (string, []textEdit) {
	if g.Code != "E0310" {
		return "", nil
	}
	at := d.script.offset(g.Range.Start)
	if rest := d.script.text[at:]; !isWordStart(rest) {
		return "", nil
	}
	return "Return the decision", []textEdit{{d.script.span(at, at), "return "}}
}

// format answers textDocument/formatting with the lines that change.
func (s *server) format(d *document, _ docParams) (any, error) {
	out, err := s.options.Format(d.path, d.text)
	if err != nil {
		return nil, failf("%s", errtext.CutTo(err.Error(), maxText, "…"))
	}
	edits := []textEdit{}
	for _, e := range udiff.Lines(d.text, out) {
		edits = append(edits, textEdit{d.source.span(e.Start, e.End), e.New})
	}
	return edits, nil
}

// runCase is the command of the lens on golden cases.
const runCase = "starhost.runCase"

// lenses answers textDocument/codeLens.
func (s *server) lenses(d *document, _ docParams) (any, error) {
	list := []codeLens{}
	if d.isCase && d.script != nil {
		line := d.script.first - 1
		at := span{position{line, 0}, position{line, len(d.line(line))}}
		list = append(list, codeLens{at, &command{"run case", runCase, []any{d.uri}}})
	}
	return list, nil
}
