package fragments

import (
	"fmt"
	"strings"
	"unicode"
)

// A Rendering is a way to write the fragments of a prompt into one text. The
// zero value, like any unknown one, is [Plain].
type Rendering string

const (
	Plain    Rendering = "plain"    // the contents and nothing else
	XML      Rendering = "xml"      // numbered documents; ParseXML reads them
	Markdown Rendering = "markdown" // fenced blocks
)

// A wrapping returns what a rendering puts around the content of f, the
// document of that number.
type wrapping func(f *Row, number int) (before, after string)

var wrappings = map[Rendering]wrapping{Plain: plainWrap, XML: xmlWrap, Markdown: markdownWrap}

// ParseRendering reads the name of a rendering: "plain", "xml" or "markdown".
func ParseRendering(text string) (Rendering, error) {
	if _, ok := wrappings[Rendering(text)]; !ok {
		return "", fmt.Errorf("rendering: got %q, want %s, %s or %s", text, Plain, XML, Markdown)
	}
	return Rendering(text), nil
}

// Render writes the kept fragments of each target into one text, and records in
// the rows where they are. The prompt's text shares memory with the contents.
//
// The prompt is rendered as r says, its fragments joined by "\n". The first
// document gets the number index+1, where index is how many the session has.
// The system text is the same in every rendering: each fragment stripped of the
// white space around it, joined by "\n\n". One that is blank is left out: its
// row stays kept and has its place, but no offset.
//
// What is in tail follows the prompt's fragments, such as the user's own words:
// each that is not empty, in a line of its own.
func (s *Set) Render(r Rendering, index int, tail ...string) (system string, prompt Text) {
	var systemText, promptText joiner
	promptText.parts = make([]string, 0, 2*len(s.rows)+2*len(tail))
	wrap, ok := wrappings[r]
	if !ok {
		wrap = plainWrap
	}
	place := 0
	for _, row := range s.rows {
		row.Place, row.Offset, row.Length = 0, -1, 0
		if !row.Status.sent() {
			continue
		}
		place++
		row.Place = place
		if row.Target == Prompt {
			index++
			before, after := wrap(row, index)
			row.Offset, row.Length = promptText.add("\n", before, row.Content, after), len(row.Content)
		} else if content := strings.TrimSpace(row.Content); content != "" {
			row.Offset, row.Length = systemText.add("\n\n", "", content, ""), len(content)
		}
	}
	for _, line := range tail {
		promptText.line(line)
	}
	return systemText.text().String(), promptText.text()
}

// Text returns the plain rendering of the prompt, and changes no row.
func (s *Set) Text() string {
	var text joiner
	for _, row := range s.rows {
		if row.Target == Prompt && row.Status.sent() {
			text.add("\n", "", row.Content, "")
		}
	}
	return text.text().String()
}

// A joiner collects the parts of a text.
type joiner struct {
	parts []string
	size  int
	added bool
}

// text returns the text of the parts.
func (j *joiner) text() Text { return NewText(j.parts...) }

// write adds a part, unless it is empty.
func (j *joiner) write(part string) {
	if part != "" {
		j.parts = append(j.parts, part)
		j.size += len(part)
	}
}

// add writes a content, behind sep if it is not the first, and returns its offset.
func (j *joiner) add(sep, before, content, after string) int {
	if j.added {
		j.write(sep)
	}
	j.added = true
	j.write(before)
	offset := j.size
	j.write(content)
	j.write(after)
	return offset
}

// line writes text in a line of its own, if it is not empty.
func (j *joiner) line(text string) {
	if text != "" && j.size > 0 {
		j.write("\n")
	}
	j.write(text)
}

func plainWrap(*Row, int) (before, after string) { return "", "" }

// markdownWrap returns a fence that is longer than any run of backticks in the
// content, with the source and the title behind the opening one.
func markdownWrap(f *Row, _ int) (before, after string) {
	longest, run := 0, 0
	for i := range len(f.Content) {
		if f.Content[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", max(3, longest+1))
	info := f.Source
	if f.Title != "" {
		info = strings.TrimPrefix(f.Source+": "+f.Title, ": ")
	}
	return fence + infoString(info) + "\n", "\n" + fence
}

// infoString makes text fit behind an opening fence, where a line break or a
// backtick would end it.
func infoString(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return ' '
		}
		return r
	}, text)
}
