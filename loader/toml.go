package loader

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost/internal/jsontext"
)

// maxConfigBytes is the most bytes of a config file.
const maxConfigBytes = 1 << 20

// parseTOML parses a config file. It returns the file's values, and the lines of its keys.
func parseTOML(file string, src []byte) (map[string]any, keyLines, *Error) {
	if err := checkText(file, src); err != nil {
		return nil, nil, err
	}
	lines, deep := findLines(string(src))
	if deep > 0 {
		return nil, nil, errorAt(Place{File: file, Line: deep}, "E0601", "got keys or values nested more than %d deep", maxNesting)
	}
	if len(src) == 0 { // a short way, because most golden cases have an empty config
		return map[string]any{}, lines, nil
	}
	var table map[string]any
	if _, err := toml.Decode(string(src), &table); err != nil {
		return nil, nil, syntaxError(file, string(src), err)
	}
	return table, lines, nil
}

// syntaxError returns the parser's error with a place. It counts lines up to the error's offset,
// because the parser's line is one too high if the mistake is a line end.
func syntaxError(file, src string, err error) *Error {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return errorAt(Place{File: file}, "E0601", "%v", err)
	}
	before := strings.TrimPrefix(src, "\ufeff")
	before = before[:min(max(0, parse.Position.Start), len(before))] // the parser can return -1
	at := Place{File: file, Line: 1 + strings.Count(before, "\n"), Col: len(before) - strings.LastIndexByte(before, '\n')}
	return errorAt(at, "E0601", "invalid TOML: %s", lowerFirst(jsontext.ExplainTOML(parse.Message)))
}

// lowerFirst returns a sentence with a small first letter, unless it begins with a word as TOML.
func lowerFirst(s string) string {
	if len(s) < 2 || s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// checkText returns an error for a file that is too long or is no text.
func checkText(file string, src []byte) *Error {
	if len(src) > maxConfigBytes {
		return tooLarge(Place{File: file}, int64(len(src)), maxConfigBytes)
	}
	line := 0
	for text := range bytes.Lines(src) {
		line++
		at := Place{File: file, Line: line}
		switch {
		case bytes.IndexByte(text, 0) >= 0:
			return errorAt(at, "E0601", "got a NUL byte, want text")
		case !utf8.Valid(text):
			return errorAt(at, "E0601", "got bytes that are not UTF-8, want text in UTF-8")
		}
	}
	return nil
}

// readConfigFile reads a config file, which messages call shown. It checks the size and the type of the file
// before it opens the file.
func readConfigFile(file, shown string) ([]byte, *Error) {
	at := Place{File: shown}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, errorAt(at, "E0615", "%s", reason(err))
	case !info.Mode().IsRegular():
		return nil, errorAt(at, "E0615", "got a %s, want a config file", kindOf(info))
	case info.Size() > maxConfigBytes:
		return nil, tooLarge(at, info.Size(), maxConfigBytes)
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK, because the file may be a pipe by now
	if err != nil {
		return nil, errorAt(at, "E0615", "%s", reason(err))
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, errorAt(at, "E0615", "%s", reason(err))
	}
	return src, nil
}

func kindOf(info os.FileInfo) string {
	if info.IsDir() {
		return "folder"
	}
	return "special file"
}

func tooLarge(at Place, got, most int64) *Error {
	return errorAt(at, "E0608", "got %d bytes, want at most %d", got, most)
}
