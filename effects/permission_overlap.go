package effects

import "strings"

// Overlaps reports whether some host, program, name or path fits both permissions, which are of one kind. A
// check of a config compares a declared permission with a granted one in this way. Overlaps ignores finer
// differences, such as methods, which count when the plugin does the effect.
func (p Permission) Overlaps(other Permission) bool {
	return p.Kind == other.Kind && overlap(p.subject(), other.subject())
}

// subject returns the part of a permission that [Permission.Overlaps] compares: a host, a program, a name or
// a path.
func (p Permission) subject() string {
	switch p.Kind {
	case "http":
		_, target, methods := strings.Cut(p.Pattern, " ")
		if !methods {
			target = p.Pattern
		}
		host, _, _ := strings.Cut(strings.TrimPrefix(target, "http://"), "/")
		return host
	case "secret":
		name, _, _ := strings.Cut(p.Pattern, "@")
		return name
	case "exec":
		program, _, _ := strings.Cut(p.Pattern, " ")
		return program
	}
	return p.Pattern
}

// overlap reports whether some text fits both patterns, in which * stands for any text and ?
// for one character. It returns true for very long patterns, because comparing them takes too
// long.
func overlap(a, b string) bool {
	if len(a)*len(b) > 1<<20 {
		return true
	}
	fits := make([][]bool, len(a)+1) // fits[i][j]: a[i:] and b[j:] overlap
	for i := len(a); i >= 0; i-- {
		fits[i] = make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				fits[i][j] = true
			case i < len(a) && a[i] == '*', j < len(b) && b[j] == '*': // the star ends here, or matches a character
				fits[i][j] = i < len(a) && fits[i+1][j] || j < len(b) && fits[i][j+1]
			case i < len(a) && j < len(b):
				fits[i][j] = (a[i] == b[j] || a[i] == '?' || b[j] == '?') && fits[i+1][j+1]
			}
		}
	}
	return fits[0][0]
}
