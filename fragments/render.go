package fragments

import (
	"strings"
	"unicode"
)

// A Rendering is a way to write the fragments of a prompt into one text. The zero value and any
// unregistered value mean [Plain].
type Rendering string

// The renderings.
const (
	Plain    Rendering = "plain"    // only the contents
	XML      Rendering = "xml"      // numbered documents
	Markdown Rendering = "markdown" // fenced blocks
)

// A wrapping returns the text before and after the content of f, which is document number
// number.
type wrapping func(f *Row, number int) (before, after string)

var wrappings = []struct {
	rendering Rendering
	wrap      wrapping
}{{Plain, plainWrap}, {XML, xmlWrap}, {Markdown, markdownWrap}}

// Renderings returns the names of all renderings. The config accepts these.
func Renderings() []string {
	var names []string
	for _, row := range wrappings {
		names = append(names, string(row.rendering))
	}
	return names
}

// Render writes the fragments that are sent into one text for each target, and records their
// places in the rows. The prompt's text shares memory with the contents.
//
// The rendering r formats the prompt, whose fragments are joined by "\n". The first document
// has the number index+1, where index is the number of documents in the session so far. The
// system text is the same in every rendering: its fragments without the white space around
// them, joined by "\n\n". A blank fragment is not in the text: its row has a place, but no
// offset.
//
// The lines of tail, such as the user's own words, follow the prompt's fragments. An empty line
// is omitted.
func (s *Set) Render(r Rendering, index int, tail ...string) (system string, prompt Text) {
	var systemText, promptText joiner
	promptText.parts = make([]string, 0, 2*len(s.rows)+2*len(tail))
	wrap := plainWrap
	for _, row := range wrappings {
		if row.rendering == r {
			wrap = row.wrap
		}
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

// Text returns the plain rendering of the prompt. It changes no row.
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

// add appends a content, after sep if it is not the first, and returns its offset.
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

// line appends text as a separate line, if it is not empty.
func (j *joiner) line(text string) {
	if text != "" && j.size > 0 {
		j.write("\n")
	}
	j.write(text)
}

func plainWrap(*Row, int) (before, after string) { return "", "" }

// markdownWrap returns a fence that is longer than any run of backticks in the content. The
// source and the title follow the opening fence.
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

// infoString replaces the characters that must not follow an opening fence: a line break would
// end the line, and a backtick the fence.
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
