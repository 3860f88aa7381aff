package golden

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost"
)

// The sections that a case may have: files, and folders with any files in them.
const (
	scriptSection = "case.star"
	configSection = "config.toml"
	wantSection   = "want"
	workspaceDir  = "workspace"
	pluginsDir    = "plugins"
)

// base64Suffix ends the name of a file's section that holds its bytes in base64.
const base64Suffix = ".base64"

var (
	fileSections   = []string{scriptSection, configSection, wantSection}
	folderSections = []string{pluginsDir, workspaceDir}
)

// An archive is the text of one case, by section.
type archive struct {
	prose string
	files map[string][]byte
}

// parseArchive splits the text of a case. It refuses a section that means
// nothing, as nobody would notice that it has no effect.
func parseArchive(src []byte) (*archive, error) {
	parsed := txtar.Parse(src)
	a := &archive{prose: strings.TrimSpace(string(parsed.Comment)), files: map[string][]byte{}}
	for _, f := range parsed.Files {
		if err := checkSection(f.Name); err != nil {
			return nil, err
		}
		name, data, err := content(f)
		if err != nil {
			return nil, err
		}
		if _, ok := a.files[name]; ok {
			return nil, fmt.Errorf("section %q is there twice", name)
		}
		a.files[name] = data
	}
	if _, ok := a.files[scriptSection]; !ok {
		return nil, fmt.Errorf("no section %q: it says what to do, as prompt(\"hello\")", scriptSection)
	}
	return a, nil
}

// content returns the name and the bytes of what a section stands for.
func content(f txtar.File) (name string, data []byte, err error) {
	name, encoded := strings.CutSuffix(f.Name, base64Suffix)
	if !encoded {
		return name, f.Data, nil
	}
	if data, err = base64.StdEncoding.DecodeString(string(f.Data)); err != nil {
		return "", nil, fmt.Errorf("section %q: %w", f.Name, err)
	}
	return name, data, nil
}

func checkSection(name string) error {
	dir, _, nested := strings.Cut(name, "/")
	switch {
	case nested && slices.Contains(folderSections, dir):
		if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
			return fmt.Errorf("section %q: want a path inside %s/, with a slash between names and no dots alone", name, dir)
		}
		return nil
	case slices.Contains(fileSections, name):
		return nil
	}
	hint := ""
	known := append([]string{"plugins/NAME.star", "workspace/FILE"}, fileSections...)
	if near := starhost.Nearest(name, fileSections); near != "" {
		hint = " (did you mean " + near + "?)"
	} else if near := starhost.Nearest(dir, folderSections); nested && near != "" {
		hint = " (did you mean " + near + "/?)"
	}
	slices.Sort(known)
	return fmt.Errorf("unknown section %q%s, want one of %s", name, hint, strings.Join(known, ", "))
}

// under returns the files of a folder, by their path in it.
func (a *archive) under(dir string) map[string][]byte {
	files := map[string][]byte{}
	for name, data := range a.files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			files[rest] = data
		}
	}
	return files
}

// want returns the output that is expected.
func (a *archive) want() (text string, ok bool) {
	data, ok := a.files[wantSection]
	return string(data), ok
}

// replaceWant returns the text of a case with another want. All other bytes stay
// as they are; a case that has no want gets it at the end.
func replaceWant(src []byte, want string) []byte {
	var out []byte
	section, found := "", false
	for line := range bytes.Lines(src) {
		if name := markerName(line); name != "" {
			section = name
		} else if section == wantSection {
			continue
		}
		out = append(out, line...)
		if section == wantSection {
			found = true
			out = append(endLine(out), want...)
		}
	}
	if !found {
		out = append(endLine(out), "-- "+wantSection+" --\n"+want...)
	}
	return out
}

// endLine ends the last line of text.
func endLine(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return text
}

// markerName returns the name of the section that a line begins, "" if it begins
// none.
func markerName(line []byte) string {
	if files := txtar.Parse(line).Files; len(files) > 0 {
		return files[0].Name
	}
	return ""
}

// escape makes text fit to be a section: it ends its last line, and puts a
// backslash in front of lines that would begin another section.
func escape(text string) string {
	var out []byte
	for line := range bytes.Lines(endLine([]byte(text))) {
		if markerName(line) != "" {
			out = append(out, '\\')
		}
		out = append(out, line...)
	}
	return string(out)
}

// sortedKeys returns the keys of a map in the order of their bytes.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
