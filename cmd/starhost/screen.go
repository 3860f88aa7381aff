package main

import (
	"io"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
)

// exactFormats are the formats that programs read: a file or a pipe gets their bytes unescaped.
var exactFormats = []string{"json", "text", "openai", "responses", "anthropic", "junit", "pyi"}

// isExact reports whether the result is for a program.
func (a *app) isExact() bool { return a.exact || slices.Contains(exactFormats, a.format) }

// resultBytes returns the result for a file or a pipe.
func (a *app) resultBytes() []byte {
	if a.isExact() {
		return a.out.Bytes()
	}
	return []byte(texttable.Escape(a.out.String()))
}

// showResult writes the result to standard output.
func (a *app) showResult() error {
	if !console.IsTerminal(a.stdout) && (a.colour != "always" || a.isExact()) {
		_, err := a.stdout.Write(a.resultBytes())
		return err
	}
	return a.out.Show(a.stdout, a.wantsColour(a.stdout))
}

// colourOf returns the colour of a decision.
func colourOf(action starhost.Action) page.Colour {
	switch action {
	case starhost.ActionDeny, starhost.ActionAbort, starhost.ActionError:
		return page.Red
	case starhost.ActionAsk, starhost.ActionModify:
		return page.Yellow
	case starhost.ActionApprove, starhost.ActionRespond:
		return page.Green
	}
	return page.Plain
}

// wantsColour reports whether w is a terminal and the environment allows colours.
func (a *app) wantsColour(w io.Writer) bool {
	w = page.Behind(w)
	switch a.colour {
	case "always":
		return true
	case "never":
		return false
	}
	return console.IsTerminal(w) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// terminal returns the terminal of the program, or nil if its streams are none.
func (a *app) terminal(stdin io.Reader, history string) *console.Terminal {
	if a.output != "" {
		return nil
	}
	return console.Open(stdin, a.stdout, a.getenv, history)
}
