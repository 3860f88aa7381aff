//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/starhost/starhost/internal/testbed"
)

// teamFiles are a repository whose plugins share code. A file in lib or in a plugin's folder would fail if
// starhost took it for a plugin.
var teamFiles = map[string]string{
	"starhost.toml": `[plugins]
paths = ["plugins"]

[libraries]
rules = "rules"

[grants]
oncall = ["env:TEAM"]
`,
	"lib/team.star": `"""The services of the platform team."""

load("//lib/names.star", "name_of")

def owner_of(service):
    return {"checkout": "payments"}.get(name_of(service), "nobody")
`,
	"lib/names.star": `"""Names of services."""

def name_of(service):
    return service.lower()
`,
	"rules/freeze.star": `"""When nobody deploys."""

load("days.star", "FROZEN")

def is_frozen(day):
    return day in FROZEN
`,
	"rules/days.star": `"""The days of the freeze."""

FROZEN = ["Friday"]
`,
	"plugins/oncall/plugin.star": `"""Who owns a service."""

load("@rules//freeze.star", "is_frozen")
load("//lib/team.star", "owner_of")
load("parts/texts.star", "line_of")

plugin(permissions = ["env:TEAM"], requires_env = ["PAGER_TOKEN"])

def who_owns(service):
    """Says who owns a service.

    Args:
      service (string): The service.
    """
    return line_of(service, owner_of(service), is_frozen("Friday"))

register_tool(who_owns)
`,
	"plugins/oncall/parts/texts.star": `"""Texts of the plugin."""

load("parts/words.star", "WORD")

def line_of(service, owner, frozen):
    return "%s: %s%s" % (service, owner, WORD if frozen else "")
`,
	"plugins/oncall/parts/words.star": `"""Words of the plugin."""

WORD = ", frozen"
`,
	"plugins/oncall/golden/owner.txtar": `A service has an owner.
-- case.star --
call_tool("who_owns", service = "Checkout")
-- want --
== call_tool who_owns
"Checkout: payments, frozen"
`,
}

// TestTeamRepository runs the steps of action.yml and .pre-commit-hooks.yaml in a fresh clone,
// which nobody trusts and whose machine lacks the variable. They pass, change no file, and fail
// once a shared file has a mistake.
func TestTeamRepository(t *testing.T) {
	c := clone{git: testbed.Need(t, "git"), bash: testbed.Need(t, "bash"), dir: filepath.Join(t.TempDir(), "clone"), bin: t.TempDir()}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(c.bin, "starhost")) // under this name, the test binary is the program
	}
	if err != nil {
		t.Fatal(err)
	}
	origin := t.TempDir()
	writeFiles(t, origin, teamFiles)
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x"},
		{"clone", "-q", origin, c.dir},
	} {
		c.must(t, c.command(t, c.git, append([]string{"-C", origin}, args...)...))
	}
	steps := append(c.actionSteps(t), c.hookSteps(t)...)
	for _, step := range steps {
		c.must(t, step.cmd(t))
	}
	if out := c.must(t, c.command(t, c.git, "status", "--porcelain")); out != "" {
		t.Errorf("the steps changed files:\n%s", out)
	}
	writeFiles(t, c.dir, map[string]string{"lib/names.star": "\"\"\"Names.\"\"\"\n\ndef name_of(service):\n    return servis\n"})
	for _, step := range steps {
		if out, err := step.cmd(t).CombinedOutput(); err == nil && step.finds {
			t.Errorf("%s: got no error for a mistake in a shared file:\n%s", step.name, out)
		}
	}
}

// A clone is a fresh clone of a repository, on a machine with the program.
type clone struct{ git, bash, dir, bin string }

// A cloneStep is a command of CI.
type cloneStep struct {
	name  string
	finds bool // the step fails if a plugin has a mistake
	cmd   func(t *testing.T) *exec.Cmd
}

// command returns a command that runs in the clone.
func (c *clone) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	if _, err := os.Stat(c.dir); err == nil {
		cmd.Dir = c.dir
	}
	cmd.Env = append(os.Environ(), "PATH="+c.bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "CI=true",
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	return cmd
}

// must runs a command that must pass, and returns its output.
func (c *clone) must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// actionSteps returns the step of action.yml that runs the program, with its default inputs.
func (c *clone) actionSteps(t *testing.T) (steps []cloneStep) {
	t.Helper()
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				Name, Run string
				Env       map[string]string
			}
		}
	}
	decodeYAML(t, "../../action.yml", &action)
	for _, s := range action.Runs.Steps {
		if s.Run == "" || strings.HasPrefix(s.Run, "go install ") {
			continue
		}
		steps = append(steps, cloneStep{s.Name, true, func(t *testing.T) *exec.Cmd {
			cmd := c.command(t, c.bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
			for key, value := range s.Env {
				for input, i := range action.Inputs {
					value = strings.ReplaceAll(value, "${{ inputs."+input+" }}", i.Default)
				}
				cmd.Env = append(cmd.Env, key+"="+value)
			}
			return cmd
		}})
	}
	if len(steps) != 1 {
		t.Fatalf("action.yml: got %d steps that run starhost, want 1", len(steps))
	}
	return steps
}

// hookSteps returns the hooks of .pre-commit-hooks.yaml, with the names of all files of the
// repository, as in pre-commit run --all-files.
func (c *clone) hookSteps(t *testing.T) (steps []cloneStep) {
	t.Helper()
	var hooks []struct {
		ID, Entry, Files string
		Pass             *bool `yaml:"pass_filenames"`
	}
	decodeYAML(t, "../../.pre-commit-hooks.yaml", &hooks)
	files := strings.Fields(c.must(t, c.command(t, c.git, "ls-files")))
	for _, h := range hooks {
		pattern := regexp.MustCompile(h.Files)
		changed := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !pattern.MatchString(f) })
		if len(changed) == 0 {
			t.Errorf("%s: no file of the repository starts the hook", h.ID)
		}
		args := strings.Fields(h.Entry)
		if h.Pass == nil || *h.Pass {
			args = append(args, changed...)
		}
		steps = append(steps, cloneStep{h.ID, h.ID != "starhost-fmt", func(t *testing.T) *exec.Cmd {
			return c.command(t, filepath.Join(c.bin, args[0]), args[1:]...)
		}})
	}
	if len(steps) != 3 {
		t.Fatalf("got %d hooks, want 3", len(steps))
	}
	return steps
}

// decodeYAML reads a file of the repository.
func decodeYAML(t *testing.T, name string, to any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readTestFile(t, name)), to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
