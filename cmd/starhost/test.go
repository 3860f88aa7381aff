package main

import (
	"errors"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/loader"
)

func (a *app) testCommand() *cobra.Command {
	o := golden.Options{Getenv: a.getenv, Out: &a.out}
	var run string
	cmd := &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Run the golden cases of plugins",
		Long: `Run the golden cases of plugins, each twice: the files NAME/golden/*.txtar of a
plugin folder NAME, golden/NAME_*.txtar beside NAME.star. PATH::CASE is one case.`,
		Example: `  starhost test plugins
  starhost test plugins/oncall.star::oncall_restart`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			err := a.wantFormat("pretty")
			if err == nil && run != "" {
				o.Run, err = regexp.Compile(run)
			}
			if err != nil {
				return usagef("%v", err)
			}
			o.Dir, o.Paths = a.dir, paths
			if o.Config, a.warnings, err = loader.LoadConfig(loader.ConfigOptions{Dir: a.dir, File: a.config, None: a.noConfig, Getenv: a.getenv}); err != nil {
				return err
			}
			summary, err := golden.Test(cmd.Context(), o)
			return a.judge(&summary, err)
		},
	}
	cmd.Flags().BoolVar(&o.Update, "update", false, "rewrite what the cases want, and show the difference")
	cmd.Flags().StringVar(&run, "run", "", "run only cases whose name matches this `REGEXP`")
	return cmd
}

// judge turns the result of golden cases into an exit code or an error.
func (a *app) judge(s *golden.Summary, err error) error {
	var usage *golden.UsageError
	switch {
	case errors.As(err, &usage):
		var located *loader.Error
		if errors.As(err, &located) {
			return located
		}
		return usagef("%v", err)
	case err != nil:
		return err
	case len(s.Results) > 0 && s.Broken == len(s.Results):
		a.code = exitPlugin
	case s.Failed+s.Broken > 0 || len(s.Results) == 0:
		a.code = exitNegative
	}
	return nil
}
