// Package shellwords splits lines into words and joins words to lines, with the quotes of a POSIX
// shell. It expands nothing and runs nothing.
package shellwords

import (
	"fmt"
	"strings"
)

// Split splits a line as a POSIX shell does, without expanding anything. White space separates
// words. Single quotes quote everything, double quotes everything except \" and \\, and a backslash
// outside of quotes quotes the next character.
func Split(line string) ([]string, error) {
	var args []string
	var word []byte
	var quote byte // the open one, or 0
	started := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if started {
				args, word, started = append(args, string(word)), nil, false
			}
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && escapes(line[i+1:], quote):
			i++
			word = append(word, line[i])
		case c == '\\' && quote == 0:
			return nil, fmt.Errorf("a backslash at the end of the arguments quotes nothing")
		default:
			word = append(word, c)
		}
		started = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("unbalanced %c in the arguments", quote)
	}
	if started {
		args = append(args, string(word))
	}
	return args, nil
}

// escapes reports whether a backslash before rest quotes its first byte.
func escapes(rest string, quote byte) bool {
	return rest != "" && (quote == 0 || rest[0] == '"' || rest[0] == '\\')
}

// plainChars have no special meaning to a shell.
const plainChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-"

// Quote returns a word as a user types it in a shell: in quotes if it is empty, or if it contains
// blanks or anything that the shell would expand.
func Quote(word string) string {
	if word != "" && strings.Trim(word, plainChars) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Join returns a line that [Split] splits into args again. Unlike [Quote] it leaves characters that
// only a shell would expand without quotes.
func Join(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\r\n'\"\\") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
