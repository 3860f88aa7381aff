// Package install makes agents run starhost: it adds command lines to their settings files, removes
// them again, and checks whether guards work.
//
// Its central idea is that every byte that is not ours stays: JSON with comments changes by
// splicing its syntax tree, YAML and TOML by marked blocks of lines. An [owner] says which command
// lines are ours. A [Machine] says where the files are, [Machine.Install] and [Machine.Uninstall]
// change them, and a [Doctor] sends a canary through what they have.
//
// The files in the order of reading: install.go, file.go, settings.go (the formats) with json.go,
// splice.go and marked.go, read.go (the lines that a file has), and doctor.go with its parts.
// The package reads no flags and prints nothing.
package install

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"unicode/utf8"
)

// Bounds of a settings file. The library for YAML compares each key of a mapping with all others.
const (
	maxBytes       = 4 << 20
	maxMarkedBytes = 128 << 10 // the most bytes of a file of YAML or TOML
	maxNesting     = 200
)

// An owner reports whether a command line is starhost's own.
type owner func(argv []string) bool

// A format is a way to write settings.
type format int

// These are the formats. formWhole is a file that belongs to one program as a whole, such as a script.
const (
	formJSON format = iota
	formYAML
	formTOML
	formWhole
)

// formatOf returns the format of a file, by the end of its name.
func formatOf(name string) format {
	switch filepath.Ext(name) {
	case ".json":
		return formJSON
	case ".yaml", ".yml":
		return formYAML
	case ".toml":
		return formTOML
	}
	return formWhole
}

// A mistake is an error at a line of a settings file.
type mistake struct {
	Line    int // from 1; 0 for the whole file
	Column  int // in bytes from 1; 0 for the whole line
	Message string
}

func (e *mistake) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// errByHand says that starhost has no safe way to change the file, so that a person must add or
// remove the lines.
var errByHand = errors.New("a person must change this file")

// Merge returns the file with the settings in want. Entries of the owner that want does not have are removed.
// If the file has all of want already, the result is equal to file.
func (f format) Merge(file, want []byte, own owner) ([]byte, error) {
	if f == formWhole {
		if len(file) > 0 && !isOurProgram(file, want, own) {
			return nil, fmt.Errorf("%w: it is not starhost's", errByHand)
		}
		return want, nil
	}
	text, bom, err := f.open(file)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 && f == formJSON {
		return append(bom, want...), nil
	}
	switch f {
	case formJSON:
		text, err = mergeJSON(text, want, own)
	case formYAML:
		text, err = mergeYAML(text, want, own)
	default:
		text, err = mergeTOML(text, want)
	}
	return append(bom, text...), err
}

// Remove returns the file without the entries of the owner. A file in [formWhole] has no such entries.
func (f format) Remove(file []byte, own owner) ([]byte, error) {
	text, bom, err := f.open(file)
	if err != nil {
		return nil, err
	}
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return file, nil
	case f == formJSON:
		text, err = removeJSON(text, own)
	default:
		text, err = removeMarked(f, text, own)
	}
	return append(bom, text...), err
}

// open checks a file's bytes, and splits off the byte order mark.
func (f format) open(file []byte) (text, bom []byte, err error) {
	most := maxBytes
	if f == formYAML || f == formTOML {
		most = maxMarkedBytes
	}
	if len(file) > most {
		return nil, nil, &mistake{Message: fmt.Sprintf("got %d bytes, want at most %d", len(file), most)}
	}
	if !utf8.Valid(file) {
		at := 0
		for at < len(file) {
			r, n := utf8.DecodeRune(file[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, nil, errorAt(file, at, "got bytes that are not UTF-8")
	}
	if rest, ok := bytes.CutPrefix(file, []byte("\uFEFF")); ok {
		return rest, []byte("\uFEFF"), nil
	}
	return file, nil, nil
}

// errorAt returns an error about the text at an offset.
func errorAt(text []byte, offset int, format string, args ...any) *mistake {
	before := text[:min(offset, len(text))]
	return &mistake{lineAt(text, offset), len(before) - bytes.LastIndexByte(before, '\n'), fmt.Sprintf(format, args...)}
}

// lineAt returns the number of the line that an offset is on.
func lineAt(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(offset, len(text))], []byte("\n"))
}

// newlineOf returns the end of the first line of a text, so that new lines can end in the same way.
func newlineOf(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// isOurProgram reports whether a file is equal to want, perhaps with another command line of the owner. want
// is a script that runs the line, or a program that has the line as a JSON list.
func isOurProgram(file, want []byte, own owner) bool {
	if bytes.Equal(file, want) {
		return true
	}
	first, _, _ := bytes.Cut(want, []byte("\n"))
	if len(first) == 0 || !bytes.HasPrefix(file, first) {
		return false
	}
	commands := programCommands(file)
	return len(commands) > 0 && own(commands[0].Argv)
}
