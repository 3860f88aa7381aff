package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/aymanbagabas/go-udiff"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// The most bytes of a case: of its file, and of the output of all its steps.
const (
	maxFile = effects.MaxJournal
	maxCase = 16 << 20
)

// A testCase is a case, or one row of a case, that is ready to run, or has a problem that prevents it from
// running.
type testCase struct {
	*caseFile
	*caseText
	id    string // the id of the file, and of the row
	row   *row   // nil for a case without a table
	index int64  // the case's position among all cases

	first, second outcome
}

// A caseText is the content of a case's file. All rows of the case share one.
type caseText struct {
	archive
	src        []byte // the file's text
	rows       []*row // the whole table; nil if the case has none
	selected   []*row // the rows to run
	plugins    []*loader.Source
	ownSources []*loader.Source // the plugins that the case contains
	problem    error
	unreadable bool // the system could not read the file
	// recorded says what Record has recorded, or is "". recordedNew is true if effects.jsonl has changed.
	recorded    string
	recordedNew bool
}

// An outcome is the result of one run of a case.
type outcome struct {
	output string
	unused []part // the parts of the case that nothing read
	err    error
	set    *loader.Set // the loaded plugins, which know the paths of their files; nil if they did not load
}

// A pluginCache contains plugins that have cases beside them, by their paths, so that starhost reads each
// only once. It is safe for concurrent use.
type pluginCache struct {
	box     *starlark.Sandbox
	mu      sync.Mutex
	plugins map[loader.Path]func() (*loader.Source, error)
}

func newPluginCache(programs *starlark.Cache) *pluginCache {
	return &pluginCache{box: starlark.New(starlark.Options{Cache: programs}), plugins: map[loader.Path]func() (*loader.Source, error){}}
}

// plugin returns the plugin at a path.
func (c *pluginCache) plugin(path loader.Path) (*loader.Source, error) {
	c.mu.Lock()
	find, ok := c.plugins[path]
	if !ok {
		find = sync.OnceValues(func() (*loader.Source, error) { return discover(path) })
		c.plugins[path] = find
	}
	c.mu.Unlock()
	return find()
}

// expectFiles adds the files of all plugins that have cases beside them to the coverage, so that a file that
// no case loads counts as not covered. A file with a syntax error has no lines.
func (c *pluginCache) expectFiles(coverage *starlark.Coverage) {
	for _, find := range c.plugins {
		source, err := find()
		if err != nil {
			continue // a plugin that cannot be read has no lines
		}
		names := []string{source.Main}
		if source.Folder {
			names, _ = source.Glob("**/*.star", nil) // if Glob fails, the plugin does not load either
		}
		for _, name := range names {
			src, err := source.Read(name)
			if err != nil {
				continue
			}
			if file, err := c.box.Parse(name, src); err == nil {
				_ = coverage.AddFile(source.Real(name), file) // a file that does not compile has no lines
			}
		}
	}
}

// newCases returns cases that are not prepared yet.
func newCases(found []*caseFile) []*testCase {
	list, cases := make([]testCase, len(found)), make([]*testCase, len(found))
	texts := make([]caseText, len(found))
	for i, l := range found {
		cases[i] = &list[i]
		cases[i].caseFile, cases[i].caseText, cases[i].id, cases[i].index = l, &texts[i], l.id, int64(i)
	}
	return cases
}

// read reads the file of a case.
func (c *testCase) read() {
	if c.src, c.problem = readCase(c.file.Real); c.problem != nil {
		c.unreadable = true
		return
	}
	if c.archive, c.problem = parseArchive(c.src); c.problem == nil {
		c.rows, c.problem = readRows(c.archive.files)
	}
}

// prepare finds the plugins of a case whose file was read. It writes the plugins that the case contains to a
// new folder in temp.
func (c *testCase) prepare(cache *pluginCache, temp string) {
	if c.problem == nil {
		c.problem = c.findPlugins(cache, temp)
	}
}

// readCase reads a case's file, up to its current size. Errors do not show the file's real
// path.
func readCase(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // with O_NONBLOCK, opening a pipe does not wait
	if err != nil {
		return nil, pathless(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, pathless(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > maxFile:
		return nil, errtext.Errorf("got %d bytes, want at most %d", info.Size(), maxFile)
	}
	src := make([]byte, info.Size())
	_, err = io.ReadFull(f, src)
	return src, pathless(err)
}

// pathless returns an error of the operating system without the path in it.
func pathless(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}

// errNoPlugin is the error of a case that has no plugin.
var errNoPlugin = errors.New("there is no plugin beside the case: want NAME/golden/CASE.txtar beside NAME/plugin.star, " +
	"golden/NAME_CASE.txtar beside NAME.star, or sections plugins/NAME.star in the case")

func (c *testCase) findPlugins(cache *pluginCache, temp string) error {
	if c.plugin.Real != "" {
		p, err := cache.plugin(c.plugin)
		if err != nil {
			return err
		}
		c.plugins = append(c.plugins, p)
	}
	own := c.filesIn(pluginsDir)
	if len(own) == 0 {
		if len(c.plugins) == 0 {
			return errNoPlugin
		}
		return nil
	}
	dir := filepath.Join(temp, strconv.FormatInt(c.index, 10))
	if err := unpack(dir, own); err != nil {
		return err
	}
	place := loader.Place{File: c.file.Shown}
	sources, problems := loader.Discover([]loader.Path{{Shown: pluginsDir, Real: dir, Place: place}}, 0)
	if len(problems) > 0 {
		return problems[0]
	}
	for _, s := range sources {
		c.plugins, c.ownSources = append(c.plugins, s), append(c.ownSources, s)
	}
	return nil
}

// unreadFiles returns the files of the plugins in the case that nothing has read.
func (c *testCase) unreadFiles() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.filesIn(pluginsDir))), func(name string) bool {
		return slices.ContainsFunc(c.ownSources, func(s *loader.Source) bool {
			file, inside := strings.CutPrefix(pluginsDir+"/"+name, s.Path+"/")
			return s.Path == pluginsDir+"/"+name || inside && s.WasRead(file)
		})
	})
}

// unpack writes files to a new folder, by their paths in it.
func unpack(dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return pathless(err)
		}
		if err := os.WriteFile(file, files[name], 0o600); err != nil {
			return pathless(err)
		}
	}
	return nil
}

// A fileEdit is a change of a case's file: the file goes, or some of its parts change.
type fileEdit struct {
	remove bool
	unused []part  // parts to remove
	want   *string // the new want; nil for the old one
}

// apply changes the file of the case c. If that fails, the case fails.
func (m *fileEdit) apply(c *testCase, r *Result) {
	text, err := c.src, error(nil)
	if len(m.unused) > 0 {
		text = pruneSections(text, m.unused)
	}
	if m.want != nil {
		text = replaceSection(text, wantSection, *m.want)
	}
	switch {
	case m.remove:
		if err = c.checkWritable(); err == nil {
			err = pathless(os.Remove(c.file.Real))
		}
	case !bytes.Equal(text, c.src):
		err = c.rewrite(text)
	}
	if err != nil {
		r.fail(1, writeError(r.File, err).Error(), "")
	}
}

// rewrite replaces the text of the case's file. If the lines of the file end in CRLF, the new lines do too.
func (c *testCase) rewrite(text []byte) error {
	if hasCRLF(c.src) {
		text = []byte(strings.ReplaceAll(withoutCR(string(text)), "\n", "\r\n"))
	}
	if err := c.checkWritable(); err != nil {
		return err
	}
	err := pathless(disk.Replace(c.file.Real, text, 0o666))
	if err == nil {
		c.src = text
	}
	return err
}

// checkWritable refuses to write through links, also if the folder golden/ is one, because their targets may
// be outside of the project.
func (c *testCase) checkWritable() error {
	if info, err := os.Lstat(c.file.Real); err == nil && !info.Mode().IsRegular() {
		return errors.New("got a link or a special file, want a regular file")
	}
	if info, err := os.Lstat(filepath.Dir(c.file.Real)); err == nil && c.inGoldenFolder() && !info.IsDir() {
		return errtext.Errorf("its folder %s is a link, want a folder", caseFolder)
	}
	return nil
}

func writeError(file string, err error) error {
	return errtext.Errorf("%s cannot be written: %w", file, err)
}

// judge compares the outputs of both runs with each other and with the case's want. It also returns the
// change of the case's file that the options ask for.
func (c *testCase) judge(o *Options) (Result, fileEdit) {
	r := Result{Name: c.id, File: c.file.Shown, Prose: c.prose}
	if c.row != nil {
		r.Input = c.row.text
	}
	switch a, b := c.first.text(), c.second.text(); {
	case c.unreadable:
		r.fail(1, "", describe(c.problem))
		r.Status = Broken
	case a != b:
		const reason = "nondeterminism: two runs of the case differ"
		r.fail(c.rowLine(1), reason, reason+"\n"+unifiedDiff("first run", "second run", a, b))
	case errors.Is(c.problem, errNoPlugin) && c.inGoldenFolder() && o.Prune:
		r.Status, r.Text = Pruned, "removed: there is no plugin beside the case\n"
		return r, fileEdit{remove: true}
	case c.first.err != nil:
		r.fail(c.rowLine(c.lineOfError(c.first.err)), "", describe(c.moveHere(c.first.err))+c.recordHelp(o))
	default:
		return r, c.compare(o, &r)
	}
	return r, fileEdit{}
}

// compare judges a case whose two runs ended without an error and with the same output. It ignores unused
// parts of a row, because another row may use them: [judgeFile] finds those that no row uses.
func (c *testCase) compare(o *Options, r *Result) (m fileEdit) {
	got, unused := c.first.output, c.first.unused
	recorded := c.recorded
	if c.row != nil {
		unused, recorded = nil, ""
	}
	want, hasWant := c.want()
	shownWant, shownGot := withoutCR(want), withoutCR(got)
	current := hasWant && shownWant == shownGot
	switch {
	case len(unused) > 0 && !o.Prune:
		reason := unused[0].String()
		text := describeParts(unused) + "  help: starhost test --prune " + shellwords.Quote(c.id) + "\n"
		switch {
		case hasWant && !current:
			text = unifiedDiff(c.wantName(), "got", shownWant, shownGot) + text
		case !hasWant, slices.ContainsFunc(unused, func(p part) bool { return p.section == effectsFile }):
			text = "the output:\n" + texttable.Bar(got) + text
		}
		r.fail(lineOf(c.src, unused[0].section, unused[0].line), reason, text)
		return m
	case !hasWant && !o.Update:
		reason := fmt.Sprintf("no section %q", c.wantName())
		r.fail(c.rowLine(1), reason, reason+": starhost test --update "+shellwords.Quote(c.id)+" creates it from\n"+texttable.Bar(got))
		return m
	case !current && !o.Update:
		r.fail(c.rowLine(lineOf(c.src, wantSection, firstDifference(shownWant, shownGot))),
			"the output is not what the case wants", unifiedDiff(c.wantName(), "got", shownWant, shownGot)+c.lineEndHelp()+
				"  help: starhost test --update "+shellwords.Quote(c.id)+" accepts the difference\n")
		return m
	}
	r.Status = Passed
	if r.Text = recorded; recorded != "" && c.recordedNew {
		r.Status = Recorded
	}
	if len(unused) > 0 {
		r.Status, r.Text, m.unused = Pruned, r.Text+describeParts(unused), unused
	}
	if !current {
		r.Status, r.Text, m.want = Updated, r.Text+unifiedDiff("old "+c.wantName(), "new "+c.wantName(), shownWant, shownGot), &got
	}
	return m
}

// lineEndHelp returns a help text if Git's autocrlf has changed the line ends of the case's files, or else
// "".
func (c *testCase) lineEndHelp() string {
	if !hasCRLF(c.src) {
		return ""
	}
	return "  help: each line of this file ends in CRLF, those of its workspace too: write *.txtar -text in .gitattributes\n"
}

// fails reports whether the first run is enough to see that the case does not pass.
func (c *testCase) fails(o *Options) bool {
	r, _ := c.judge(o)
	return r.Status == Failed || r.Status == Broken
}

// recordHelp returns a help text for a case with an effect that no line answers, or "".
func (c *testCase) recordHelp(o *Options) string {
	if _, ok := errors.AsType[*effects.UnansweredError](c.first.err); !ok {
		return ""
	}
	record := "starhost test --record " + shellwords.Quote(c.caseFile.id)
	switch {
	case c.isTrusted(o):
		return "  help: " + record + "\n"
	case o.Record:
		return "  help: starhost trust (without it --record runs only effects that your own config grants)\n"
	}
	return "  help: starhost trust, then " + record + " (which runs programs and requests of these plugins)\n"
}

// describeParts returns the messages that the parts are unused, one a line.
func describeParts(list []part) string {
	text := ""
	for _, p := range list {
		text += p.String() + "\n"
	}
	return text
}

// firstDifference returns the number of the first line in which a and b differ.
func firstDifference(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return 1 + strings.Count(a[:n], "\n")
}

// moveHere returns an error in which a place in the case's steps is a line of the case's file, and any other
// place has the path from the user's folder. The output of steps keeps the names that are the same in every
// folder.
func (c *testCase) moveHere(err error) error {
	e, ok := errors.AsType[*starlark.Error](err)
	if !ok {
		return err
	}
	moved := *e
	moved.Pos, moved.Trace, moved.Also = c.moved(e.Pos), slices.Clone(e.Trace), slices.Clone(e.Also)
	for i := range moved.Trace {
		moved.Trace[i].Pos = c.moved(e.Trace[i].Pos)
	}
	for i, also := range moved.Also {
		other := *also
		other.Pos = c.moved(also.Pos)
		moved.Also[i] = &other
	}
	return &moved
}

// moved returns the place under which the user knows a place of a script.
func (c *testCase) moved(p starlark.Pos) starlark.Pos {
	switch set := c.first.set; {
	case p.File == scriptSection && p.Line > 0:
		p.File, p.Line = c.file.Shown, lineOf(c.src, scriptSection, p.Line)
	case set != nil:
		p.File = set.PathFromHere(p.File)
	case len(c.plugins) > 0 && c.plugin.Real != "": // true if the plugin did not load
		beside := c.plugins[0]
		if rest, inside := strings.CutPrefix(p.File, beside.Name+"/"); beside.Folder && inside {
			p.File = path.Join(beside.Path, rest)
		} else if p.File == beside.Display {
			p.File = beside.Path
		}
	}
	return p
}

// lineOfError returns the line of the case's file that an error is about, or 1.
func (c *testCase) lineOfError(err error) int {
	var script *starlark.Error
	var config *loader.Error
	var section *sectionError
	switch {
	case errors.As(err, &section):
		return section.lineIn(c.src)
	case errors.As(err, &script):
		for _, f := range slices.Backward(append(slices.Clip(script.Trace), starlark.Frame{Pos: script.Pos})) {
			if f.Pos.File == scriptSection { // here is the step that called the plugin
				return lineOf(c.src, scriptSection, f.Pos.Line)
			}
		}
	case errors.As(err, &config) && config.Place.File == configSection:
		return lineOf(c.src, configSection, config.Place.Line)
	}
	return 1
}

// text returns the output and the error of a run as one text, so that two runs can be compared.
func (o outcome) text() string {
	if o.err != nil {
		return o.output + describe(o.err)
	}
	return o.output
}

// describe returns an error in the form that the command line prints. It omits the source lines, which only
// the command has.
func describe(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		text := ""
		for _, e := range joined.Unwrap() {
			text += describe(e)
		}
		return text
	}
	if located, ok := errors.AsType[*starlark.Error](err); ok {
		return located.Detail()
	}
	var coded interface{ Code() string }
	if errors.As(err, &coded) {
		return fmt.Sprintf("%s [%s]\n  help: starhost docs %s\n", texttable.Hang(err.Error()), coded.Code(), coded.Code())
	}
	return texttable.Hang(err.Error()) + "\n"
}

// unifiedDiff returns the difference between two texts as diff -u prints it.
func unifiedDiff(oldName, newName, oldText, newText string) string {
	return udiff.Unified(oldName, newName, oldText, newText)
}
