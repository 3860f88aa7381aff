package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
	"github.com/spf13/cobra"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/editor/format"
	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/editor/lsp"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/ci"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// checkFlags are the flags of check.
type checkFlags struct {
	loadFlags
	lint      bool
	stdinPath string
	agents    []string // --agent
}

func (p *program) checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [PATH...]",
		Short: "Find mistakes in plugins and in what the config makes of them",
		Long: `Find mistakes: load the plugins, and look at what they register and at what the
config gives them. Errors keep a plugin from working. Warnings are about hooks that
match no tool, guards that the config does not require, permissions that only one
side names, builtins that a file hides; --lint adds matters of style.

PATH - is a file that an editor has not saved: --stdin-path says which one. It is
checked together with the plugins of the config, and findings elsewhere are left out.

The exit code is that of the first error (3 of a plugin, 2 of the config), and with
--strict 1 if there are warnings alone.`,
		Example: `  starhost check plugins
  starhost check --lint --strict -F github plugins
  starhost check - --stdin-path plugins/oncall.star -F json < plugins/oncall.star`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return runCheck(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.lint, "lint", false, "warn of unused names and other matters of style, too")
	cmd.Flags().StringArrayVar(&f.agents, "agent", nil, "also say what the agent `NAME` does not take (repeatable)")
	cmd.Flags().StringVar(&f.stdinPath, "stdin-path", "", "the `FILE` that - stands for")
	return cmd
}

// runCheck runs the command.
func runCheck(ctx context.Context, env Env, res *Result, f *checkFlags, paths []string) error {
	c := env.newCheck(res, f)
	if err := c.run(ctx, paths); err != nil {
		res.addError(err)
	}
	if c.set != nil {
		defer c.set.Close()
	}
	c.setExitCode()
	return env.printResult(res, c)
}

// A finding is an error, a warning or a notice at one place.
type finding struct {
	report.Problem
	severity severity
	path     string // relative to the current folder
}

// A severity says what --strict makes of a finding.
type severity string

const (
	severityError   severity = "error"
	severityWarning severity = "warning" // --strict counts it
	severityNotice  severity = "notice"  // about this machine: --strict does not count it
)

// A checkRun is one run of check.
type checkRun struct {
	Env
	*Result
	flags        *checkFlags
	fileConfig   *loader.Config
	sources      []*loader.Source
	editedPlugin *loader.Source // the plugin of the file on standard input; nil checks all plugins
	editedFile   string         // the file of editedPlugin that standard input stands for
	set          *loader.Set
	box          *starlark.Sandbox // parses files, and has the names that every file may use
	texts        map[string]string // the contents of files, by their displayed names
	findings     []finding
	job          *lsp.Job // the question of an editor; nil on the command line
}

func (env Env) newCheck(res *Result, f *checkFlags) *checkRun {
	return &checkRun{Env: env, Result: res, flags: f, box: starlark.New(starlark.Options{}), texts: map[string]string{}}
}

// run loads the plugins and adds all findings.
func (c *checkRun) run(ctx context.Context, paths []string) error {
	prepareRun(ctx)
	clock, err := c.flags.clock()
	if err != nil {
		return err
	}
	config, warnings, err := c.readConfig(true)
	if err != nil {
		return err
	}
	c.fileConfig = config
	c.flags.limits(&config.Limits)
	db, err := c.database(config)
	if err != nil {
		return err
	}
	find := c.discover
	if c.job != nil {
		find = c.discoverJob
	}
	if err := find(paths); err != nil {
		return err
	}
	c.set, err = loader.Load(ctx, loader.Options{
		Config: config, Dir: c.dir, Args: paths, RequiredInArgs: true, Sources: c.sources,
		Grants: c.flags.grant, Set: c.flags.set,
		LookupEnv: c.lookupEnv, Cache: c.cache, AllowMissing: true, AllowUnset: true,
		Host: host.Options{Clock: clock, Log: c.addLog},
	})
	if err != nil {
		return err
	}
	c.reportLoading(append(warnings, c.set.Warnings...))
	if err := c.checkFiles(); err != nil {
		return err
	}
	c.checkRegistrations()
	if err := c.checkWords(); err != nil {
		return err
	}
	c.checkPermissions()
	if c.job == nil {
		err = c.checkDatabases(ctx, db) // an editor asks at every word
	}
	c.sortFindings()
	return err
}

// discover finds the plugins at the paths. Standard input replaces the file that --stdin-path
// names.
func (c *checkRun) discover(args []string) error {
	stdin := slices.Contains(args, "-")
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" })
	switch {
	case stdin && c.flags.stdinPath == "":
		return usagef("check -: got no --stdin-path, want the name of the file that standard input stands for")
	case !stdin && c.flags.stdinPath != "":
		return usagef("--stdin-path: got no - among the paths, want it")
	}
	paths, err := c.fileConfig.Paths(cmp.Or(c.dir, "."), args)
	if err != nil && !stdin {
		return err
	}
	if stdin {
		text, err := c.readText("-")
		if err != nil {
			return err
		}
		return c.discoverEdited(paths, loader.NewPath(c.dir, c.flags.stdinPath), &text)
	}
	if err := c.checkPaths(args); err != nil {
		return err
	}
	sources, problems := loader.Discover(paths, 0)
	c.sources = append([]*loader.Source{}, sources...) // not nil, so that loader.Load does not discover again
	for _, p := range problems {
		c.addErrors(p, "")
	}
	return nil
}

// discoverEdited finds the plugin of the edited file, and the plugins at the paths, because it
// may load from them or clash with them. The text replaces the file, if it is not nil.
func (c *checkRun) discoverEdited(paths []loader.Path, edited loader.Path, text *string) error {
	plugin, file := owningPlugin(edited)
	all, own, problem := loader.DiscoverEdited(paths, plugin)
	if problem != nil {
		return problem
	}
	c.sources, c.editedPlugin, c.editedFile = all, own, file
	if text == nil {
		return nil
	}
	return c.editedPlugin.Replace(file, []byte(*text))
}

// owningPlugin returns the plugin of a file and the file's name in it: the nearest folder above
// the file that contains a plugin.star, else the file itself.
func owningPlugin(p loader.Path) (plugin loader.Path, file string) {
	for dir := filepath.Dir(p.Real); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "plugin.star")); err == nil {
			file, _ := filepath.Rel(dir, p.Real) // no error: dir is above the file
			file = filepath.ToSlash(file)
			shown := strings.TrimSuffix(strings.TrimSuffix(p.Shown, file), "/")
			return loader.Path{Shown: cmp.Or(shown, "."), Real: dir}, file
		}
		if dir == filepath.Dir(dir) {
			return p, filepath.Base(p.Real)
		}
	}
}

// reportLoading adds the findings of loading.
func (c *checkRun) reportLoading(warnings []loader.Warning) {
	for i := range c.set.Plugins {
		if p := &c.set.Plugins[i]; p.Err != nil {
			c.addErrors(p.Err, p.Name)
		}
	}
	if c.editedPlugin != nil {
		return // an editor shows only the findings of its file
	}
	if err := c.set.Missing(); err != nil && !isReported(c.set, err) {
		c.addErrors(err, "")
	}
	for _, w := range warnings {
		if w.Notice != "" {
			c.add(severityNotice, "", starlark.Pos(w.Place), noticeCodes[w.Notice], "%s", w.Msg)
			continue
		}
		c.addWarning("", starlark.Pos(w.Place), "E0710", "%s", w.Msg)
	}
}

// checkFiles parses and lints the files of the plugins.
func (c *checkRun) checkFiles() error {
	for _, e := range builtins.Table(c.box) {
		if e.Value == nil { // Starlark itself defines it
			continue
		}
		if err := c.box.Define(e.Name, e.Value, e.Cost); err != nil {
			return err
		}
	}
	names := map[string]bool{"config": true}
	for _, name := range c.box.Names() {
		names[name] = true
	}
	for i, s := range c.sources {
		if c.editedPlugin != nil && s != c.editedPlugin || c.set.Plugins[i].Status == loader.StatusDisabled {
			continue
		}
		files := starNames(s)
		if s == c.editedPlugin && !slices.Contains(files, c.editedFile) { // the editor has not saved it yet
			files = append(files, c.editedFile)
		}
		for _, file := range files {
			c.checkFile(s, file, names)
		}
	}
	return nil
}

// starNames returns the names of the .star files of a plugin. It ignores errors, because
// loading has reported them.
func starNames(s *loader.Source) []string {
	if !s.Folder {
		return []string{s.Main}
	}
	names, _ := s.Glob("**/*.star", nil)
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "golden/") })
}

// checkFile parses and lints one file.
func (c *checkRun) checkFile(s *loader.Source, name string, predeclared map[string]bool) {
	src, err := s.Read(name)
	if err != nil {
		c.addErrors(err, s.Name)
		return
	}
	shown := s.File(name)
	c.texts[shown] = format.LineEnds(string(src))
	if _, err := c.box.Parse(shown, src); err != nil {
		c.addErrors(err, s.Name)
		return
	}
	if strings.HasSuffix(name, ".rules") {
		c.checkRules(s.Name, shown)
		return
	}
	f, err := build.ParseDefault(shown, []byte(c.texts[shown]))
	if err != nil {
		return // valid Starlark that the parser of the formatter rejects
	}
	c.lintFile(s.Name, shown, f, predeclared)
}

// checkRules warns of the functions of a file of Codex' rules that starhost accepts and does not
// enforce.
func (c *checkRun) checkRules(plugin, shown string) {
	for i, line := range strings.Split(c.texts[shown], "\n") {
		if strings.HasPrefix(line, "network_rule(") {
			c.addWarning(plugin, starlark.Pos{File: shown, Line: i + 1}, "E0710",
				"network_rule is not enforced: starhost does not see the network of other programs")
		}
	}
}

// addErrors adds an error and the other errors of the same file.
func (c *checkRun) addErrors(err error, plugin string) {
	p := describe(err)
	p.Plugin = cmp.Or(p.Plugin, plugin)
	var e *starlark.Error
	if errors.As(err, &e) && c.set != nil {
		first := c.set.MoveHere(e)
		first.Also = nil
		p.Detail = first.Detail()
		for _, also := range e.Also {
			c.addErrors(starlark.Locate(also, c.fileText), plugin)
		}
	}
	c.addError(p)
}

// addError adds an error once. A file that a plugin loads is checked twice: with the plugin and
// by itself.
func (c *checkRun) addError(p report.Problem) {
	exists := slices.ContainsFunc(c.findings, func(f finding) bool {
		return f.Pos == p.Pos && f.Message == p.Message && p.Pos.File != ""
	})
	if !exists {
		c.addFinding(finding{Problem: p, severity: severityError})
	}
}

// addWarning adds a warning with its place and the source line.
func (c *checkRun) addWarning(plugin string, pos starlark.Pos, code, format string, args ...any) {
	c.add(severityWarning, plugin, pos, code, format, args...)
}

// add adds a finding with its place and the source line.
func (c *checkRun) add(s severity, plugin string, pos starlark.Pos, code, format string, args ...any) {
	e := &starlark.Error{Pos: pos, Code: code, Msg: fmt.Sprintf(format, args...)}
	e = starlark.Locate(e, c.fileText)
	p := describe(e)
	if p.Plugin = plugin; c.set != nil {
		p.Detail = c.set.MoveHere(e).Detail()
	}
	c.addFinding(finding{Problem: p, severity: s})
}

// fileText returns the contents of a file by its displayed name.
func (c *checkRun) fileText(file string) string { return c.texts[file] }

// addFinding adds a finding, unless it is about another plugin than the edited one.
func (c *checkRun) addFinding(f finding) {
	f.path = c.pathOf(f.Pos.File)
	if c.editedPlugin == nil || f.Plugin == c.editedPlugin.Name {
		c.findings = append(c.findings, f)
	}
}

// pathOf returns the path of a file by its displayed name.
func (c *checkRun) pathOf(shown string) string {
	if c.set == nil { // loading failed, or has not begun
		return shown
	}
	return c.set.PathFromHere(shown)
}

// sortFindings orders the findings by plugin, in the order of the paths, and then by place.
// Findings about no plugin come first.
func (c *checkRun) sortFindings() {
	rank := map[string]int{}
	for i, s := range c.sources {
		rank[s.Name] = i + 1
	}
	slices.SortStableFunc(c.findings, func(x, y finding) int {
		return cmp.Or(
			cmp.Compare(rank[x.Plugin], rank[y.Plugin]),
			strings.Compare(x.Pos.File, y.Pos.File),
			cmp.Compare(x.Pos.Line, y.Pos.Line),
			cmp.Compare(x.Pos.Col, y.Pos.Col),
		)
	})
}

// countFindings returns the numbers of errors and warnings.
func (c *checkRun) countFindings() (errs, warnings int) {
	for _, f := range c.findings {
		switch f.severity {
		case severityError:
			errs++
		case severityWarning:
			warnings++
		}
	}
	return errs, warnings
}

// setExitCode sets the exit code: that of the first error, else 1 for warnings with --strict.
func (c *checkRun) setExitCode() {
	_, warnings := c.countFindings()
	if warnings > 0 && c.flags.strict {
		c.code = report.ExitNegative
	}
	if i := slices.IndexFunc(c.findings, func(f finding) bool { return f.severity == severityError }); i >= 0 {
		c.code = c.findings[i].Exit
	}
}

// findingJSON is the JSON form of a finding.
type findingJSON struct {
	Severity severity        `json:"severity"`
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Plugin   string          `json:"plugin"`
	Path     string          `json:"path"` // from the current folder
	Pos      *report.PosJSON `json:"pos"`
	Help     string          `json:"help"`
}

func newFindingJSON(f *finding) findingJSON {
	return findingJSON{f.severity, f.Code, f.Message, f.Plugin, f.path, report.NewPosJSON(f.Pos), f.Help}
}

func (c *checkRun) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		Findings []findingJSON      `json:"findings"`
		Errors   []report.ErrorJSON `json:"errors"`
	}{head{"starhost.check/1", res.code == report.ExitOK && len(res.problems) == 0}, jsontext.List(c.findings, newFindingJSON), res.errorsJSON()})
}

// WriteGitHub writes each finding as a command of GitHub's workflows.
func (c *checkRun) WriteGitHub(res *Result) {
	for i := range c.findings {
		res.printWorkflowCommand(&c.findings[i])
	}
}

// WriteText writes the findings and their counts.
func (c *checkRun) WriteText(res *Result) {
	for i := range c.findings {
		res.printFinding(&c.findings[i], c.quiet)
	}
	if c.set != nil {
		plugins := len(c.sources)
		if c.editedPlugin != nil {
			plugins = 1
		}
		errs, warnings := c.countFindings()
		fmt.Fprintf(&res.out, "%s: %s, %s\n", texttable.Count(plugins, "plugin"), texttable.Count(errs, "error"), texttable.Count(warnings, "warning"))
	}
}

// printFinding prints a finding with its source line.
func (res *Result) printFinding(f *finding, quiet bool) {
	shown := f.Problem
	shown.Pos.File = f.path
	text := shown.Text()
	if f.severity != severityError {
		if quiet {
			return
		}
		text = string(f.severity) + ": " + text
	}
	res.out.Red(text)
}

// printWorkflowCommand prints a finding as a command of GitHub's workflows. GitHub shows it
// beside the line.
func (res *Result) printWorkflowCommand(f *finding) {
	ci.Command{
		Level: string(f.severity), File: f.path, Line: fmt.Sprint(f.Pos.Line), Col: f.Pos.Col, Title: f.Code, Text: f.Message,
	}.Write(&res.out)
}

// lintFile adds the warnings about the text of one file.
func (c *checkRun) lintFile(plugin, file string, f *build.File, predeclared map[string]bool) {
	for _, w := range lint.Shadows(f, predeclared) {
		if c.hasError(file, w.Line) {
			continue // the error of a load says that the builtin is there
		}
		c.addWarning(plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, "E0805", "%s", w.Msg)
	}
	failures := lint.Failures(f, lint.HostVocabulary(), c.loadedFile(plugin, file))
	failures = append(lint.Misuses(f, lint.HostVocabulary()), failures...)
	failures = slices.DeleteFunc(failures, func(w lint.Finding) bool {
		return c.hasError(file, w.Line) // the error says it already
	})
	for _, w := range failures {
		how := severityError
		if w.Warning == lint.HiddenModule || w.Warning == lint.OtherRefusal {
			how = severityWarning
		}
		c.add(how, plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, lint.FailureCodes[w.Warning], "%s", w.Msg)
	}
	if !c.flags.lint {
		return
	}
	for _, w := range lint.File(f) {
		c.addWarning(plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, lint.Code(w.Warning), "%s", w.Msg)
	}
}

// hasError reports whether loading found an error on a line of a file.
func (c *checkRun) hasError(file string, line int) bool {
	return slices.ContainsFunc(c.findings, func(f finding) bool {
		return f.severity == severityError && f.Pos.File == file && int(f.Pos.Line) == line
	})
}

// loadedFile returns a function that reads the files which a file of a plugin loads, for
// [lint.Failures].
func (c *checkRun) loadedFile(plugin, file string) func(label string) *build.File {
	return func(label string) *build.File {
		i := slices.IndexFunc(c.set.Plugins, func(p loader.Plugin) bool { return p.Name == plugin && p.Inside != nil })
		if i < 0 {
			return nil
		}
		name, src, err := c.set.Plugins[i].Inside.Load(file, label)
		if err != nil {
			return nil
		}
		f, _ := build.ParseDefault(name, src) // nil for Starlark that the parser of the formatter rejects
		return f
	}
}

// noticeCodes are the codes of the warnings that --strict does not count.
var noticeCodes = map[string]string{"unset": "E0811", "untrusted": "E0812", "grant": "E0812"}

// checkCodes explain the codes that only check reports.
var checkCodes = []starlark.Code{
	{Code: "E0801", Title: "a hook that matches no tool",
		Text: "The globs of match= fit the name of no tool that a plugin registers, and of no tool of an agent (see Agents), so the handler never runs. Without a config, other plugins may register the tools, so check reports only names that are nearly right.",
		Bad:  "def restart_pods():\n    \"\"\"Restarts pods.\"\"\"\n\nregister_tool(restart_pods)\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"), match = \"restart_pod\")\n",
		Good: "def restart_pods():\n    \"\"\"Restarts pods.\"\"\"\n\nregister_tool(restart_pods)\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"), match = \"restart_*\")\n"},
	{Code: "E0802", Title: "a guard that is not required",
		Text: "The plugin has hooks that deny or approve calls. If it fails to load, everything else goes on without it, and calls pass. If [plugins] required lists it, nothing runs without it.",
		Bad:  "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n-- plugins/policy.star --\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n",
		Good: "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\nrequired = [\"policy\"]\n-- plugins/policy.star --\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n"},
	{Code: "E0803", Title: "a permission that is not granted",
		Text: "The plugin declares a permission, and no grant of the config matches it, so starhost refuses the calls that need it. Grant it, or leave it out of plugin(permissions = [...]).",
		Bad:  "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n-- plugins/oncall.star --\nplugin(permissions = [\"env:TEAM\"])\n",
		Good: "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n-- plugins/oncall.star --\nplugin(permissions = [])\n"},
	{Code: "E0804", Title: "a grant that is not declared",
		Text: "The config, or --grant, gives a plugin a permission that it does not declare. A permission holds only if both sides name it. Remove the grant, or declare the permission.",
		Bad:  "-- config.toml --\n[plugins]\npaths = [\"plugins\"]\n[grants]\noncall = [\"env:TEAM\"]\n-- plugins/oncall.star --\nplugin(permissions = [])\n",
		Good: "-- config.toml --\n[plugins]\npaths = [\"plugins\"]\n[grants]\noncall = [\"env:TEAM\"]\n-- plugins/oncall.star --\nplugin(permissions = [\"env:TEAM\"])\n"},
	{Code: "E0805", Title: "a builtin that a file hides",
		Text: "The file defines or loads a name at its top level that is also the name of a builtin, so the whole file sees its own. A name inside of a function hides the builtin only there, and check does not report it.",
		Bad:  "text = \"on call\"\n",
		Good: "TITLE = \"on call\"\n"},
	{Code: "E0806", Title: "a member that does not exist",
		Text: "ctx, the module, or the view that a hook receives has no member of that name, so the line fails when it runs. Checks see only names that the file does not define itself.",
		Bad:  "register_hook(\"turn_start\", lambda ctx: ctx.sesion.id)\n",
		Good: "register_hook(\"turn_start\", lambda ctx: ctx.session.id)\n"},
	{Code: "E0807", Title: "a call with wrong arguments",
		Text: "The function takes fewer arguments, wants one that is missing, or has none of that name, so the call fails when it runs.",
		Bad:  "def guard(tool):\n    return deny(\"no\", tool)\n\nregister_hook(\"pre_tool_call\", guard)\n",
		Good: "def guard(tool):\n    return deny(\"no \" + tool)\n\nregister_hook(\"pre_tool_call\", guard)\n"},
	{Code: "E0808", Title: "an assignment to an item of ctx",
		Text: "Members of ctx are no dicts. A function changes their values.",
		Bad:  "def count(ctx):\n    ctx.state[\"n\"] = 1\n\nregister_hook(\"turn_start\", count)\n",
		Good: "def count(ctx):\n    ctx.state.set(\"n\", 1)\n\nregister_hook(\"turn_start\", count)\n"},
	{Code: "E0809", Title: "a local name that hides a module",
		Text: "A variable or parameter of the function has the name of a module, and the function names a member that only the module has. Give the variable another name.",
		Bad:  "def title(text):\n    return text.dedent(text)\n",
		Good: "def title(body):\n    return text.dedent(body)\n"},
	{Code: "E0810", Title: "a line that fails whenever it runs",
		Text: "The line has values in its text that no run can use: a format for more values than it gets, a dict with the same key twice, a sum of a text and a number, a change of the list that a loop runs over, a registration in a handler.",
		Bad:  "def title(team):\n    return \"%s of %s\" % (team,)\n",
		Good: "def title(team):\n    return \"%s\" % (team,)\n"},
	{Code: "E0811", Title: "a variable that is not set here",
		Text: "The plugin declares a variable by requires_env that this machine does not have, so starhost does not run it here. check loads it all the same and reports its mistakes, because a machine for CI rarely has the variables. This is a notice, which --strict does not count.",
		Bad:  "plugin(requires_env = [\"PAGER_TOKEN\"])\n",
		Good: "plugin(requires_env = [])\n"},
	{Code: "E0812", Title: "a setting that waits for trust",
		Text: "The setting comes from a project that is not trusted on this machine, as no fresh clone is. starhost trust shows the settings that would apply. This is a notice, which --strict does not count.",
		Bad:  "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n[model]\ndefault = \"acme/small\"\n-- plugins/oncall.star --\n",
		Good: "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n-- plugins/oncall.star --\n"},
	{Code: "E0813", Title: "a hook that cannot replace the user's words",
		Text: "An agent whose settings run starhost, those of the project or of the user, lets no hook replace the user's words. There, a pre_send hook changes only the context that plugins add, so the model reads a secret in the words. The same is said of a hook on post_tool_call that changes results in an agent that lets no hook do so, and with --agent of any agent. starhost docs redaction shows what to do instead. This is a notice, which --strict does not count.",
		Bad:  "-- .cursor/hooks.json --\n{\"version\": 1, \"hooks\": {\"beforeSubmitPrompt\": [{\"command\": \"starhost hook cursor\"}]}}\n-- redact.star --\nregister_hook(\"pre_send\", lambda messages: None)\n",
		Good: "-- redact.star --\nregister_hook(\"turn_start\", lambda user_message: abort(\"a key\") if \"AKIA\" in user_message else None)\n"},
}
