package install

import "strings"

// Split splits a simple command line into its arguments. ok is false if a shell would do more than run one
// program: if the line has variables, pipes, lists, redirections, globs or comments.
func Split(line string) (argv []string, ok bool) {
	var word strings.Builder
	var inWord bool
	end := func() {
		if inWord {
			argv = append(argv, word.String())
		}
		word.Reset()
		inWord = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			end()
			continue
		case c == '\'' || c == '"':
			text, _, closed := strings.Cut(line[i+1:], string(c))
			if !closed || c == '"' && strings.ContainsAny(text, "$`\\!") || strings.ContainsAny(text, "\n\r") {
				return nil, false
			}
			word.WriteString(text)
			i += len(text) + 1
		case c == '\\' && i+1 < len(line) && line[i+1] != '\n':
			i++
			word.WriteByte(line[i])
		case strings.IndexByte("$`\\|&;<>()*?[]{}!#~\n\r", c) >= 0:
			return nil, false
		case c == '=' && len(argv) == 0: // an assignment, or a name that no program has
			return nil, false
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	end()
	return argv, len(argv) > 0
}
