package golden

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/difftext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// conditions are circumstances of a run that must not change the output of any case.
type conditions struct {
	workers   int  // the number of loaders that run at the same time
	lastFirst bool // the loaders of a prompt start in reverse order
	coverage  *starlark.Coverage
	cache     *starlark.Cache // nil for a new cache
}

// A stage plays cases, one after another. It contains everything that they share: the
// vocabulary of their scripts, and a host for the cases of one plugin that have the same config
// and contain only files. A host gets the files, the time and the store of a case from the
// current play. The stage is the builtins.CaseDriver of all scripts.
type stage struct {
	play      // the play of the case that runs
	cond      conditions
	plugins   []starhost.Plugin // written in Go
	workspace workspace
	fragments fragmentStore
	store     store
	box       *starlark.Sandbox // the sandbox that runs the steps
	hosts     map[hostKey]*loadedHost
	recording *recording // collects real effects; nil without Record
	options   *Options   // the options with Hooks; may be nil
}

// A hostKey identifies a host. Cases with equal keys share a host.
type hostKey struct {
	plugin string // the real path of the plugin, or of a case that can share no host
	config string
}

// A store has the plugins' values across sessions. It is empty at the start of each case.
type store struct{ *effects.MemoryKV }

// A loadedHost is a host with the plugins of one or more cases, or the error of loading them.
type loadedHost struct {
	set     *loader.Set
	answers *effects.Answers // the answers of a single case; empty if cases share the host
	replay  *effects.Replay  // the answers of a recorded case, in place of answers; else nil
	events  appEvents        // the events of a single case; empty if cases share the host
	logs    []host.LogLine
	err     error
}

// scriptLimits let case.star be longer than a file of a plugin, because recorded steps contain the bytes of
// attachments.
var scriptLimits = starlark.Limits{Source: maxCase}

// newStage returns a stage. Its hosts also load the given Go plugins.
func newStage(cond conditions, plugins []starhost.Plugin) (*stage, error) {
	st := &stage{cond: cond, plugins: plugins, hosts: map[hostKey]*loadedHost{}}
	st.box = starlark.New(starlark.Options{
		Cache: cond.cache, Limits: scriptLimits,
		Print: func(_ context.Context, _ starlark.Pos, text string) {
			st.out.WriteString(difftext.EndLine(strings.ToValidUTF8(text, "\ufffd")))
		},
	})
	return st, builtins.DefineAll(st.box, slices.Concat(builtins.Table(st.box), builtins.CaseTable(st.box, st)))
}

// closeHosts closes all hosts of the stage and forgets them.
func (st *stage) closeHosts() {
	for _, h := range st.hosts {
		if h.set != nil {
			h.set.Close() // no error, because its files are in memory
		}
	}
	clear(st.hosts)
}

// run runs a case once on the stage.
func (st *stage) run(ctx context.Context, c *testCase) outcome {
	if c.problem != nil {
		return outcome{err: c.problem}
	}
	env, err := c.env()
	if err != nil {
		return outcome{err: err}
	}
	now, err := c.now()
	if err != nil {
		return outcome{err: err}
	}
	start, err := c.startSession()
	if err != nil {
		return outcome{err: err}
	}
	want, _ := c.want()
	st.play = play{ctx: ctx, now: now, env: env, row: c.row, limit: maxCase / max(1, len(c.rows))}
	st.fullReport = strings.Contains(want, " B, about ") && fullReportLine().MatchString(want)
	st.store.MemoryKV = new(effects.MemoryKV)
	if err := st.workspace.reset(c.filesIn(workspaceDir)); err != nil {
		return outcome{err: err}
	}
	if err := st.fragments.reset(ctx, c.filesIn(fragmentsDir)); err != nil {
		return outcome{err: err}
	}
	h := st.host(ctx, c)
	refused, isRefused := errors.AsType[*refusal](h.err)
	switch {
	case isRefused && !c.has(scriptSection):
		err := st.print("load", "error: "+texttable.OneLine(refused.Error())+"\n")
		return outcome{output: escapeMarkers(st.out.String()), unused: st.unused(c, h), err: err}
	case h.err != nil:
		return outcome{err: h.err}
	case !c.has(scriptSection):
		return outcome{err: errNoScript}
	}
	st.logs, st.events, st.known = h.logs, h.events, h.set.Host.Events
	if st.session, err = start.begin(st, h.set.Host); err != nil {
		return outcome{err: err}
	}
	if st.options != nil && st.options.Hooks != nil {
		st.hook = st.options.Hooks(h.set.Host)
	}
	err = st.runScript(c.text(scriptSection))
	st.EndTurn()
	err = cmp.Or(st.unanswered, err)
	if h.replay != nil && err == nil {
		err = h.replay.End()
	}
	return outcome{output: escapeMarkers(st.out.String()), unused: st.unused(c, h), err: err, set: h.set}
}

// A refusal is the error of plugins that do not load with the config of a case.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// unused returns the parts of a case that nothing read: plugins, fragments, files, variables, the time,
// effects, events, wants and keys of rows, in this order.
func (st *stage) unused(c *testCase, h *loadedHost) []part {
	var list []part
	var loaded *host.Host
	if h.set != nil { // plugins that do not load read no further files
		loaded = h.set.Host
		for _, name := range c.unreadFiles() {
			list = append(list, part{section: pluginsDir + "/" + name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(st.fragments.unusedAliases)) {
		list = append(list, part{section: fragmentsDir + "/" + name})
	}
	for _, name := range st.workspace.unusedFiles {
		list = append(list, part{section: workspaceDir + "/" + name})
	}
	for _, name := range slices.Sorted(maps.Keys(st.env)) {
		if !st.usedVariables[name] {
			list = append(list, part{section: envSection, variable: name})
		}
	}
	if !st.usedNow && c.has(nowSection) && h.replay == nil {
		list = append(list, part{section: nowSection})
	}
	for _, u := range h.answers.Unused() {
		list = append(list, part{section: effectsFile, line: u.Line})
	}
	for _, line := range st.events.unused(loaded, st.firedEvents) {
		list = append(list, part{section: eventsFile, line: line})
	}
	list = append(list, c.unusedWants()...)
	if c.row != nil {
		for _, key := range c.row.keys[1:] {
			if !st.usedKeys[key] {
				list = append(list, part{section: rowsFile, variable: key})
			}
		}
	}
	return list
}

// host returns the host for a case. It loads the plugins unless an earlier case has done so.
func (st *stage) host(ctx context.Context, c *testCase) *loadedHost {
	key := hostKey{c.plugin.Real, string(c.text(configSection))}
	if len(c.filesIn(pluginsDir))+len(c.text(envSection))+len(c.text(effectsFile))+len(c.text(eventsFile))+len(c.text(recordedFile)) > 0 {
		key.plugin = c.file.Real
		if c.row != nil {
			key.plugin += "/" + c.row.name
		}
	}
	h, ok := st.hosts[key]
	if !ok {
		h = &loadedHost{}
		h.set, h.err = st.load(ctx, c, h)
		h.logs = slices.Clip(st.logs)
		st.hosts[key] = h
	}
	return h
}

// load loads the plugins of a case for the host h. The case's Answers reply to effects that reach outside.
func (st *stage) load(ctx context.Context, c *testCase, h *loadedHost) (set *loader.Set, err error) {
	if c.has(recordedFile) {
		h.answers = new(effects.Answers)
		h.replay, err = effects.ReadJournal(effectsFile, c.text(effectsFile))
	} else {
		h.answers, err = effects.ReadAnswers(effectsFile, c.text(effectsFile))
	}
	if err != nil {
		line := 0
		fmt.Sscanf(strings.TrimPrefix(err.Error(), effectsFile), ": line %d:", &line)
		return nil, inSection(effectsFile, line, err)
	}
	if h.events, err = readEvents(c.text(eventsFile)); err != nil {
		return nil, err
	}
	config, warnings, err := loader.ParseConfig(configSection, filepath.Dir(c.file.Real), c.text(configSection))
	if err != nil {
		return nil, err
	}
	if err := st.addLibraries(config, c.plugin); err != nil {
		return nil, err
	}
	lookup := func(name string) (string, bool) { return st.lookup(name), true }
	o := loader.Options{
		Config:  config,
		Sources: c.plugins,
		World: effects.World{
			Workspace: effects.NewFiles(&st.workspace, effects.FileOptions{}),
			Env:       lookup,
			Secrets:   effects.NewSecrets(effects.SecretOptions{LookupEnv: lookup}),
			Store:     &st.store,
			Answers:   h.answers,
		},
		FS:            &st.workspace,
		LookupEnv:     lookup,
		Cache:         st.cond.cache,
		Workers:       1, // a stage has one goroutine
		Coverage:      st.cond.coverage,
		GrantDeclared: len(config.Grants) == 0,
		Prove:         true,
		AllowMissing:  true, // [loader.Set.Err] reports missing files, after the plugin's own error
		Host: host.Options{
			Clock:     func() time.Time { st.clockReads++; return st.now },
			Log:       func(l host.LogLine) { st.logs = append(st.logs, l) },
			Workers:   st.cond.workers,
			Fragments: &st.fragments,
			Approver:  st.Approve,
			AppEvents: h.events.specs,
		},
	}
	if st.cond.lastFirst {
		o.Host.LoadersLastFirst = true
	}
	if h.replay != nil {
		o.World.Answers, o.Host.Answer = h.replay, h.replay.Answer
	}
	if st.recording != nil {
		if err := st.recording.allowEffects(ctx, &o, st.lookup); err != nil {
			return nil, err
		}
	}
	if set, err = loader.Load(ctx, o); err != nil {
		return nil, &refusal{err}
	}
	if err = set.Host.Add(st.plugins...); err == nil {
		err = set.Err()
	}
	if warnings = append(warnings, set.Warnings...); len(warnings) > 0 {
		err = errors.New(warnings[0].String())
	}
	if err != nil {
		return nil, cmp.Or(set.Close(), error(&refusal{err}))
	}
	return set, nil
}

// addLibraries adds to the config the files and the libraries of the project that has the plugin of a case,
// so that a case need not repeat them. A library of the case hides one of the project with the same name. A
// library outside of the project is left out, because a case must run alike on all machines.
func (st *stage) addLibraries(config *loader.Config, plugin loader.Path) error {
	if plugin.Real == "" {
		return nil
	}
	project, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: filepath.Dir(plugin.Real)})
	if err == nil && !config.ShareFiles(project) && st.options != nil && isBelow(st.options.Dir, plugin.Real) {
		// Outside of a repository, only the current folder counts as the plugin's project, and no folder
		// above the plugin.
		if project, _, err = loader.LoadConfig(loader.ConfigOptions{Dir: st.options.Dir}); err == nil {
			config.ShareFiles(project)
		}
	}
	return err
}

// isBelow reports whether a file is in a folder.
func isBelow(folder, file string) bool {
	abs, err := filepath.Abs(folder)
	rel, relErr := filepath.Rel(abs, file)
	return err == nil && relErr == nil && filepath.IsLocal(rel)
}

// runScript runs the steps of a case.
func (st *stage) runScript(src []byte) error {
	file, err := st.box.Parse(scriptSection, src)
	if err != nil {
		return err
	}
	if logs := st.flushLogs(); logs != "" {
		st.out.WriteString("== load\n" + logs)
	}
	_, _, err = st.box.Run(st.ctx, file, starlark.Exec{})
	return err
}
