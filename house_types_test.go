package starhost_test

import (
	"go/ast"
	"testing"
)

// largeTypes are the types with more than 60 methods, and the most that each may have. A type with more has
// more than one job: what concerns one call or one command is a function of that.
var largeTypes = map[string]int{"host.Turn": 100, "shell.reader": 95, "starlark.worker": 98}

// TestHouseTypes counts the methods of each type.
func TestHouseTypes(t *testing.T) {
	methods := map[string]int{}
	for _, s := range goSources(t) {
		if s.test {
			continue
		}
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			of := f.Recv.List[0].Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			if x, ok := of.(*ast.IndexExpr); ok { // a type with a parameter
				of = x.X
			}
			if name, ok := of.(*ast.Ident); ok {
				methods[s.folder+"."+name.Name]++
			}
		}
	}
	for name, n := range methods {
		if most := max(60, largeTypes[name]); n > most {
			t.Errorf("%s has %d methods, want at most %d", name, n, most)
		}
	}
	for name, most := range largeTypes {
		if n := methods[name]; n < most-5 {
			t.Errorf("%s has %d methods: lower its row from %d", name, n, most)
		}
	}
}
