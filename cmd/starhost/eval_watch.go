package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/watch"
	"github.com/starhost/starhost/loader"
)

// watchEval runs eval, and again whenever a file changes that the result depends on, until ctx
// ends. If plugins cannot be loaded, it prints only the errors.
func (a *app) watchEval(ctx context.Context, f *evalFlags, paths []string) error {
	w, err := watch.New()
	if err != nil {
		return err
	}
	defer w.Close()
	var round *app
	var e *evaluation
	load := func(ctx context.Context) (*loader.Set, error) {
		e = &evaluation{flags: f}
		set, err := round.loadFor(ctx, f, paths, e)
		if err != nil {
			return nil, err
		}
		in := a.evalInputs(f, set)
		return set, w.Inputs(in.Files, in.Folders)
	}
	var live *loader.Live
	return a.rounds(ctx, w, func(next *app) (err error) {
		round = next
		if live == nil {
			live, err = loader.NewLive(ctx, load)
		} else {
			err = live.Reload(ctx)
		}
		switch {
		case live.Set() == nil && w.IsIdle():
			return err // there is nothing to watch
		case err == nil:
			e.set = live.Set()
			round.addError(round.runQuestion(ctx, f, e))
			round.addError(round.printEvaluation(f, e))
		case len(round.problems) == 0:
			round.addError(err)
		}
		round.end()
		return nil
	})
}

// evalInputs returns the files that a result depends on: the inputs of loading, and the files
// that flags name.
func (a *app) evalInputs(f *evalFlags, set *loader.Set) loader.Inputs {
	in := set.Inputs()
	names := []string{f.promptFile, f.input, strings.TrimPrefix(f.args, "@")}
	names = slices.Concat(names, f.fragments, f.systemFragments)
	for _, ref := range f.attachments {
		name, _, _ := strings.Cut(ref, ";type=")
		names = append(names, name)
	}
	for _, name := range names {
		info, err := os.Stat(a.path(name))
		switch {
		case name == "" || err != nil: // not a path
		case info.IsDir():
			in.Folders = append(in.Folders, a.path(name))
		default:
			in.Files = append(in.Files, a.path(name))
		}
	}
	return in
}
