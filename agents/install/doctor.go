package install

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/agents/trace"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// A Doctor checks whether guards work in the agents of a machine.
type Doctor struct {
	Machine
	// Parse parses the flags of a command line of hook, in the way of hook itself.
	Parse func(argv []string) (*Flags, error)
	// Own is the path of this program. Unless Try is set, Doctor runs no other program.
	Own string
	Try bool
	// File is the settings file to check in place of the agent's usual ones, or "".
	File string
	// Project is the folder of the current project. Trust is the state of its trust. ProjectProblem says what
	// its config lacks because nobody trusts it, or is "".
	Project        string
	Trust          loader.TrustState
	ProjectProblem string
	// Log is the folder of the decision log, or "" for none. Now is the current time, by which Doctor tells
	// recent records from old ones.
	Log string
	Now time.Time
	// Compare compares the agents' transcripts with the log; nil for not.
	Compare *trace.Comparison
}

// A Diagnosis is what a Doctor found out about one agent.
type Diagnosis struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Program  string   `json:"program"` // the path of the agent's program, or ""
	Lines    []Line   `json:"lines"`
	Problems []string `json:"problems"`
	Grade    string   `json:"grade"` // how the guard holds: holds, holds unless, can be lifted, or off
	By       string   `json:"by"`    // what can lift the guard
	Found    []string `json:"found"` // other hooks and plugins, and whatever else may lift the guard
	Unseen   string   `json:"unseen"`
	Missing  string   `json:"missing"` // what the agent does without starhost
	// LastAsked is the agent's newest event in the decision log; nil if the log of the last days has none.
	LastAsked *Asked   `json:"last_asked"`
	Unlisted  []string `json:"unlisted_tools"` // tools in the log that the agent's table does not have
	// Calls says of the calls in the agent's transcripts whether it asked about them, nil for an agent
	// without any.
	Calls *trace.Coverage `json:"calls"`

	agent    *hook.Agent
	isAbsent bool // without settings and a program
}

// An Asked is an event in the decision log.
type Asked struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Answered string    `json:"answered"`
}

// A Line is a command line of starhost in an agent's settings.
type Line struct {
	Scope    string   `json:"scope"` // whose settings: user, project, managed or given
	Path     string   `json:"path"`
	Line     int      `json:"line"`
	Command  string   `json:"command"` // the first bytes of the line
	Canary   string   `json:"canary"`  // what happened to the canary: denied, not tried, or failed
	Why      string   `json:"why"`     // why it was not tried, or failed
	Guards   []string `json:"guards"`
	Notes    []string `json:"notes"` // hooks that have less effect in the agent than elsewhere
	Revision string   `json:"revision"`

	command commandLine
}

// newLine returns a Line for a command line that nobody has tried yet.
func newLine(scope, path string, c *commandLine) Line {
	return Line{Scope: scope, Path: path, Line: c.Line, Command: limitText(c.Text), Guards: []string{}, Notes: []string{}, command: *c}
}

// Examine checks agents. If absent is true, the result also has the agents that have neither settings nor a
// program, else only those of them with calls that passed a guard by. The error is that of the log of answers,
// or of ctx.
func (d *Doctor) Examine(ctx context.Context, chosen []*hook.Agent, absent bool) ([]Diagnosis, error) {
	used := d.readUsage()
	var result []Diagnosis
	for _, agent := range chosen {
		x := Diagnosis{
			Name: agent.Name, Title: agent.Title, Missing: strings.ReplaceAll(agent.Missing, "`", ""), Unseen: unseen, agent: agent,
			Lines: []Line{}, Problems: []string{}, Found: []string{}, Unlisted: []string{},
		}
		if agent.Files.Program != "" {
			x.Program, _ = exec.LookPath(agent.Files.Program)
		}
		x.isAbsent = !d.diagnose(ctx, &x) && x.Program == "" && !absent
		if len(x.Lines) > 0 && d.ProjectProblem != "" {
			x.addProblem("%s", d.ProjectProblem)
		}
		if u := used[agent.Name]; u != nil {
			if u.last != nil {
				x.LastAsked = &Asked{u.last.Time, u.last.Event, u.last.Answered}
			}
			x.Unlisted = append(x.Unlisted, u.unlisted(agent.Matches)...)
			if u.ran > 0 {
				x.addFound("%d calls ran that guards did not judge so, the last at %s: %s (starhost log)", u.ran,
					u.lastRan.Time.Format(time.RFC3339), limitText(u.lastRan.Decision.Reason))
			}
		}
		x.Grade, x.By = x.grade()
		result = append(result, x)
	}
	err := d.compare(ctx, result)
	// An agent whose settings went away may have made calls without a guard since.
	return slices.DeleteFunc(result, func(x Diagnosis) bool { return x.isAbsent && (x.Calls == nil || x.Calls.Faults() == 0) }), err
}

// compare adds what agents' transcripts say.
func (d *Doctor) compare(ctx context.Context, result []Diagnosis) error {
	if d.Compare == nil {
		return nil
	}
	var list []*agents.Agent
	for i := range result {
		list = append(list, result[i].agent.Agent)
	}
	all, err := d.Compare.Compare(ctx, list)
	for i := range all {
		at := slices.IndexFunc(result, func(x Diagnosis) bool { return x.Name == all[i].Agent })
		result[at].Calls = &all[i]
	}
	return err
}

// addProblem adds a reason why the guard may be off.
func (x *Diagnosis) addProblem(format string, args ...any) {
	x.Problems = append(x.Problems, fmt.Sprintf(format, args...))
}

// places returns the settings files of an agent, with their scopes.
func (d *Doctor) places(agent *hook.Agent) (files []*File, scopes []string) {
	for i, s := range []Scope{{Managed: true}, {User: true}, {Project: true}} {
		name := []string{"managed", "user", "project"}[i]
		if d.File != "" {
			if !s.User {
				continue
			}
			s.File = d.File
			if !d.isUsers(agent) {
				name = "given"
			}
		}
		if f, err := d.SettingsFile(agent, &s); err == nil {
			f.format = formatOf(f.Name)
			files, scopes = append(files, f), append(scopes, name)
		}
	}
	return files, scopes
}

// IsInstalled reports whether the settings of the user, of the project or of all users run starhost for an
// agent.
func (m *Machine) IsInstalled(agent *hook.Agent) bool {
	d := Doctor{Machine: *m}
	files, _ := d.places(agent)
	return slices.ContainsFunc(files, func(f *File) bool {
		text, _, err := f.Read()
		if err != nil {
			return false // hook doctor will report the error
		}
		commands, _ := f.Commands(text)
		return slices.ContainsFunc(commands, func(c commandLine) bool { return ownerOf(agent)(c.Argv) })
	})
}

// isUsers reports whether the file that --settings names is in the folder of the user's settings. Any other
// file could belong to a project that nobody trusts.
func (d *Doctor) isUsers(agent *hook.Agent) bool {
	file, err := filepath.Abs(loader.NewPath(d.Dir, d.File).Real)
	if err != nil || agent.Files.Folder == "~/.config" {
		return false
	}
	rel, err := filepath.Rel(filepath.FromSlash(agent.Files.UserFolder(d.Getenv)), file)
	return err == nil && filepath.IsLocal(rel)
}

// diagnose checks an agent. present says whether the agent has a settings file.
func (d *Doctor) diagnose(ctx context.Context, x *Diagnosis) (present bool) {
	own := ownerOf(x.agent)
	files, scopes := d.places(x.agent)
	for i, f := range files {
		text, exists, err := f.Read()
		present = present || exists
		var commands []commandLine
		if err == nil {
			commands, err = f.Commands(text)
		}
		if err != nil {
			x.addProblem("%s", d.fileError(f, err))
			continue
		}
		for _, c := range commands {
			if !own(c.Argv) && !mentions(c.Text, x.agent) {
				continue
			}
			same := func(l Line) bool { return l.Path == f.Path() && l.command.Text == c.Text }
			if slices.ContainsFunc(x.Lines, same) {
				continue // the file has the same line for another event
			}
			line := newLine(scopes[i], f.Path(), &c)
			why := d.tryLine(ctx, x.agent, &line)
			for _, text := range why {
				x.addProblem("%s:%d: %s", d.inHome(f.Path()), c.Line, text)
			}
			x.Lines = append(x.Lines, line)
			if own(c.Argv) {
				d.checkComplete(x, f, &line)
			}
		}
	}
	if len(x.Lines) == 0 {
		x.addProblem("not configured: starhost hook install %s", x.agent.Name)
		return present
	}
	places := d.allPlaces(x.agent, files, scopes)
	d.checkOff(x, places, len(files))
	d.checkShared(x)
	d.findLifts(x, places)
	return present
}

// checkShared reports lines of starhost for another agent that reads hooks in the same folders. starhost
// refuses each event that one of the agents sends to a line for the other.
func (d *Doctor) checkShared(x *Diagnosis) {
	other := hook.AgentOf(x.agent.Files.SharedWith)
	if other == nil {
		return
	}
	files, _ := d.places(other)
	for _, f := range files {
		text, _, err := f.Read()
		if err != nil {
			continue // the diagnosis of the other agent will report the error
		}
		commands, _ := f.Commands(text)
		if i := slices.IndexFunc(commands, func(c commandLine) bool { return ownerOf(other)(c.Argv) }); i >= 0 {
			x.addProblem(
				"%s:%d: %s runs this line of %s, too, and starhost refuses the events of each at the line of the other: starhost hook uninstall %s",
				d.inHome(f.Path()), commands[i].Line, x.agent.Title, other.Title, other.Name)
		}
	}
}

// mentions reports whether a line for a shell may run starhost hook for an agent.
func mentions(text string, agent *hook.Agent) bool {
	return strings.Contains(text, "starhost") && strings.Contains(text, agent.Name)
}

// checkComplete reports settings that install would change: if an event lacks starhost's line, the guard is
// off at that event.
func (d *Doctor) checkComplete(x *Diagnosis, main *File, line *Line) {
	f, err := d.Parse(line.command.Argv)
	if err != nil {
		return // tryLine will report it
	}
	want := f.Settings(x.agent, "", nil)
	want.Command, want.Project, want.Managed = line.command.Argv, f.Project, line.Scope == "managed"
	for _, p := range x.agent.Pieces(want) {
		file := pieceFile(main, &p)
		c, err := file.Install([]byte(p.Text), ownerOf(x.agent))
		switch {
		case errors.Is(err, errByHand):
			x.addProblem("%s: %v", d.inHome(file.Path()), err)
		case err == nil && c.IsNeeded():
			x.addProblem("%s: events or fields of starhost are missing: run starhost hook install %s again",
				d.inHome(file.Path()), x.agent.Name)
		}
	}
}

// offText says in words, by the scope, whose setting switches hooks off.
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
func (d *Doctor) checkOff(x *Diagnosis, places []settingsPlace, first int) {
	on := x.agent.Files.ManagedOn
	holds := x.isManaged() && (on == "" || slices.ContainsFunc(places, func(p settingsPlace) bool {
		return p.scope == "managed" && hasSetting(valuesOf(p.File), on, "")
	}))
	for i, p := range places {
		text, exists, err := p.Read()
		if err == nil && (!exists || p.format == formWhole) || err != nil && i < first {
			continue // diagnose will report the error
		}
		var values map[string]any
		if err == nil {
			values, err = p.Values(text)
		}
		if err != nil {
			x.Problems = append(x.Problems, d.fileError(p.File, err).Error())
			continue
		}
		path := d.inHome(p.Path())
		for _, setting := range offSettings(x.agent.Files.Off, p.scope) {
			isOverridden := p.scope != "managed" && holds && (on == "" || !strings.HasSuffix(setting, "=LINE")) // lists add up
			if !isOverridden && x.hasOff(values, setting) {
				x.addProblem("%s: %s (%s)", path, offText(p.scope), setting)
			}
		}
		if only := x.agent.Files.ManagedOnly; p.scope == "managed" && x.lacksManaged(values, only) {
			x.addProblem("%s: only managed hooks run (%s): starhost hook install %s --managed", path, only, x.agent.Name)
		}
	}
}

// lacksManaged reports whether values have the setting by which only managed hooks run, although no line is
// in managed settings.
func (x *Diagnosis) lacksManaged(values map[string]any, only string) bool {
	return only != "" && !x.isManaged() && hasSetting(values, only, "")
}

// offSettings returns those settings that count in a scope. all has a form such as "a=true managed:b=true".
func offSettings(all, scope string) (list []string) {
	for setting := range strings.FieldsSeq(all) {
		only, name, isScoped := strings.Cut(setting, ":")
		if !isScoped {
			only, name = scope, setting
		}
		if only == scope {
			list = append(list, name)
		}
	}
	return list
}

// hasOff reports whether values have a setting that switches one of the lines off.
func (x *Diagnosis) hasOff(values map[string]any, setting string) bool {
	return slices.ContainsFunc(x.Lines, func(l Line) bool { return hasSetting(values, setting, l.command.Text) })
}

// hasSetting reports whether values have a setting, such as "a.b=true". "a.b=LINE" means a list that has the
// line: Gemini CLI lists the commands of disabled hooks.
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
