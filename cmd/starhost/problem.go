package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/report"
)

// usagef returns the error of a mistake on the command line.
func usagef(format string, args ...any) error { return report.Usagef(format, args...) }

// A panicError is a bug of starhost.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error: %v; this is a bug of starhost (-v shows where)", e.value)
}

// describe turns an error into a problem.
func describe(err error) report.Problem {
	p := report.Describe(err, asOwnPanic, asEndpoint, asWaiting)
	e, unknown := errors.AsType[*host.UnknownRefError](err)
	if unknown && p.Code == "E0702" && e.Near == "" && slices.Contains(strings.Fields(evalFormats), e.Ref) {
		p.Help = "did you mean -F " + e.Ref + "? -f is --fragment"
	}
	return p
}

var asOwnPanic = report.KindOf(func(e *panicError, p *report.Problem) {
	p.Code, p.Stack, p.Bug = "E0111", e.stack, true
})
