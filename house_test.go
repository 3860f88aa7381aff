package starhost_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "github.com/starhost/starhost"
	upstream = "go.starlark.net"
	// buildtools formats files, which no embedder wants to link.
	buildtools = "github.com/bazelbuild/buildtools"
)

// A floor says which packages a folder may import, and why not more.
type floor struct {
	folder string // "" is the root; a floor applies to the folders inside, too, unless they have their own
	// ours are the folders of this module that it may import; "*" is all. Every floor but agents
	// may import a package of internal, which contains no word of the product. A folder that may
	// import the root may import fragments, because the root's types name it.
	ours     []string
	upstream bool     // may it import go.starlark.net?
	never    []string // other packages, by the start of their path
	why      string
}

// standardOnly are the folders that import nothing else but the standard library.
var standardOnly = []string{"agents", "fragments", "internal", "internal/starnames", "starlark"}

var floors = []floor{
	{"internal", nil, false, []string{"database/sql", "net/http"}, "all floors import it: it imports the standard library only"},
	{"internal/codes", []string{"internal/errtext"}, false, nil, "it makes errors with a text of errtext"},
	{"internal/jsontext", []string{"internal/errtext", "internal/texttable"}, false, nil, "its errors show the start of a text as errtext cuts it, and people read its JSON"},
	{"internal/texttable", []string{"internal/errtext"}, false, nil, "its cells are cut as errtext cuts"},
	{"internal/page", []string{"internal/jsontext", "internal/texttable"}, false, nil, "it is text that texttable and jsontext wrote"},
	{"internal/disk", nil, false, nil, "its writer is any file system with afero's methods"},
	{"internal/watch", []string{"internal/errtext"}, false, nil, "it waits with fsnotify"},
	{"internal/difftext", nil, false, nil, "it writes what udiff finds"},
	{"internal/console", []string{"internal/disk", "internal/errtext"}, false, nil, "it turns keys into lines with x/term"},
	{"internal/starnames", nil, true, []string{"database/sql", "net/http"}, "it reads syntax trees for starlark and builtins, and imports nothing else"},
	{"internal/docgen", []string{"internal/markdown", "internal/page", "internal/texttable", "", "agents", "builtins", "builtins/call", "effects", "golden", "guard", "loader", "report", "serve/hook", "starlark"}, false, []string{"net/http"}, "it writes the tables of all floors below as pages; only the command and its tests link it"},
	{"agents", nil, false, []string{module + "/internal/", "net/"}, "it is data: it imports the standard library only"},
	{"fragments", nil, false, []string{"database/sql"}, "it is the lowest package of the product: it imports the standard library only"},
	{"schema", nil, false, []string{"database/sql", "net/http"}, "it validates JSON by JSON Schemas, and knows neither tools nor turns"},
	{"starlark", nil, true, nil, "it evaluates, and has no idea what a tool is"},
	{"", []string{"fragments", "schema"}, false, []string{"database/sql", "net/http"}, "it says what a plugin is: nothing above it, no engine, no evaluator, no storage, no network"},
	{"host", []string{"", "fragments", "schema"}, false, []string{"database/sql", "net/http"}, "it runs plugins, whoever wrote them: no evaluator, no storage, no network"},
	{"effects", []string{"", "host"}, false, nil, "what crosses the wall does not know who asks: Starlark ends at builtins"},
	{"report", []string{"", "host", "effects", "loader", "starlark"}, false, []string{"database/sql", "net/http"}, "it writes for people and programs what plugins register, do and break, and runs nothing"},
	{"measure", []string{"", "host", "loader", "starlark"}, false, []string{"database/sql", "net/http"}, "it runs plugins that are loaded: the caller decides what they may do"},
	{"decision", []string{"", "host", "effects"}, false, []string{"database/sql", "net/http"}, "it records and replays decisions of any host: a caller loads the plugins, so it knows no loader and no adapter"},
	{"shell", nil, false, []string{"database/sql", "net/", "os/"}, "it reads texts with mvdan.cc/sh/v3/syntax, and runs nothing"},
	{"bundle", nil, false, []string{"database/sql", "net/http"}, "it makes and reads archives, and knows neither plugins nor the network"},
	{"builtins/call", nil, true, nil, "builtins and modules both build on it, so it knows neither"},
	{"builtins/modules", []string{"builtins/call", "shell"}, true, []string{"net/http", "os/"}, "modules are pure functions: they know no session and cause no effect"},
	{"guard", []string{"", "builtins/modules", "shell"}, false, []string{"database/sql", "net/http"}, "it decides about calls by rules that are data: it knows no plugin and no evaluator"},
	{"builtins", []string{"", "host", "agents", "builtins/call", "builtins/modules", "effects", "guard", "shell"}, true, nil, "it is driven by any evaluator through its interface Runtime"},
	{"loader", []string{"", "host", "builtins", "effects", "starlark"}, false, nil, "it passes Starlark values through without naming their types, and knows no adapter"},
	{"fleet", []string{"", "host", "bundle", "effects", "golden", "loader"}, false, []string{"database/sql"}, "it fetches, tries and installs bundles, and knows no command and no adapter"},
	{"fleet/users", []string{"agents/trace", "decision", "fleet", "loader", "serve/hook", "serve/otlp"}, false, []string{"database/sql"}, "it sends logs and asks doctors for fleet, and knows no command"},
	{"golden", []string{"", "host", "agents", "builtins", "builtins/call", "decision", "effects", "loader", "report", "starlark"}, false, nil, "it drives plugins by Go types only, and makes cases of recorded decisions"},
	{"store", []string{"", "host", "effects"}, false, nil, "it is a leaf: it implements storage interfaces and knows no other adapter"},
	{"model", []string{"", "host", "effects", "model/wire"}, false, nil, "it is a leaf: it talks to one kind of endpoint and knows no other adapter"},
	{"model/wire", []string{""}, false, []string{"database/sql", "net/"}, "it reads what endpoints send for clients and for the proxy, so it knows neither, nor the network"},
	{"serve", []string{"", "host", "agents", "effects", "serve/front"}, false, nil, "it is a leaf: an adapter over the host that knows no other adapter"},
	{"serve/decide", []string{"", "host", "agents", "effects", "serve/front", "serve/hook"}, false, nil, "it answers over HTTP what serve/hook answers in a process"},
	{"serve/proxy", []string{"", "host", "agents", "effects", "model/wire", "serve/front", "serve/hook"}, false, nil, "it asks guards as serve/hook does, and knows no client of models: it passes their bytes on, and reads them as clients do"},
	{"serve/metrics", []string{"", "host"}, false, nil, "it counts what the host observes, and knows no server"},
	{"serve/otlp", []string{"", "host", "decision"}, false, nil, "it sends what the host observes and what the log has, and knows no server"},
	{"serve/front", nil, false, nil, "all servers pass their requests through it, so it knows none of them, nor plugins"},
	{"serve/programs", []string{"", "host", "effects", "loader", "report", "serve/mcp", "serve/process"}, false, nil, "it starts what a config names through the adapters, and knows no command"},
	{"serve/ui", []string{"", "host", "decision"}, false, nil, "it shows what commands print, which cmd runs for it, and the log"},
	{"agents/trace", []string{"agents", "decision", "host", "serve/hook"}, false, []string{"net/"}, "it reads what agents wrote, and compares it with the log: it writes and runs nothing"},
	{"agents/tracetest", nil, false, []string{"net/"}, "it makes homes for tests from the transcripts of real agents"},
	{"agents/install", []string{"", "agents", "agents/trace", "host", "decision", "loader", "serve/hook"}, false, []string{"database/sql", "net/http"}, "it writes what the adapters' settings say, and knows no command: flags and printing end at cmd"},
	{"editor/lint", []string{"builtins", "builtins/call", "starlark", ""}, false, []string{buildtools + "/warn"}, "it reads syntax trees, and loads and runs nothing"},
	{"editor/check", []string{"", "host", "agents", "builtins", "effects", "loader", "report", "starlark", "store", "editor/format", "editor/lint", "editor/lsp"}, false, []string{buildtools + "/warn"}, "it loads and reads plugins for check and for editors, and knows no adapter of an agent"},
	{"editor/lsp", []string{"", "agents", "builtins", "builtins/call", "effects", "starlark"}, false, nil, "it is a leaf: its options give it the tables of docs and the analysis of check"},
	{"editor/format", []string{"golden", "loader", "report", "starlark"}, false, []string{buildtools + "/warn"}, "it knows texts and where they are, and writes no file"},
	{"e2e", nil, false, nil, "it runs the program as others do"},
	{"scripts", nil, false, nil, "it embeds plugins, and nothing else"},
	{"cmd", []string{"*"}, false, []string{buildtools + "/warn"}, "it only wires: Starlark's own types end at builtins; and it starts quickly, without the tables of protocol buffers"},
}

// floorOf returns the floor of a folder of the module: its own, or the nearest above it.
func floorOf(folder string) (floor, bool) {
	for {
		i := slices.IndexFunc(floors, func(f floor) bool { return f.folder == folder })
		if i >= 0 {
			return floors[i], true
		}
		slash := strings.LastIndexByte(folder, '/')
		if slash < 0 {
			return floor{}, false
		}
		folder = folder[:slash]
	}
}

// allows returns "" if code in folder may import a package, else why not.
func (f floor) allows(folder, imported string) string {
	if slices.ContainsFunc(f.never, func(p string) bool { return strings.HasPrefix(imported+"/", p) }) {
		return "is forbidden on this floor"
	}
	if ours, ok := strings.CutPrefix(imported+"/", module+"/"); ok {
		ours = strings.TrimSuffix(ours, "/")
		top, _, _ := strings.Cut(ours, "/")
		switch {
		case top == "internal" && !strings.HasPrefix(folder, "internal/"):
			return ""
		case ours == folder, slices.Contains(f.ours, "*"), slices.Contains(f.ours, ours):
			return ""
		case ours == "fragments" && slices.Contains(f.ours, ""):
			return ""
		case top == f.folder && top == "cmd", top == f.folder && strings.HasPrefix(folder, ours+"/"):
			return "" // within one command; from a part of a folder to the folder
		}
		return "is not on a floor below"
	}
	host, _, _ := strings.Cut(imported, "/")
	switch {
	case isUpstream(imported):
		if f.upstream {
			return ""
		}
		return "is Starlark's own package"
	case strings.HasPrefix(imported, buildtools+"/") && f.folder != "cmd" && !strings.HasPrefix(folder, "editor/"):
		return "is for the command and for editors only"
	case strings.Contains(host, ".") && slices.Contains(standardOnly, f.folder):
		return "is no package of the standard library"
	}
	return ""
}

// isUpstream reports whether a package belongs to go.starlark.net.
func isUpstream(imported string) bool { return strings.HasPrefix(imported+"/", upstream+"/") }

// TestHouseImports keeps the rule who may import whom.
func TestHouseImports(t *testing.T) {
	for _, file := range goFiles(t) {
		f, ok := floorOf(file.folder)
		if !ok {
			t.Errorf("%s: the folder is on no floor: say in house_test.go what it may import, and why", file.name)
			continue
		}
		for _, imported := range file.imports {
			if file.test {
				continue
			}
			if wrong := f.allows(file.folder, imported); wrong != "" {
				t.Errorf("%s imports %s, which %s: %s", file.name, imported, wrong, f.why)
			}
		}
		if slices.Contains(file.imports, module+"/starlark") && slices.Contains(file.imports, upstream+"/starlark") {
			t.Errorf("%s imports both packages named starlark: a reader could not tell which is meant", file.name)
		}
	}
}

// TestHouseImportsRefuses shows that the rule refuses what it should.
func TestHouseImportsRefuses(t *testing.T) {
	tests := []struct {
		folder, imported string
		ok               bool
	}{
		{"fragments", "strings", true},
		{"fragments", module, false},
		{"fragments", "golang.org/x/text", false},
		{"", module + "/fragments", true},
		{"", module + "/schema", true},
		{"", module + "/effects", false},
		{"", "net/http", false},
		{"", upstream + "/starlark", false},
		{"fragments", module + "/internal/near", true},
		{"internal/near", module + "/fragments", false},
		{"internal/near", module + "/internal/text", false},
		{"internal/near", "golang.org/x/text", false},
		{"internal/near", upstream + "/syntax", false},
		{"internal/starnames", upstream + "/syntax", true},
		{"internal/starnames", module + "/internal/near", false},
		{"agents", "strings", true},
		{"agents", module, false},
		{"agents", module + "/internal/near", false},
		{"agents", "github.com/google/go-cmp/cmp", false},
		{"schema", module + "/internal/near", true},
		{"schema", module, false},
		{"schema", module + "/fragments", false},
		{"schema", "github.com/google/jsonschema-go/jsonschema", true},
		{"starlark", module + "/internal/near", true},
		{"starlark", upstream + "/syntax", true},
		{"starlark", module + "/fragments", false},
		{"effects", module, true},
		{"effects", module + "/fragments", true},
		{"effects", upstream + "/starlark", false},
		{"report", module + "/fragments", true},
		{"decision", module + "/effects", true},
		{"decision", module + "/loader", false},
		{"report", module + "/effects", true},
		{"builtins/call", module, false},
		{"builtins/call", upstream + "/starlark", true},
		{"builtins/call", module + "/builtins", false},
		{"builtins/call", module + "/builtins/modules", false},
		{"builtins/modules", module + "/builtins/call", true},
		{"builtins/modules", module + "/builtins", false},
		{"builtins/modules", module, false},
		{"builtins/modules", "net/http", false},
		{"builtins", module + "/builtins/modules", true},
		{"builtins", module + "/agents", true},
		{"builtins", module + "/starlark", false},
		{"builtins", upstream + "/starlark", true},
		{"loader", module + "/starlark", true},
		{"loader", module + "/builtins/modules", false},
		{"loader", upstream + "/starlark", false},
		{"serve/hook", module + "/agents", true},
		{"agents/install", module + "/serve/hook", true},
		{"agents/install", module + "/serve/mcp", false},
		{"serve/hook", module + "/agents/install", false},
		{"serve/hook", module + "/serve/mcp", false},
		{"serve/mcp", module + "/serve/front", true},
		{"serve/front", module, false},
		{"serve/decide", module + "/serve/hook", true},
		{"serve/decide", module + "/serve/mcp", false},
		{"model/openai", module, true},
		{"model/openai", module + "/serve", false},
		{"model/openai", module + "/model/anthropic", false},
		{"model/openai", module + "/model/wire", true},
		{"model/wire", module + "/model", false},
		{"model/wire", "net/http", false},
		{"serve/proxy", module + "/model/wire", true},
		{"serve/proxy", module + "/model", false},
		{"serve/mcp", module + "/model/wire", false},
		{"cmd/starhost", module + "/loader", true},
		{"cmd/starhost", upstream + "/starlark", false},
		{"cmd/starhost", buildtools + "/build", true},
		{"editor/lint", buildtools + "/build", true},
		{"editor/lint", buildtools + "/warn", false},
		{"editor/lsp", module + "/editor/lint", false},
		{"cmd/starhost", buildtools + "/warn", false},
		{"loader", buildtools + "/build", false},
	}
	for _, tt := range tests {
		f, _ := floorOf(tt.folder)
		if wrong := f.allows(tt.folder, tt.imported); (wrong == "") != tt.ok {
			t.Errorf("may %q import %s: got %q, want allowed %v", tt.folder, tt.imported, wrong, tt.ok)
		}
	}
}

// TestHousePackageComments keeps a comment on every package.
func TestHousePackageComments(t *testing.T) {
	commented := map[string]bool{}
	for _, file := range goFiles(t) {
		if !file.test {
			commented[file.folder] = commented[file.folder] || file.comment
		}
	}
	for folder, ok := range commented {
		if !ok {
			t.Errorf("package in %q has no package comment: say what it owns, its one central idea, what it does not do", path.Join(".", folder))
		}
	}
}

// TestHouseFolders keeps folders named by what they own. One folder named internal, at the
// root, contains packages that all floors use; each is named by what it owns.
func TestHouseFolders(t *testing.T) {
	banned := []string{"pkg", "util", "utils", "common", "core", "types", "helpers", "misc"}
	for _, file := range goFiles(t) {
		for _, part := range strings.Split(file.folder, "/") {
			if slices.Contains(banned, part) || part == "internal" && !strings.HasPrefix(file.folder, "internal/") {
				t.Errorf("%s: a folder named %q owns nothing in particular: name it by what it owns; unexported names do the hiding", file.name, part)
			}
		}
	}
}

// TestHouseDepth keeps packages no deeper than necessary: a folder groups several packages or is
// one itself. Go's convention for commands, cmd/NAME, is the exception.
func TestHouseDepth(t *testing.T) {
	packages := map[string]bool{}
	for _, file := range goFiles(t) {
		packages[file.folder] = true
	}
	groups := map[string]int{} // packages inside a folder
	for folder := range packages {
		for dir := path.Dir(folder); dir != "."; dir = path.Dir(dir) {
			groups[dir]++
		}
		if limit := 1 + max(0, strings.Count(folder, "cmd/")); strings.Count(folder, "/") > limit {
			t.Errorf("%s: the package is %d folders deep, limit %d: move it up", folder, strings.Count(folder, "/")+1, limit+1)
		}
	}
	for dir, n := range groups {
		if n == 1 && !packages[dir] && dir != "cmd" {
			t.Errorf("%s: the folder contains one package and is none: move the package up", dir)
		}
	}
}

// TestHouseAlone checks that the tests of all packages that could reach the user's folders run in a
// home of their own.
func TestHouseAlone(t *testing.T) {
	alone := map[string]bool{}
	for _, file := range goFiles(t) {
		if !file.test || strings.HasPrefix(file.folder, "internal") {
			continue
		}
		text, err := os.ReadFile(file.name)
		if err != nil {
			t.Fatal(err)
		}
		alone[file.folder] = alone[file.folder] || strings.Contains(string(text), "testbed.Alone(m)")
	}
	for folder, ok := range alone {
		if !ok {
			t.Errorf("%s: no file has func TestMain(m *testing.M) { os.Exit(testbed.Alone(m).Run()) }", cmp.Or(folder, "the root"))
		}
	}
}

// A goFile is a source file of the module.
type goFile struct {
	name, folder  string
	test, comment bool
	imports       []string
}

// goFiles returns all Go files of this module, without those of nested modules,
// of test data, of what npm installs and of hidden folders.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := fs.Stat(root, path.Join(name, "go.mod")); name != "." && err == nil {
				return fs.SkipDir
			}
			if name != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") ||
				d.Name() == "testdata" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") {
			files = append(files, parseFile(t, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parseFile(t *testing.T, name string) goFile {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	folder := path.Dir(name)
	if folder == "." {
		folder = ""
	}
	return goFile{name: name, folder: folder, test: strings.HasSuffix(name, "_test.go"), comment: parsed.Doc != nil,
		imports: importsOf(parsed)}
}

func importsOf(f *ast.File) []string {
	var list []string
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value) // the parser checked it
		list = append(list, name)
	}
	return list
}
