package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/internal/watch"
)

// rounds calls run at once and after each change, with an app for its results, until ctx ends or
// there is an error.
func (a *app) rounds(ctx context.Context, w *watch.Watcher, run func(round *app) error) error {
	err := run(a.newRound())
	if err == nil {
		err = w.Loop(ctx, func(file string) error {
			round := a.newRound()
			round.printNote("changed: " + a.relative(file))
			return run(round)
		})
	}
	if err == nil {
		a.code = exitInterrupted
	}
	return err
}

// newRound returns a copy of the app without results.
func (a *app) newRound() *app {
	b := *a
	b.out, b.code, b.warnings, b.logs, b.problems = page.Page{}, 0, nil, nil, nil
	return &b
}

// printNote prints a note for people, which is no part of the result.
func (a *app) printNote(text string) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, texttable.Hang(text))
	}
}

// relative returns a path relative to the current folder.
func (a *app) relative(name string) string {
	if rel, err := filepath.Rel(a.path("."), name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}
