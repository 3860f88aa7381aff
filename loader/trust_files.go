package loader

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// trustedContent returns the hashes of the files that an operator trusts with a project, by their paths in
// the project: the config, all files of its plugins and libraries, and those files of the project that
// commands in the config name or that trust.pin matches. unpinned describes the commands that run further
// files.
func (l *layer) trustedContent() (t *tally, unpinned []string, err error) {
	own := newConfig()
	alone := &layer{shown: l.shown, real: l.real, home: l.home, project: true, trusted: true}
	if err := own.read(alone, l.src); err != nil {
		return nil, nil, err
	}
	t = &tally{folder: l.folder(), files: map[string]fragments.Hash{}, cases: map[string]fragments.Hash{}}
	t.add(l.real, fragments.Sum(string(l.src)))
	sources, _ := Discover(l.paths(own), 0)
	for name, folder := range own.Libraries {
		sources = append(sources, NewLibrary(name, folder, 0))
	}
	for _, s := range sources {
		if err := t.source(s); err != nil {
			return nil, nil, err
		}
	}
	for _, s := range sources {
		for _, file := range s.rootFiles() {
			if f, err := file.source.file(file.name); err == nil && isInside(t.folder, file.real) {
				t.add(file.real, f.sum)
			}
		}
	}
	if err := t.pin(own.Pins); err != nil {
		return nil, nil, err
	}
	t.takesAll = true
	for _, c := range own.commands() {
		if err := t.command(c.argv); err != nil {
			return nil, nil, err
		}
		if why := t.unpinned(c.argv); why != "" && len(own.Pins) == 0 {
			unpinned = append(unpinned, c.key+": "+why)
		}
	}
	return t, unpinned, nil
}

// paths returns the paths of the project's plugins.
func (l *layer) paths(own *Config) []Path {
	paths, err := own.Paths(l.folder(), nil)
	if err != nil { // if this fails, the project has no plugins
		return nil
	}
	return paths
}

// A tally collects the hashes of the files that an operator trusts.
type tally struct {
	folder string
	files  map[string]fragments.Hash
	// cases are the golden cases of plugins and libraries. They decide nothing about calls and prompts; only
	// starhost test --record, which runs their effects, needs trust in them.
	cases    map[string]fragments.Hash
	takesAll bool // golden cases count as files, too, because a command may read whatever it names
}

// isCase reports whether a file is a golden case.
func isCase(name string) bool {
	return path.Ext(name) == ".txtar" && path.Base(path.Dir(name)) == "golden"
}

// add adds the hash of a file with an absolute path.
func (t *tally) add(file string, hash fragments.Hash) {
	t.files[relativePath(t.folder, resolveLinks(file))] = hash
}

// source adds all files of a plugin or library. It skips files that starhost cannot read, because the plugin
// cannot read them either.
func (t *tally) source(s *Source) error {
	if !s.Folder {
		if f, err := s.file(s.Main); err == nil {
			t.add(s.mainPath(), f.sum)
		}
		return t.casesBeside(s)
	}
	err := s.open(func(root *os.Root) error { return t.walk(s, root.FS()) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// casesBeside adds the golden cases in the folder golden beside a plugin that is a single file.
func (t *tally) casesBeside(s *Source) error {
	if info, err := os.Lstat(filepath.Join(s.dir, "golden")); err != nil || !info.IsDir() {
		return nil
	}
	beside := NewLibrary("", Path{Real: filepath.Join(s.dir, "golden"), Shown: s.Path}, 0)
	cases := &tally{folder: t.folder, files: map[string]fragments.Hash{}, cases: t.cases}
	return cases.source(beside)
}

func (t *tally) walk(s *Source, fsys fs.FS) error {
	base := resolveLinks(filepath.Join(s.dir, s.sub))
	var entries int
	var bytes int64
	return fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if e.IsDir() && e.Name() == ".git" { // plugins do not read this folder
			return fs.SkipDir
		}
		if entries++; entries > maxEntries {
			return errorAt(Place{File: s.Path}, "E0608", "got more than %d files to trust", maxEntries)
		}
		hash, n := hashEntry(fsys, name, e)
		if bytes += n; bytes > maxPluginBytes {
			return errorAt(Place{File: s.Path}, "E0608", "got more than %d bytes to trust", maxPluginBytes)
		}
		if rel := relativePath(t.folder, filepath.Join(base, name)); hash.IsZero() {
			return nil
		} else if isCase(rel) && !t.takesAll {
			t.cases[rel] = hash
		} else {
			t.files[rel] = hash
		}
		return nil
	})
}

// hashEntry returns the hash and the size of a file, or a hash of the target of a link. The hash is zero if
// the entry has no bytes to read.
func hashEntry(fsys fs.FS, name string, e fs.DirEntry) (fragments.Hash, int64) {
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := fs.ReadLink(fsys, name)
		if err != nil {
			return fragments.Hash{}, 0
		}
		return fragments.Sum("-> " + target), 0
	}
	if !e.Type().IsRegular() {
		return fragments.Hash{}, 0
	}
	f, err := fsys.Open(name)
	if err != nil {
		return fragments.Hash{}, 0
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxPluginBytes+1))
	if err != nil {
		return fragments.Hash{}, n
	}
	return fragments.Hash(h.Sum(nil)), n
}

// A configCommand is a command that a config makes starhost run, or lets a plugin run.
type configCommand struct {
	key  string // the key of the command in the config, for messages
	argv []string
}

// commands returns the commands of a project's config, sorted by key.
func (c *Config) commands() (all []configCommand) {
	for _, name := range slices.Sorted(maps.Keys(c.projectGrants)) {
		for _, text := range c.projectGrants[name].permissions {
			if rest, ok := strings.CutPrefix(text, "exec:"); ok {
				all = append(all, configCommand{"grants." + name, strings.Fields(rest)})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		all = append(all, configCommand{"mcp." + name + ".command", c.MCP[name].Command})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		all = append(all, configCommand{"secrets." + name + ".command", c.Secrets[name].Command})
	}
	return all
}

// runners are programs that run code which no argument names as a file: the files that a script loads, a text
// after -c, the recipes of a makefile. A version at the end of a program's name does not count.
var runners = strings.Fields(`ash awk bash bun bunx bundle cargo cmake cmd csh dash deno docker doas dotnet env fish gmake go gradle
java just ksh lua make mise mvn nice ninja nix node nohup npm npx nu perl php pip pipx pnpm poetry powershell pwsh pypy python rake ruby
rye sh stdbuf sudo task tclsh time timeout ts-node tsx uv uvx xargs yarn zsh`)

// unpinned returns why trust cannot pin everything that a command runs, or "".
func (t *tally) unpinned(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	program := path.Base(filepath.ToSlash(argv[0]))
	program = strings.TrimRight(strings.TrimSuffix(strings.ToLower(program), ".exe"), "0123456789.")
	if slices.Contains(runners, program) {
		return argv[0] + " runs files that trust does not pin"
	}
	for _, arg := range argv[1:] {
		if p := NewPath(t.folder, arg); isInside(p.Real, t.folder) {
			return arg + " is around the project, and trust does not pin it"
		}
	}
	return ""
}

// command adds those files of the project that a command names, and all files in folders that it names. A
// folder that contains the project does not count.
func (t *tally) command(argv []string) error {
	for _, arg := range argv {
		p := NewPath(t.folder, arg)
		info, err := os.Stat(p.Real)
		if err != nil || !isInside(t.folder, p.Real) || isInside(p.Real, t.folder) {
			continue
		}
		if info.IsDir() {
			if err := t.source(NewLibrary("", Path{Real: p.Real, Shown: arg}, 0)); err != nil {
				return err
			}
			continue
		}
		t.file(p.Real, info)
	}
	return nil
}

// file adds a file, if it is a regular one.
func (t *tally) file(name string, info fs.FileInfo) {
	if !info.Mode().IsRegular() {
		return
	}
	hash, _ := hashEntry(os.DirFS(filepath.Dir(name)), filepath.Base(name), fs.FileInfoToDirEntry(info))
	t.add(name, hash)
}

// pin adds the files of the project that one of the patterns matches.
func (t *tally) pin(patterns []string) error {
	project := NewLibrary("", Path{Real: t.folder, Shown: ConfigName}, 0)
	for _, pattern := range patterns {
		names, err := project.Glob(pattern, nil)
		if err != nil {
			return err
		}
		for _, name := range names {
			full := filepath.Join(t.folder, filepath.FromSlash(name))
			if info, err := os.Lstat(full); err == nil {
				t.file(full, info)
			}
		}
	}
	return nil
}
