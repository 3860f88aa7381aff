package starhost_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The most names that may be exported, so that a reader can learn the API in an afternoon.
const (
	maxRootNames = 72 // by the root
	// maxAllNames is for all packages of the library. An embedder reads the list of a package that
	// it imports. 117 of them came out of the command, 50 are of bundles, 4 of model/wire.
	maxAllNames = 842
)

// TestHouseDocs checks that each exported name of the library has a doc comment.
func TestHouseDocs(t *testing.T) {
	var found []violation
	for _, s := range goSources(t) {
		if s.test || isProgram(s.folder) {
			continue
		}
		for _, n := range exportedNames(s) {
			if !n.documented {
				text := n.name + " has no doc comment: say what it is or does, and why a caller wants it"
				found = append(found, violation{s.name, n.line, text})
			}
		}
	}
	checkHouse(t, found)
}

// An exportedName is a declared name, "Type.Method" for a method.
type exportedName struct {
	name       string
	line       int
	documented bool
}

// exportedNames returns the exported names that a file declares at top level, and the
// exported methods of exported types.
func exportedNames(s *source) []exportedName {
	var list []exportedName
	add := func(id *ast.Ident, name string, docs ...*ast.CommentGroup) {
		if id.IsExported() {
			documented := slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool { return g != nil })
			list = append(list, exportedName{name, s.pos(id.Pos()), documented})
		}
	}
	for _, d := range s.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch receiver := receiverType(d); {
			case receiver == "":
				add(d.Name, d.Name.Name, d.Doc)
			case ast.IsExported(receiver) && !slices.Contains(plainMethods, d.Name.Name):
				add(d.Name, receiver+"."+d.Name.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, spec.Name.Name, d.Doc, spec.Doc, spec.Comment)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						add(id, id.Name, d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return list
}

// plainMethods implement interfaces of the standard library or of Starlark, which say
// what they do.
var plainMethods = []string{
	"Error", "Unwrap", "Is", "As", "String", "Write", "Read", "Close", "Len", "Less", "Swap", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
	"Type", "Freeze", "Truth", "Hash", "Attr", "AttrNames", "Index", "Iterate", "Next", "Done", "Get", "CompareSameType", "Binary", "Unary", "Slice", "Has",
}

// receiverType returns the name of the type that a method belongs to, "" for a function.
func receiverType(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// TestHouseStutter checks that no exported name repeats its package's name, and that the
// receivers of a type have one name, which is not self or this.
func TestHouseStutter(t *testing.T) {
	var found []violation
	type receiver struct {
		name, place string
	}
	receivers := map[string]receiver{} // by folder, package and type: the first one
	for _, s := range goSources(t) {
		pkg := s.syntax.Name.Name
		for _, n := range exportedNames(s) {
			if !s.test && pkg != "main" && stutters(pkg, n.name) {
				found = append(found, violation{s.name, n.line, fmt.Sprintf("%s.%s says %s twice: callers write the package's name", pkg, n.name, pkg)})
			}
		}
		for _, d := range s.syntax.Decls {
			method, ok := d.(*ast.FuncDecl)
			if !ok || receiverName(method) == "_" {
				continue
			}
			name, of, line := receiverName(method), receiverType(method), s.pos(method.Pos())
			if name == "self" || name == "this" || name == "me" {
				text := fmt.Sprintf("receiver %s: name it by its type, in a letter or two", name)
				found = append(found, violation{s.name, line, text})
			}
			key := s.folder + " " + pkg + " " + of
			if first, ok := receivers[key]; !ok {
				receivers[key] = receiver{name, fmt.Sprintf("%s:%d", s.name, line)}
			} else if first.name != name {
				text := fmt.Sprintf("receiver %s of %s is %s at %s: choose one name", name, of, first.name, first.place)
				found = append(found, violation{s.name, line, text})
			}
		}
	}
	checkHouse(t, found)
}

// receiverName returns the name of a method's receiver, "_" for none and for a function.
func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 || len(d.Recv.List[0].Names) == 0 {
		return "_"
	}
	return d.Recv.List[0].Names[0].Name
}

// stutters reports whether a name begins with the name of its package and goes on.
func stutters(pkg, name string) bool {
	if len(name) <= len(pkg) || !strings.EqualFold(name[:len(pkg)], pkg) {
		return false
	}
	return token.IsExported(name[len(pkg):])
}

// TestHouseAPI bounds the exported names that go doc lists: functions, types, constants
// and variables, without methods. An embedder reads the root's whole list.
func TestHouseAPI(t *testing.T) {
	names := map[string]map[string]bool{} // by folder
	for _, s := range goSources(t) {
		if s.test || isProgram(s.folder) || s.syntax.Name.Name == "main" {
			continue
		}
		if names[s.folder] == nil {
			names[s.folder] = map[string]bool{}
		}
		for _, n := range exportedNames(s) {
			if !strings.Contains(n.name, ".") {
				names[s.folder][n.name] = true
			}
		}
	}
	all := 0
	var counts strings.Builder
	for _, folder := range sortedNames(names) {
		fmt.Fprintf(&counts, "\n  %-18s %d", folder, len(names[folder]))
		all += len(names[folder])
		if *houseList == folder {
			fmt.Fprintf(&counts, ": %s", strings.Join(sortedNames(names[folder]), ", "))
		}
	}
	if n := len(names["."]); n > maxRootNames || isListed(".") {
		t.Errorf("the root exports %d names, want at most %d: unexport or remove one for each that you add%s", n, maxRootNames, counts.String())
	}
	if all > maxAllNames || *houseList != "" && !isListed(".") {
		t.Errorf("all packages outside of internal/, cmd/ and bench/ export %d names, want at most %d%s", all, maxAllNames, counts.String())
	}
}
