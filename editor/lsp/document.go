package lsp

import (
	"net/url"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/starnames"
)

// Bounds of the open documents.
const (
	maxDocument  = 1 << 20  // bytes of one
	maxDocuments = 500      // open at the same time
	maxOpenBytes = 64 << 20 // all documents together
)

// A source is a text with its lines: a document, or the script in a golden case.
type source struct {
	text  string
	lines []int // the offsets of the lines' starts
	first int   // the line of the document at which the text starts
	utf8  bool  // positions count bytes, not UTF-16 code units
}

func newSource(text string, first int, utf8 bool) *source {
	s := &source{text: text, lines: []int{0}, first: first, utf8: utf8}
	for i := range len(text) {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// line returns a line without its end. The first line has the number 0.
func (s *source) line(n int) string {
	if n < 0 || n >= len(s.lines) {
		return ""
	}
	end := len(s.text)
	if n+1 < len(s.lines) {
		end = s.lines[n+1] - 1
	}
	return s.text[s.lines[n]:end]
}

// lineAt returns the number of the line of an offset.
func (s *source) lineAt(offset int) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset }) - 1
}

// offset returns the offset of a client's position. It moves a position that does not exist to the
// nearest one.
func (s *source) offset(p position) int {
	n := p.Line - s.first
	if n < 0 {
		return 0
	}
	if n >= len(s.lines) {
		return len(s.text)
	}
	line, at, units := s.line(n), 0, 0
	for at < len(line) && units < p.Character {
		r, size := utf8.DecodeRuneInString(line[at:])
		if units += s.units(r, size); units > p.Character {
			break
		}
		at += size
	}
	return s.lines[n] + at
}

// units returns how many units of a position a character takes.
func (s *source) units(r rune, size int) int {
	switch {
	case s.utf8:
		return size
	case r >= 0x10000:
		return 2
	}
	return 1
}

// position is the inverse of offset.
func (s *source) position(offset int) position {
	offset = max(0, min(offset, len(s.text)))
	n := s.lineAt(offset)
	units := 0
	for _, r := range s.text[s.lines[n]:offset] {
		units += s.units(r, utf8.RuneLen(r))
	}
	return position{n + s.first, units}
}

// span returns the client's range of two offsets.
func (s *source) span(from, to int) span { return span{s.position(from), s.position(to)} }

// offsetOf returns the offset of a place in the parsed text, whose columns count code points.
func (s *source) offsetOf(p starnames.Pos) int {
	n := p.Line - 1
	if n < 0 {
		return 0
	}
	if n >= len(s.lines) {
		return len(s.text)
	}
	line, at := s.line(n), 0
	for col := 1; col < p.Col && at < len(line); col++ {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return s.lines[n] + at
}

// A document is a file that the editor shows.
type document struct {
	uri, path string
	version   int
	*source           // the whole text
	script    *source // the text of a .star file, or case.star of a golden case; or nil
	isCase    bool
	tree      *tree        // see outline
	good      *tree        // the tree of the last script that parsed; or nil
	parsed    bool         // the script was parsed, with or without success
	shown     []diagnostic // the diagnostics that the editor shows, of check
	shownText string       // the text that they are about
	caseNote  *diagnostic  // the failure of the golden case
}

// isPlugin and isCase report whether the server knows a kind of file.
func isPlugin(path string) bool { return strings.HasSuffix(path, ".star") }

func isGoldenCase(path string) bool {
	return strings.HasSuffix(path, ".txtar") && filepath.Base(filepath.Dir(path)) == "golden"
}

// lineEnds makes line ends "\n", as the parser does. Positions stay the same.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// setText replaces the text of a document.
func (d *document) setText(text string, version int, utf8 bool) {
	text = lineEnds.Replace(strings.ToValidUTF8(text, "\ufffd"))
	d.source, d.version, d.parsed = newSource(text, 0, utf8), version, false
	d.script = d.source
	if d.isCase {
		d.script = d.section("case.star")
	}
}

// section returns a section of a golden case, or nil.
func (d *document) section(name string) *source {
	from := -1
	for n := range d.lines {
		line := strings.TrimSpace(d.line(n))
		if !strings.HasPrefix(line, "-- ") || !strings.HasSuffix(line, " --") {
			continue
		}
		if from >= 0 {
			return newSource(d.text[d.lines[from]:d.lines[n]], from, d.utf8)
		}
		if line == "-- "+name+" --" && n+1 < len(d.lines) {
			from = n + 1
		}
	}
	if from < 0 {
		return nil
	}
	return newSource(d.text[d.lines[from]:], from, d.utf8)
}

// scriptAt returns the script if a place is in it, or nil.
func (d *document) scriptAt(p position) *source {
	s := d.script
	if s == nil || p.Line < s.first || p.Line >= s.first+len(s.lines) {
		return nil
	}
	return s
}

// pathOf returns the path of a file, "" if the URI is of another kind.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || strings.ContainsRune(u.Path, 0) {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.Clean(filepath.FromSlash(path))
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
