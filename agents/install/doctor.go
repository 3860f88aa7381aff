package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/serve/settings"
)

func (a *app) hookDoctorCommand() *cobra.Command {
	var try, strict bool
	var file string
	cmd := &cobra.Command{
		Use:   "doctor [AGENT...]",
		Short: "Check that guards work in the agents of this machine",
		Long: `Check that guards work in the agents of this machine, or in the named ones: whether the settings of
the user, of all users and of the current project run starhost, whether its program and plugins are
there, whether something switches hooks off, and when the agent last asked according to the decision
log of the last 7 days. It says of each guard that it holds, that it holds unless something lifts it,
that it can be lifted, or that it is off, and lists what it found beside starhost: other hooks,
plugins, an old version of the agent. The exit code is 1 if any guard could be off, with --strict
also if one does not hold.

doctor sends a canary: a call of a tool that no agent has, which hook denies after all guards
loaded. It gives no text of a settings file to a shell. It runs a line only if that is this program
with its own flags, from a file of the user, of the administrator or of a trusted project.
--try runs other programs and untrusted projects' lines, too.`,
		Example: `  starhost hook doctor
  starhost hook doctor claude-code -F json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.chooseFormat("hook doctor"); err != nil {
				return err
			}
			d := &doctor{app: a, try: try, strict: strict, file: file}
			return d.run(cmd.Context(), args)
		},
		ValidArgsFunction: completeAgent,
	}
	cmd.Flags().BoolVar(&try, "try", false, "run lines that are not this program's own, too")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 unless all guards hold")
	cmd.Flags().StringVar(&file, "settings", "", "check this `FILE` instead of the agent's usual ones")
	return cmd
}

// A doctor is one run of hook doctor.
type doctor struct {
	*app
	try     bool
	strict  bool
	file    string // --settings
	own     string // the path of this program
	project string // the folder of the current project
	trust   loader.TrustState
}

// A diagnosis is the result for one agent.
type diagnosis struct {
	agent    *hook.Agent
	program  string // the path of the agent's program, ""
	lines    []hookLine
	problems []string
	asked    *decision.Record // the last event in the log; nil if there is none
	unlisted []string         // tools in the log that no row of the agent's table names
	found    []string         // other hooks and plugins, and whatever else could lift the guard
}

// A hookLine is a command line of starhost in an agent's settings.
type hookLine struct {
	scope, path string
	settings.Command
	state    string // denied, not tried, or failed
	why      string // for not tried and failed
	guards   []string
	notes    []string // hooks that do less in the agent than elsewhere
	revision string
}

func (d *doctor) run(ctx context.Context, names []string) error {
	var err error
	if d.own, err = os.Executable(); err != nil {
		return err
	}
	if d.project, err = loader.Workspace(d.dir); err != nil {
		return err
	}
	chosen := hook.Agents
	if len(names) > 0 {
		chosen = nil
	}
	for _, name := range names {
		agent := hook.AgentOf(name)
		if agent == nil {
			return unknownAgent("hook doctor", name)
		}
		chosen = append(chosen, agent)
	}
	projectProblem, used := d.checkTrust(), d.readUsage()
	var result []diagnosis
	for _, agent := range chosen {
		x := diagnosis{agent: agent}
		if agent.Files.Program != "" {
			x.program, _ = exec.LookPath(agent.Files.Program)
		}
		present := d.diagnose(ctx, &x)
		if !present && x.program == "" && len(names) == 0 {
			continue
		}
		if len(x.lines) > 0 && projectProblem != "" {
			x.problems = append(x.problems, projectProblem)
		}
		if u := used[agent.Name]; u != nil {
			x.asked, x.unlisted = u.last, u.unlisted(agent.Matches)
			if u.ran > 0 {
				x.addFound("%d calls ran that guards did not judge so, the last at %s: %s (starhost log)", u.ran,
					u.lastRan.Time.Format(time.RFC3339), limitText(u.lastRan.Decision.Reason))
			}
		}
		result = append(result, x)
		if grade, _ := x.grade(); grade == gradeOff || d.strict && grade != gradeHolds {
			d.code = exitNegative
		}
	}
	if len(result) == 0 {
		d.code = exitNegative
	}
	return d.printResult(result)
}

// checkTrust returns what the current project's config lacks because nobody trusts it.
func (d *doctor) checkTrust() string {
	o := loader.TrustOptions{Dir: d.project, Getenv: d.getenv, Managed: d.managed}
	plan, err := o.Plan()
	if err != nil {
		return "" // no config, or one that loading reports
	}
	d.trust = plan.State
	if plan.State == loader.Trusted || plan.State == loader.TrustedPath || len(plan.Settings) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is %s, so %d of its settings do not count: starhost trust", plan.Config, trustWords[plan.State], len(plan.Settings))
}

// places returns the settings files of an agent, with their scopes.
func (d *doctor) places(agent *hook.Agent) (files []*settings.File, scopes []string) {
	for i, s := range []scope{{managed: true}, {user: true}, {project: true}} {
		name := []string{"managed", "user", "project"}[i]
		if d.file != "" {
			if !s.user {
				continue
			}
			s.file = d.file
			if !d.isUsers(agent) {
				name = "given"
			}
		}
		if f, err := d.mainFile("hook doctor", agent, &s); err == nil {
			f.Format = settings.FormatOf(f.Name)
			files, scopes = append(files, f), append(scopes, name)
		}
	}
	return files, scopes
}

// isInstalled reports whether settings run starhost for an agent.
func (d *doctor) isInstalled(agent *hook.Agent) bool {
	files, _ := d.places(agent)
	return slices.ContainsFunc(files, func(f *settings.File) bool {
		text, _, err := f.Read()
		if err != nil {
			return false // hook doctor reports it
		}
		commands, _ := f.Commands(text)
		return slices.ContainsFunc(commands, func(c settings.Command) bool { return ownerOf(agent)(c.Argv) })
	})
}

// isUsers reports whether the file of --settings is in the folder of the user's settings. Any other
// file could be an untrusted project's.
func (d *doctor) isUsers(agent *hook.Agent) bool {
	file, err := filepath.Abs(d.path(d.file))
	if err != nil || agent.Files.Folder == "~/.config" {
		return false
	}
	rel, err := filepath.Rel(filepath.FromSlash(agent.Files.UserFolder(d.getenv)), file)
	return err == nil && filepath.IsLocal(rel)
}

// diagnose checks an agent. It reports whether the agent has a settings file.
func (d *doctor) diagnose(ctx context.Context, x *diagnosis) (present bool) {
	problem := func(format string, args ...any) { x.problems = append(x.problems, fmt.Sprintf(format, args...)) }
	own := ownerOf(x.agent)
	files, scopes := d.places(x.agent)
	for i, f := range files {
		text, exists, err := f.Read()
		present = present || exists
		var commands []settings.Command
		if err == nil {
			commands, err = f.Commands(text)
		}
		if err != nil {
			problem("%s", d.settingsError(f, err))
			continue
		}
		for _, c := range commands {
			if !own(c.Argv) && !mentions(c.Text, x.agent) {
				continue
			}
			same := func(l hookLine) bool { return l.path == f.Path() && l.Text == c.Text }
			if slices.ContainsFunc(x.lines, same) {
				continue // the same line for another event
			}
			line := hookLine{scope: scopes[i], path: f.Path(), Command: c}
			why := d.tryLine(ctx, x.agent, &line)
			for _, text := range why {
				problem("%s:%d: %s", d.abbreviateHome(f.Path()), c.Line, text)
			}
			x.lines = append(x.lines, line)
			if own(c.Argv) {
				d.checkComplete(x, f, &line)
			}
		}
	}
	if len(x.lines) == 0 {
		problem("not configured: starhost hook install %s", x.agent.Name)
		return present
	}
	places := d.allPlaces(x.agent, files, scopes)
	d.checkOff(x, places, len(files))
	d.checkShared(x)
	d.findLifts(x, places)
	return present
}

// checkShared reports lines of starhost for another agent that reads the same folders. starhost
// refuses each event of the one that arrives at a line for the other.
func (d *doctor) checkShared(x *diagnosis) {
	other := hook.AgentOf(x.agent.Files.SharedWith)
	if other == nil {
		return
	}
	files, _ := d.places(other)
	for _, f := range files {
		text, _, err := f.Read()
		if err != nil {
			continue // the diagnosis of the other agent reports it
		}
		commands, _ := f.Commands(text)
		if i := slices.IndexFunc(commands, func(c settings.Command) bool { return ownerOf(other)(c.Argv) }); i >= 0 {
			x.problems = append(x.problems, fmt.Sprintf(
				"%s:%d: %s runs this line of %s, too, and starhost refuses the events of each at the line of the other: starhost hook uninstall %s",
				d.abbreviateHome(f.Path()), commands[i].Line, x.agent.Title, other.Title, other.Name))
		}
	}
}

// mentions reports whether a line of a shell may run hook for an agent.
func mentions(text string, agent *hook.Agent) bool {
	return strings.Contains(text, "starhost") && strings.Contains(text, agent.Name)
}

// checkComplete reports settings that install would change: an event without starhost is a guard
// that is off.
func (d *doctor) checkComplete(x *diagnosis, main *settings.File, line *hookLine) {
	f, _, err := parseHookLine(line.Argv)
	if err != nil {
		return // tryLine reports it
	}
	want := hookSettings(f, x.agent, "", nil, nil)
	want.Command, want.Project, want.Managed = line.Argv, f.inProject, line.scope == "managed"
	for _, p := range x.agent.Pieces(want) {
		file := pieceFile(main, &p)
		c, err := file.Install([]byte(p.Text), ownerOf(x.agent))
		switch {
		case errors.Is(err, settings.ErrByHand):
			x.problems = append(x.problems, fmt.Sprintf("%s: %v", d.abbreviateHome(file.Path()), err))
		case err == nil && c.IsNeeded():
			x.problems = append(x.problems, fmt.Sprintf("%s: events or fields of starhost are missing: run starhost hook install %s again",
				d.abbreviateHome(file.Path()), x.agent.Name))
		}
	}
}

// offText describes a setting that switches hooks off, by its scope.
func offText(scope string) string {
	switch scope {
	case "project":
		return "the project overrides the settings: hooks are disabled"
	case "managed":
		return "hooks are disabled for all users"
	}
	return "hooks are disabled"
}

// checkOff reports settings that switch hooks off.
func (d *doctor) checkOff(x *diagnosis, places []settingsPlace, first int) {
	isManaged := x.isManaged()
	on := x.agent.Files.ManagedOn
	holds := isManaged && (on == "" || slices.ContainsFunc(places, func(p settingsPlace) bool {
		return p.scope == "managed" && hasSetting(values(p.File), on, "")
	}))
	for i, p := range places {
		text, exists, err := p.Read()
		if err == nil && (!exists || p.Format == settings.Whole) || err != nil && i < first {
			continue // diagnose reports the error
		}
		var values map[string]any
		if err == nil {
			values, err = p.Values(text)
		}
		if err != nil {
			x.problems = append(x.problems, d.settingsError(p.File, err).Error())
			continue
		}
		path := d.abbreviateHome(p.Path())
		for setting := range strings.FieldsSeq(x.agent.Files.Off) {
			if only, name, ok := strings.Cut(setting, ":"); ok {
				if setting = name; only != p.scope {
					continue
				}
			}
			for i := range x.lines {
				isOverridden := holds && (on == "" || !strings.HasSuffix(setting, "=LINE")) // a list adds to others
				if hasSetting(values, setting, x.lines[i].Text) && (p.scope == "managed" || !isOverridden) {
					x.problems = append(x.problems, fmt.Sprintf("%s: %s (%s)", path, offText(p.scope), setting))
					break
				}
			}
		}
		if only := x.agent.Files.ManagedOnly; only != "" && p.scope == "managed" && !isManaged && hasSetting(values, only, "") {
			x.problems = append(x.problems, fmt.Sprintf("%s: only managed hooks run (%s): starhost hook install %s --managed", path, only, x.agent.Name))
		}
	}
}

// hasSetting reports whether values have a setting as "a.b=true". "a.b=LINE" is a list with a
// command line: Gemini CLI lists the commands of disabled hooks.
func hasSetting(values map[string]any, setting, line string) bool {
	name, want, _ := strings.Cut(setting, "=")
	var v any = values
	for part := range strings.SplitSeq(name, ".") {
		m, _ := v.(map[string]any)
		v = m[part]
	}
	if items, ok := v.([]any); ok {
		return want == "LINE" && slices.Contains(items, any(line))
	}
	return v != nil && fmt.Sprint(v) == want
}

// parseHookLine parses the flags of a command line of hook, as hook itself does.
func parseHookLine(argv []string) (f *hookFlags, paths []string, err error) {
	if len(argv) < 3 {
		return nil, nil, usagef("got no agent")
	}
	parsed := &app{}
	root := parsed.emptyCommand()
	cmd := parsed.hookCommand()
	root.AddCommand(cmd)
	if err := cmd.ParseFlags(argv[2:]); err != nil {
		return nil, nil, flagError(cmd, err)
	}
	f = &hookFlags{}
	if deadline := cmd.Flags().Lookup("deadline"); deadline != nil {
		f.deadline = *deadline.Value.(*timeSpan)
	}
	f.failOpen = cmd.Flags().Lookup("fail-open").Value.String() == "true"
	f.inProject = cmd.Flags().Lookup("project").Value.String() == "true"
	if cmd.Flags().Changed("output") {
		return nil, nil, usagef("--output: the agent gets no answer")
	}
	return f, cmd.Flags().Args(), nil
}
