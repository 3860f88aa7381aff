package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

func (p *program) configCommand() *cobra.Command {
	var origin bool
	show := &cobra.Command{
		Use:   "show",
		Short: "Show what holds after all layers of the config, as TOML",
		Long: `Show what holds after all layers: built-in, the user's file, the project's, the
environment, the managed file. The result is a valid config. The settings in its comments hold, too, but
only for plugins of the project.`,
		Example: `  starhost config show
  starhost config show --origin`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return showConfig(p.env, &p.res, origin)
		},
	}
	show.Flags().BoolVar(&origin, "origin", false, "show the layer and the place of each setting")
	return family(&cobra.Command{
		Use:   "config",
		Short: "Show the config",
		Example: `  starhost config show
  starhost config show --origin -F json`,
	}, show)
}

// family makes a command of which only the subcommands do something.
func family(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = refuseSubcommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subcommands...)
	return cmd
}

// refuseSubcommand returns an error for an unknown argument of a command that has only subcommands.
func refuseSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := jsontext.List(cmd.Commands(), func(c **cobra.Command) string { return (*c).Name() })
	msg := cmd.Name() + ": unknown command " + quote(args[0]) + near.DidYouMean(args[0], names)
	return &report.UsageError{Msg: msg, Help: cmd.CommandPath() + " --help"}
}

// noArguments returns an error for any argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &report.UsageError{Msg: fmt.Sprintf("%s: got argument %q, want none", cmd.Name(), args[0]), Help: cmd.CommandPath() + " --help"}
}

// A settingJSON is the JSON form of a setting.
type settingJSON struct {
	Key     string          `json:"key"`
	Value   any             `json:"value"`
	Layer   string          `json:"layer"`
	Origin  *report.PosJSON `json:"origin"`  // where the value is set; null for a built-in value
	Project bool            `json:"project"` // true if the setting is only for plugins of the project
}

func newSettingJSON(s *loader.Setting) settingJSON {
	return settingJSON{s.Key, s.Value, s.Layer, report.NewPosJSON(starhost.Pos(s.Place)), s.Project}
}

// A settingsReport is the result of config show.
type settingsReport struct {
	settings []loader.Setting
	origin   bool // --origin is given
}

// showConfig prints the values that settings have after all layers.
func showConfig(env Env, res *Result, origin bool) error {
	r := settingsReport{origin: origin}
	config, err := env.loadConfig(res, true)
	if err != nil {
		res.addError(err)
	} else {
		selectPlugins(env, res, config)
		r.settings = config.Settings()
	}
	return env.printResult(res, r)
}

func (r settingsReport) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.config/1"), members{"settings": jsontext.List(r.settings, newSettingJSON)}, res.tail())
}

// WriteText writes the settings as TOML.
func (r settingsReport) WriteText(res *Result) {
	for _, s := range r.settings {
		res.printSetting(s, r.origin)
	}
}

// selectPlugins applies what the project's config says about the project's own plugins, as loading does.
func selectPlugins(env Env, res *Result, config *loader.Config) {
	paths, err := config.Paths(env.path(""), nil)
	if err != nil { // without plugins there is nothing to apply
		paths = nil
	}
	found, _ := loader.Discover(slices.Concat(config.ManagedPaths(), paths), 0)
	_, _, warnings := config.Select(found)
	res.warnings = append(res.warnings, warnings...)
}

func (res *Result) printSetting(s loader.Setting, origin bool) {
	line := s.String()
	if s.Project {
		line = "# " + line
	}
	if origin {
		line += strings.TrimSuffix("  # "+s.Layer+" "+s.Place.String(), " ")
	}
	fmt.Fprintln(&res.out, texttable.EscapeLine(line))
}
