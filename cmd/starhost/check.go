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
	"github.com/starhost/starhost/editor/lsp"
	"github.com/starhost/starhost/host"
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
		RunE: func(cmd *cobra.Command, paths []string) error { return p.env.check(cmd.Context(), &p.res, &f, paths) },
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.lint, "lint", false, "warn of unused names and other matters of style, too")
	cmd.Flags().StringArrayVar(&f.agents, "agent", nil, "also say what the agent `NAME` does not take (repeatable)")
	cmd.Flags().StringVar(&f.stdinPath, "stdin-path", "", "the `FILE` that - stands for")
	return cmd
}

// check runs the command.
func (env Env) check(ctx context.Context, res *Result, f *checkFlags, paths []string) error {
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
