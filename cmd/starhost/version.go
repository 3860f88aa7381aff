package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of starhost",
		Example: `  starhost version
  starhost version -F json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return p.env.printResult(&p.res, versionText(version()))
		},
	}
}

func (version versionText) WriteText(res *Result) {
	build := []string{runtime.Version()}
	if c := commit(); c != "" {
		build = append([]string{"commit " + c[:min(len(c), 12)]}, build...)
	}
	fmt.Fprintf(&res.out, "starhost %s (%s)\n", version, strings.Join(build, ", "))
}

func (version versionText) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		Schema  string   `json:"schema"`
		Version string   `json:"version"`
		Commit  string   `json:"commit"`
		Go      string   `json:"go"`
		Schemas []string `json:"schemas"`
	}{"starhost.version/1", string(version), commit(), runtime.Version(), schemas})
}

// A versionText is the result of version.
type versionText string

// schemas are the versions of all JSON that the program writes. A program that reads the JSON can compare
// them with the versions that it knows.
var schemas = []string{
	"starhost.alias/1", "starhost.answer/1", "starhost.answered/1", "starhost.bench/1",
	"starhost.bundle-diff/1", "starhost.bundle/1", "starhost.check/1",
	"starhost.command/1", "starhost.config/1", "starhost.decision/1", "starhost.docs/1",
	"starhost.eval/1", "starhost.fire/1", "starhost.fmt/1", "starhost.fragment/1",
	"starhost.fragments/1", "starhost.gc/1", "starhost.hook-doctor/1", "starhost.hook-install/1", "starhost.installs/1",
	"starhost.list/1", "starhost.log.gc/1", "starhost.log.show/1",
	"starhost.log/1", "starhost.new/1", "starhost.removal/1", "starhost.replay/1", "starhost.run/1",
	"starhost.session/1", "starhost.session_export/1", "starhost.sessions/1",
	"starhost.status/1", "starhost.sync/1",
	"starhost.test/1", "starhost.trust/1", "starhost.version/1",
}

// commit returns the commit that the build recorded, or "" if it recorded none.
func commit() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// version returns the version of the module that the build recorded, or "devel" for a build from a working
// tree.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}
