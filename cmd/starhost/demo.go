package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/scripts"
)

// demos are the commands that the demo runs, each with a sentence about what it shows.
var demos = []struct {
	shows string
	args  []string
}{
	{"A prompt with what plugins add: a runbook, a policy, tools.",
		[]string{"eval", "scripts", "-f", "runbook:HighLatency", "-p", "Why is checkout slow?"}},
	{"A guard that refuses an agent's command.",
		[]string{"eval", "scripts/guard", "--fire", "pre_tool_call",
			"--args", `{"tool": "Bash", "arguments": {"command": "cd shop && git push origin release/2.1"}}`}},
	{"The golden tests of the plugins.",
		[]string{"test", "scripts"}},
}

func (p *program) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "demo",
		Annotations: formats("pretty"),
		Short:       "Run the sample plugins that starhost contains",
		Long: `Run the sample plugins that starhost contains: print some commands with their results. The
plugins lie in a temporary folder while they run. The demo reads no config but the managed one,
and writes nothing into the current folder or your home.`,
		Example: "  starhost demo\n  starhost demo | less",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			catchSignals(cmd.Context())
			return runDemo(cmd.Context(), p.env, &p.res)
		},
	}
}

// runDemo adds the commands and their output to the result.
func runDemo(ctx context.Context, env Env, res *Result) error {
	dir, err := os.MkdirTemp("", "starhost-demo-")
	if err != nil {
		return errtext.File("the temporary folder", err)
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(filepath.Join(dir, "scripts"), scripts.Files); err != nil {
		return errtext.File("the temporary folder", err)
	}
	for _, d := range demos {
		var out bytes.Buffer
		inner := program{env: Env{
			stdin: strings.NewReader(""), stdout: &out, stderr: &out, managed: env.managed,
			getenv: func(string) string { return "" }, // no variables, as on a fresh machine
		}}
		code := inner.run(ctx, append([]string{"-C", dir, "--no-config"}, d.args...))
		if err := ctx.Err(); err != nil {
			return err
		}
		fmt.Fprintf(&res.out, "# %s\n$ starhost %s\n%s\n", d.shows, shellwords.Join(d.args), out.Bytes())
		if code > report.ExitNegative {
			return errors.New("the demo failed")
		}
	}
	res.out.WriteString("next: starhost new plugin NAME begins a plugin of yours in ./NAME\n")
	return nil
}
