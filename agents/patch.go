package agents

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// patchStart is the first line of a patch in the format of apply_patch.
const patchStart = "*** Begin Patch"

// patchMarks begin the lines of a patch that name a file. Codex removes spaces around such lines.
var patchMarks = []string{
	"*** add file:", "*** update file:", "*** delete file:", "*** move to:", "+++ b/", "--- a/", "rename from ", "rename to ", "copy to ",
}

// isLineEnd reports whether some program takes a rune for the end of a line: Python knows most of them.
func isLineEnd(c rune) bool {
	return c >= '\n' && c <= '\r' || c >= 0x1c && c <= 0x1e || c == 0x85 || c == 0x2028 || c == 0x2029
}

// addPatch adds the paths that a patch names.
func (c *Call) addPatch(text string) {
	if c.patched == nil {
		c.patched = map[string]bool{}
	}
	folder := c.CWD
	if before, _, ok := strings.Cut(text, patchStart); ok {
		folder = c.afterCD(folder, before)
	}
	before := ""
	for line := range strings.FieldsFuncSeq(text, isLineEnd) {
		line = strings.TrimSpace(line)
		for _, mark := range patchMarks {
			if len(line) >= len(mark) && strings.EqualFold(line[:len(mark)], mark) {
				c.addPatched(folder, line[len(mark):])
			}
		}
		if from, ok := strings.CutPrefix(before, "--- "); ok { // the patch has no a/ and b/ before its paths
			if to, ok := strings.CutPrefix(line, "+++ "); ok && !strings.HasPrefix(to, "b/") {
				c.addPatched(folder, from)
				c.addPatched(folder, to)
			}
		}
		before = line
	}
}

// addPatched adds a path that a patch names. It drops the time, which may follow a tab.
func (c *Call) addPatched(folder, name string) {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\t")
	if name == "" || name == "/dev/null" {
		return
	}
	p := absolute(folder, strings.Trim(name, `"`))
	readings := []string{p}
	if c.isAdrift {
		readings = []string{absolute(c.Workspace, p), p}
	}
	for _, p := range readings {
		if !c.patched[p] {
			c.patched[p] = true
			c.Paths = append(c.Paths, p)
		}
	}
}

// entersFolder matches a change of the folder to a word that a shell does not change. Codex runs "cd FOLDER
// && apply_patch" itself. changesFolder matches all other changes of the folder, and startsShell what
// precedes a text for a shell.
var (
	entersFolder = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*cd\s+(?:--\s+)?(?:"([^"$` + "`" + `\\]*)"|'([^']*)'|([^\s;&|'"$` + "`" + `\\*?(){}<>-][^\s;&|'"$` + "`" + `\\*?(){}<>]*))\s*&&`)
	})
	changesFolder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:cd|chdir|pushd|popd|chroot)\b`) })
	startsShell   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:/\S*/)?(?:ba|da|z)?sh\s+-l?c\s+['"]`) })
)

// afterCD returns the folder after the changes of the folder at the beginning of a command. If the command
// changes the folder later, only the shell knows it.
func (c *Call) afterCD(folder, command string) string {
	rest := command[len(startsShell().FindString(command)):]
	for {
		m := entersFolder().FindStringSubmatch(rest)
		if m == nil {
			break
		}
		folder, rest = absolute(folder, cmp.Or(m[1], m[2], m[3])), rest[len(m[0]):]
	}
	if changesFolder().MatchString(rest) {
		folder, c.isAdrift = "", true
	}
	return folder
}

// withoutScheme returns the path in a URL file:..., and any other name unchanged.
func withoutScheme(name string) string {
	if len(name) < 5 || !strings.EqualFold(name[:5], "file:") {
		return name
	}
	rest := name[5:]
	if strings.HasPrefix(rest, "//") {
		rest = strings.TrimPrefix(rest[2:], "localhost")
	}
	var out strings.Builder
	for i := 0; i < len(rest); i++ {
		if rest[i] == '%' && i+2 < len(rest) {
			if b, err := strconv.ParseUint(rest[i+1:i+3], 16, 8); err == nil {
				out.WriteByte(byte(b))
				i += 2
				continue
			}
		}
		out.WriteByte(rest[i])
	}
	return out.String()
}
