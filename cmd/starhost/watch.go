package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/internal/watch"
	"github.com/starhost/starhost/report"
)

// rounds calls run at once and after each change, with a new Result each time, until ctx ends or run returns
// an error.
func (env Env) rounds(ctx context.Context, res *Result, w *watch.Watcher, run func(round *Result) error) error {
	res.written = true // each round writes the file itself
	err := run(res.newRound())
	if err == nil {
		err = w.Loop(ctx, func(file string) error {
			round := res.newRound()
			env.printNote("changed: " + env.relative(file))
			return run(round)
		})
	}
	if err == nil {
		res.code = report.ExitInterrupted
	}
	return err
}

// newRound returns an empty Result for one round of work.
func (res *Result) newRound() *Result { return &Result{grantless: res.grantless, loaded: res.loaded} }

// printNote prints a note for people. It is no part of the result.
func (env Env) printNote(text string) {
	if !env.quiet {
		fmt.Fprintln(env.stderr, texttable.Hang(text))
	}
}

// relative returns a path as it is from the current folder.
func (env Env) relative(name string) string {
	if rel, err := filepath.Rel(env.path("."), name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}
