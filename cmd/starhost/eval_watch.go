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
func (env Env) watchEval(ctx context.Context, res *Result, f *evalFlags, paths []string) error {
	w, err := watch.New()
	if err != nil {
		return err
	}
	defer w.Close()
	var round *Result
	var e *evaluation
	load := func(ctx context.Context) (*loader.Set, error) {
		e = &evaluation{flags: f}
		set, err := env.loadFor(ctx, round, f, paths, e)
		if err != nil {
			return nil, err
		}
		in := env.evalInputs(f, set)
		return set, w.Inputs(in.Files, in.Folders)
	}
	var live *loader.Live
	return env.rounds(ctx, res, w, func(next *Result) (err error) {
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
			round.addError(env.runQuestion(ctx, round, f, e))
			round.addError(env.printEvaluation(round, f, e))
		case len(round.problems) == 0:
			round.addError(err)
		}
		env.end(round)
		return nil
	})
}

// evalInputs returns the files that a result depends on: the inputs of loading, and the files
// that flags name.
func (env Env) evalInputs(f *evalFlags, set *loader.Set) loader.Inputs {
	in := set.Inputs()
	names := []string{f.promptFile, f.input, strings.TrimPrefix(f.args, "@")}
	names = slices.Concat(names, f.fragments, f.systemFragments)
	for _, ref := range f.attachments {
		name, _, _ := strings.Cut(ref, ";type=")
		names = append(names, name)
	}
	for _, name := range names {
		info, err := os.Stat(env.path(name))
		switch {
		case name == "" || err != nil: // not a path
		case info.IsDir():
			in.Folders = append(in.Folders, env.path(name))
		default:
			in.Files = append(in.Files, env.path(name))
		}
	}
	return in
}
