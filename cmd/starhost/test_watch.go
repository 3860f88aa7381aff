package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/watch"
	"github.com/starhost/starhost/loader"
)

// watchTests runs the cases, and again whenever a case, a plugin or the config changes, until
// ctx ends. The end of ctx is no error.
func (env Env) watchTests(ctx context.Context, res *Result, f *testFlags, o golden.Options) error {
	w, err := watch.New()
	if err != nil {
		return err
	}
	defer w.Close()
	res.written = true // each round writes the file itself
	return env.rounds(ctx, res, w, func(round *Result) error {
		in := env.testInputs(o.Paths)
		if err := w.Inputs(in.Files, in.Folders); err != nil {
			return err
		}
		round.addError(env.testOnce(ctx, round, f, o))
		if ctx.Err() == nil {
			env.end(round)
		}
		return nil
	})
}

// testInputs returns the files that the results depend on: the config, and the plugins and
// cases at the arguments or the config's paths.
func (env Env) testInputs(args []string) loader.Inputs {
	in := loader.Inputs{Files: []string{env.path(loader.ConfigName), env.path(env.config)}}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "::")
		addCaseInputs(&in, env.path(name))
	}
	config, _, err := env.readConfig(true)
	if err != nil {
		return in // the run reports the error
	}
	if len(args) == 0 {
		paths, _ := config.Paths(env.dir, nil) // the run reports the error
		for _, p := range paths {
			addCaseInputs(&in, p.Real)
		}
	}
	for _, library := range config.Libraries {
		in.Folders = append(in.Folders, library.Real)
	}
	return in
}

// addCaseInputs adds a folder, or the files that belong to a file: its plugin folder, or the
// plugins and cases beside it.
func addCaseInputs(in *loader.Inputs, name string) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		in.Folders = append(in.Folders, name)
		return
	}
	home := filepath.Dir(name)
	if filepath.Base(home) == "golden" {
		home = filepath.Dir(home)
	}
	if _, err := os.Stat(filepath.Join(home, "plugin.star")); err == nil {
		in.Folders = append(in.Folders, home)
		return
	}
	cases := filepath.Join(home, "golden")
	plugins, _ := filepath.Glob(filepath.Join(home, "*.star")) // no error: the pattern is valid
	in.Files = append(append(in.Files, cases, name), plugins...)
	in.Folders = append(in.Folders, cases)
}
