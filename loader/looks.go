package loader

import (
	"strconv"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// A look is one thing that the evaluation of a plugin's files asked about files: with
// the plugin's own text and settings, the answers decide what it does.
type look struct {
	kind       uint64 // index of lookKinds
	from, name string
	found      fragments.Hash // digest of the answer
}

// maxLooks is the most looks of one evaluation that are remembered.
const maxLooks = 10_000

const (
	lookLoad uint64 = iota
	lookRead
	lookGlob
	lookExists
)

// lookKinds answer the looks of each kind.
var lookKinds = []func(*evaluation, *look) (string, error){
	lookLoad: func(e *evaluation, l *look) (string, error) {
		name, f, err := e.loaded(l.from, l.name)
		return name + "\x00" + string(f.sum[:]), err
	},
	lookRead: func(e *evaluation, l *look) (string, error) {
		f, err := e.source.file(l.name, e.ledgers)
		return string(f.sum[:]), err
	},
	lookGlob: func(e *evaluation, l *look) (string, error) {
		names, err := e.source.Glob(l.name)
		return strings.Join(names, "\x00"), err
	},
	lookExists: func(e *evaluation, l *look) (string, error) {
		found, err := e.source.Exists(l.name)
		return strconv.FormatBool(found), err
	},
}

// find returns the digest of what the look finds now.
func (e *evaluation) find(l *look) (fragments.Hash, error) {
	answer, err := lookKinds[l.kind](e, l)
	return fragments.Sum(answer), err
}

// A watched are the files of a plugin while it is evaluated.
type watched struct {
	*Source
	ledgers ledgers
	note    func(kind uint64, from, name string)
}

func (w watched) Read(name string) ([]byte, error) {
	w.note(lookRead, "", name)
	return w.Source.read(name, w.ledgers)
}

func (w watched) Glob(pattern string) ([]string, error) {
	w.note(lookGlob, "", pattern)
	return w.Source.Glob(pattern)
}

func (w watched) Exists(name string) (bool, error) {
	w.note(lookExists, "", name)
	return w.Source.Exists(name)
}
