// Package texttable aligns the cells of tables for people.
package texttable

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Align returns the rows as lines with aligned columns, and escapes the cells in rows. Cells of the
// column sizes end at the same place, all other cells begin at the same place. It omits a column
// that is empty in all rows.
func Align(rows [][]string, sizes int) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = EscapeLine(cell)
			cell = row[i]
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if widths[i] > 0 {
				line += "  " + pad(cell, widths[i], i == sizes)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func pad(cell string, width int, right bool) string {
	space := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if right {
		return space + cell
	}
	return cell + space
}

// Size writes a number of bytes.
func Size(n int) string { return strconv.Itoa(n) + " B" }
