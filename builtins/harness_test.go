package builtins_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/starlark"
)

// A script is a plugin under test. The zero value is an empty single file.
type script struct {
	src       string
	modules   map[string]string // modules that the script may load
	files     map[string]string // the plugin's folder; nil for a single file
	workspace map[string]string
	granted   []string // grants of the operator; nil grants what the script declares
	settings  []builtins.Setting
	answers   string            // JSON lines that answer outgoing effects; "" for none
	env       map[string]string // variables and values of secrets
	others    []starhost.Plugin // other plugins in the host
	events    []starhost.EventSpec
	dryRun    bool
	cases     bool   // the vocabulary of cases is available
	dir       string // a folder on disk instead of workspace
	journal   bool   // the host records effects
	endless   bool   // no limit is in reach
}

// A loadedScript is a script in a separate host.
type loadedScript struct {
	*host.Host
	plugin *starhost.Plugin
	world  *effects.World
	rec    *builtins.Recorder
	box    *starlark.Sandbox
	logs   []host.LogLine

	entries []string // lines of the journal
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// load evaluates the script and adds its registrations to a new host.
func (s script) load(t testing.TB) (*loadedScript, error) {
	t.Helper()
	var limits starlark.Limits
	if s.endless {
		limits = starlark.Limits{Steps: math.MaxUint64 / 2, Memory: math.MaxUint64 / 2, Timeout: time.Hour}
	}
	printTo := func(ctx context.Context, pos starlark.Pos, text string) {
		builtins.PrintTo(ctx, pos.File, pos.Line, pos.Col, text)
	}
	box := starlark.New(starlark.Options{Limits: limits, Print: printTo})
	entries := builtins.Table(box)
	for _, e := range builtins.CaseTable(box, nil) {
		if s.cases || strings.HasPrefix(e.Name, "assert_") {
			entries = append(entries, e)
		}
	}
	for _, e := range entries {
		if e.Value == nil {
			continue
		}
		if err := box.Define(e.Name, e.Value, e.Cost); err != nil {
			t.Fatal(err)
		}
	}
	name := "test.star"
	if s.files != nil {
		name = "test/plugin.star"
	}
	file, err := box.Parse(name, []byte(s.src))
	if err != nil {
		return nil, err
	}
	m, err := builtins.ReadManifest(file)
	if err != nil {
		return nil, locate(err, s.src)
	}
	config, err := m.Configure(s.settings)
	if err != nil {
		return nil, locate(err, s.src)
	}
	world := s.world(t)
	if world.Declared, err = effects.ParseGrants(m.Permissions); err != nil {
		t.Fatal(err)
	}
	if world.Granted, err = effects.ParseGrants(s.granted); err != nil {
		t.Fatal(err)
	}
	if s.granted == nil {
		world.Granted = world.Declared
	}
	l := &loadedScript{plugin: &starhost.Plugin{Name: "test", Resolve: world.LoadFragment}, world: world, box: box}
	if err := m.CheckName("test"); err != nil {
		return nil, locate(err, s.src)
	}
	s.events = append(slices.Clip(s.events), m.Events...)
	l.rec = builtins.Record(l.plugin, box, world, config, s.events...)
	_, _, err = box.Run(l.rec.Attach(t.Context()), file, starlark.Exec{
		Env: l.rec.Env(), Check: func(f *starlark.File) error { return l.rec.Check(f) }, ExtraValues: l.rec.Handlers,
		Load: func(_, label string) (string, []byte, error) {
			src, ok := s.modules[label]
			if !ok {
				return "", nil, errors.New("no such module")
			}
			return "test/" + label, []byte(src), nil
		},
	})
	if err != nil {
		return l, err
	}
	l.rec.End()
	o := host.Options{
		Describe:  builtins.DescribeCalls(nil),
		Clock:     func() time.Time { return begin },
		Log:       func(line host.LogLine) { l.logs = append(l.logs, line) },
		AppEvents: s.events,
	}
	if s.journal {
		o.Record = func(e host.Entry) { l.entries = append(l.entries, string(e.Line)) }
	}
	l.Host = host.New(o)
	return l, l.Add(append(s.others, *l.plugin)...)
}

// world returns the World of a script, which has no permissions yet.
func (s script) world(t testing.TB) *effects.World {
	t.Helper()
	lookup := func(name string) (string, bool) {
		value, ok := s.env[name]
		return value, ok
	}
	w := &effects.World{
		Plugin: "test", Workspace: effects.NewFiles(memoryFS(t, s.workspace), effects.FileOptions{}),
		Env: lookup, Secrets: effects.NewSecrets(effects.SecretOptions{LookupEnv: lookup}), Store: &effects.MemoryKV{},
	}
	if s.dir != "" {
		var err error
		if w.Workspace, err = effects.OpenFiles(s.dir, effects.FileOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Workspace.Close() })
	}
	if s.files != nil {
		w.Own = ownFolder(s.files)
	}
	if s.answers != "" {
		answers, err := effects.ReadAnswers("effects.jsonl", []byte(s.answers))
		if err != nil {
			t.Fatal(err)
		}
		w.Answers = answers
	}
	if s.dryRun {
		w.DryRun = new(effects.DryRun)
	}
	return w
}

// locate adds the source line to an error with a place, as programs do.
func locate(err error, src string) error {
	return starlark.Locate(err, func(string) string { return src })
}

// codeOf returns the code of an error of evaluation, or "".
func codeOf(err error) string {
	if e, ok := errors.AsType[*starlark.Error](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return e.Code()
	}
	return ""
}

// helpOf returns the help of an error of evaluation, or "".
func helpOf(err error) string {
	if e, ok := errors.AsType[*starlark.Error](err); ok {
		return e.Help
	}
	return ""
}

func (s script) mustLoad(t testing.TB) *loadedScript {
	t.Helper()
	l, err := s.load(t)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// turn begins a turn of a new session. The session ends with the test.
func (l *loadedScript) turn(t testing.TB, r host.Request) *host.Turn {
	t.Helper()
	turn, err := l.NewSession(host.SessionConfig{ID: "s1", Model: "m1"}).Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { turn.End(context.Background()) })
	return turn
}

// call calls a tool with JSON arguments.
func (l *loadedScript) call(t testing.TB, name, args string) host.ToolReply {
	t.Helper()
	c := starhost.ToolCall{ID: "1", Name: name, Arguments: []byte(args)}
	reply, err := l.turn(t, host.Request{}).CallTool(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// fire fires an event and returns the outcome and the errors of handlers.
func (l *loadedScript) fire(t testing.TB, e *starhost.Event) (host.Outcome, []error) {
	t.Helper()
	turn := l.turn(t, host.Request{})
	out, err := turn.Fire(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return out, turn.Errors()
}

func memoryFS(t testing.TB, files map[string]string) afero.Fs {
	t.Helper()
	fsys := afero.NewMemMapFs()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := afero.WriteFile(fsys, name, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return fsys
}

// An ownFolder is a plugin's folder in memory.
type ownFolder map[string]string

func (o ownFolder) Read(name string) ([]byte, error) {
	text, ok := o[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (o ownFolder) Glob(pattern string, _ func(steps int) error) ([]string, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if dir, all := strings.CutSuffix(pattern, "**"); all {
			if strings.HasPrefix(name, dir) {
				names = append(names, name)
			}
			continue
		}
		ok, err := path.Match(pattern, name)
		if err != nil {
			return nil, err
		}
		if ok {
			names = append(names, name)
		}
	}
	return names, nil
}

func (o ownFolder) Exists(name string) (bool, error) {
	if strings.HasPrefix(name, "..") {
		return false, fs.ErrInvalid
	}
	_, ok := o[name]
	return ok, nil
}

// goHook returns a hook of a Go program that always returns the same decision.
func goHook(d starhost.Decision) func(context.Context, *starhost.Event) (starhost.Decision, error) {
	return func(context.Context, *starhost.Event) (starhost.Decision, error) { return d, nil }
}
