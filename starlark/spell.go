package starlark

import "strings"

// maxSpelling bounds the letters that are compared for one suggestion.
const maxSpelling = 1 << 21

// nearest returns the candidate that x most likely misspells, or "".
// Candidates are compared without case and underscores; of equally near ones the
// first wins.
func nearest(x string, candidates []string) string {
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	folded := fold(x)
	if folded == "" || len(x) > maxIdentifier {
		return ""
	}
	best, bound := "", (len(folded)+1)/3 // a typo in three letters
	work := 0
	for _, c := range candidates {
		if work += len(x) * len(c); work > maxSpelling {
			break
		}
		if len(c) > maxIdentifier || c == x {
			continue
		}
		if d := editDistance(folded, fold(c), bound); d <= bound {
			best, bound = c, d-1
		}
	}
	return best
}

// editDistance returns how many edits of one byte, or swaps of two neighbours,
// lead from a to b, or any number above bound when there are more.
func editDistance(a, b string, bound int) int {
	if d := len(a) - len(b); d > bound || -d > bound {
		return bound + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		least := row[0]
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
			least = min(least, row[j+1])
		}
		if least > bound {
			return bound + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
