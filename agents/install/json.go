package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/starhost/starhost/internal/errtext"
)

// hooksName is the member in which all agents list their hooks. Entries elsewhere are not starhost's.
const hooksName = "hooks"

// A jsonEditor changes a syntax tree of JSON with comments.
type jsonEditor struct {
	src           []byte
	unit, newline string // one level of indentation, and the end of a line, as the file has them
	own           owner
}

// parseJSON parses a settings file, which must be an object.
func parseJSON(src []byte, own owner) (*jsonEditor, *hujson.Value, error) {
	if at := deepOffset(src); at >= 0 {
		return nil, nil, errorAt(src, at, "got more than %d values in each other", maxNesting)
	}
	root, err := hujson.Parse(src)
	if err != nil {
		return nil, nil, jsonError(err)
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, nil, errorAt(src, root.StartOffset, "got %s, want an object", kindName(root))
	}
	e := &jsonEditor{src: src, unit: "  ", newline: newlineOf(src), own: own}
	if len(object.Members) > 0 {
		before := object.Members[0].Name.BeforeExtra
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		if len(line) > 0 && len(line) < len(before) && len(bytes.TrimSpace(line)) == 0 {
			e.unit = string(line)
		}
	}
	return e, &root, nil
}

// jsonError returns an error of the parser in the form of this package.
func jsonError(err error) error {
	message := strings.TrimPrefix(err.Error(), "hujson: ")
	if m := regexp.MustCompile(`^line (\d+), column (\d+): (.*)`).FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		return &mistake{line, column, m[3]}
	}
	return &mistake{Message: message}
}

// deepOffset returns the offset at which values are nested too deep, or -1. The parser calls itself for each
// level.
func deepOffset(src []byte) int {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case c == '/' && bytes.HasPrefix(src[i:], []byte("//")):
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case c == '/' && bytes.HasPrefix(src[i:], []byte("/*")):
			end := bytes.Index(src[i+2:], []byte("*/"))
			if end < 0 {
				return -1
			}
			i += end + 3
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

func mergeJSON(src, want []byte, own owner) ([]byte, error) {
	e, have, err := parseJSON(src, own)
	if err != nil {
		return nil, err
	}
	w, err := hujson.Parse(want)
	if err != nil {
		return nil, err
	}
	if err := e.merge(have, &w, 0, ""); err != nil {
		return nil, err
	}
	return have.Pack(), nil
}

// merge adds the values of want to have.
func (e *jsonEditor) merge(have, want *hujson.Value, depth int, path string) error {
	switch w := want.Value.(type) {
	case *hujson.Object:
		h, ok := have.Value.(*hujson.Object)
		if !ok {
			return e.fail(have, "%s: got %s, want an object", path, kindName(*have))
		}
		for i := range w.Members {
			if err := e.mergeMember(h, &w.Members[i], depth, path); err != nil {
				return err
			}
		}
	case *hujson.Array:
		h, ok := have.Value.(*hujson.Array)
		if !ok {
			return e.fail(have, "%s: got %s, want a list", path, kindName(*have))
		}
		e.mergeList(h, w, depth)
	default:
		if !isSame(*have, *want) {
			return e.fail(have, "%s: got %s, want %s", path, shorten(have.Pack()), shorten(want.Pack()))
		}
	}
	return nil
}

// mergeMember adds a member to an object. If the object has a member of this name, it merges the two.
func (e *jsonEditor) mergeMember(h *hujson.Object, m *hujson.ObjectMember, depth int, path string) error {
	name := memberName(m)
	path = strings.TrimPrefix(path+"."+name, ".")
	var found *hujson.ObjectMember
	for i := range h.Members {
		if memberName(&h.Members[i]) != name {
			continue
		}
		if found != nil {
			return e.fail(&h.Members[i].Name, "%s: got two members of this name, want one", path)
		}
		found = &h.Members[i]
	}
	switch {
	case found == nil:
		e.addMember(h, m, depth+1)
	case e.isOurs(found.Value):
		if !isSame(found.Value, m.Value) {
			found.Value.Value = e.format(m.Value, depth+1).Value
		}
	default:
		return e.merge(&found.Value, &m.Value, depth+1, path)
	}
	return nil
}

// mergeList removes starhost's elements that want does not have, and adds the elements of want that the list
// does not have.
func (e *jsonEditor) mergeList(h, w *hujson.Array, depth int) {
	missing := slices.Clone(w.Elements)
	drop := make([]bool, len(h.Elements))
	for i := range h.Elements {
		element := &h.Elements[i]
		if !e.isOurs(*element) {
			e.prune(element)
			continue
		}
		at := slices.IndexFunc(missing, func(want hujson.Value) bool { return isSame(*element, want) })
		if drop[i] = at < 0; at >= 0 {
			missing = slices.Delete(missing, at, at+1)
		}
	}
	e.removeElements(h, drop)
	for _, want := range missing {
		e.addElement(h, want, depth+1)
	}
}

func removeJSON(src []byte, own owner) ([]byte, error) {
	e, root, err := parseJSON(src, own)
	if err != nil {
		return nil, err
	}
	o := root.Value.(*hujson.Object)
	drop := make([]bool, len(o.Members))
	for i := range o.Members {
		m := &o.Members[i]
		drop[i] = memberName(m) == hooksName && e.prune(&m.Value) && isEmpty(m.Value)
	}
	e.removeMembers(o, drop)
	return root.Pack(), nil
}

// unsetJSON removes those values of set that base does not have.
func unsetJSON(src, set, base []byte) ([]byte, error) {
	_, b, errBase := parseJSON(base, nil)
	_, s, errSet := parseJSON(set, nil)
	e, root, err := parseJSON(src, nil)
	if err := errors.Join(errBase, errSet, err); err != nil {
		return nil, err
	}
	e.unset(root, s, b)
	return root.Pack(), nil
}

func (e *jsonEditor) unset(v, set, base *hujson.Value) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return
	}
	drop := make([]bool, len(o.Members))
	for i := range o.Members {
		m := &o.Members[i]
		was, ok := find(set, memberName(m))
		if !ok {
			continue
		}
		before, had := find(base, memberName(m))
		if !had {
			before = &hujson.Value{Value: new(hujson.Object)}
		}
		e.unset(&m.Value, was, before)
		drop[i] = !had && (isEmpty(m.Value) || isSame(m.Value, *was))
	}
	e.removeMembers(o, drop)
}

// prune removes starhost's entries from a value, and then the values that are empty. It reports whether it
// removed anything.
func (e *jsonEditor) prune(v *hujson.Value) (pruned bool) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		drop := make([]bool, len(c.Members))
		for i := range c.Members {
			drop[i], pruned = e.pruneItem(&c.Members[i].Value, pruned)
		}
		e.removeMembers(c, drop)
	case *hujson.Array:
		drop := make([]bool, len(c.Elements))
		for i := range c.Elements {
			drop[i], pruned = e.pruneItem(&c.Elements[i], pruned)
		}
		e.removeElements(c, drop)
	}
	return pruned
}

// pruneItem prunes one value of a list. drop is true if the value itself must go.
func (e *jsonEditor) pruneItem(v *hujson.Value, before bool) (drop, pruned bool) {
	if e.isOurs(*v) {
		return true, true
	}
	pruned = e.prune(v)
	return pruned && isEmpty(*v), pruned || before
}

// isOurs reports whether a value is an entry with starhost's command line, or a group of such entries.
func (e *jsonEditor) isOurs(v hujson.Value) bool {
	if argv, ok := commandOf(v); ok {
		return argv != nil && e.own(argv)
	}
	group, ok := find(&v, hooksName)
	if !ok {
		return false
	}
	list, ok := group.Value.(*hujson.Array)
	if !ok || len(list.Elements) == 0 {
		return false
	}
	for _, element := range list.Elements {
		if !e.isOurs(element) {
			return false
		}
	}
	return true
}

// commandOf returns the arguments of an entry's command line. They are nil if a shell would do more than run
// one program. ok is false if the value is no entry.
func commandOf(v hujson.Value) (argv []string, ok bool) {
	for _, name := range []string{"command", "bash"} {
		command, found := find(&v, name)
		if !found {
			continue
		}
		switch c := command.Value.(type) {
		case hujson.Literal:
			argv, _ = Split(c.String())
		case *hujson.Array:
			for _, element := range c.Elements {
				l, isText := element.Value.(hujson.Literal)
				if !isText || l.Kind() != '"' {
					return nil, true
				}
				argv = append(argv, l.String())
			}
		}
		return argv, true
	}
	return nil, false
}

// find returns the last member with a name. Other readers of JSON take the last one, too.
func find(v *hujson.Value, name string) (*hujson.Value, bool) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, false
	}
	for i := len(o.Members) - 1; i >= 0; i-- {
		if memberName(&o.Members[i]) == name {
			return &o.Members[i].Value, true
		}
	}
	return nil, false
}

func memberName(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

func isEmpty(v hujson.Value) bool {
	switch c := v.Value.(type) {
	case *hujson.Object:
		return len(c.Members) == 0
	case *hujson.Array:
		return len(c.Elements) == 0
	}
	return false
}

// isSame reports whether two values are equal as JSON.
func isSame(a, b hujson.Value) bool {
	var x, y any
	return decode(a, &x) == nil && decode(b, &y) == nil && reflect.DeepEqual(x, y)
}

func decode(v hujson.Value, to any) error {
	v = v.Clone()
	v.Minimize()
	return json.Unmarshal(v.Pack(), to)
}

func (e *jsonEditor) fail(at *hujson.Value, format string, args ...any) error {
	return errorAt(e.src, at.StartOffset, format, args...)
}

// kindName returns a name for the kind of a value.
func kindName(v hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	}
	return string(bytes.TrimSpace(v.Pack()))
}

// shorten returns the text of a value, cut to 60 bytes.
func shorten(text []byte) string {
	return errtext.CutTo(string(bytes.TrimSpace(text)), 60, "...")
}
