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
func (env Env) isExact(res *Result) bool {
	return res.exact || slices.Contains(exactFormats, env.format)
}

// resultBytes returns the result for a file or a pipe.
func (env Env) resultBytes(res *Result) []byte {
	if env.isExact(res) {
		return res.out.Bytes()
	}
	return []byte(texttable.Escape(res.out.String()))
}

// showResult writes the result to standard output.
func (env Env) showResult(res *Result) error {
	if !console.IsTerminal(env.stdout) && (env.colour != "always" || env.isExact(res)) {
		_, err := env.stdout.Write(env.resultBytes(res))
		return err
	}
	return res.out.Show(env.stdout, env.wantsColour(env.stdout))
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
func (env Env) wantsColour(w io.Writer) bool {
	w = page.Behind(w)
	switch env.colour {
	case "always":
		return true
	case "never":
		return false
	}
	return console.IsTerminal(w) && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb"
}

// terminal returns the terminal of the program, or nil if its streams are none.
func (env Env) terminal(stdin io.Reader, history string) *console.Terminal {
	if env.output != "" {
		return nil
	}
	return console.Open(stdin, env.stdout, env.getenv, history)
}
