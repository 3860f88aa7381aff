package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/editor/format"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// stdinName is the name of standard input in messages.
const stdinName = "<stdin>"

// fmtFlags has the values of fmt's flags.
type fmtFlags struct{ check, diff, list bool }

func (p *program) fmtCommand() *cobra.Command {
	var f fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt [PATH...]",
		Short: "Format plugins in Bazel's house style",
		Long: `Format .star files in place, in Bazel's house style. A PATH is a file or a
folder, of which all .star files are formatted, those of libraries too, and the
case.star of golden/*.txtar; none means what the config names, else ./plugins or
./*.star; - filters standard input.

Files that do not parse are reported and stay as they are. --check and --diff write
nothing.`,
		Example: `  starhost fmt plugins
  starhost fmt --check --diff plugins
  starhost fmt - < oncall.star`,
		RunE: func(cmd *cobra.Command, paths []string) error { return runFmt(cmd.Context(), p.env, &p.res, f, paths) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.check, "check", false, "write nothing, name the files that are not formatted, and exit with 1 if there are any")
	flags.BoolVar(&f.diff, "diff", false, "write nothing, and show what would change")
	flags.BoolVarP(&f.list, "list", "l", false, "name the files that change")
	return cmd
}

// runFmt runs the command fmt.
func runFmt(ctx context.Context, env Env, res *Result, f fmtFlags, paths []string) error {
	if len(paths) == 1 && paths[0] == "-" {
		return fmtStdin(env, res, f)
	}
	catchSignals(ctx)
	found, err := pluginPaths(env, res, paths)
	if err != nil {
		return err
	}
	files, err := format.Files(found)
	if err != nil {
		return err
	}
	done := []format.Result{}
	for _, file := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		one, err := format.File(file, !f.check && !f.diff)
		if res.addError(err); err == nil {
			done = append(done, one)
		}
	}
	return printFormatted(env, res, f, done)
}

// fmtStdin formats standard input to standard output.
func fmtStdin(env Env, res *Result, f fmtFlags) error {
	if env.format == "json" {
		return usagef("fmt -: got -F json, want pretty: the result is the file")
	}
	text, err := env.readText("-")
	if err != nil {
		return err
	}
	out, err := format.Source(stdinName, text)
	switch {
	case err != nil:
		return err
	case f.check || f.diff || f.list:
		return printFormatted(env, res, f, []format.Result{format.NewResult(stdinName, text, out)})
	}
	res.out.WriteString(out)
	res.exact = true
	return nil
}

// printFormatted prints the changed files, and sets the exit code of --check.
func printFormatted(env Env, res *Result, f fmtFlags, files []format.Result) error {
	for _, file := range files {
		if file.Changed && f.check {
			res.code = report.ExitNegative
		}
	}
	return env.printResult(res, formattedFiles{f, files})
}

// formattedFiles is the result of fmt.
type formattedFiles struct {
	flags fmtFlags
	files []format.Result
}

func (r formattedFiles) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.fmt/1"), members{"files": r.files}, res.errors())
}

// WriteText writes the names or the differences of changed files, as flags ask.
func (r formattedFiles) WriteText(res *Result) {
	for _, file := range r.files {
		switch {
		case !file.Changed:
		case r.flags.diff:
			res.out.WriteString(file.Diff)
		case r.flags.check, r.flags.list:
			res.out.WriteString(texttable.EscapeLine(file.Path) + "\n")
		}
	}
}

// pluginPaths returns the paths of plugins: the arguments, else those of the config.
func pluginPaths(env Env, res *Result, args []string) ([]loader.Path, error) {
	config, err := env.loadConfig(res, true)
	if err != nil {
		return nil, err
	}
	return config.Paths(cmp.Or(env.dir, "."), args)
}
