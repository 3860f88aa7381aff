package lsp

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/starnames"
)

// A target is the place that defines a name.
type target struct {
	uri      string
	tree     *tree
	variable *starnames.Variable
	function *starnames.Func // or nil
}

// location returns the place for the client, nil if the user has edited it since it parsed.
func (t *target) location() any {
	at, ok := t.tree.toNow(t.tree.parsed.offsetOf(t.variable.Def))
	if !ok {
		return nil
	}
	return location{t.uri, t.tree.now.span(at, at+len(t.variable.Name))}
}

// maxLoads bounds the files that definition follows, because files may load each other's names.
const maxLoads = 8

// definition returns the place that defines a variable: in the file, or in the file that the load
// statement names.
func (s *server) definition(t *tree, d *document, v *starnames.Variable) *target {
	found := &target{uri: d.uri, tree: t, variable: v, function: t.function(v)}
	dir := d
	for range maxLoads {
		if found.variable.Kind != starnames.Loaded {
			return found
		}
		label, name := found.tree.loadOf(found.variable.Name)
		other := s.loaded(dir, label)
		if other == nil {
			return found
		}
		v := other.tree.global(name)
		if v == nil {
			return found
		}
		found = &target{uri: uriOf(other.path), tree: other.tree, variable: v, function: other.tree.function(v)}
		dir = &document{path: other.path}
	}
	return found
}

// loadOf returns the load statement that binds a name, and the name in the loaded file.
func (t *tree) loadOf(name string) (label, from string) {
	for _, l := range t.Loads {
		if from, ok := l.From[name]; ok {
			return l.Label, from
		}
	}
	return "", ""
}

// A loadedFile is a file that a load statement names.
type loadedFile struct {
	path string
	tree *tree
}

// labelPath returns the folder and the file in it that a label means, both "" if it means none.
func (s *server) labelPath(d *document, label string) (root, file string) {
	root, file = s.options.Root(d.path), label
	if rest, ok := strings.CutPrefix(label, "@"); ok {
		name, inside, ok := strings.Cut(rest, "//")
		root, file = s.facts(d).Libraries[name], inside
		if !ok {
			return "", ""
		}
	}
	if root == "" || !fs.ValidPath(file) {
		return "", ""
	}
	return root, file
}

// loaded returns the file that a label means in a document, or nil. An open file has the text of
// the editor.
func (s *server) loaded(d *document, label string) *loadedFile {
	root, file := s.labelPath(d, label)
	if root == "" {
		return nil
	}
	path := filepath.Join(root, filepath.FromSlash(file))
	if open := s.docs[uriOf(path)]; open != nil {
		if t := open.outline(); t != nil {
			return &loadedFile{path, t}
		}
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	info, err := dir.Stat(filepath.FromSlash(file))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxDocument {
		return nil
	}
	text, err := readFile(dir, file)
	if err != nil {
		return nil
	}
	t, bad := parseTree(text)
	if t == nil {
		t = repairTree(text, bad)
	}
	if t == nil {
		return nil
	}
	t.follow(newSource(text, 0, s.utf8))
	return &loadedFile{path, t}
}

// readFile returns the text of a file, with the line ends of a document.
func readFile(dir *os.Root, name string) (string, error) {
	f, err := dir.Open(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxDocument))
	return lineEnds.Replace(strings.ToValidUTF8(string(b), "\ufffd")), err
}

// define answers textDocument/definition.
func (s *server) define(d *document, p docParams) (any, error) {
	script := d.scriptAt(p.Position)
	if script == nil {
		return nil, nil
	}
	offset := script.offset(p.Position)
	c := scan(script.text, offset)
	t := d.outline()
	if c.comment || t == nil {
		return nil, nil
	}
	if c.literal != nil {
		return s.defineLoaded(d, t, offset)
	}
	path, _, to := pathAround(script.text, offset)
	v := s.view(d, offset)
	if name, ok := strings.CutPrefix(strings.TrimPrefix(path, "ctx."), "config."); ok && v.host(path) {
		return s.defineSetting(d, t, name), nil
	}
	own := t.variableAt(path, to)
	if own == nil && path != "" {
		own = v.variable(path)
	}
	if own == nil {
		return nil, nil
	}
	return s.definition(t, d, own).location(), nil
}

// defineLoaded returns the place of the file or of the name in a load statement.
func (s *server) defineLoaded(d *document, t *tree, offset int) (any, error) {
	at := t.toParsed(offset)
	for _, l := range t.Loads {
		if from, to := t.parsed.offsetOf(l.Pos), t.parsed.offsetOf(l.End); from <= at && at <= to {
			if f := s.loaded(d, l.Label); f != nil {
				return location{URI: uriOf(f.path)}, nil
			}
			return nil, nil
		}
	}
	_, from, to := pathAround(d.script.text, offset)
	if v := t.variableAt(d.script.text[from:to], to); v != nil && v.Kind == starnames.Loaded {
		return s.definition(t, d, v).location(), nil
	}
	return nil, nil
}

// defineSetting returns the place of a key of plugin(config = ...), or nil.
func (s *server) defineSetting(d *document, t *tree, name string) any {
	for _, call := range t.Calls {
		if call.Path != "plugin" {
			continue
		}
		from, to := t.parsed.offsetOf(call.Pos), t.parsed.offsetOf(call.End)
		if i := strings.Index(t.parsed.text[from:to], `"`+name+`"`); i >= 0 {
			at, _ := t.toNow(from + i + 1)
			return location{d.uri, t.now.span(at, at+len(name))}
		}
	}
	return nil
}

// symbols answers textDocument/documentSymbol.
func (s *server) symbols(d *document, _ docParams) (any, error) {
	list := []documentSymbol{}
	if d.isCase {
		for n := range d.lines {
			line := strings.TrimSpace(d.line(n))
			if name, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(name, " --") {
				at := d.source.span(d.lines[n], d.lines[n]+len(line))
				name = strings.TrimSuffix(name, " --")
				list = append(list, documentSymbol{Name: name, Kind: symbolFile, Range: at, SelectionRange: at})
			}
		}
		return list, nil
	}
	t := d.outline()
	if t == nil {
		return list, nil
	}
	for i := range t.Functions {
		if fn := &t.Functions[i]; fn.Outer < 0 && fn.Name != "" {
			list = append(list, t.functionSymbol(i))
		}
	}
	for _, v := range t.Variables {
		if v.Global && v.Kind == starnames.Assigned {
			at := t.spanNow(v.Def, len(v.Name))
			list = append(list, documentSymbol{Name: v.Name, Kind: symbolVariable, Range: at, SelectionRange: at})
		}
	}
	for _, c := range t.Calls {
		if name, ok := strings.CutPrefix(c.Path, "register_"); ok && c.Stmt {
			list = append(list, documentSymbol{
				Name: name + registeredName(c), Detail: c.Path, Kind: symbolEvent,
				Range: t.between(c.Pos, c.End), SelectionRange: t.spanNow(c.Pos, len(c.Path)),
			})
		}
	}
	return list, nil
}

// between returns the client's range of two places of the outline.
func (t *tree) between(from, to starnames.Pos) span {
	a, _ := t.toNow(t.parsed.offsetOf(from))
	b, _ := t.toNow(t.parsed.offsetOf(to))
	return t.now.span(a, max(a, b))
}

func (t *tree) functionSymbol(i int) documentSymbol {
	fn := &t.Functions[i]
	label := functionCallable(fn).label()
	symbol := documentSymbol{
		Name: fn.Name, Detail: strings.TrimPrefix(label, fn.Name), Kind: symbolFunction,
		Range: t.between(fn.Pos, fn.End), SelectionRange: t.spanNow(fn.NamePos, len(fn.Name)),
	}
	for j := i + 1; j < len(t.Functions); j++ {
		if inner := &t.Functions[j]; inner.Outer == i && inner.Name != "" {
			symbol.Children = append(symbol.Children, t.functionSymbol(j))
		}
	}
	return symbol
}

// registeredName returns the name or event that a registration spells, with a space before it.
func registeredName(c starnames.Call) string {
	for i, a := range c.Args {
		if name := cmp.Or(a.Text, a.Ident); name != "" && (a.Name == "name" || a.Name == "" && i == 0) {
			return " " + errtext.CutTo(name, 60, "…")
		}
	}
	return ""
}
