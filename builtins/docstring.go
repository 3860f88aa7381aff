package builtins

import "strings"

// toolDescription returns a tool's description from its docstring: the first paragraph on one
// line, then the other lines without their common indentation. It omits the section "Args:" if
// argsInSchema says that the derived schema contains it.
func toolDescription(doc string, argsInSchema bool) string {
	lines := strings.Split(strings.TrimSpace(doc), "\n")
	if argsInSchema {
		lines = withoutArgs(lines)
	}
	n := 0
	for n < len(lines) && strings.TrimSpace(lines[n]) != "" {
		n++
	}
	description := firstParagraph(strings.Join(lines[:n], "\n"))
	if rest := dedentLines(lines[n:]); rest != "" {
		description += "\n\n" + rest
	}
	return strings.TrimSpace(description)
}

// withoutArgs returns the lines outside of the section that parseArgs reads. It changes lines.
func withoutArgs(lines []string) []string {
	head := -1 // indentation of the head
	out, done := lines[:0], false
	for i, line := range lines {
		text, depth := strings.TrimSpace(line), indentation(line)
		switch {
		case done:
		case head >= 0 && (text == "" || depth > head):
			continue
		case head >= 0:
			done = true
		case text == "Args:":
			if head = depth; i == 0 {
				head = 0
			}
			continue
		}
		out = append(out, line)
	}
	return out
}

// dedentLines joins lines without the indentation that all of them have, without trailing white
// space, and with single blank lines.
func dedentLines(lines []string) string {
	common := -1
	for _, line := range lines {
		if depth := indentation(line); strings.TrimSpace(line) != "" && (common < 0 || depth < common) {
			common = depth
		}
	}
	var b strings.Builder
	blank := true
	for _, line := range lines {
		if line = strings.TrimRight(line, " \t\r"); strings.TrimSpace(line) == "" {
			line = ""
		}
		if line != "" {
			b.WriteString(line[common:])
		}
		if line != "" || !blank {
			b.WriteByte('\n')
		}
		blank = line == ""
	}
	return strings.Trim(b.String(), "\n")
}
