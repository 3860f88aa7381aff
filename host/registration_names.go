// The names that registrations may have, and globs on them.

package host

import (
	"math"
	"path"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
)

// reservedCommands are names that no plugin may register for a command, because programs have their own
// commands of these names.
var reservedCommands = []string{
	"edit", "exit", "fragment", "help", "hooks", "model", "multi", "new", "plugins", "quit", "reset", "resume", "save", "tools",
}

// A nameForm describes the valid names of one kind of registration. It is no regular expression, because each
// start of the program would have to compile it, which takes longer than loading a small plugin.
type nameForm struct {
	first, rest string // the bytes that a name begins with and is made of
	min, max    int    // bytes
}

// MatchString reports whether s is a valid name.
func (f nameForm) MatchString(s string) bool {
	if len(s) < f.min || len(s) > f.max || strings.IndexByte(f.first, s[0]) < 0 {
		return false
	}
	for i := range len(s) {
		if strings.IndexByte(f.rest, s[i]) < 0 {
			return false
		}
	}
	return true
}

const (
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	symbols   = "0123456789_-"
)

var (
	pluginName = nameForm{lowerCase, lowerCase + symbols, 1, 64}
	toolName   = nameForm{upperCase + lowerCase + symbols, upperCase + lowerCase + symbols, 1, 64}
	prefixName = nameForm{lowerCase, lowerCase + symbols, 2, math.MaxInt}
	appName    = nameForm{lowerCase, lowerCase + symbols + ".", 1, 64}
	argName    = nameForm{lowerCase, lowerCase + "0123456789_", 1, 64}
)

// matchAny reports whether a glob of the list matches name. The globs must be valid.
func matchAny(globs []string, name string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}

// checkGlobs returns an error for the first malformed glob.
func checkGlobs(what string, globs []string) error {
	for _, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return errtext.Errorf("%s: %q: %w", what, g, err)
		}
	}
	return nil
}
