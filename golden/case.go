package golden

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// maxCase is the most bytes of a case's file, and of what its steps print.
const maxCase = 16 << 20

// A testCase is a case that is ready to run, or the problem that keeps it from
// running.
type testCase struct {
	*located
	*archive
	src     []byte // of the file
	plugins []plugin
	problem error
	broken  bool // its file could not be read

	first, second outcome
}

// An outcome is what one run of a case gave.
type outcome struct {
	output string
	unseen []string // files of the workspace that nothing looked at
	err    error
}

// A plugin is one that cases use.
type plugin struct {
	source   *loader.Source
	declared []string // permissions
}

// A pluginCache holds the plugins beside cases by their real paths, so that each
// is read once.
type pluginCache map[string]plugin

// at returns the plugin at a path.
func (c pluginCache) at(path loader.Path) (plugin, error) {
	if p, ok := c[path.Real]; ok {
		return p, nil
	}
	source, err := discover(path)
	if err != nil {
		return plugin{}, err
	}
	c[path.Real] = newPlugin(source)
	return c[path.Real], nil
}

// newPlugin looks up what the plugin declares: nothing if it cannot be parsed,
// as loading it says why.
func newPlugin(source *loader.Source) plugin {
	p := plugin{source: source}
	src, err := source.Read(source.Main)
	if err != nil {
		return p
	}
	file, err := starlark.New(starlark.Options{}).Parse(source.Display, src)
	if err != nil {
		return p
	}
	if m, err := builtins.ReadManifest(file.Syntax()); err == nil {
		p.declared = m.Permissions
	}
	return p
}

// prepare reads a case and finds its plugins. Those it brings are written to the
// folder temp, which does not exist yet.
func prepare(l *located, known pluginCache, temp string) *testCase {
	c := &testCase{located: l}
	if c.src, c.problem = readCase(l.file.Real); c.problem != nil {
		c.archive, c.broken = &archive{}, true
		return c
	}
	if c.archive, c.problem = parseArchive(c.src); c.problem != nil {
		c.archive = &archive{}
		return c
	}
	c.problem = c.findPlugins(known, temp)
	return c
}

// readCase reads a case's file. Errors do not show where it really is.
func readCase(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, pathless(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > maxCase:
		return nil, fmt.Errorf("got %d bytes, want at most %d", info.Size(), maxCase)
	}
	src, err := os.ReadFile(file)
	return src, pathless(err)
}

// pathless returns an error of the operating system without the path.
func pathless(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (c *testCase) findPlugins(known pluginCache, temp string) error {
	if c.plugin.Real != "" {
		p, err := known.at(c.plugin)
		if err != nil {
			return err
		}
		c.plugins = append(c.plugins, p)
	}
	own := c.under(pluginsDir)
	if len(own) == 0 {
		if len(c.plugins) == 0 {
			return errors.New("there is no plugin beside the case: want NAME/golden/CASE.txtar beside NAME/plugin.star, " +
				"golden/NAME_CASE.txtar beside NAME.star, or sections plugins/NAME.star in the case")
		}
		return nil
	}
	if err := unpack(temp, own); err != nil {
		return err
	}
	place := loader.Place{File: c.file.Shown}
	sources, problems := loader.Discover([]loader.Path{{Shown: pluginsDir, Real: temp, Place: place}}, 0)
	if len(problems) > 0 {
		return problems[0]
	}
	for _, s := range sources {
		c.plugins = append(c.plugins, newPlugin(s))
	}
	return nil
}

// unpack writes files to a new folder.
func unpack(dir string, files map[string][]byte) error {
	for _, name := range sortedKeys(files) {
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

// run runs the case once.
func (c *testCase) run(ctx context.Context, cond conditions) outcome {
	if c.problem != nil {
		return outcome{err: c.problem}
	}
	p, err := newPlay(ctx, c, cond)
	if err != nil {
		return outcome{err: err}
	}
	defer p.close()
	err = p.script(c.files[scriptSection])
	return outcome{output: escape(p.out.String()), unseen: p.workspace.unseen, err: err}
}

// judge compares what the two runs gave with each other and with what the case
// wants.
func (c *testCase) judge(update bool) Result {
	r := Result{Name: c.id, File: c.file.Shown, Prose: c.prose, Status: Failed}
	got := c.first.output
	want, wanted := c.want()
	switch a, b := c.first.text(), c.second.text(); {
	case c.broken:
		r.Status, r.Text = Broken, describe(c.problem)
	case a != b:
		r.Text = "nondeterminism: two runs of the case differ\n" + unified("first run", "second run", a, b)
	case c.first.err != nil:
		r.Text = describe(c.first.err)
	case len(c.first.unseen) > 0:
		r.Text = fmt.Sprintf("unused section %q: nothing looked at this file\n", workspaceDir+"/"+c.first.unseen[0])
	case wanted && want == got:
		r.Status = Passed
	case update:
		r.Status, r.Text = Updated, unified("old want", "new want", want, got)
		if err := writeFile(c.file.Real, replaceWant(c.src, got)); err != nil {
			r.Status, r.Text = Failed, describe(err)
		}
	case !wanted:
		r.Text = "no section \"want\": starhost test --update " + shellQuote(c.id) + " creates it from\n" + got
	default:
		r.Text = unified("want", "got", want, got)
	}
	return r
}

// text is all that an outcome says.
func (o outcome) text() string {
	if o.err != nil {
		return o.output + describe(o.err)
	}
	return o.output
}

// describe shows an error as the command line does, as far as it is known here.
func describe(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		text := ""
		for _, e := range joined.Unwrap() {
			text += describe(e)
		}
		return text
	}
	var located *starlark.Error
	if errors.As(err, &located) {
		return located.Detail()
	}
	var coded interface{ Code() string }
	if errors.As(err, &coded) {
		return fmt.Sprintf("%v [%s]\n  help: starhost docs %s\n", err, coded.Code(), coded.Code())
	}
	return err.Error() + "\n"
}

// unified shows the difference of two texts.
func unified(oldName, newName, oldText, newText string) string {
	return udiff.Unified(oldName, newName, oldText, newText)
}

// writeFile replaces a file's content: readers see the old or the new one.
func writeFile(file string, content []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return pathless(err)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".golden-*")
	if err != nil {
		return pathless(err)
	}
	defer os.Remove(temp.Name()) // gone after the renaming
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Chmod(info.Mode().Perm()), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	return pathless(err)
}

// plainChars mean nothing to a shell.
const plainChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-"

// shellQuote returns a word as a shell wants it typed.
func shellQuote(word string) string {
	if word != "" && strings.Trim(word, plainChars) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
