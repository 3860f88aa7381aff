package shell

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// A program is a row of the table: what is known about one or more programs.
type program struct {
	names string // between spaces
	kind  kind
	// long are flags, and subcommands, with which the program runs another one, so that the command counts as
	// unknown; values are the short ones that may stand in a cluster.
	long, values string
	// query are flags with which the program runs nothing; alone, if it is opaque.
	query string
	// subs are the subcommands with which the program runs nothing, between spaces, with "_" for the
	// space in one. Behind any other the command counts as unknown.
	subs string
	// shaky are flags after which the command may not be found.
	shaky string
	// mentions is true for a program with so many subcommands that it may also run what its words
	// mention, as a program without a row.
	mentions bool
	// operands is the number of words between the flags and the command.
	operands int
}

// A kind says how a program gets the command that it runs.
type kind int

// The kinds of programs.
const (
	runsWords     kind = iota + 1 // the remaining words are the command
	runsAssigned                  // the same, behind assignments such as A=b
	runsInput                     // the same, and standard input adds words
	runsShell                     // a shell: -c TEXT, or a text from standard input
	runsOption                    // su: the value of -c is a shell text
	runsEval                      // eval: the words, joined, run in this shell
	runsTrap                      // trap: the first word runs in this shell later
	runsFind                      // find: -exec and its like
	runsRemote                    // ssh: the words behind the host, joined, are a shell text
	runsContainer                 // docker: exec CONTAINER and run IMAGE
	runsPod                       // kubectl: exec … -- COMMAND
	runsGit                       // git: -c alias.x=!TEXT and others
	runsWatch                     // watch: a shell text, or with -x the words
	runsRepeat                    // zsh: repeat NUMBER COMMAND
	interprets                    // an interpreter of another language
	interpretsAwk                 // awk, whose text may run programs
	interpretsSed                 // sed, whose text may run programs
	packages                      // npm and its like, which run scripts unless they only show something
	calculates                    // a builtin that calculates words: exit, shift
	declares                      // export and its like, behind a quote or another builtin
	assigns                       // a builtin that assigns to the variables that its words name
	prints                        // printf
	tests                         // test and [
	sets                          // set and shopt
	leaves                        // exec
	writes                        // a program that makes files
	queries                       // a client of a database, whose text may run programs
	flagged                       // unknown behind the flags and subcommands of long and values
	opaque                        // always unknown
	harmless                      // its words are data
	unlisted                      // a program without a row
	script                        // a file at a path that is not one of the system's
)

// gnuNames are the GNU tools that other systems install with a g in front.
const gnuNames = " genv gnice gnohup gtimeout gstdbuf gxargs gfind gsplit gtar gsort ginstall gcp gmv gln gdd gtee gtest gprintf gchroot "

// findProgram returns the row of a program.
func findProgram(name string) (*program, bool) {
	if row, ok := findName(name); ok {
		return row, true
	}
	// File systems may ignore the case, and names may end with a version or, for Windows, .exe.
	plain := strings.TrimRight(plainName(name), "0123456789.-")
	if plain == name {
		return nil, false
	}
	if row, ok := findName(plain); ok && (row.kind < calculates || row.kind > sets) && row.kind != harmless {
		if row.kind == interprets || row.kind == interpretsAwk || row.kind == interpretsSed {
			return row, true
		}
		return &anyOpaque, true
	}
	return nil, false
}

// Rows of programs without a name of their own in the table.
var anyOpaque, anyInterpreter = program{kind: opaque}, program{kind: interprets}

// systemFolders are the folders whose programs are what their names say.
const systemFolders = " /bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /opt/homebrew/sbin /opt/local/bin " +
	"/snap/bin /run/current-system/sw/bin "

// versionFolders are those of single programs and versions, also below the home of a user, where managers keep them.
var versionFolders = []string{
	"/Library/Frameworks/Python.framework/Versions/*/bin", "/opt/homebrew/opt/*/bin", "/usr/local/opt/*/bin", "/usr/lib/jvm/*/bin", "/usr/lib/postgresql/*/bin", "/usr/local/go/bin",
	"~/.nvm/versions/node/*/bin", "~/.pyenv/shims", "~/.pyenv/versions/*/bin", "~/.rbenv/shims", "~/.volta/bin", "~/.asdf/shims", "~/.local/share/mise/shims",
}

// isSystemFolder reports whether the programs in a folder are what their names say.
func isSystemFolder(folder string) bool {
	if hasName(systemFolders, folder) {
		return true
	}
	if folder == "" || !contains("/~$", folder[0]) {
		return false // the usual case costs no more
	}
	if rest, ok := cutHome(folder); ok {
		folder = "~/" + rest
	}
	return slices.ContainsFunc(versionFolders, func(pattern string) bool {
		start, end, isOpen := strings.Cut(pattern, "*")
		version, ok := strings.CutPrefix(folder, start)
		version, isEnd := strings.CutSuffix(version, end)
		return ok && isEnd && (version == "" || isOpen && version != ".." && !strings.Contains(version, "/"))
	})
}

// cutHome returns what stands behind the home of a user in a path.
func cutHome(name string) (rest string, ok bool) {
	for _, home := range []string{"~/", "$HOME/", "/home/", "/Users/"} {
		if rest, ok = strings.CutPrefix(name, home); ok {
			if home[0] == '/' {
				name, below, isBelow := strings.Cut(rest, "/")
				return below, isBelow && name != "Shared" // which everybody may write
			}
			return rest, ok
		}
	}
	return "", false
}

// isScript reports whether a program is named by a path that is not in one of the system's folders.
func isScript(name string) bool {
	return strings.Contains(name, "/") && !isSystemFolder(path.Dir(name))
}

// plainName returns the name of a program in lower case, without the ending that only Windows
// needs.
func plainName(name string) string {
	if strings.IndexFunc(name, func(c rune) bool { return c >= 'A' && c <= 'Z' || c >= 0x80 || c == '.' }) < 0 {
		return name
	}
	name = strings.Map(func(c rune) rune { // the letters that file systems take for s and k
		switch c {
		case 'ſ':
			return 's'
		case 'K':
			return 'k'
		}
		return unicode.ToLower(c)
	}, name)
	for _, end := range []string{".exe", ".cmd", ".bat", ".com"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// findName returns the row of a name.
func findName(name string) (*program, bool) {
	if row := programRows()[name]; row != nil {
		return row, true
	}
	if len(name) > 1 && name[0] == 'g' && hasName(gnuNames, name) {
		return findName(name[1:])
	}
	if len(name) > 6 && name[:6] == "python" || len(name) > 4 && name[:4] == "perl" || len(name) > 3 && name[:3] == "lua" {
		return &anyInterpreter, true
	}
	const windows = "%@^" // cmd.exe and PowerShell read them as more than a name
	if strings.HasPrefix(name, "ld-") || strings.HasPrefix(name, "git-") || strings.ContainsAny(name, windows) {
		return &anyOpaque, true
	}
	return nil, false
}

// hasName reports whether a list, with a space at both ends of each name, has a name.
func hasName(list, name string) bool {
	for i := strings.Index(list, name); i >= 0 && name != ""; i = strings.Index(list, name) {
		end := i + len(name)
		if i > 0 && list[i-1] == ' ' && end < len(list) && list[end] == ' ' {
			return true
		}
		list = list[i+1:]
	}
	return false
}

// contains reports whether a set of letters has a letter.
func contains(set string, letter byte) bool { return strings.IndexByte(set, letter) >= 0 }
