package starlark

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Cache remembers what became of files, by their names and texts: that they could
// be parsed, their compiled programs, and what was noted of their syntax. What it
// knows is not parsed, looked at and compiled again. It changes nothing that a script
// or its host can see; mistakes are never remembered. The zero value is ready, and
// remembers in memory alone: see [OpenCache]. It is safe for concurrent use.
type Cache struct {
	mu         sync.Mutex
	young, old map[recordKey]*record
	size       int // of young, in bytes of source
	pack       *pack
	kept       kept
}

// maxYoung is the most bytes of source of the files that a Cache came across before it
// forgets those that it did not meet among them. What it keeps of a file in memory is up to
// five times as large as its source.
const maxYoung = 16 << 20

// A recordKey identifies a file.
type recordKey [sha256.Size]byte

// keyOf returns the key of a file: what its syntax is a function of.
func keyOf(o syntax.FileOptions, name string, text []byte) recordKey {
	var room [1 << 10]byte
	data := room[:0]
	for _, on := range []bool{o.Set, o.While, o.TopLevelControl, o.GlobalReassign, o.LoadBindsGlobally, o.Recursion} {
		bit := byte('0')
		if on {
			bit = '1'
		}
		data = append(data, bit)
	}
	data = append(data, name...)
	data = append(data, 0)
	return shelfPrograms.Key(sha256.Sum256(append(data, text...)))
}

// record returns what is known of a file, perhaps nothing yet.
func (c *Cache) record(key recordKey, size int) *record {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.young[key]; r != nil {
		return r
	}
	r := c.old[key]
	if r == nil {
		r = c.pack.record(key)
	}
	if r == nil {
		r = &record{}
	}
	if c.size += size; c.young == nil || c.size > maxYoung {
		c.young, c.old, c.size = map[recordKey]*record{}, c.young, size
	}
	c.young[key] = r
	return r
}

// A record is what is known of one file.
type record struct {
	mu       sync.Mutex
	parsed   bool                 // it can be
	notes    map[string][]byte    // by kind
	programs map[string]*compiled // by the names that they can use; see worker.program
	grown    bool                 // since it was read or encoded
}

// A compiled is the program of a file.
type compiled struct {
	*starlark.Program
	uses    []string // names that are not its own, sorted
	encoded []byte   // the program, where it was not decoded yet
	sites   *sites   // what its probes count, or nil
}

// env returns the names that the program uses, those of extra first. The functions of
// a file hold on to them for good, and all names there are would be a large map, but for
// base, which is there anyway.
func (p *compiled) env(base, extra, probes starlark.StringDict) starlark.StringDict {
	if len(extra)+len(probes) == 0 {
		return base
	}
	env := make(starlark.StringDict, len(p.uses))
	for _, name := range p.uses {
		for _, names := range []starlark.StringDict{probes, extra, base} {
			if v, ok := names[name]; ok {
				env[name] = v
				break
			}
		}
	}
	return env
}

// parse makes sure that the file can be parsed.
func (r *record) parse(f *File) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.parsed {
		return nil
	}
	_, err := f.syntax()
	r.parsed = err == nil
	return err
}

// note returns the note of a kind, which find makes if there is none.
func (r *record) note(kind string, find func() ([]byte, error)) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if data, ok := r.notes[kind]; ok {
		return data, nil
	}
	data, err := find()
	if err != nil {
		return nil, err
	}
	if r.notes == nil {
		r.notes = map[string][]byte{}
	}
	r.notes[kind], r.grown = data, true
	return data, nil
}

// program returns the program for some names, which compile makes if there is none.
func (r *record) program(names string, compile func() (*compiled, error)) (*compiled, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.programs[names]; ok && p.decode() {
		return p, nil
	}
	p, err := compile()
	if err != nil {
		return nil, err
	}
	if r.programs == nil {
		r.programs = map[string]*compiled{}
	}
	r.programs[names], r.grown = p, true
	return p, nil
}

// Note returns what find finds in the syntax of the file, or what it found before in
// a file of that name and text: it must be a function of these alone, and another one
// for each kind. An error is not remembered.
func (f *File) Note(kind string, find func(*syntax.File) ([]byte, error)) ([]byte, error) {
	return f.record.note(kind, func() ([]byte, error) {
		tree, err := f.syntax()
		if err != nil {
			return nil, err
		}
		return find(tree)
	})
}

// Prepare makes the program that a Run of f with names of its own needs, for when
// there is time. If it cannot, the Run says why.
func (s *Sandbox) Prepare(f *File, names ...string) {
	var err error
	defer containAt(&err, Pos{File: f.name})
	extra := starlark.StringDict{}
	for _, name := range names {
		extra[name] = starlark.None
	}
	_, err = s.program(f, extra, s.coverage != nil)
}

// program returns the program of f for the defined names and those of extra, with
// probes if it is to be covered.
func (s *Sandbox) program(f *File, extra starlark.StringDict, covered bool) (*compiled, error) {
	names := s.namesKey() + " " + strings.Join(extra.Keys(), " ")
	if covered {
		names += " covered"
	}
	return f.record.program(names, func() (*compiled, error) {
		var p compiled
		var err error
		if covered {
			p.Program, p.uses, p.sites, err = s.instrument(f, extra)
		} else {
			p.Program, p.uses, err = s.compile(f, extra, nil)
		}
		if err != nil {
			return nil, err
		}
		return &p, nil
	})
}

// namesKey returns what stands for the defined names.
func (v *vocabulary) namesKey() string {
	v.keyOnce.Do(func() {
		names := make([]string, 0, len(v.defined))
		for name := range v.defined {
			names = append(names, name)
		}
		slices.Sort(names)
		sum := sha256.Sum256([]byte(strings.Join(names, " ")))
		v.key = hex.EncodeToString(sum[:8])
	})
	return v.key
}
