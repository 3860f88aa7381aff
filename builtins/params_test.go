package builtins

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestParams compares the Params of each row of a table with the names that the row's function binds. It
// skips functions that bind their arguments elsewhere.
func TestParams(t *testing.T) {
	files, err := filepath.Glob("*.go")
	more, _ := filepath.Glob("modules/*.go")
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ at, name, params, fn string }
	var rows []row
	binds := map[string][]string{} // by folder and function
	set := token.NewFileSet()
	for _, file := range append(files, more...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Dir(file) + "/"
		for _, decl := range syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok {
				if names, isBound := boundNames(fn); isBound {
					binds[folder+fn.Name.Name] = names
				}
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				list, ok := n.(*ast.CompositeLit)
				if !ok {
					return true
				}
				r := row{at: set.Position(list.Pos()).String()}
				for _, e := range list.Elts {
					field, ok := e.(*ast.KeyValueExpr)
					if !ok {
						return true
					}
					key, _ := field.Key.(*ast.Ident)
					switch text, _ := field.Value.(*ast.BasicLit); {
					case key == nil:
					case key.Name == "Name" && text != nil:
						r.name, _ = strconv.Unquote(text.Value)
					case key.Name == "Params" && text != nil:
						r.params, _ = strconv.Unquote(text.Value)
					case key.Name == "Func":
						ast.Inspect(field.Value, func(n ast.Node) bool {
							if call, ok := n.(*ast.Ident); ok && r.fn == "" && call.Name != "call" {
								r.fn = folder + call.Name
							}
							_, isLit := n.(*ast.FuncType)
							return !isLit
						})
					}
				}
				rows = append(rows, r)
				return true
			})
		}
	}
	checked := 0
	for _, r := range rows {
		names, ok := binds[r.fn]
		if !ok || r.params == "" {
			continue
		}
		var params []string
		for _, p := range SplitParams(r.params) {
			name, _, _ := strings.Cut(p, "=")
			if !strings.HasPrefix(name, "*") {
				params = append(params, name)
			}
		}
		checked++
		if !slices.Equal(params, names) {
			t.Errorf("%s: %s: Params are %q, and %s binds %q", r.at, r.name, params, filepath.Base(r.fn), names)
		}
	}
	if checked < 60 {
		t.Errorf("got %d rows with a function that binds, want at least 60", checked)
	}
}

// boundNames returns the names that the only call of Bind in a function binds.
func boundNames(fn *ast.FuncDecl) (names []string, ok bool) {
	calls := 0
	ast.Inspect(fn, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall {
			return true
		}
		if bind, isBind := call.Fun.(*ast.SelectorExpr); !isBind || bind.Sel.Name != "Bind" {
			return true
		}
		calls++
		for i := 0; i < len(call.Args); i += 2 {
			text, isText := call.Args[i].(*ast.BasicLit)
			if !isText {
				calls = 2
				return false
			}
			name, _ := strconv.Unquote(text.Value)
			names = append(names, strings.TrimRight(name, "?"))
		}
		return true
	})
	return names, calls == 1
}
