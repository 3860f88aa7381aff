package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/editor/check"
	"github.com/starhost/starhost/editor/format"
	"github.com/starhost/starhost/editor/lsp"
	"github.com/starhost/starhost/internal/docgen"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

func (p *program) lspCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "lsp",
		Annotations: formats("pretty"),
		Short:       "Help an editor with plugins and golden cases, as a language server",
		Long: `Speak the Language Server Protocol on standard input and output, for an editor
that starts this command. docs/editors.md says how. The server shows the findings of
check while you type, explains and completes names, goes to definitions, renames
local names, formats, and runs golden cases.

It evaluates the top level of plugins within their limits, as check does. It calls no
handler, except in golden cases that you run, whose effects are recorded ones.`,
		Example: `  starhost lsp
  starhost lsp --no-config`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLSP(cmd.Context(), p.env, &p.res)
		},
	}
}

// runLSP answers one editor until the editor ends the connection.
func runLSP(ctx context.Context, env Env, res *Result) error {
	res.written = true // this command answers other programs
	prepareRun(ctx)
	cache := check.Caches()
	r := wholeReference()
	steps := r.Topics[len(r.Topics)-1]
	in, out := env.stdin, env.stdout
	env.stdin, env.stdout = nil, io.Discard
	err := lsp.Serve(ctx, in, out, lsp.Options{
		Version: version(),
		Reference: lsp.Reference{
			Topics: r.Topics[:len(r.Topics)-1], Steps: steps, Events: r.Events, Permissions: r.Permissions,
			Entry: docgen.EntryHelp, Event: docgen.EventHelp, Permission: docgen.PermissionHelp,
		},
		Root:    check.PluginRoot,
		Check:   func(ctx context.Context, job lsp.Job) lsp.Analysis { return analyse(ctx, env, job, cache()) },
		Format:  func(name, text string) (string, error) { return format.Text(filepath.Base(name), text) },
		RunCase: env.runCase,
	})
	if errors.Is(err, lsp.ErrExit) { // the protocol wants this exit code
		res.code = report.ExitNegative
		return nil
	}
	return errtext.File("standard output", err)
}

// nested returns the Env for answering one question of an editor. What the command prints goes to out.
func (env Env) nested(out io.Writer) Env {
	return Env{
		stdin: bytes.NewReader(nil), stdout: out, stderr: out, getenv: env.getenv, lookupEnv: env.lookupEnv,
		managed: env.managed,
		config:  env.config, noConfig: env.noConfig,
	}.fresh()
}

// runCase runs a golden case, and returns its report.
func (env Env) runCase(ctx context.Context, file string) (text string, ok bool) {
	var out bytes.Buffer
	b, res := env.nested(&out), new(Result)
	defer b.stores.close()
	b.dir, b.format = filepath.Dir(filepath.Dir(file)), "pretty"
	res.addError(runTest(ctx, b, res, &testFlags{jobs: 1}, []string{filepath.Join("golden", filepath.Base(file))}))
	code := b.end(res)
	return strings.TrimSpace(out.String()), code == report.ExitOK
}

// analyse checks the plugin of an open file.
func analyse(ctx context.Context, env Env, job lsp.Job, cache *starlark.Cache) lsp.Analysis {
	b := env.nested(io.Discard)
	b.dir, b.cache = job.Dir, cache
	defer b.stores.close()
	config, _, err := b.readConfig(true)
	if err == nil {
		_, err = b.database(config)
	}
	return check.Analyse(ctx, check.Options{
		Load: loader.Options{Config: config, Dir: b.dir, LookupEnv: b.lookupEnv, Cache: b.cache},
		Lint: true, Edited: job.Path, Unsaved: job.Unsaved,
	}, err)
}
