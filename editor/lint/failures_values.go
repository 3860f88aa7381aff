package lint

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starhost/starhost/internal/errtext"
)

// This file finds the values in the text of a line that make it fail: a format that does not fit
// its arguments, a key twice, a list that grows while a loop runs over it.

// judgeUnpacking reports a, b = x, y, z.
func (s *survey) judgeUnpacking(x *build.AssignExpr) {
	left, ok := x.LHS.(*build.TupleExpr)
	right, other := x.RHS.(*build.TupleExpr)
	if ok && other && x.Op == "=" && len(left.List) != len(right.List) {
		s.report(LostLine, x, "got %d values for %d names, so this line fails whenever it runs", len(right.List), len(left.List))
	}
}

// judgeLoop reports changes of the list, dict or set that a loop runs over.
func (s *survey) judgeLoop(x *build.ForStmt) {
	over, ok := x.X.(*build.Ident)
	assigned := map[string]bool{}
	assignAll(assigned, targets(x.Vars))
	if assignedIn(x.Body, assigned); !ok || assigned[over.Name] {
		return
	}
	changes := func(at build.Expr) {
		s.report(LostLine, at, "%s does not change while a loop runs over it, so this line fails whenever it runs: write for ... in list(%s)", over.Name, over.Name)
	}
	isOver := func(y build.Expr) bool { id, ok := y.(*build.Ident); return ok && id.Name == over.Name }
	for _, stmt := range x.Body {
		build.Walk(stmt, func(y build.Expr, stack []build.Expr) {
			if insideFunction(stack) {
				return
			}
			switch y := y.(type) {
			case *build.CallExpr:
				dot, ok := y.X.(*build.DotExpr)
				if ok && mutators[dot.Name] != nil && isOver(dot.X) {
					changes(y)
				}
			case *build.AssignExpr:
				if item, ok := y.LHS.(*build.IndexExpr); ok && isOver(item.X) {
					changes(y)
				}
			}
		})
	}
}

func insideFunction(stack []build.Expr) bool {
	for _, outer := range stack {
		switch outer.(type) {
		case *build.DefStmt, *build.LambdaExpr, *build.Comprehension:
			return true
		}
	}
	return false
}

// judgeKeys reports keys of a dict that are there twice or that no dict takes.
func (s *survey) judgeKeys(x *build.DictExpr) {
	seen := map[string]bool{}
	for _, pair := range x.List {
		switch kind := displayType(pair.Key); kind {
		case "list", "dict", "set":
			s.report(LostLine, pair.Key, "a %s is no key of a dict, so this line fails whenever it runs", kind)
		case "string":
			text, ok := pair.Key.(*build.StringExpr)
			if ok && seen[text.Value] {
				s.report(LostLine, pair.Key, "the dict has the key %s twice, so this line fails whenever it runs", quote(text.Value))
			}
			if ok {
				seen[text.Value] = true
			}
		}
	}
}

// judgeOperator reports sums of values that have none, and formats that do not fit.
func (s *survey) judgeOperator(x *build.BinaryExpr) {
	left, right := displayType(x.X), displayType(x.Y)
	number := func(kind string) bool { return kind == "int" || kind == "float" }
	switch {
	case x.Op == "%" && left == "string":
		if text, ok := x.X.(*build.StringExpr); ok {
			if problem := percentProblem(text.Value, x.Y); problem != "" {
				s.report(LostLine, x, "%s, so this line fails whenever it runs", problem)
			}
		}
	case x.Op != "+" || left == "" || right == "":
	case left == "dict" && right == "dict":
		s.report(LostLine, x, "dicts are not added, so this line fails whenever it runs: write a | b")
	case left == "set" && right == "set":
		s.report(LostLine, x, "sets are not added, so this line fails whenever it runs: write a | b")
	case left == "NoneType", left != right && !(number(left) && number(right)):
		hint := ""
		if left == "string" || right == "string" {
			hint = ": write str(x) for a text"
		}
		s.report(LostLine, x, "%s + %s has no value, so this line fails whenever it runs%s", left, right, hint)
	}
}

// quote quotes at most 40 bytes of a text.
func quote(text string) string {
	return strconv.Quote(errtext.CutTo(text, 40, "..."))
}

// percentProblem returns why format % x fails whatever the variables in it are, or "".
func percentProblem(format string, x build.Expr) string {
	args, sure, mapping := percentArgs(x)
	used := 0
	for {
		_, rest, ok := strings.Cut(format, "%")
		switch {
		case !ok && sure && used < len(args) && !mapping:
			return fmt.Sprintf("the format takes %d values and gets %d", used, len(args))
		case !ok:
			return ""
		case strings.HasPrefix(rest, "%"):
			format = rest[1:]
			continue
		case strings.HasPrefix(rest, "("):
			_, after, closed := strings.Cut(rest, ")")
			if !closed {
				return "the format has %( without )"
			}
			if sure && !mapping {
				return "%(name)s wants a dict"
			}
			rest = after
		case sure && used >= len(args):
			return fmt.Sprintf("the format takes more than %d values and gets %d", used, len(args))
		case sure && rest != "":
			if problem := conversionProblem(rest[0], displayType(args[used])); problem != "" {
				return problem
			}
		}
		if problem := letterProblem(rest); problem != "" {
			return problem
		}
		format, used = rest[1:], used+1
	}
}

// letterProblem returns why no conversion can stand in front of the rest of a format, or "".
func letterProblem(rest string) string {
	if rest == "" {
		return "the format ends with %: write %% for a percent sign"
	}
	if !strings.Contains("srdioxXeEfFgGc%", rest[:1]) {
		letter, _ := utf8.DecodeRuneInString(rest)
		return fmt.Sprintf("the format has %%%c, want one of %%s %%d %%r %%f %%x %%%%", letter)
	}
	return ""
}

// percentArgs returns the values of x in format % x. sure is false if x may be a tuple of any
// length.
func percentArgs(x build.Expr) (args []build.Expr, sure, mapping bool) {
	if paren, ok := x.(*build.ParenExpr); ok {
		return percentArgs(paren.X)
	}
	if tuple, ok := x.(*build.TupleExpr); ok {
		return tuple.List, true, false
	}
	kind := displayType(x)
	return []build.Expr{x}, kind != "", kind == "dict"
}

// conversionProblem returns why a conversion refuses a value of a type, "" if it does not or the
// text does not show the type.
func conversionProblem(conversion byte, kind string) string {
	isNumber := kind == "" || kind == "int" || kind == "float"
	if isNumber || !strings.ContainsRune("dioxXefgEFG", rune(conversion)) {
		return ""
	}
	return fmt.Sprintf("%%%c of the format takes no %s", conversion, kind)
}

// judgeFormat reports "...".format(...) with arguments that do not fit.
func (s *survey) judgeFormat(x *build.CallExpr) {
	dot, ok := x.X.(*build.DotExpr)
	if !ok || dot.Name != "format" {
		return
	}
	text, ok := dot.X.(*build.StringExpr)
	if !ok {
		return
	}
	args := 0
	names := map[string]bool{}
	for _, arg := range x.List {
		if star, ok := arg.(*build.UnaryExpr); ok && strings.HasPrefix(star.Op, "*") {
			return
		}
		if name, _ := keyword(arg); name != "" {
			names[name] = true
		} else {
			args++
		}
	}
	if problem := formatProblem(text.Value, args, names); problem != "" {
		s.report(LostLine, x, "%s, so this line fails whenever it runs", problem)
	}
}

// formatProblem returns why format.format(...) fails with so many positional arguments and these
// names, or "".
func formatProblem(format string, args int, names map[string]bool) string {
	auto, manual := 0, false
	for {
		i := strings.IndexAny(format, "{}")
		switch {
		case i < 0:
			return ""
		case i+1 < len(format) && format[i+1] == format[i]:
			format = format[i+2:]
			continue
		case format[i] == '}':
			return "the format has a single }: write }}"
		}
		field, rest, closed := strings.Cut(format[i+1:], "}")
		if !closed {
			return "the format has a { without }: write {{"
		}
		format = rest
		name, spec := field, ""
		if j := strings.IndexAny(field, "!:"); j >= 0 {
			name, spec = field[:j], field[j:]
		}
		number, err := strconv.Atoi(name)
		isNumber := err == nil && number >= 0 && name[0] != '+'
		switch {
		case name == "" && manual, isNumber && auto > 0:
			return "the format mixes {} and {0}"
		case name == "":
			if auto++; auto > args {
				return fmt.Sprintf("the format takes more than %d values", args)
			}
		case isNumber:
			if manual = true; number >= args {
				return fmt.Sprintf("the format takes value {%d} and gets %d values", number, args)
			}
		case !names[name]:
			return "the format takes " + quote(name) + ", which is no argument"
		}
		if _, width, ok := strings.Cut(spec, ":"); ok && width != "" {
			return "format has no width or precision, here " + quote(width)
		}
	}
}
