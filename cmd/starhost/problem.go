package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// A usageError is a mistake on the command line.
type usageError struct {
	msg  string
	help string // advice, "" for none

	where *starlark.Error // a mistake in a text that the command line names, instead of msg; or nil
}

func (e *usageError) Error() string {
	if e.where != nil {
		return e.where.Error()
	}
	return e.msg
}

func usagef(format string, args ...any) error { return &usageError{msg: fmt.Sprintf(format, args...)} }

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
	p := report.Describe(err, asOwnPanic, asEndpoint, asWaiting, asUsage)
	e, unknown := errors.AsType[*host.UnknownRefError](err)
	if unknown && p.Code == "E0702" && e.Near == "" && slices.Contains(formatNames("eval"), e.Ref) {
		p.Help = "did you mean -F " + e.Ref + "? -f is --fragment"
	}
	return p
}

func asOwnPanic(err error, p *report.Problem) bool {
	var own *panicError
	if !errors.As(err, &own) {
		return false
	}
	p.Code, p.Stack, p.Bug = "E0111", own.stack, true
	return true
}

func asUsage(err error, p *report.Problem) bool {
	var e *usageError
	if !errors.As(err, &e) {
		return false
	}
	p.Code, p.Help = "E0701", e.help
	if e.where != nil {
		p.Pos, p.Message, p.Detail = starhost.Pos(e.where.Pos), e.where.Msg, e.where.Detail()
	}
	return true
}
