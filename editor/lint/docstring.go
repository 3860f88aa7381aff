package lint

import (
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// longFunction is the least number of statements of a function that needs a docstring.
const longFunction = 6

func moduleDocstring(f *file) {
	first := slices.IndexFunc(f.Stmt, func(x build.Expr) bool {
		_, comment := x.(*build.CommentBlock)
		return !comment
	})
	if first < 0 {
		return
	}
	if _, ok := f.Stmt[first].(*build.StringExpr); !ok {
		f.warnAt(build.Position{Line: 1, LineRune: 1}, "the file has no docstring: say first what it is for")
	}
}

func functionDocstrings(f *file) {
	for _, stmt := range f.Stmt {
		d, ok := stmt.(*build.DefStmt)
		if ok && !strings.HasPrefix(d.Name, "_") && docstring(d) == nil && statements(d.Body) >= longFunction {
			f.warn(d, "function %s has no docstring", d.Name)
		}
	}
}

// statements counts the statements of a block and its inner blocks.
func statements(block []build.Expr) int {
	n := 0
	for _, stmt := range block {
		switch s := stmt.(type) {
		case *build.CommentBlock:
			continue
		case *build.ForStmt:
			n += statements(s.Body)
		case *build.IfStmt:
			n += statements(s.True) + statements(s.False)
		}
		n++
	}
	return n
}

// docstring returns the docstring of a function, nil if it has none.
func docstring(d *build.DefStmt) *build.StringExpr {
	for _, stmt := range d.Body {
		if _, comment := stmt.(*build.CommentBlock); !comment {
			s, _ := stmt.(*build.StringExpr)
			return s
		}
	}
	return nil
}

// eachDocstring calls do for each function with a docstring, with its lines.
func (f *file) eachDocstring(do func(*build.DefStmt, *build.StringExpr, []string)) {
	forEach(f, func(d *build.DefStmt) {
		if s := docstring(d); s != nil {
			do(d, s, strings.Split(s.Value, "\n"))
		}
	})
}

func docstringHeaders(f *file) {
	f.eachDocstring(func(d *build.DefStmt, s *build.StringExpr, lines []string) {
		switch {
		case strings.TrimSpace(lines[0]) == "":
			f.warn(s, "the docstring of %s begins with an empty line: want what it does in the first one", d.Name)
		case strings.HasPrefix(strings.TrimSpace(lines[0]), "Args:"):
			f.warn(s, "the docstring of %s begins with Args: want what it does in front", d.Name)
		}
	})
}

// docstringArgs warns of a parameter that a docstring with Args: does not describe.
// The parameter ctx and private parameters need no description.
func docstringArgs(f *file) {
	f.eachDocstring(func(d *build.DefStmt, s *build.StringExpr, lines []string) {
		described, ok := describedArgs(lines)
		if !ok {
			return
		}
		for _, p := range d.Params {
			name, _ := build.GetParamName(p)
			if name != "" && name != "ctx" && name != "*" && !strings.HasPrefix(name, "_") && !described[name] {
				f.warn(p, "parameter %s is missing under Args:", name)
			}
		}
	})
}

// describedArgs returns the names under Args:, which have the form "name (type): text", and
// whether there is such a part.
func describedArgs(lines []string) (names map[string]bool, ok bool) {
	names = map[string]bool{}
	base := 0
	for _, line := range lines {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case text == "Args:":
			ok, base = true, indent
		case !ok, text == "":
		case indent <= base:
			return names, ok
		default:
			name, _, _ := strings.Cut(text, ":")
			name, _, _ = strings.Cut(name, "(")
			names[strings.Trim(name, " *")] = true
		}
	}
	return names, ok
}
