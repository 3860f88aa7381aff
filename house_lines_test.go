package starhost_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxProseWidth = 100 // columns of comments and of pages
	maxCodeWidth  = 120 // columns of code
	tabWidth      = 4   // columns
	maxFileLines  = 600 // in a file that is no test, without its tables
)

// TestHouseWidths checks the lengths of lines: house rule 3.6. String literals, rows of
// tables, code blocks of pages and lines with a URL may be longer.
func TestHouseWidths(t *testing.T) {
	var found []violation
	for _, s := range goSources(t) {
		found = append(found, wideLines(s)...)
	}
	err := walkHouse(func(name string) error {
		star := strings.HasPrefix(name, "scripts/") && path.Ext(name) == ".star"
		if !star && !isPage(name) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		lines := strings.Split(string(text), "\n")
		if !star {
			lines = pageLines(string(text))
		}
		for i, line := range lines {
			prose := !star && !strings.HasPrefix(line, "|") || star && strings.HasPrefix(strings.TrimSpace(line), "#")
			if prose {
				found = append(found, wideLine(name, i+1, line, maxProseWidth)...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkHouse(t, found)
}

// wideLine returns the violation of a line that has more than limit columns, if it has.
func wideLine(name string, number int, line string, limit int) []violation {
	width := columns(line)
	if width <= limit || strings.Contains(line, "://") {
		return nil
	}
	return []violation{{name, number, fmt.Sprintf("%d columns, limit %d: break the line", width, limit)}}
}

// columns returns the width of a line.
func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
}

// wideLines returns the lines of a Go file that are too long. A comment behind code
// counts as code.
func wideLines(s *source) []violation {
	exempt := tableRows(s)
	strings := map[int]int{} // columns of the string literals in a line
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		first, last := s.pos(lit.Pos()), s.pos(lit.End())
		for line := first; line <= last && first < last; line++ {
			exempt[line] = true
		}
		strings[first] += columns(lit.Value)
		return true
	})
	comments := map[int]bool{} // lines without code
	for _, group := range s.syntax.Comments {
		for line := s.pos(group.Pos()); line <= s.pos(group.End()); line++ {
			comments[line] = true
		}
	}
	var found []violation
	for i, line := range s.lines {
		number := i + 1
		switch {
		case exempt[number]:
		case comments[number] && startsComment(line):
			found = append(found, wideLine(s.name, number, line, maxProseWidth)...)
		case columns(line)-strings[number] > maxCodeWidth || strings[number] == 0:
			found = append(found, wideLine(s.name, number, line, maxCodeWidth)...)
		}
	}
	return found
}

// startsComment reports whether a line that a comment reaches has no code before it.
func startsComment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "/*")
}

// tableRows returns the lines that are rows of tables: elements of a composite literal,
// composite themselves, each in one line.
func tableRows(s *source) map[int]bool {
	rows := map[int]bool{}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, elt := range table.Elts {
			row := elt
			if pair, ok := elt.(*ast.KeyValueExpr); ok {
				row = pair.Value
			}
			if _, ok := row.(*ast.CompositeLit); ok && s.pos(elt.Pos()) == s.pos(elt.End()) {
				rows[s.pos(elt.Pos())] = true
			}
		}
		return true
	})
	return rows
}

// TestHouseFileLengths checks that only tests and tables of data are long: nobody reads a
// file of more than 600 lines.
func TestHouseFileLengths(t *testing.T) {
	var found []violation
	for _, s := range goSources(t) {
		if s.test {
			continue
		}
		lines := len(s.lines) - tableLines(s)
		if lines > maxFileLines {
			found = append(found, violation{s.name, 1, fmt.Sprintf("%d lines besides its tables, limit %d: split the file by topic", lines, maxFileLines)})
		}
	}
	checkHouse(t, found)
}

// tableLines returns the lines of a file's package-level tables.
func tableLines(s *source) int {
	lines := 0
	for _, d := range s.syntax.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.VAR {
			continue
		}
		for _, spec := range decl.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				if table, ok := value.(*ast.CompositeLit); ok {
					lines += s.pos(table.End()) - s.pos(table.Pos())
				}
			}
		}
	}
	return lines
}
