package starhost_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// houseList selects a folder whose violations each house test lists, all of them:
//
//	go test -run House . -args -house.list=starlark
//
// The folder "." is the root alone, "all" is everything. The tests then fail, because
// go test shows the output of failures only.
var houseList = flag.String("house.list", "", "list every violation of the house rules in a `folder` and those in it; . is the root, all is everything")

// A violation is one place that breaks a house rule.
type violation struct {
	file string
	line int
	text string // the found text and its remedy
}

func (v violation) String() string { return fmt.Sprintf("%s:%d: %s", v.file, v.line, v.text) }

// maxShown is the most violations of a folder that a failure prints.
const maxShown = 20

// checkHouse reports the violations of one rule, by folder.
func checkHouse(t *testing.T, found []violation) {
	t.Helper()
	folders := map[string][]violation{}
	for _, v := range found {
		folders[houseFolder(v.file)] = append(folders[houseFolder(v.file)], v)
	}
	for _, folder := range sortedNames(folders) {
		list := folders[folder]
		slices.SortFunc(list, compareViolations)
		shown := maxShown
		switch {
		case isListed(folder):
			shown = len(list)
		case *houseList != "":
			continue
		}
		var b strings.Builder
		for _, v := range list[:min(shown, len(list))] {
			fmt.Fprintf(&b, "\n  %s", v)
		}
		if shown < len(list) {
			fmt.Fprintf(&b, "\n  and %d more; for all: go test -run %s . -args -house.list=%s", len(list)-shown, t.Name(), folder)
		}
		t.Errorf("%s: %d violations, want none:%s", folder, len(list), b.String())
	}
}

func compareViolations(a, b violation) int {
	if c := strings.Compare(a.file, b.file); c != 0 {
		return c
	}
	return a.line - b.line
}

// isListed reports whether -house.list selects a folder.
func isListed(folder string) bool {
	switch *houseList {
	case "":
		return false
	case "all", folder:
		return true
	}
	return strings.HasPrefix(folder, *houseList+"/")
}

// houseFolder returns the folder that a file's violations count for. The folders of
// scripts/ and bench/ are one each, because one person changes all of them.
func houseFolder(file string) string {
	for _, whole := range []string{"scripts", "bench"} {
		if strings.HasPrefix(file, whole+"/") {
			return whole
		}
	}
	return path.Dir(file)
}

func sortedNames[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A source is a parsed Go file of the repository.
type source struct {
	name, folder string // the folder of the root is "."
	test         bool
	lines        []string
	set          *token.FileSet
	syntax       *ast.File
}

// pos returns the line of a position in the file.
func (s *source) pos(p token.Pos) int { return s.set.Position(p).Line }

// goSources parses all Go files once: of this module and of bench/, which is a module
// of the same repository.
func goSources(t *testing.T) []*source {
	t.Helper()
	list, err := parseSources()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var parseSources = sync.OnceValues(func() ([]*source, error) {
	var list []*source
	set := token.NewFileSet()
	err := walkHouse(func(name string) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		list = append(list, &source{
			name: name, folder: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
			lines: strings.Split(string(text), "\n"), set: set, syntax: parsed,
		})
		return nil
	})
	return list, err
})

// walkHouse calls visit with every file of the repository that people write, in order:
// not with test data, with npm's files and with hidden folders.
func walkHouse(visit func(name string) error) error {
	return fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return visit(name)
		case name != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")), d.Name() == "testdata", d.Name() == "node_modules":
			return fs.SkipDir
		}
		return nil
	})
}

// isProgram reports whether a folder is outside of the library: nobody imports its names.
func isProgram(folder string) bool {
	top, _, _ := strings.Cut(folder, "/")
	return slices.Contains([]string{"internal", "cmd", "bench", "e2e"}, top)
}
