package golden

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost/internal/difftext"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/timetext"
)

// These are the names of the sections in format: files, and folders with any files in them.
const (
	scriptSection = "case.star"
	configSection = "config.toml"
	envSection    = "env"
	effectsFile   = "effects.jsonl"
	eventsFile    = "events.jsonl"
	nowSection    = "now"
	sessionFile   = "session.json"
	recordedFile  = "recorded.json"
	rowsFile      = "rows.jsonl"
	wantSection   = "want" // a file; a case with rows has a folder with one want for each row instead
	fragmentsDir  = "fragments"
	workspaceDir  = "workspace"
	pluginsDir    = "plugins"
)

// base64Suffix ends the name of a section whose text is a file's bytes in base64.
const base64Suffix = ".base64"

// An archive is the text of one case, split into its sections.
type archive struct {
	prose   string
	files   []txtar.File                 // the sections that are files
	folders map[string]map[string][]byte // the files of each section that is a folder, by their paths in the folder
}

// parseArchive splits the text of a case. It refuses an unknown section, because a misspelt
// section would have no effect and no message.
func parseArchive(src []byte) (archive, error) {
	parsed := txtar.Parse(src)
	// The loop writes to the slice that it reads, always behind the file that it reads next.
	a := archive{prose: strings.TrimSpace(string(parsed.Comment)), files: parsed.Files[:0]}
	for i, f := range parsed.Files {
		err := checkSection(f.Name)
		if err == nil {
			f.Name, f.Data, err = decodeSection(f)
		}
		if err == nil && !a.add(f) {
			err = errtext.Errorf("section %q is there twice", f.Name)
		}
		if err != nil {
			return archive{}, &sectionError{index: i + 1, err: err}
		}
	}
	if !a.has(scriptSection) && a.has(rowsFile) {
		return archive{}, errNoScript
	}
	return a, nil
}

// A sectionError is a mistake in a section of a case.
type sectionError struct {
	section string // the section's name
	index   int    // the section's number in the file, from 1, if several sections may have the name
	line    int    // the line in the section, from 1; 0 for the section itself
	err     error
}

func (e *sectionError) Error() string { return e.err.Error() }

func (e *sectionError) Unwrap() error { return e.err }

// lineIn returns the error's line in the text of the case.
func (e *sectionError) lineIn(src []byte) int {
	if e.index == 0 {
		return lineOf(src, e.section, e.line)
	}
	return 1 + bytes.Count(joinSections(splitSections(src)[:e.index]), []byte("\n"))
}

// inSection returns the error of a mistake in a section's line, or nil if err is nil.
func inSection(name string, line int, err error) error {
	if err == nil {
		return nil
	}
	return &sectionError{section: name, line: line, err: err}
}

// errNoScript is the error of a case without steps whose plugins load. A case without steps expects that they
// do not load.
var errNoScript = errors.New(`no section "` + scriptSection + `": it says what to do, as prompt("hello"); a case without it wants that its plugins do not load`)

// add adds a section, and reports whether the archive did not have it yet.
func (a *archive) add(f txtar.File) bool {
	dir, name, nested := strings.Cut(f.Name, "/")
	if !nested {
		twice := a.has(f.Name)
		a.files = append(a.files, f)
		return !twice
	}
	if a.folders == nil {
		a.folders = map[string]map[string][]byte{}
	}
	if a.folders[dir] == nil {
		a.folders[dir] = map[string][]byte{}
	}
	_, twice := a.folders[dir][name]
	a.folders[dir][name] = f.Data
	return !twice
}

// index returns the index in files of the named section, or -1.
func (a *archive) index(name string) int {
	return slices.IndexFunc(a.files, func(f txtar.File) bool { return f.Name == name })
}

func (a *archive) has(name string) bool { return a.index(name) >= 0 }

// text returns the text of the named section, or nil if the case does not have it. The section is a file, not
// a folder.
func (a *archive) text(name string) []byte {
	if i := a.index(name); i >= 0 {
		return a.files[i].Data
	}
	return nil
}

// set replaces the text of the named section, which is a file.
func (a *archive) set(name string, text []byte) {
	if i := a.index(name); i >= 0 {
		a.files[i].Data = text
		return
	}
	a.files = append(a.files, txtar.File{Name: name, Data: text})
}

// decodeSection returns the name and the bytes of the file that a section contains. A want keeps
// its backslashes, because it is compared with an output that has them too.
func decodeSection(f txtar.File) (name string, data []byte, err error) {
	name, encoded := strings.CutSuffix(f.Name, base64Suffix)
	if name == wantSection || strings.HasPrefix(name, wantSection+"/") {
		return name, f.Data, nil
	}
	if !encoded {
		return name, unescapeMarkers(f.Data), nil
	}
	if data, err = base64.StdEncoding.DecodeString(string(f.Data)); err != nil {
		return "", nil, errtext.Errorf("section %q: %w", f.Name, err)
	}
	return name, data, nil
}

func checkSection(name string) error {
	dir, _, nested := strings.Cut(name, "/")
	switch {
	case nested && isSection(folderSection, dir):
		if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
			return errtext.Errorf("section %q: want a path inside %s/, with a slash between names and no dots alone", name, dir)
		}
		if row := name[len(dir)+1:]; dir == wantSection && !isRowName(row) {
			return errtext.Errorf("section %q: want %s/ROW, where ROW is %s", errtext.Clip(name), wantSection, rowNameRule)
		}
		return nil
	case isSection(fileSection, name):
		return nil
	}
	files, folders := sectionNames(fileSection), sectionNames(folderSection)
	all := slices.Sorted(slices.Values(slices.Concat(files, folders)))
	for i, f := range folders {
		folders[i], _, _ = strings.Cut(f, "/")
	}
	hint := ""
	if found := near.Name(name, files); found != "" {
		hint = near.Hint(found)
	} else if found := near.Name(dir, folders); nested && found != "" {
		hint = near.Hint(found + "/")
	}
	return errtext.Errorf("unknown section %q%s, want one of %s", name, hint, strings.Join(all, ", "))
}

// isSection reports whether a section of a kind has the name, or the folder if it is a folder.
func isSection(kind partKind, name string) bool {
	return slices.ContainsFunc(format, func(c formatChapter) bool {
		return slices.ContainsFunc(c.parts, func(p formatPart) bool {
			first, _, _ := strings.Cut(p.name, "/")
			return p.kind == kind && first == name
		})
	})
}

// filesIn returns the files of a section that is a folder, by their paths in the folder.
func (a *archive) filesIn(dir string) map[string][]byte { return a.folders[dir] }

// env returns the environment variables that the case sets.
func (a *archive) env() (map[string]string, error) {
	if len(a.text(envSection)) == 0 {
		return nil, nil
	}
	vars := map[string]string{}
	for i, line := range strings.Split(string(a.text(envSection)), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !isVariable(name) {
			return nil, inSection(envSection, i+1, errtext.Errorf("%s:%d: got %q, want NAME=VALUE", envSection, i+1, line))
		}
		if _, twice := vars[name]; twice {
			return nil, inSection(envSection, i+1, errtext.Errorf("%s:%d: %s is there twice", envSection, i+1, name))
		}
		vars[name] = value
	}
	return vars, nil
}

// now returns the time at the start of the case.
func (a *archive) now() (time.Time, error) {
	if !a.has(nowSection) {
		return startTime, nil
	}
	now, err := timetext.Parse(strings.TrimSpace(string(a.text(nowSection))))
	if err != nil {
		return now, inSection(nowSection, 1, errtext.Errorf("%s: %w", nowSection, err))
	}
	return now, nil
}

// isVariable reports whether a text can be the name of an environment variable.
func isVariable(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	return name != "" && strings.Trim(name, letters+"0123456789") == "" && strings.Trim(name[:1], letters) == ""
}

// A section is a part of a case's text: the line that begins it, and the lines after that line. The prose is
// a section without a name and without such a line.
type section struct {
	name       string
	head, body []byte
}

// splitSections returns the sections of a case's text. The sections joined are the text again.
func splitSections(src []byte) []section {
	list := []section{{}}
	for line := range bytes.Lines(src) {
		if name := markerName(line); name != "" {
			list = append(list, section{name: name, head: line})
			continue
		}
		last := &list[len(list)-1]
		last.body = append(last.body, line...)
	}
	return list
}

// joinSections returns the text that consists of the sections.
func joinSections(list []section) []byte {
	var out []byte
	for _, s := range list {
		out = append(append(out, s.head...), s.body...)
	}
	return out
}

// lineOf returns the number, in the text of a case, of line n of a section. 0 as n means the line that begins
// the section. If the case has no such section, lineOf returns 1.
func lineOf(src []byte, name string, n int) int {
	line := 1
	for _, s := range splitSections(src) {
		if s.name == name || s.name == name+base64Suffix {
			return line + n
		}
		line += bytes.Count(s.head, []byte("\n")) + bytes.Count(s.body, []byte("\n"))
	}
	return 1
}

// replaceSection returns the text of a case in which one section has another text. All other bytes stay. A
// section that the case does not have goes before the want, and a want goes to the end.
func replaceSection(src []byte, name, text string) []byte {
	list, found := splitSections(src), false
	for i := range list {
		if s := &list[i]; s.name == name {
			found = true
			s.head, s.body = endLine(s.head), []byte(text)
		}
	}
	if found {
		return joinSections(list)
	}
	at := slices.IndexFunc(list, func(s section) bool { return s.name == wantSection })
	if at < 0 {
		at = len(list)
	}
	before := endLine(joinSections(list[:at]))
	return slices.Concat(before, []byte("-- "+name+" --\n"+text), joinSections(list[at:]))
}

// EditScript returns the text of a case in which edit has changed the section case.star. All other bytes
// stay. A case without case.star stays as it is.
func EditScript(src []byte, edit func(script string) (string, error)) ([]byte, error) {
	for _, s := range splitSections(src) {
		if s.name == scriptSection {
			script, err := edit(string(s.body))
			if err != nil || script == string(s.body) {
				return src, err
			}
			return replaceSection(src, scriptSection, script), nil
		}
	}
	return src, nil
}

// pruneSections returns the text of a case without the parts that are unused.
func pruneSections(src []byte, unused []part) []byte {
	dropped := map[part]bool{}
	for _, p := range unused {
		dropped[p] = true
	}
	list := slices.DeleteFunc(splitSections(src), func(s section) bool {
		return dropped[part{section: strings.TrimSuffix(s.name, base64Suffix)}]
	})
	for i := range list {
		switch s := &list[i]; {
		case slices.Contains(lineSections, s.name):
			s.body = pruneLines(*s, dropped)
		case s.name == rowsFile:
			s.body = pruneKeys(s.body, dropped)
		}
	}
	return joinSections(slices.DeleteFunc(list, func(s section) bool {
		return slices.Contains(lineSections, s.name) && len(bytes.TrimSpace(s.body)) == 0
	}))
}

// lineSections are the sections whose lines can be unused one by one.
var lineSections = []string{envSection, effectsFile, eventsFile}

// pruneLines returns the text of a section without its unused lines.
func pruneLines(s section, dropped map[part]bool) []byte {
	var out []byte
	number := 0
	for line := range bytes.Lines(s.body) {
		number++
		name, _, _ := strings.Cut(string(line), "=")
		if !dropped[part{section: s.name, variable: name}] && !dropped[part{section: s.name, line: number}] {
			out = append(out, line...)
		}
	}
	return out
}

// A part is a part of a case that can be unused: a section, a variable in the section env, a key in
// rows.jsonl, or a line, counted from 1, in effects.jsonl or events.jsonl.
type part struct {
	section, variable string
	line              int
}

// String returns the message that the part is unused.
func (p part) String() string {
	switch {
	case p.section == eventsFile:
		return fmt.Sprintf("unused line %d in section %q: nothing fires the event or has a hook on it", p.line, p.section)
	case p.line > 0:
		return fmt.Sprintf("unused line %d in section %q: no effect asked for it", p.line, p.section)
	case p.section == rowsFile:
		return fmt.Sprintf("unused key %q in section %q: no row(%q) reads it", p.variable, p.section, p.variable)
	case p.section == wantSection:
		return fmt.Sprintf("unused section %q: the case has rows, and each has its %s/ROW", p.section, wantSection)
	case strings.HasPrefix(p.section, wantSection+"/"):
		return fmt.Sprintf("unused section %q: no row has this name", p.section)
	case p.section == nowSection:
		return fmt.Sprintf("unused section %q: nothing read the time", p.section)
	case p.variable != "":
		return fmt.Sprintf("unused variable %s in section %q: nothing read it", p.variable, p.section)
	}
	return fmt.Sprintf("unused section %q: nothing read this file", p.section)
}

// endLine returns text with a line break at its end.
func endLine(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return text
}

// markerName returns the name of the section that begins with the line, or "" if no section does.
func markerName(line []byte) string {
	if !bytes.HasPrefix(line, []byte("-- ")) {
		return "" // most lines begin with no dash
	}
	if files := txtar.Parse(line).Files; len(files) > 0 {
		return files[0].Name
	}
	return ""
}

// escapeMarkers returns text in a form that a section can contain: with a line break at the end, and with a
// backslash before each line that would begin another section or that unescapeMarkers would change.
func escapeMarkers(text string) string {
	text = difftext.EndLine(text)
	if !strings.Contains(text, "-- ") {
		return text // most texts have no such line
	}
	var out []byte
	for line := range bytes.Lines([]byte(text)) {
		if markerName(bytes.TrimLeft(line, `\`)) != "" {
			out = append(out, '\\')
		}
		out = append(out, line...)
	}
	return string(out)
}

// unescapeMarkers takes one backslash from each line that consists of backslashes and the beginning of a
// section.
func unescapeMarkers(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\-- `)) {
		return text // most texts have no such line
	}
	var out []byte
	for line := range bytes.Lines(text) {
		if line[0] == '\\' && markerName(bytes.TrimLeft(line, `\`)) != "" {
			line = line[1:]
		}
		out = append(out, line...)
	}
	return out
}

// hasCRLF reports whether a text has lines and all of them end in CRLF, as after Git's autocrlf.
func hasCRLF(text []byte) bool {
	n := bytes.Count(text, []byte("\n"))
	return n > 0 && n == bytes.Count(text, []byte("\r\n"))
}

// withoutCR returns a text whose lines end in "\n" alone.
func withoutCR(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
