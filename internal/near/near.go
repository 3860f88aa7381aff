// Package near finds the name that a misspelt name most likely means, so that error texts
// can suggest it. It compares texts by one edit distance and does not know what they name.
package near

import "strings"

const (
	// maxName bounds the bytes of a name, because comparing takes quadratic work.
	maxName = 128
	// maxWork bounds the letters compared for one suggestion, because a hostile file can
	// define many long names.
	maxWork = 1 << 21
)

// Name returns the candidate that x most likely misspells, or "". At most a third of the
// letters, rounded up, may differ; in one or two letters only the case. Letter case and
// underscores do not count. The first of equally near candidates wins, so that sorted
// candidates give the same answer every time. If no candidate differs in one letter only, the
// shortest one that begins with x wins, because people shorten names.
func Name(x string, candidates []string) string {
	if len(x) > maxName {
		return ""
	}
	folded := fold(x)
	if folded == "" {
		return ""
	}
	best, longer, limit, work := "", "", (len(folded)+2)/3, 0
	if len(folded) < 3 {
		limit = 0
	}
	for _, c := range candidates {
		if c == x || len(c) > maxName {
			continue
		}
		if work += len(x) * len(c); work > maxWork {
			break
		}
		if d := editDistance(folded, fold(c), limit); d <= limit {
			best, limit = c, d-1 // only a nearer candidate replaces it
		}
		if len(folded) > 2 && strings.HasPrefix(fold(c), folded) && (longer == "" || len(c) < len(longer)) {
			longer = c
		}
	}
	if longer != "" && (best == "" || limit > 0) {
		return longer
	}
	return best
}

// Slip returns the first candidate that one letter more, less or other, two swapped letters or the
// case of letters distinguish from x, or "". It suits names that may be right although no candidate
// has them, because it guesses less than [Name]. Names of fewer than three letters have none.
func Slip(x string, candidates []string) string {
	folded := fold(x)
	if len(folded) < 3 || len(x) > maxName {
		return ""
	}
	for _, c := range candidates {
		if c != x && isSlip(folded, fold(c)) {
			return c
		}
	}
	return ""
}

// isSlip reports whether at most one letter or one swap distinguishes two texts.
func isSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case i == len(b):
		return true
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// DidYouMean returns " (did you mean X?)" for the candidate nearest to x, or "".
func DidYouMean(x string, candidates []string) string {
	return Hint(Name(x, candidates))
}

// Hint returns " (did you mean X?)" for the name X, or "" for "".
func Hint(name string) string {
	if name == "" {
		return ""
	}
	return " (did you mean " + name + "?)"
}

func fold(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "_", ""))
}

// editDistance returns how many edits of one byte, or swaps of two neighbours, lead from a
// to b. It returns any number over limit as soon as there must be more than limit.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
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
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
