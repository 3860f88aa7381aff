package texttable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
)

// maxCell is the most bytes of a cell of a table.
const maxCell = 60

// Cell returns the first line of a text, cut to the width of a cell.
func Cell(text string) string {
	line := strings.ToValidUTF8(FirstLine(text), "\uFFFD")
	return errtext.CutTo(line, maxCell, "…")
}

// FirstLine returns the first line of a text.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// JoinSome joins the texts that are not empty.
func JoinSome(sep string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), sep)
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
