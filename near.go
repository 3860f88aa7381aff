package starhost

// Nearest returns the candidate that x most likely misspells, or "" if none is
// near: at most a third of x's letters, rounded up, may differ, and of one or
// two letters only their case. Of equally near candidates the first wins, so
// callers pass them sorted.
func Nearest(x string, candidates []string) string {
	best, limit := "", (len(x)+2)/3
	if len(x) < 3 {
		limit = 0
	}
	for _, c := range candidates {
		if c == x {
			continue
		}
		if d := editDistance(x, c, limit); d <= limit {
			best, limit = c, d-1 // only a nearer one replaces it
		}
	}
	return best
}

// didYouMean returns " (did you mean X?)" for the nearest candidate, or "".
func didYouMean(x string, candidates []string) string {
	if n := Nearest(x, candidates); n != "" {
		return " (did you mean " + n + "?)"
	}
	return ""
}

// maxNearLen is the longest name, in bytes, that a suggestion is looked for:
// the work is quadratic in the length.
const maxNearLen = 128

// editDistance returns the Damerau-Levenshtein distance of a and b (adjacent
// transpositions count one), or a number over limit where that is clear at once.
// Letter case does not count.
func editDistance(a, b string, limit int) int {
	if len(a) > maxNearLen || len(b) > maxNearLen || len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if lower(a[i-1]) == lower(b[j-1]) {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && lower(a[i-1]) == lower(b[j-2]) && lower(a[i-2]) == lower(b[j-1]) {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
