package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of starhost",
		Example: `  starhost version
  starhost version -F json`,
		Args: refuseArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.chooseFormat("version"); err != nil {
				return err
			}
			return a.printResult(version())
		},
	}
}

func (a *app) printVersionPretty(version string) error {
	fmt.Fprintf(&a.out, "starhost %s\n", version)
	return nil
}

func (a *app) printVersionJSON(version string) error {
	return a.printJSON(struct {
		Schema  string `json:"schema"`
		Version string `json:"version"`
	}{"starhost.version/1", version})
}

// version returns the version of the module that the build recorded, "devel" for a build from a
// working tree.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// dependency returns the version of a module of the program, "" if the build did not record it.
func dependency(path string) string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}

// refuseArgs returns an error for any argument.
func refuseArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s: got argument %q, want none", cmd.CommandPath(), args[0])
	}
	return nil
}
