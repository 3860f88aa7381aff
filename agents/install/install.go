package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/serve/settings"
)

// managesHooks reports whether args are a command that changes or checks settings. Such a command
// answers a person and no agent.
func managesHooks(args []string) bool {
	i := slices.Index(args, "hook")
	if i < 0 {
		return false
	}
	rest := args[i+1:]
	first := slices.IndexFunc(rest, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	return first >= 0 && slices.Contains([]string{"install", "uninstall", "doctor", "reset"}, rest[first])
}

// A scope says whose settings a command changes.
type scope struct {
	user, project, managed bool
	file                   string // --settings
}

func (s *scope) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&s.user, "user", false, "the user's settings (the default)")
	flags.BoolVar(&s.project, "project", false, "the settings of the project around the current folder")
	flags.BoolVar(&s.managed, "managed", false, "the settings of all users of this machine")
	flags.StringVar(&s.file, "settings", "", "this `FILE` instead of the agent's usual one")
}

// scopeFlags are the flags of scope, which do not belong into the line that install writes.
var scopeFlags = []string{"user", "project", "managed", "settings", "output", "format"}

func (a *app) hookInstallCommand() *cobra.Command {
	var f hookFlags
	var s scope
	cmd := &cobra.Command{
		Use:   "install AGENT [PATH...]",
		Short: "Write what --print-config prints into the agent's settings",
		Long: `Write what --print-config prints into the agent's settings, with the same plugins and flags.
Everything else in the file stays as it is, and a backup lies beside it. If the settings have these
lines already, nothing changes.

With --managed, install also writes the settings with which the agent runs no other hooks, where the
agent has them. Elsewhere it says in a sentence what can lift the guard.

With --project the line names the project's root from the repository's, so that it works in each
copy of the repository: starhost must be in PATH, and the plugins lie in the project.

The exit code is 1 if a person must add the lines, which are printed then.`,
		Example: `  starhost hook install claude-code plugins/oncall.star
  starhost hook install codex --project plugins/oncall.star`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.chooseFormat("hook install"); err != nil {
				return err
			}
			return a.installHook(cmd, &f, &s, args)
		},
		ValidArgsFunction: completeAgent,
	}
	f.add(cmd)
	s.add(cmd)
	return cmd
}

func (a *app) hookUninstallCommand() *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use:   "uninstall AGENT",
		Short: "Remove starhost from the agent's settings",
		Long: `Remove starhost from the agent's settings. If the file is as install left it, it gets its
original bytes back. Otherwise only the entries of starhost go.`,
		Example: `  starhost hook uninstall claude-code
  starhost hook uninstall codex --project`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.chooseFormat("hook uninstall"); err != nil {
				return err
			}
			return a.uninstallHook(&s, args)
		},
		ValidArgsFunction: completeAgent,
	}
	s.add(cmd)
	return cmd
}

func completeAgent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return agentNames(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// agentArgument returns the agent that the first argument names.
func agentArgument(command string, args []string) (*hook.Agent, error) {
	if len(args) == 0 {
		return nil, usagef("%s: got no agent, want one of %s", command, strings.Join(agentNames(), ", "))
	}
	agent := hook.AgentOf(args[0])
	if agent == nil {
		return nil, unknownAgent(command, args[0])
	}
	return agent, nil
}

// mainFile returns the agent's settings file.
func (a *app) mainFile(command string, agent *hook.Agent, s *scope) (*settings.File, error) {
	files := &agent.Files
	count := 0
	for _, set := range []bool{s.user, s.project, s.managed} {
		if set {
			count++
		}
	}
	if count > 1 {
		return nil, usagef("%s: got several of --user, --project and --managed, want one", command)
	}
	f := &settings.File{Mode: 0o600}
	if s.project || s.managed {
		f.Mode = 0o644 // others must read it
	}
	none := func(whose string) error {
		return usagef("%s: %s has no file for %s that starhost knows; --settings FILE names one", command, agent.Title, whose)
	}
	switch {
	case s.file != "":
		full, err := filepath.Abs(a.path(s.file))
		if err != nil {
			return nil, err
		}
		f.Root, f.Name = filepath.Dir(full), filepath.Base(full)
	case s.project:
		root, err := loader.Workspace(a.dir)
		if err != nil {
			return nil, err
		}
		if f.Root, f.Name = root, files.Project; f.Name == "" {
			return nil, none("projects")
		}
	case s.managed:
		name := files.Managed(runtime.GOOS)
		if name == "" {
			return nil, none("all users")
		}
		name = filepath.Join(managedRoot, filepath.FromSlash(name))
		f.Root, f.Name = filepath.Dir(name), filepath.Base(name)
	case files.User == "":
		return nil, usagef("%s: %s has a file for each of its agents: name one with --settings FILE", command, agent.Title)
	default:
		f.Root, f.Name = filepath.FromSlash(files.UserFolder(a.getenv)), files.User
	}
	return f, nil
}

// pieceFile returns the file of a piece.
func pieceFile(main *settings.File, p *hook.Piece) *settings.File {
	f := *main
	if p.Name != "" {
		f.Name = path.Join(path.Dir(main.Name), p.Name)
	}
	if f.Format = settings.FormatOf(f.Name); p.Whole {
		f.Format = settings.Whole
	}
	if strings.HasPrefix(p.Text, "#!") {
		f.Mode |= f.Mode & 0o444 >> 2
	}
	return &f
}

// ownerOf returns the owner of the lines of an agent.
func ownerOf(agent *hook.Agent) settings.Owner {
	return func(argv []string) bool {
		return len(argv) > 2 && programName(argv[0]) == "starhost" && argv[1] == "hook" && argv[2] == agent.Name
	}
}

// programName returns a program's name without its folder.
func programName(program string) string {
	program = program[strings.LastIndexAny(program, `/\`)+1:]
	return strings.TrimSuffix(program, ".exe")
}

// An installResult is the result of hook install and hook uninstall.
type installResult struct {
	files []installedFile
	next  string // the step that the user must take then, or ""
	lifts string // a sentence about lifts of the guard, or ""
}

// An installedFile is a file that the command changed, or should have.
type installedFile struct {
	path, backup string
	state        string // written, unchanged, removed, or by hand
	why          string // for by hand
	lines        string // for by hand: what a person must add
}

// installHook runs hook install.
func (a *app) installHook(cmd *cobra.Command, f *hookFlags, s *scope, args []string) error {
	agent, err := agentArgument("hook install", args)
	if err != nil {
		return err
	}
	main, err := a.mainFile("hook install", agent, s)
	if err != nil {
		return err
	}
	line, err := a.installedLine(cmd, f, s, agent, main, args[1:])
	if err != nil {
		return err
	}
	r := &installResult{next: agent.Files.Next, lifts: liftSentence(agent, s.managed)}
	if err := a.writePieces(r, agent, main, &line); err != nil {
		return err
	}
	if slices.ContainsFunc(r.files, func(f installedFile) bool { return f.state == "by hand" }) {
		a.code = exitNegative
	}
	switch {
	case a.code != 0:
	case len(args) == 1:
		a.warnWithoutPlugins(agent)
		fallthrough
	default:
		if err := a.tryInstalled(cmd.Context(), agent, &line, len(args) > 1); err != nil {
			return err
		}
	}
	return a.printResult(r)
}

// writePieces merges the settings of a line into the agent's files.
func (a *app) writePieces(r *installResult, agent *hook.Agent, main *settings.File, line *hook.Settings) error {
	var changes []*settings.Change
	for _, p := range agent.Pieces(*line) {
		file := pieceFile(main, &p)
		c, err := file.Install([]byte(p.Text), ownerOf(agent))
		switch {
		case errors.Is(err, settings.ErrByHand):
			r.files = append(r.files, installedFile{path: file.Path(), state: "by hand", why: err.Error(), lines: p.Text})
		case err != nil:
			return a.settingsError(file, err)
		default:
			changes = append(changes, c)
		}
	}
	if len(r.files) > 0 {
		return nil // half of the files would be no guard
	}
	return a.apply(r, changes)
}

// liftSentence says what can lift a guard, and offers the settings of all users if they stop it.
func liftSentence(agent *hook.Agent, managed bool) string {
	grade, by := agent.Grade(managed)
	if by == "" {
		return ""
	}
	text := fmt.Sprintf("the guard %s %s", grade, by)
	if stopped := agent.Stopped(); !managed && stopped != "" && agent.Files.Managed(runtime.GOOS) != "" {
		text += fmt.Sprintf(" (starhost hook install %s --managed stops %s)", agent.Name, stopped)
	}
	return text
}

// tryInstalled sends canaries through a new line from several folders, and warns of what they show.
// A line of the project, and one that names no plugins, guard other plugins in other folders: of
// these it says only which hooks do less in this agent than elsewhere.
func (a *app) tryInstalled(ctx context.Context, agent *hook.Agent, line *hook.Settings, named bool) error {
	project, err := loader.Workspace(a.dir)
	if err != nil {
		return err
	}
	d := &doctor{app: a, project: project}
	l := hookLine{scope: "user", Command: settings.Command{Argv: line.Command}}
	var problems []string
	if named && !line.Project {
		problems = d.tryFolders(ctx, agent, &l, line.Command[0])
	} else if own, err := os.Executable(); err != nil {
		return err
	} else {
		d.sendCanary(ctx, agent, &l, own, project)
	}
	for _, text := range append(problems, l.notes...) {
		a.warnings = append(a.warnings, loader.Warning{Msg: text})
	}
	return nil
}

// warnWithoutPlugins warns if the current folder has no plugins: the settings name none, so that no
// guard is active there.
func (a *app) warnWithoutPlugins(agent *hook.Agent) {
	config, _, err := loader.LoadConfig(loader.ConfigOptions{
		Dir: a.dir, File: a.config, None: a.noConfig, Managed: a.managed, Getenv: a.getenv,
	})
	if err != nil { // hook doctor shows the mistake
		return
	}
	_, err = config.Paths(cmp.Or(a.dir, "."), nil)
	if errors.Is(err, loader.ErrNoPlugins) && len(config.ManagedPaths())+len(config.Processes) == 0 {
		a.warnings = append(a.warnings, loader.Warning{Msg: fmt.Sprintf(
			"this folder has no plugins, so no guard is active here: starhost new guard writes one into the folder guard; "+
				"starhost hook install %s guard makes it guard all folders", agent.Name)})
	}
}

// apply applies changes and adds them to the result.
func (a *app) apply(r *installResult, changes []*settings.Change) error {
	for _, c := range changes {
		done := installedFile{path: c.File.Path(), state: "unchanged"}
		if c.IsNeeded() {
			if err := c.Apply(); err != nil {
				return a.settingsError(c.File, err)
			}
			done.state, done.backup = "written", c.Backup
			if c.Text == nil {
				done.state = "removed"
			}
		}
		r.files = append(r.files, done)
	}
	return nil
}

// installedLine returns the settings that install writes.
func (a *app) installedLine(
	cmd *cobra.Command, f *hookFlags, s *scope, agent *hook.Agent, main *settings.File, paths []string,
) (hook.Settings, error) {
	except := scopeFlags
	if s.project {
		for _, name := range []string{"directory", "config"} {
			if flag := cmd.Flags().Lookup(name); name == "config" && flag != nil && flag.Changed {
				return hook.Settings{}, usagef("hook install: --project with --%s, which names a file of this machine", name)
			}
		}
		except = append(slices.Clip(except), "directory")
	}
	flags, err := a.flagArguments(cmd, except...)
	if err != nil {
		return hook.Settings{}, err
	}
	program := "starhost"
	if s.project {
		flags = append(flags, "--project", "--project-root", rootFromRepository(main.Root, a.getenv("HOME")))
	} else if program, err = a.ownProgram(); err != nil {
		return hook.Settings{}, err
	}
	var full []string
	for _, p := range paths {
		name, err := filepath.Abs(a.path(p))
		if err != nil {
			return hook.Settings{}, err
		}
		if _, err := os.Stat(name); err != nil {
			return hook.Settings{}, loader.NewPath(a.dir, p).Explain(err)
		}
		if s.project {
			rel, err := filepath.Rel(main.Root, name)
			if err != nil || !filepath.IsLocal(rel) {
				return hook.Settings{}, usagef("hook install: %s is outside of the project %s, want a plugin inside, or no --project", p, main.Root)
			}
			name = filepath.ToSlash(rel)
		}
		full = append(full, name)
	}
	line := hookSettings(f, agent, program, flags, full)
	line.Project, line.Managed = s.project, s.managed
	return line, nil
}

// ownProgram returns the path of this program: as PATH names it if that is the same file, because
// an update may change the target of a link in PATH.
func (a *app) ownProgram() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if named, err := exec.LookPath("starhost"); err == nil && isSameFile(named, own) {
		return filepath.Abs(named)
	}
	return own, nil
}

// isSameFile reports whether two paths lead to one file.
func isSameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// uninstallHook runs hook uninstall.
func (a *app) uninstallHook(s *scope, args []string) error {
	agent, err := agentArgument("hook uninstall", args)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return usagef("hook uninstall: got argument %q, want only the agent", args[1])
	}
	main, err := a.mainFile("hook uninstall", agent, s)
	if err != nil {
		return err
	}
	r := &installResult{}
	line := hookSettings(&hookFlags{}, agent, "starhost", nil, nil)
	line.Project, line.Managed = s.project, s.managed
	if err := a.removePieces(r, agent, main, &line); err != nil {
		return err
	}
	return a.printResult(r)
}

// removePieces removes the settings of starhost from the agent's files.
func (a *app) removePieces(r *installResult, agent *hook.Agent, main *settings.File, line *hook.Settings) error {
	var changes []*settings.Change
	for _, p := range agent.Pieces(*line) {
		file, void := pieceFile(main, &p), []byte(p.Text)
		if file.Format != settings.Whole {
			var err error
			if void, err = file.Remove(void, ownerOf(agent)); err != nil && !errors.Is(err, settings.ErrByHand) {
				return err
			}
		}
		c, err := file.Uninstall(void, ownerOf(agent))
		switch {
		case errors.Is(err, settings.ErrByHand):
			r.files = append(r.files, installedFile{path: file.Path(), state: "by hand", why: err.Error()})
			a.code = exitNegative
		case err != nil:
			return a.settingsError(file, err)
		default:
			changes = append(changes, c)
		}
	}
	return a.apply(r, changes)
}

// settingsError returns an error of a settings file, with its place.
func (a *app) settingsError(f *settings.File, err error) error {
	name := a.abbreviateHome(f.Path())
	if at, ok := errors.AsType[*settings.Error](err); ok {
		if at.Line > 0 {
			name = loader.Place{File: name, Line: at.Line, Col: at.Column}.String()
		}
		return wrapFileError(name, errors.New(at.Message))
	}
	if errors.Is(err, fs.ErrNotExist) {
		name = a.abbreviateHome(filepath.Dir(f.Path()))
	}
	return wrapFileError(name, err)
}

func (a *app) printInstallPretty(r *installResult) error {
	written := false
	for _, f := range r.files {
		fmt.Fprintf(&a.out, "%s: %s", f.state, texttable.EscapeLine(a.abbreviateHome(f.path)))
		if f.backup != "" {
			fmt.Fprintf(&a.out, " (backup: %s)", texttable.EscapeLine(filepath.Base(f.backup)))
		}
		if f.why != "" {
			fmt.Fprintf(&a.out, " (%s)", f.why)
		}
		a.out.WriteString("\n")
		if f.lines != "" {
			a.out.WriteString("add these lines:\n" + f.lines)
		}
		written = written || f.state == "written"
	}
	if r.next != "" && written {
		fmt.Fprintf(&a.out, "next: %s\n", r.next)
	}
	if r.lifts != "" && written {
		fmt.Fprintf(&a.out, "note: %s\n", r.lifts)
	}
	return nil
}

// installJSON is the JSON result of hook install and hook uninstall.
type installJSON struct {
	Schema string              `json:"schema"`
	OK     bool                `json:"ok"`
	Files  []installedFileJSON `json:"files"`
	Next   string              `json:"next"`
	Lifts  string              `json:"lifts"` // a sentence about lifts of the guard
	Errors []errorJSON         `json:"errors"`
}

type installedFileJSON struct {
	Path   string `json:"path"`
	State  string `json:"state"`
	Backup string `json:"backup"`
	Why    string `json:"why"`
	Lines  string `json:"lines"`
}

func (a *app) printInstallJSON(r *installResult) error {
	return a.printJSON(installJSON{
		Schema: "starhost.hook-install/1", OK: len(a.problems) == 0 && a.code == 0, Next: r.next, Lifts: r.lifts, Errors: a.errorsJSON(),
		Files: list(r.files, func(f *installedFile) installedFileJSON {
			return installedFileJSON{f.path, f.state, f.backup, f.why, f.lines}
		}),
	})
}
