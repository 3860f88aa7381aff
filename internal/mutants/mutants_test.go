package mutants

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/testbed"
)

var (
	packages = flag.String("packages", "decision effects loader shell serve/hook serve/proxy", "folders whose code changes")
	count    = flag.Int("mutants", 10, "changes of each folder")
	seed     = flag.Uint64("seed", 1, "chooses the changes")
	skip     = flag.String("skip", "", "tests of the folders, but not of -also, that do not run because they take long: REGEXP")
	only     = flag.String("only", "", "the changes to try of those that are chosen, by FILE:LINE:COLUMN: REGEXP")
	also     = flag.String("also", "", "further tests that a change must pass unnoticed: FOLDER or FOLDER:REGEXP, ...")
)

// A site is a place of the code and its change.
type site struct {
	pos        token.Position
	from, to   int // offsets of the changed text
	what       string
	text       func(id int, old string) string // the code with both behaviours
	duplicates bool                            // text repeats old, so no other site lies inside
}

func (s site) place() string {
	return fmt.Sprintf("%s:%d:%d", filepath.Base(s.pos.Filename), s.pos.Line, s.pos.Column)
}

// negated lists operators with those that differ at one value.
var negated = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
}

// sitesOf returns what can change in a file.
func sitesOf(fset *token.FileSet, file *ast.File, src []byte) []site {
	var sites []site
	add := func(from, to ast.Node, what string, duplicates bool, text func(id int, old string) string) {
		a, b := fset.Position(from.Pos()), fset.Position(to.End())
		sites = append(sites, site{a, a.Offset, b.Offset, what, text, duplicates})
	}
	textOf := func(n ast.Node) string {
		return string(src[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	drop := func(list []ast.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.SendStmt, *ast.BranchStmt:
			case *ast.AssignStmt:
				if s.Tok == token.DEFINE || textOf(s.Lhs[0]) == "_" {
					continue
				}
			default:
				continue
			}
			add(s, s, "without it", false, func(id int, old string) string { return fmt.Sprintf("if !mutant(%d) { %s }", id, old) })
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.BlockStmt:
			drop(n.List)
		case *ast.CaseClause:
			drop(n.Body)
		case *ast.CommClause:
			drop(n.Body)
		case *ast.IfStmt:
			add(n.Cond, n.Cond, "never", false, func(id int, old string) string { return fmt.Sprintf("!mutant(%d) && (%s)", id, old) })
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				if name, ok := r.(*ast.Ident); ok && (name.Name == "true" || name.Name == "false") {
					add(r, r, "the other", false, func(id int, old string) string { return fmt.Sprintf("mutant(%d) != %s", id, old) })
				}
			}
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LAND:
				add(n.Y, n.Y, "without this part", false, func(id int, old string) string { return fmt.Sprintf("(mutant(%d) || (%s))", id, old) })
			case token.LOR:
				add(n.Y, n.Y, "without this part", false, func(id int, old string) string { return fmt.Sprintf("(!mutant(%d) && (%s))", id, old) })
			default:
				if other := negated[n.Op]; other != "" {
					x, y := textOf(n.X), textOf(n.Y)
					add(n, n, other, true, func(id int, old string) string {
						return fmt.Sprintf("(!mutant(%[1]d) && (%[2]s) || mutant(%[1]d) && (%[3]s %[4]s %[5]s))", id, old, x, other, y)
					})
				}
			}
		}
		return true
	})
	return sites
}

// choose returns n sites, none of which is inside of a text that another repeats.
func choose(r *rand.Rand, sites []site, n int) []site {
	r.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	var chosen []site
	for _, s := range sites {
		clash := slices.ContainsFunc(chosen, func(c site) bool {
			apart := s.to <= c.from || c.to <= s.from
			same := s.from == c.from && s.to == c.to
			return s.pos.Filename == c.pos.Filename && !apart && (same || s.duplicates || c.duplicates)
		})
		if len(chosen) < n && !clash {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// rewrite returns a file with the changes of some sites, by their numbers.
func rewrite(src string, sites map[int]site) string {
	type edit struct {
		at, length int
		before     bool
		text       string
	}
	var edits []edit
	for id, s := range sites {
		if s.duplicates {
			continue
		}
		before, after, _ := strings.Cut(s.text(id, "\x00"), "\x00")
		edits = append(edits, edit{s.from, s.to - s.from, true, before}, edit{s.to, s.to - s.from, false, after})
	}
	for id, s := range sites {
		if s.duplicates {
			old := src[s.from:s.to]
			before, after, _ := strings.Cut(s.text(id, old), old)
			edits = append(edits, edit{s.from, s.to - s.from, true, before}, edit{s.to, s.to - s.from, false, after})
		}
	}
	// Outer texts begin first and end last.
	slices.SortFunc(edits, func(a, b edit) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.before != b.before && a.before:
			return 1
		case a.before != b.before:
			return -1
		case a.before:
			return b.length - a.length
		}
		return a.length - b.length
	})
	var b strings.Builder
	last := 0
	for _, e := range edits {
		b.WriteString(src[last:e.at] + e.text)
		last = e.at
	}
	return b.String() + src[last:]
}

const switchFile = `package %s

import (
	"os"
	"strconv"
)

var mutantID = func() int { text, _ := os.ReadFile(%q); id, _ := strconv.Atoi(string(text)); return id }()

func mutant(id int) bool { return id == mutantID }
`

// badLine finds the place of an error of the compiler.
var badLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// TestMutants changes code. It fails if tests notice too few of the changes. About half of those
// that pass alter no behaviour.
func TestMutants(t *testing.T) {
	testbed.NeedSet(t, "STARHOST_LONG", "it builds and runs the tests of six packages many times")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range strings.Fields(*packages) {
		t.Run(folder, func(t *testing.T) {
			l := &lab{root: root, folder: folder, dir: t.TempDir(), limit: time.Hour}
			l.read(t)
			tests := append([]string{folder}, strings.Fields(strings.ReplaceAll(*also, ",", " "))...)
			for !l.build(t, tests) {
			}
			l.run(t, tests)
		})
	}
}

// A lab has the changed code of one package.
type lab struct {
	root, folder, dir string
	files             map[string]string // path to text
	name              string            // the package
	limit             time.Duration     // many times what the tests take without a change
	sites             map[int]site
}

// read chooses the changes.
func (l *lab) read(t *testing.T) {
	listed := exec.Command("go", "list", "-f", `{{.Name}}{{range .GoFiles}} {{.}}{{end}}`, "./"+l.folder)
	listed.Dir = l.root
	out, err := listed.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	words := strings.Fields(string(out))
	l.name, l.files, l.sites = words[0], map[string]string{}, map[int]site{}
	fset := token.NewFileSet()
	var sites []site
	for _, base := range words[1:] {
		path := filepath.Join(l.root, l.folder, base)
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, path, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		l.files[path] = string(src)
		sites = append(sites, sitesOf(fset, file, src)...)
	}
	wanted := regexp.MustCompile(*only)
	for i, s := range choose(rand.New(rand.NewPCG(*seed, 0)), sites, *count) {
		if wanted.MatchString(s.place()) {
			l.sites[i+1] = s
		}
	}
}

// build builds test programs of the changed package. It reports whether the compiler takes all
// changes, and gives up those that it does not take.
func (l *lab) build(t *testing.T, tests []string) bool {
	overlay := map[string]string{}
	put := func(path, text string) {
		copied := filepath.Join(l.dir, strconv.Itoa(len(overlay))+".go")
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[path] = copied
	}
	put(filepath.Join(l.root, l.folder, "mutant.go"), fmt.Sprintf(switchFile, l.name, filepath.Join(l.dir, "id")))
	for path, src := range l.files {
		in := map[int]site{}
		for id, s := range l.sites {
			if s.pos.Filename == path {
				in[id] = s
			}
		}
		if len(in) > 0 {
			put(path, rewrite(src, in))
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "overlay.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, test := range tests {
		folder, _, _ := strings.Cut(test, ":")
		cmd := exec.Command("go", "test", "-vet=off", "-c", "-overlay", filepath.Join(l.dir, "overlay.json"),
			"-o", filepath.Join(l.dir, fmt.Sprintf("%d.test", i)), "./"+folder)
		cmd.Dir = l.root
		out, err := cmd.CombinedOutput()
		if err == nil {
			continue
		}
		before := len(l.sites)
		for _, m := range badLine.FindAllStringSubmatch(string(out), -1) {
			for id, s := range l.sites {
				if filepath.Base(s.pos.Filename) == filepath.Base(m[1]) && strconv.Itoa(s.pos.Line) == m[2] {
					delete(l.sites, id)
				}
			}
		}
		if len(l.sites) == before {
			t.Fatalf("go test -c: %v\n%s", err, out)
		}
		return false
	}
	return true
}

// run runs the tests with one change at a time.
func (l *lab) run(t *testing.T, tests []string) {
	// The long forms of tests take minutes, and some measure time.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "STARHOST_LONG=") })
	notices := func(id int) string {
		if err := os.WriteFile(filepath.Join(l.dir, "id"), []byte(strconv.Itoa(id)), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, test := range tests {
			folder, only, _ := strings.Cut(test, ":")
			cmd := exec.Command(filepath.Join(l.dir, fmt.Sprintf("%d.test", i)), "-test.failfast", "-test.timeout="+l.limit.String(), "-test.run="+only)
			if i == 0 {
				cmd.Args = append(cmd.Args, "-test.skip="+*skip)
			}
			cmd.Dir, cmd.Env = filepath.Join(l.root, folder), env
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Sprintf("%s: %v\n%.4000s", test, err, out)
			}
		}
		return ""
	}
	begin := time.Now()
	if failure := notices(0); failure != "" {
		t.Fatalf("the tests fail without a change: %s", failure)
	}
	l.limit = 10*time.Second + 5*time.Since(begin)
	survivors := 0
	for _, id := range slices.Sorted(maps.Keys(l.sites)) {
		if s := l.sites[id]; notices(id) == "" {
			survivors++
			t.Logf("%s: %s: %.120q", s.place(), s.what, l.files[s.pos.Filename][s.from:s.to])
		}
	}
	t.Logf("%d of %d changes pass unnoticed", survivors, len(l.sites))
	if survivors*10 > 3*len(l.sites) {
		t.Errorf("%d of %d changes pass unnoticed, want at most 30 %%", survivors, len(l.sites))
	}
}
