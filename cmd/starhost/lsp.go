package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/editor/format"
	"github.com/starhost/starhost/editor/lsp"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/docgen"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/markdown"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

func (p *program) lspCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Help an editor with plugins and golden cases, as a language server",
		Long: `Speak the Language Server Protocol on standard input and output, for an editor
that starts this command. docs/editors.md says how. The server shows the findings of
check while you type, explains and completes names, goes to definitions, renames
local names, formats, and runs golden cases.

It evaluates the top level of plugins within their limits, as check does. It calls no
handler, except in golden cases that you run, whose effects are recorded ones.`,
		Example: `  starhost lsp
  starhost lsp --no-config`,
		Args: refuseArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLSP(cmd.Context(), p.env, &p.res)
		},
	}
}

// runLSP serves one editor until it goes.
func runLSP(ctx context.Context, env Env, res *Result) error {
	res.written = true // it answers others
	prepareRun(ctx)
	cache := editorCache()
	r := wholeReference()
	steps := r.Topics[len(r.Topics)-1]
	in, out := env.stdin, env.stdout
	env.stdin, env.stdout = nil, io.Discard
	err := lsp.Serve(ctx, in, out, lsp.Options{
		Version: version(),
		Reference: lsp.Reference{
			Topics: r.Topics[:len(r.Topics)-1], Steps: steps, Events: r.Events, Permissions: r.Permissions,
			Entry: entryHelp, Event: eventHelp, Permission: permissionHelp,
		},
		Root:    pluginRoot,
		Check:   func(ctx context.Context, job lsp.Job) lsp.Analysis { return env.analyse(ctx, job, cache()) },
		Format:  func(name, text string) (string, error) { return format.Text(filepath.Base(name), text) },
		RunCase: env.runCase,
	})
	if errors.Is(err, lsp.ErrExit) { // as the protocol wants
		res.code = report.ExitNegative
		return nil
	}
	return errtext.File("standard output", err)
}

// maxSharedAnalyses is the number of analyses that share compiled plugins. Almost every analysis
// compiles a text that no other analysis uses.
const maxSharedAnalyses = 50

// editorCache returns a function that returns the cache for the next analysis.
func editorCache() func() *starlark.Cache {
	uses, cache := 0, new(starlark.Cache)
	return func() *starlark.Cache {
		if uses++; uses > maxSharedAnalyses {
			uses, cache = 0, new(starlark.Cache)
		}
		return cache
	}
}

// nested returns the Env for one question of an editor. What it prints goes to out.
func (env Env) nested(out io.Writer) Env {
	return Env{
		stdin: bytes.NewReader(nil), stdout: out, stderr: out, getenv: env.getenv, lookupEnv: env.lookupEnv,
		managed: env.managed,
		config:  env.config, noConfig: env.noConfig,
	}.fresh()
}

// runCase runs a golden case, and returns its report.
func (env Env) runCase(ctx context.Context, file string) (text string, ok bool) {
	var out bytes.Buffer
	b, res := env.nested(&out), new(Result)
	defer b.stores.close()
	b.dir, b.format = filepath.Dir(filepath.Dir(file)), "pretty"
	res.addError(runTest(ctx, b, res, &testFlags{jobs: 1}, []string{filepath.Join("golden", filepath.Base(file))}))
	code := b.end(res)
	return strings.TrimSpace(out.String()), code == report.ExitOK
}

// The Markdown about rows of the tables, for editors.

func entryHelp(e call.Entry) string {
	return "```python\n" + docgen.Signature(e) + "\n```\n\n" + docgen.EntryBody(e)
}

func eventHelp(e starhost.EventSpec) string { return strings.TrimPrefix(docgen.EventSection(e), "\n") }

func permissionHelp(k effects.PermissionKind) string {
	return "```text\n" + docgen.PermissionForm(k) + "\n```\n\n" + markdown.Wrap(markdown.Escape(k.Doc)) + "\n" +
		docgen.CodeBlock("plugin(permissions = ["+strconv.Quote(k.Example)+"])")
}

// pluginRoot returns the folder of the plugin of a file or golden case, "" for a plugin that is a
// single file.
func pluginRoot(path string) string {
	plugin, _ := owningPlugin(loader.Path{Real: path})
	if plugin.Real == path {
		return ""
	}
	return plugin.Real
}

// caseSubject returns a file of the plugin that a golden case is about, "" if there is none: the
// plugin's folder is around the case, or NAME.star is beside golden/NAME_x.txtar.
func caseSubject(file string) string {
	if root := pluginRoot(file); root != "" {
		return filepath.Join(root, "plugin.star")
	}
	dir := filepath.Dir(filepath.Dir(file))
	name := strings.TrimSuffix(filepath.Base(file), ".txtar")
	for name != "" {
		if star := filepath.Join(dir, name+".star"); isFile(star) {
			return star
		}
		name = name[:max(strings.LastIndexByte(name, '_'), 0)]
	}
	return ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// analyse checks the plugin of an open file.
func (env Env) analyse(ctx context.Context, job lsp.Job, cache *starlark.Cache) lsp.Analysis {
	b := env.nested(io.Discard)
	b.dir, b.cache = job.Dir, cache
	c := b.newCheck(new(Result), &checkFlags{lint: true})
	c.job = &job
	defer b.stores.close()
	err := c.run(ctx, nil)
	if c.set != nil {
		defer c.set.Close()
	}
	var found lsp.Analysis
	if err != nil { // the project's config, mostly
		p := describe(err)
		found.Findings = []lsp.Finding{{Path: job.Path, Line: 1, Code: p.Code, Message: p.Where(), Help: p.Help}}
		return found
	}
	if c.editedPlugin == nil {
		return found
	}
	paths := c.openPaths()
	for _, f := range c.findings {
		found.Findings = append(found.Findings, lsp.Finding{
			Path: paths[c.realPath(f.Pos.File)], Line: f.Pos.Line, Col: f.Pos.Col, Severity: string(f.severity),
			Code: f.Code, Message: f.Message, Help: f.Help,
		})
	}
	found.Facts = c.facts()
	i := slices.Index(c.sources, c.editedPlugin)
	found.Failed = i < 0 || c.set.Plugins[i].Err != nil
	return found
}

// discoverJob finds the plugin of an open file, and replaces the files that the editor has not
// saved.
func (c *checkRun) discoverJob([]string) error {
	paths, err := c.fileConfig.Paths(c.dir, nil)
	var unusable *loader.Error
	if err != nil && !errors.Is(err, loader.ErrNoPlugins) && !errors.As(err, &unusable) {
		return err
	}
	file := c.job.Path
	var text *string
	if strings.HasSuffix(file, ".txtar") {
		if file = caseSubject(file); file == "" {
			c.sources = []*loader.Source{}
			return nil
		}
	}
	if unsaved, ok := c.job.Unsaved[file]; ok {
		text = &unsaved
	}
	if err := c.discoverEdited(paths, loader.NewPath(c.dir, file), text); err != nil {
		return err
	}
	for _, s := range c.sources {
		for path, text := range c.job.Unsaved {
			replaceUnsaved(s, path, text)
		}
	}
	return nil
}

// replaceUnsaved gives a plugin the text of an open file, if the file belongs to it.
func replaceUnsaved(s *loader.Source, path, text string) {
	name, err := filepath.Rel(s.Real("."), resolved(path))
	if err == nil && (s.Folder || name == s.Main) {
		_ = s.Replace(filepath.ToSlash(name), []byte(text)) // it refuses files outside
	}
}

// resolved returns a path without links. A file that does not exist may be in a folder behind
// links.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// openPaths returns the paths of the open files as the editor writes them, by their real paths.
func (c *checkRun) openPaths() map[string]string {
	paths := map[string]string{}
	for path := range c.job.Unsaved {
		paths[resolved(path)] = path
	}
	return paths
}

// realPath returns the real path of a file of the edited plugin by its displayed name. Findings
// without a file are about the main file.
func (c *checkRun) realPath(shown string) string {
	s := c.editedPlugin
	name, inside := strings.CutPrefix(shown, s.Name+"/")
	if shown == s.Display || !inside {
		name = s.Main
	}
	return s.Real(name)
}

// facts returns the names that the loaded plugins register.
func (c *checkRun) facts() *lsp.Facts {
	host := c.set.Host
	f := &lsp.Facts{Root: pluginRoot(c.job.Path), Libraries: map[string]string{}}
	for _, name := range starNames(c.editedPlugin) {
		if name != c.editedPlugin.Main {
			f.Files = append(f.Files, name)
		}
	}
	for name, folder := range c.fileConfig.Libraries {
		f.Libraries[name] = folder.Real
		names, err := loader.NewLibrary(name, folder, 0).Glob("**/*.star", nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // loading reports a library that a plugin needs
		}
		for _, file := range names {
			f.Files = append(f.Files, "@"+name+"//"+file)
		}
	}
	slices.Sort(f.Files)
	for _, t := range host.Tools() {
		f.Tools = append(f.Tools, lsp.Fact{Name: t.Name, Doc: texttable.FirstLine(t.Description)})
	}
	for _, l := range host.FragmentLoaders() {
		if strings.Trim(l.Prefix, "-") != "" { // "-" is standard input
			f.Prefixes = append(f.Prefixes, lsp.Fact{Name: l.Prefix, Doc: texttable.FirstLine(l.Description)})
		}
	}
	for _, l := range host.TemplateLoaders() {
		f.Templates = append(f.Templates, lsp.Fact{Name: l.Prefix, Doc: texttable.FirstLine(l.Description)})
	}
	f.Events = host.Events()[len(starhost.Events()):]
	return f
}
