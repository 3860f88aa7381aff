package starhost_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/starhost/starhost/internal/testbed"
)

// TestHouseSystems checks the types of all packages as other systems would build them. A build
// takes minutes, most of them for libraries, of which this test reads only the declarations.
func TestHouseSystems(t *testing.T) {
	if testbed.Race {
		t.Skip("nothing runs at the same time")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"windows", "darwin"} {
		t.Run(system, func(t *testing.T) {
			loaded, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
					packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
				Env: append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0"),
				ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
					f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
					if f != nil && !strings.HasPrefix(name, here+string(filepath.Separator)) {
						for _, d := range f.Decls {
							if fn, ok := d.(*ast.FuncDecl); ok {
								fn.Body = nil
							}
						}
					}
					return f, err
				},
			}, "./...")
			if err != nil || len(loaded) < 30 {
				t.Fatalf("got %d packages, %v", len(loaded), err)
			}
			for _, p := range loaded {
				for _, e := range p.Errors {
					t.Errorf("%s: %v", p.PkgPath, e)
				}
			}
		})
	}
}
