// Package check finds mistakes in plugins and in what the config makes of them.
//
// It loads the plugins as a run does, reads their files as package lint does, and compares what they
// register with what the config gives them. It calls no handler and prints nothing. An editor asks
// about one file, which it may not have saved: see [Analyse].
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/editor/format"
	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/internal/ci"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
	"github.com/starhost/starhost/store"
)

// Options say what to check.
type Options struct {
	// Load has the config, the paths of plugins and what a run would give them. Run finds the plugins
	// itself.
	Load loader.Options
	// Warnings are those of reading the config.
	Warnings []loader.Warning
	// Lint adds matters of style.
	Lint bool
	// Edited is a file of the only plugin whose findings count, "" for all plugins.
	Edited string
	// Unsaved are the texts of files that an editor has not saved, by path.
	Unsaved map[string]string
	// Store and LLM are databases of the config that must open; or nil.
	Store *store.DB
	LLM   *store.LLM
	// Words returns notes about hooks that do less in some agents, by the hook's index among those of
	// the host. Nil returns none.
	Words func(*loader.Set) ([]map[int]string, error)
}

// A Finding is an error, a warning or a notice at one place.
type Finding struct {
	report.Problem
	Severity Severity
	Path     string // relative to the current folder
}

// MarshalJSON returns the form of starhost check -F json.
func (f *Finding) MarshalJSON() ([]byte, error) {
	return jsontext.Encode(struct {
		Severity Severity        `json:"severity"`
		Code     string          `json:"code"`
		Message  string          `json:"message"`
		Plugin   string          `json:"plugin"`
		Path     string          `json:"path"`
		Pos      *report.PosJSON `json:"pos"`
		Help     string          `json:"help"`
	}{f.Severity, f.Code, f.Message, f.Plugin, f.Path, report.NewPosJSON(f.Pos), f.Help})
}

// A Severity says what --strict makes of a finding.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning" // --strict counts it
	Notice  Severity = "notice"  // about this machine: --strict does not count it
)

// A Report is what Run found.
type Report struct {
	Set      *loader.Set // the caller closes it; nil if loading could not begin
	Plugins  int         // checked ones
	Findings []*Finding  // by plugin, in the order of the paths, and then by place; those of no plugin first
}

// A checker is one run.
type checker struct {
	*Report
	options      Options
	config       *loader.Config
	sources      []*loader.Source
	editedPlugin *loader.Source    // the plugin of the edited file; nil checks all plugins
	editedFile   string            // the edited file in it
	box          *starlark.Sandbox // parses files, and has the names that every file may use
	texts        map[string]string // the contents of files, by their displayed names
}

// Run loads the plugins and returns all findings. With an error the report has those until then.
func Run(ctx context.Context, o Options) (*Report, error) {
	c := newChecker(o)
	err := c.run(ctx)
	return c.Report, err
}

func newChecker(o Options) *checker {
	return &checker{
		Report: &Report{Findings: []*Finding{}}, options: o, config: o.Load.Config,
		box: starlark.New(starlark.Options{}), texts: map[string]string{},
	}
}

func (c *checker) run(ctx context.Context) (err error) {
	if err := c.discover(); err != nil {
		return err
	}
	if c.Plugins = len(c.sources); c.editedPlugin != nil {
		c.Plugins = 1
	}
	o := c.options.Load
	o.RequiredInArgs, o.AllowMissing, o.AllowUnset, o.Prove, o.Sources = true, true, true, true, c.sources
	if c.Set, err = loader.Load(ctx, o); err != nil {
		return err
	}
	c.reportLoading(append(c.options.Warnings, c.Set.Warnings...))
	if err := c.checkFiles(); err != nil {
		return err
	}
	c.checkRegistrations()
	if err := c.checkWords(); err != nil {
		return err
	}
	c.checkPermissions()
	c.checkStore(ctx)
	c.checkLLM(ctx)
	c.sortFindings()
	return nil
}

// discover finds the plugins, and the plugin of the edited file among them.
func (c *checker) discover() error {
	o := &c.options.Load
	paths, err := c.config.Paths(cmp.Or(o.Dir, "."), o.Args)
	if c.options.Edited != "" {
		return c.discoverEdited(paths, err)
	}
	if err != nil {
		return err
	}
	sources, problems := loader.Discover(paths, 0)
	c.sources = append([]*loader.Source{}, sources...) // not nil, so that loader.Load does not discover again
	for _, p := range problems {
		c.addErrors(p, "")
	}
	return nil
}

// reportLoading adds the findings of loading.
func (c *checker) reportLoading(warnings []loader.Warning) {
	for i := range c.Set.Plugins {
		if p := &c.Set.Plugins[i]; p.Err != nil {
			c.addErrors(p.Err, p.Name)
		}
	}
	if c.editedPlugin != nil {
		return // an editor shows only the findings of its file
	}
	if err := c.Set.Missing(); err != nil && !c.Set.HasReported(err) {
		c.addErrors(err, "")
	}
	for _, w := range warnings {
		if w.Notice != "" {
			c.add(Notice, "", starlark.Pos(w.Place), noticeCodes[w.Notice], "%s", w.Msg)
			continue
		}
		c.add(Warning, "", starlark.Pos(w.Place), "E0710", "%s", w.Msg)
	}
}

// checkFiles parses and lints the files of the plugins.
func (c *checker) checkFiles() error {
	if err := builtins.DefineAll(c.box, builtins.Table(c.box)); err != nil {
		return err
	}
	names := map[string]bool{"config": true}
	for _, name := range c.box.Names() {
		names[name] = true
	}
	for i, s := range c.sources {
		if c.editedPlugin != nil && s != c.editedPlugin || c.Set.Plugins[i].Status == loader.StatusDisabled {
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
func (c *checker) checkFile(s *loader.Source, name string, predeclared map[string]bool) {
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
func (c *checker) checkRules(plugin, shown string) {
	for i, line := range strings.Split(c.texts[shown], "\n") {
		if strings.HasPrefix(line, "network_rule(") {
			c.add(Warning, plugin, starlark.Pos{File: shown, Line: i + 1}, "E0710",
				"network_rule is not enforced: starhost does not see the network of other programs")
		}
	}
}

// addErrors adds an error and the other errors of the same file.
func (c *checker) addErrors(err error, plugin string) {
	p := report.Describe(err)
	p.Plugin = cmp.Or(p.Plugin, plugin)
	var e *starlark.Error
	if errors.As(err, &e) && c.Set != nil {
		first := c.Set.MoveHere(e)
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
func (c *checker) addError(p report.Problem) {
	exists := slices.ContainsFunc(c.Findings, func(f *Finding) bool {
		return f.Pos == p.Pos && f.Message == p.Message && p.Pos.File != ""
	})
	if !exists {
		c.addFinding(&Finding{Problem: p, Severity: Error})
	}
}

// add adds a finding with its place and the source line.
func (c *checker) add(s Severity, plugin string, pos starlark.Pos, code, format string, args ...any) {
	e := &starlark.Error{Pos: pos, Code: code, Msg: fmt.Sprintf(format, args...)}
	e = starlark.Locate(e, c.fileText)
	p := report.Describe(e)
	if p.Plugin = plugin; c.Set != nil {
		p.Detail = c.Set.MoveHere(e).Detail()
	}
	c.addFinding(&Finding{Problem: p, Severity: s})
}

// fileText returns the contents of a file by its displayed name.
func (c *checker) fileText(file string) string { return c.texts[file] }

// addFinding adds a finding, unless it is about another plugin than the edited one.
func (c *checker) addFinding(f *Finding) {
	f.Path = c.pathOf(f.Pos.File)
	if c.editedPlugin == nil || f.Plugin == c.editedPlugin.Name {
		c.Findings = append(c.Findings, f)
	}
}

// pathOf returns the path of a file by its displayed name.
func (c *checker) pathOf(shown string) string {
	if c.Set == nil { // loading failed, or has not begun
		return shown
	}
	return c.Set.PathFromHere(shown)
}

// sortFindings orders the findings by plugin, in the order of the paths, and then by place.
// Findings about no plugin come first.
func (c *checker) sortFindings() {
	rank := map[string]int{}
	for i, s := range c.sources {
		rank[s.Name] = i + 1
	}
	slices.SortStableFunc(c.Findings, func(x, y *Finding) int {
		return cmp.Or(
			cmp.Compare(rank[x.Plugin], rank[y.Plugin]),
			strings.Compare(x.Pos.File, y.Pos.File),
			cmp.Compare(x.Pos.Line, y.Pos.Line),
			cmp.Compare(x.Pos.Col, y.Pos.Col),
		)
	})
}

// count returns the numbers of errors and warnings.
func (r *Report) count() (errs, warnings int) {
	for _, f := range r.Findings {
		switch f.Severity {
		case Error:
			errs++
		case Warning:
			warnings++
		}
	}
	return errs, warnings
}

// Exit returns the exit code: that of the first error, else 1 for warnings with strict.
func (r *Report) Exit(strict bool) int {
	for _, f := range r.Findings {
		if f.Severity == Error {
			return f.Exit
		}
	}
	if _, warnings := r.count(); warnings > 0 && strict {
		return report.ExitNegative
	}
	return report.ExitOK
}

// WriteGitHub writes each finding as a command of GitHub's workflows, which GitHub shows beside the
// line.
func (r *Report) WriteGitHub(w io.Writer) {
	for _, f := range r.Findings {
		ci.Command{
			Level: string(f.Severity), File: f.Path, Line: fmt.Sprint(f.Pos.Line), Col: f.Pos.Col, Title: f.Code, Text: f.Message,
		}.Write(w)
	}
}

// WriteText writes the findings with their source lines, and their counts. quiet leaves out all but
// errors.
func (r *Report) WriteText(out *page.Page, quiet bool) {
	for _, f := range r.Findings {
		shown := f.Problem
		shown.Pos.File = f.Path
		switch {
		case f.Severity == Error:
			out.Red(shown.Text())
		case !quiet:
			out.Red(string(f.Severity) + ": " + shown.Text())
		}
	}
	if r.Set != nil {
		errs, warnings := r.count()
		fmt.Fprintf(out, "%s: %s, %s\n", texttable.Count(r.Plugins, "plugin"), texttable.Count(errs, "error"), texttable.Count(warnings, "warning"))
	}
}

// lintFile adds the warnings about the text of one file.
func (c *checker) lintFile(plugin, file string, f *build.File, predeclared map[string]bool) {
	for _, w := range lint.Shadows(f, predeclared) {
		if c.hasError(file, w.Line) {
			continue // the error of a load says that the builtin is there
		}
		c.add(Warning, plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, "E0805", "%s", w.Msg)
	}
	failures := lint.Failures(f, lint.HostVocabulary(), c.loadedFile(plugin, file))
	failures = append(lint.Misuses(f, lint.HostVocabulary()), failures...)
	failures = slices.DeleteFunc(failures, func(w lint.Finding) bool {
		return c.hasError(file, w.Line) // the error says it already
	})
	for _, w := range failures {
		how := Error
		if w.Warning == lint.HiddenModule || w.Warning == lint.OtherRefusal {
			how = Warning
		}
		c.add(how, plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, lint.FailureCodes[w.Warning], "%s", w.Msg)
	}
	if !c.options.Lint {
		return
	}
	for _, w := range lint.File(f) {
		c.add(Warning, plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, lint.Code(w.Warning), "%s", w.Msg)
	}
}

// hasError reports whether loading found an error on a line of a file.
func (c *checker) hasError(file string, line int) bool {
	return slices.ContainsFunc(c.Findings, func(f *Finding) bool {
		return f.Severity == Error && f.Pos.File == file && int(f.Pos.Line) == line
	})
}

// loadedFile returns a function that reads the files which a file of a plugin loads, for
// [lint.Failures].
func (c *checker) loadedFile(plugin, file string) func(label string) *build.File {
	return func(label string) *build.File {
		i := slices.IndexFunc(c.Set.Plugins, func(p loader.Plugin) bool { return p.Name == plugin && p.Inside != nil })
		if i < 0 {
			return nil
		}
		name, src, err := c.Set.Plugins[i].Inside.Load(file, label)
		if err != nil {
			return nil
		}
		f, _ := build.ParseDefault(name, src) // nil for Starlark that the parser of the formatter rejects
		return f
	}
}
