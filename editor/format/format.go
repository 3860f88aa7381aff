// Package format writes Starlark files in Bazel's house style, as buildifier does.
//
// It refuses what the formatter would break: the result must be Starlark that the box reads. It
// knows texts and their names, and writes no file.
package format

import (
	"errors"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/starlark"
)

// Text returns a file in house style. For a golden case it formats case.star only.
func Text(name, text string) (string, error) {
	if !strings.HasSuffix(name, ".txtar") {
		return Source(name, text)
	}
	out, err := golden.EditScript([]byte(text), func(script string) (string, error) {
		return Source(name+"::case.star", script)
	})
	return string(out), err
}

// Source returns Starlark source in house style. It fails for invalid Starlark, and for
// the few valid files that the formatter would break.
func Source(name, text string) (string, error) {
	box := starlark.New(starlark.Options{})
	if _, err := box.Parse(name, []byte(text)); err != nil {
		return "", err
	}
	text = LineEnds(text)
	f, err := build.ParseDefault(name, []byte(text))
	if err != nil {
		return "", formatterError(name, text, err)
	}
	useDoubleQuotes(f)
	out := build.Format(f)
	if _, err := starlark.New(starlark.Options{}).Parse(name, out); err != nil {
		return "", formatterError(name, text, err)
	}
	return string(out), nil
}

// LineEnds returns a text with "\n" at the end of each line, and without a byte order mark.
func LineEnds(text string) string { return lineEnds.Replace(strings.TrimPrefix(text, "\ufeff")) }

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// formatterError returns an error with the place at which the formatter failed.
func formatterError(name, text string, err error) error {
	pos := starlark.Pos{File: name}
	msg := err.Error()
	var parse build.ParseError
	var located *starlark.Error
	switch {
	case errors.As(err, &parse):
		pos.Line, pos.Col, msg = parse.Pos.Line, parse.Pos.LineRune, parse.Message
	case errors.As(err, &located):
		pos, msg = located.Pos, located.Msg
	}
	e := &starlark.Error{Pos: pos, Code: "E0711", Msg: "the formatter cannot keep this: " + msg}
	return starlark.Locate(e, func(string) string { return text })
}

// useDoubleQuotes replaces single quotes around strings. It changes no other character, because
// the formatter would quote the text again with escapes that only Bazel reads.
func useDoubleQuotes(f *build.File) {
	build.Walk(f, func(x build.Expr, _ []build.Expr) {
		s, ok := x.(*build.StringExpr)
		if !ok || !strings.HasPrefix(s.Token, "'") || strings.Contains(s.Value, `"`) {
			return
		}
		n := 1
		if s.TripleQuote {
			n = 3
		}
		quotes := strings.Repeat(`"`, n)
		s.Token = quotes + plainQuotes(s.Token[n:len(s.Token)-n]) + quotes
	})
}

// plainQuotes removes the backslashes before single quotes in the source of a string.
func plainQuotes(spelling string) string {
	var b strings.Builder
	for i := 0; i < len(spelling); i++ {
		if spelling[i] == '\\' && i+1 < len(spelling) {
			if i++; spelling[i] != '\'' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(spelling[i])
	}
	return b.String()
}
