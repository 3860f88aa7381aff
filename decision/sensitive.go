package decision

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// sensitiveNames are the ends of names of headers, variables and members whose values are secret. A space
// stands for "-", "_" or nothing.
var sensitiveNames = []string{
	"authorization", "api key", "access key", "private key", "secret key", "secret", "token", "passwd", "password", "passphrase",
	"credential", "credentials", "cookie",
}

var removeSeparators = strings.NewReplacer("-", "", "_", "")

// isSensitive reports whether the name of a member says that its value is secret. It uses no regular
// expression, because each record has names, and compiling an expression costs more than the rest of a
// record.
func isSensitive(name string) bool {
	plain := removeSeparators.Replace(strings.ToLower(name))
	return slices.ContainsFunc(sensitiveNames, func(end string) bool {
		return strings.HasSuffix(plain, strings.ReplaceAll(end, " ", ""))
	})
}

// sensitiveValue returns the expression for the values to mask in a text. Each value is a group. The
// expression is compiled when a text may contain a value, because most commands and most records contain
// none.
var sensitiveValue = sync.OnceValue(func() *regexp.Regexp {
	names := strings.ReplaceAll(strings.Join(sensitiveNames, "|"), " ", "[-_]?")
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		// A cookie's whole line; then name: value, NAME=value and --name value.
		`cookie["']?\s*:\s*["']?([^\s"'][^"'\r\n]*)`,
		`(?:` + names + `)\\?["']?\s*(?:=|:\s?)\s*\\?["']?(?:(?:bearer|basic|token)\s+)?([^\s"'$<>{}()\[\],;&|\\]{3,})`,
		`--[a-z0-9-]*(?:` + names + `)\s+["']?([^\s"'$<>{}()\[\],;&|-][^\s"'$<>{}()\[\],;&|]{2,})`,
		// A value of an authorization header without the header's name, and the password in a URL.
		`\b(?:bearer|basic)\s+([a-z0-9._~+/-]{8,}=*)`,
		`://[^\s/:@"']*:([^\s/@"'$<]+)@`,
		// Keys in well-known forms.
		`(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$))`,
		`\b([srp]k[-_][a-z0-9_-]{16,})`,
		`\b((?:gh[pousr]|github_pat|glpat|glrt|xox[abeoprs]|xapp|npm|pypi|hf|dop_v1|shpat|sntrys|dckr_pat|tskey|lin_api|hv[sbr]|atlasv1|rubygems)[-_.][a-z0-9_.-]{12,})`,
		`\b(A[KS]IA[A-Z0-9]{16})\b`,
		`\b((?:AIza|ya29\.|SG\.|AGE-SECRET-KEY-1)[a-z0-9._-]{16,})`,
		`\b(eyJ[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}(?:\.[a-z0-9_-]*)?)`,
		// A long random word.
		`([a-z0-9+]{32,}={0,2})`,
	}, "|"))
})

// bareGroup is the number of the group for an authorization without its name. Any word can follow "basic" in
// prose.
const bareGroup = 4

// hints are texts of which at least one is in each text with a value to mask, unless that value is a long
// word.
var hints = []string{
	"authorization", "key", "secret", "token", "pass", "credential", "cookie", "bearer", "basic", "://", "sk-", "sk_", "pk-",
	"pk_", "rk-", "rk_", "gh", "gl", "xox", "xapp", "npm", "pypi", "hf", "dop_v1", "shpat", "sntrys", "dckr_pat", "lin_api",
	"hv", "atlasv1", "rubygems", "akia", "asia", "aiza", "ya29", "sg.", "eyj",
}

// longWord is the fewest bytes of a word that may be a random key.
const longWord = 32

// mayBeSensitive reports whether a text could contain a value to mask. It costs less than the expression.
func mayBeSensitive(text string) bool {
	word, upper := 0, strings.ContainsAny(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") // each key has a capital letter
	for i := range len(text) {
		c := text[i] | 0x20
		if 'a' <= c && c <= 'z' || '0' <= text[i] && text[i] <= '9' || text[i] == '+' {
			if word++; word >= longWord && upper {
				return true
			}
		} else {
			word = 0
		}
	}
	lower := strings.ToLower(text)
	for _, hint := range hints {
		if strings.Contains(lower, hint) {
			return true
		}
	}
	return false
}

// sensitiveParts returns the places of the values to mask in a text, in order.
func sensitiveParts(text string) (parts [][2]int) {
	if len(text) < minMixed || !mayBeSensitive(text) {
		return nil
	}
	for at := 0; at < len(text); {
		m := sensitiveValue().FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		group := 1
		for m[2*group] < 0 {
			group++
		}
		start, end := at+m[2*group], at+m[2*group+1]
		value := text[start:end]
		isWord, isBare := 2*group == len(m)-2, group == bareGroup
		isScheme := strings.EqualFold(value, "bearer") || strings.EqualFold(value, "basic")
		if (!isWord || isRandom(value)) && (!isBare || strings.ContainsAny(value, "0123456789=")) && !isScheme {
			parts = append(parts, [2]int{start, end})
		}
		at = max(end, at+1)
	}
	return parts
}

// isRandom reports whether a word looks like a random key: it mixes digits and letters of both
// cases.
func isRandom(word string) bool {
	var digits, upper, lower int
	distinct := map[rune]bool{}
	for _, c := range word {
		distinct[c] = true
		switch {
		case '0' <= c && c <= '9':
			digits++
		case 'A' <= c && c <= 'Z':
			upper++
		case 'a' <= c && c <= 'z':
			lower++
		}
	}
	const few, many = 2, 16
	return digits >= few && upper >= few && lower >= few && len(distinct) >= many
}
