package lsp

import (
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/starnames"
)

// prepareRename answers textDocument/prepareRename: the range of a name that rename changes.
func (s *server) prepareRename(d *document, p docParams) (any, error) {
	v, at, err := s.renamed(d, p)
	if err != nil {
		return nil, err
	}
	return struct {
		Range       span   `json:"range"`
		Placeholder string `json:"placeholder"`
	}{at, v.Name}, nil
}

// renamed returns the variable at a position, if rename can change all its places: a name that
// only this file can see.
func (s *server) renamed(d *document, p docParams) (*starnames.Variable, span, error) {
	script := d.scriptAt(p.Position)
	t := d.outline()
	if script == nil || t == nil {
		return nil, span{}, failf("rename: want a place in a script")
	}
	if !t.isCurrent {
		return nil, span{}, failf("rename: the text does not parse: correct its mistakes first")
	}
	name, from, to := pathAround(script.text, script.offset(p.Position))
	v := t.variableAt(name, to)
	if v == nil {
		return nil, span{}, failf("rename: want the name of a variable of this file")
	}
	if v.Global && !strings.HasPrefix(v.Name, "_") && !d.isCase {
		return nil, span{}, failf("rename: other files may load %s: only local names and names that begin with _ can be renamed", errtext.CutTo(v.Name, 60, "…"))
	}
	if v.Kind == starnames.Loaded && t.isUnaliased(v) {
		return nil, span{}, failf("rename: %s is a name of another file: write local = %q in load", errtext.CutTo(v.Name, 60, "…"), errtext.CutTo(v.Name, 60, "…"))
	}
	if v.Kind == starnames.Parameter {
		events, registers := t.handles(t.Functions[v.Func].Name, v.Func)
		if len(events)+len(registers) > 0 {
			return nil, span{}, failf("rename: %s is the parameter of a handler: starhost passes arguments by these names", errtext.CutTo(v.Name, 60, "…"))
		}
	}
	return v, script.span(from, to), nil
}

// isUnaliased reports whether a load statement binds a name without another name for it.
func (t *tree) isUnaliased(v *starnames.Variable) bool {
	at := t.parsed.offsetOf(v.Def)
	return at > 0 && strings.IndexByte(`"'`, t.parsed.text[at-1]) >= 0
}

// rename answers textDocument/rename.
func (s *server) rename(d *document, p docParams) (any, error) {
	v, _, err := s.renamed(d, p)
	if err != nil {
		return nil, err
	}
	t := d.outline()
	name := p.NewName
	if !isWordStart(name) || wordLength(name) != len(name) || len(name) > 200 {
		return nil, failf("rename: got %q, want a name of letters, digits and _", errtext.CutTo(name, 60, "…"))
	}
	if slices.Contains(keywords, name) {
		return nil, failf("rename: %s is a word of the language", name)
	}
	if err := s.conflict(t, v, name); err != nil {
		return nil, err
	}
	edits := []textEdit{}
	for _, use := range v.Uses {
		edits = append(edits, textEdit{t.spanNow(use, len(v.Name)), name})
	}
	for _, at := range t.keywordUses(v) {
		edits = append(edits, textEdit{t.spanNow(at, len(v.Name)), name})
	}
	return workspaceEdit{map[string][]textEdit{d.uri: edits}}, nil
}

// conflict returns an error if the new name means something else at a place of the variable, or
// if a place of the new name would mean the variable.
func (s *server) conflict(t *tree, v *starnames.Variable, name string) error {
	taken := func() error { return failf("rename: %s is already a name here", errtext.CutTo(name, 60, "…")) }
	for _, use := range v.Uses {
		if t.lookup(name, t.parsed.offsetOf(use)) != nil {
			return taken()
		}
	}
	if _, isHosts := s.words.entries[name]; isHosts || len(s.words.below[name]) > 0 {
		return failf("rename: %s is a builtin, which the new name would hide", errtext.CutTo(name, 60, "…"))
	}
	for i := range t.Variables {
		other := &t.Variables[i]
		if other.Name != name || other == v {
			continue
		}
		for _, use := range other.Uses {
			if slices.Contains(t.visible(t.parsed.offsetOf(use)), v) {
				return taken()
			}
		}
	}
	return nil
}

// keywordUses returns the places at which calls pass an argument by the name of a parameter.
func (t *tree) keywordUses(v *starnames.Variable) []starnames.Pos {
	if v.Kind != starnames.Parameter {
		return nil
	}
	fn := t.Functions[v.Func]
	var places []starnames.Pos
	for _, c := range t.Calls {
		own := t.lookup(c.Path, t.parsed.offsetOf(c.Pos))
		if own == nil || own.Def != fn.NamePos {
			continue
		}
		for _, a := range c.Args {
			if a.Name == v.Name {
				places = append(places, a.NamePos)
			}
		}
	}
	return places
}
