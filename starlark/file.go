package starlark

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/starnames"
)

// A File is a parsed source text, which a Sandbox can evaluate.
type File struct {
	name    string
	src     []byte // normalised: line ends are "\n", without a byte order mark
	first   string // statements on line 0, which is no part of the script
	options syntax.FileOptions
	notes   *notes
	tree    *syntax.File // nil before the first use, and after it was changed
}

// Name returns the name that positions show.
func (f *File) Name() string { return f.name }

// Syntax returns the tree of the file before the rewriter. The caller may change it. The file drops the tree,
// because most files run once and are not read again.
func (f *File) Syntax() *syntax.File {
	f.notes.mu.Lock()
	defer f.notes.mu.Unlock()
	tree, _ := f.parseTree() // Parse found no error
	f.tree = nil
	return tree
}

// Outline returns the outline of the file, for an editor.
func (f *File) Outline() (o *starnames.Outline, err error) {
	defer recoverPanicAt(&err, Pos{File: f.name})
	return starnames.NewOutline(f.Syntax(), string(f.src)), nil
}

// dialect is the language of all files: Starlark with sets, and with statements and reassignment at
// the top level. It has no recursion and no while.
var dialect = syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}

// Parse parses a file. Positions show its name, whose parts are separated by "/", such as
// "oncall/plugin.star". The caller must not change src afterwards. The error is an [*Error], or
// nil.
func (s *Sandbox) Parse(name string, src []byte) (*File, error) { return s.ParseBehind("", name, src) }

// ParseBehind parses a file as Parse does, and puts first, a line that the host wrote, before line 1 of the
// file. Positions count from the file's own line 1.
func (s *Sandbox) ParseBehind(first, name string, src []byte) (*File, error) {
	f, err := s.parse(first, name, src)
	if err != nil {
		return nil, s.locate(err)
	}
	return f, nil
}

// parse does the work of ParseBehind. Its errors have no source line yet.
func (s *Sandbox) parse(first, name string, src []byte) (*File, error) {
	f, err := s.newFile(name, src)
	if err != nil {
		return nil, err
	}
	f.first = first
	h := sha256.New()
	fmt.Fprintf(h, "%v\x00%s\x00%s\x00%s", f.options, first, name, f.src)
	key := [sha256.Size]byte(h.Sum(nil))
	kept, ok := s.cache.files.Get(key)
	if !ok {
		kept = s.cache.files.Add(key, f.notes, 4*len(f.src), maxCached) // few files have more than four notes
	}
	f.notes = kept
	_, err = f.Note("syntax", func(*syntax.File) (any, error) { return nil, nil }) // it fails on a syntax error
	return f, err
}

// parseUncached parses a text that is used only once, so it does not go into the cache.
func (s *Sandbox) parseUncached(name string, src []byte) (*File, error) {
	f, err := s.newFile(name, src)
	if err != nil {
		return nil, err
	}
	_, err = f.parseTree()
	return f, err
}

// newFile returns a file that is not parsed yet.
func (s *Sandbox) newFile(name string, src []byte) (*File, error) {
	if int64(len(src)) > s.limits.Source {
		return nil, &LimitError{Limit: "source", Op: name, Need: uint64(len(src)), Max: uint64(s.limits.Source), Pos: Pos{File: name}}
	}
	text, err := normaliseText(name, src)
	if err != nil {
		return nil, err
	}
	s.sources.add(name, text)
	return &File{name: name, src: text, options: s.dialect, notes: new(notes)}, nil
}

// parseTree parses the file if it has no tree. The caller locks f.notes.mu.
func (f *File) parseTree() (_ *syntax.File, err error) {
	defer recoverPanicAt(&err, Pos{File: f.name})
	if f.tree != nil {
		return f.tree, nil
	}
	var src any = f.src
	if f.first != "" {
		src = syntax.FilePortion{Content: slices.Concat([]byte(f.first+"\n"), f.src), FirstLine: 0, FirstCol: 1}
	}
	tree, err := f.options.Parse(f.name, src, 0)
	if err != nil {
		return nil, err
	}
	if err := checkTree(tree); err != nil {
		return nil, err
	}
	f.tree = tree
	return tree, nil
}

// normaliseText returns the text of a source file with "\n" as line ends, so that a file has the
// same meaning whichever editor saved it.
func normaliseText(name string, src []byte) ([]byte, error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return nil, &Error{Pos: posAt(name, src, i), Msg: "source holds a NUL byte; is it a text file?", Code: "E0104"}
	}
	if i := invalidUTF8(src); i >= 0 {
		return nil, &Error{Pos: posAt(name, src, i), Msg: fmt.Sprintf("source is not UTF-8: byte 0x%02x", src[i]), Code: "E0104"}
	}
	if bytes.IndexByte(src, '\r') < 0 {
		return src, nil
	}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(src, []byte("\r"), []byte("\n")), nil
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(src []byte) int {
	if utf8.Valid(src) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
}

// posAt returns the position of the byte at offset i.
func posAt(name string, src []byte, i int) Pos {
	line := src[bytes.LastIndexByte(src[:i], '\n')+1 : i]
	return Pos{File: name, Line: 1 + bytes.Count(src[:i], []byte("\n")), Col: 1 + utf8.RuneCount(line)}
}

// compile returns the guarded program of a file, and the predeclared names that it uses. The file sees
// the names of the language, the defined names and extra. If sites is not nil, the program has
// probes. compile changes the tree.
func (s *Sandbox) compile(
	tree *syntax.File, extra starlark.StringDict, sites *probeSites,
) (_ *starlark.Program, uses []string, err error) {
	hosted := func(name string) bool { return s.definedNames[name] || extra.Has(name) }
	if err := rewrite(tree, hosted, sites); err != nil {
		return nil, nil, err
	}
	known := func(name string) bool {
		return hosted(name) || universe().Has(name) || helpers().Has(name) || isProbe(name)
	}
	program, err := starlark.FileProgram(tree, func(name string) bool {
		uses = append(uses, name)
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(uses)
	uses = slices.Compact(uses)
	if !slices.ContainsFunc(uses, func(name string) bool { return !known(name) }) {
		return program, uses, nil
	}
	return nil, nil, undefinedNameErrors(tree, known, s.scopeNames(tree, extra))
}

// sources has the texts of files by name, because errors quote lines of them.
type sources struct {
	mu    sync.Mutex
	texts map[string][]byte
}

func (s *sources) add(name string, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string][]byte{}
	}
	s.texts[name] = text
}

func (s *sources) text(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.texts[name])
}
