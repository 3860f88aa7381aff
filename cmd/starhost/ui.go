package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/watch"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/front"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/serve/ui"
)

// uiFlags are the flags of ui.
type uiFlags struct {
	loadFlags
	listen       string
	allowEffects bool
}

func (p *program) uiCommand() *cobra.Command {
	var f uiFlags
	cmd := &cobra.Command{
		Use:         "ui [PATH...]",
		Annotations: formats("pretty"),
		Short:       "Show prompts, decisions, the log and sessions on a page",
		Long: `Show on a page in the browser what plugins do: the prompt with the source of each block,
what handlers decide about an event, a form for each tool, the decision log with its
counts, stored sessions, and the plugins with their mistakes.

The page runs the commands of starhost with what you type as flags: eval, list, check,
test, bench, log, replay, sessions and hook doctor. Effects of tools that outlive the call run only with
--allow-effects. The page writes no file, except new golden cases below a plugin's folder.
When you save a plugin, the page loads the plugins again; a broken one shows its mistake.

The server listens on this machine only. ui prints a URL with a token: open it in one
browser, which then has a cookie. Whoever has the token may do what you may do with the
commands above.`,
		Example: `  starhost ui
  starhost ui plugins --listen 127.0.0.1:8799`,
		RunE: func(cmd *cobra.Command, paths []string) error { return runUI(p.env, &p.res, cmd, &f, paths) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "serve the page at this `ADDR` of this machine")
	cmd.Flags().BoolVar(&f.allowEffects, "allow-effects", false, "let called tools run effects that outlive the call, too")
	return cmd
}

// An inspected is the page together with the plugins that it shows.
type inspected struct {
	Env
	*Result
	flags   *loadFlags
	paths   []string
	beside  bool // true if serve runs it, which reports changes and mistakes of plugins itself
	watcher *watch.Watcher
	server  *ui.Server

	mu   sync.Mutex
	set  *loader.Set // the set that loaded last; or nil
	good *goodSet    // the last set without a mistake; or nil
}

// A goodSet has the files of plugins that loaded without a mistake.
type goodSet struct {
	sources []*loader.Source
	time    time.Time // when they loaded
}

// note returns a sentence that says which plugins answer while those on the disk have a mistake.
func (g *goodSet) note() string {
	return "The plugins from before this mistake answer on this page: those of " + g.time.Format(time.TimeOnly) + "."
}

// loadOrLastGood loads plugins as loadWith does. If those on the disk have a mistake, it loads the plugins
// from before the mistake. The mistake stays in the report.
func (env Env) loadOrLastGood(
	ctx context.Context, res *Result, f *loadFlags, paths []string, change func(*loader.Options),
) (*loader.Set, error) {
	set, err := env.loadWith(ctx, res, f, paths, change)
	if env.lastGood == nil || err == nil && set.Err() == nil {
		return set, err
	}
	again, failed := env.loadWith(ctx, res, f, paths, func(o *loader.Options) {
		change(o)
		o.Sources = env.lastGood.sources
	})
	if failed != nil || again.Err() != nil { // the mistake is in a library or in the config
		if again != nil {
			again.Close() // no error matters, because nothing was written
		}
		return set, err
	}
	if set != nil {
		set.Close() // no error matters, because nothing was written
	}
	res.addError(err)
	res.warnings = append(res.warnings, loader.Warning{Msg: env.lastGood.note()})
	return again, nil
}

// runUI serves the page until ctx ends.
func runUI(env Env, res *Result, cmd *cobra.Command, f *uiFlags, paths []string) error {
	res.written = true // this command answers other programs
	ctx := cmd.Context()
	global, loading := commandFlags(cmd)
	v := &inspected{Env: env, Result: res, flags: &f.loadFlags, paths: paths}
	if err := v.open(ctx, ui.Options{Global: global, Loading: loading, AllowEffects: f.allowEffects}); err != nil {
		return err
	}
	defer v.watcher.Close()
	if env.getenv("GOGC") == "" {
		debug.SetGCPercent(pageGarbage) // process.go sets a higher value, for short commands
	}
	l, err := listenPage(ctx, f.listen)
	if err != nil {
		return usagef("--listen: %v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { v.follow(ctx) })
	fmt.Fprintf(v.stderr, "open http://%s%s\n", l.Addr(), v.urlPath())
	return pageFront.Serve(ctx, l, v.server)
}

// open loads the plugins, and makes the page that shows them. The caller must close the watcher.
func (v *inspected) open(ctx context.Context, o ui.Options) (err error) {
	if o.LogDir, _, err = v.openLog(v.Result); err != nil {
		return err
	}
	if o.Workspace, err = loader.Workspace(v.dir); err != nil {
		return err
	}
	if v.watcher, err = watch.New(); err != nil {
		return err
	}
	if o.Problem, err = v.reload(ctx); err != nil && v.set == nil {
		return errors.Join(err, v.watcher.Close()) // for example, a path is missing, so there is nothing to watch
	}
	o.Token, o.Run, o.Paths = rand.Text(), v.runInside, v.paths
	o.Decide, o.Agents, o.Example, o.Folder = v.decide, agentNames(), v.example, v.folder
	v.server = ui.NewServer(o)
	return nil
}

// pageGarbage is by how many percent the heap grows before the garbage collector runs. Reading a long log
// then takes half of the memory that it takes at 400 %.
const pageGarbage = 50

// pageFront has the options of the front before the page. It has no token, so only this machine reaches the
// page.
var pageFront = front.Options{MaxBody: ui.MaxBody, MaxRequests: ui.MaxRequests}

// listenPage opens the address at which the page is served.
func listenPage(ctx context.Context, address string) (net.Listener, error) {
	if strings.HasPrefix(address, "unix:") {
		return nil, errors.New("address: got a socket, want one as 127.0.0.1:8080: browsers open no sockets")
	}
	return pageFront.Listen(ctx, address)
}

// urlPath returns the path that opens the page, with the token.
func (v *inspected) urlPath() string { return "/?token=" + v.server.Token }

// follow reads the log and watches the plugins until ctx ends.
func (v *inspected) follow(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() {
		if err := v.server.ReadLog(ctx); err != nil {
			v.printNote("ui: " + err.Error())
		}
	})
	v.watch(ctx)
}

// watch loads the plugins again after each change, and tells the page about it.
func (v *inspected) watch(ctx context.Context) {
	err := v.watcher.Loop(ctx, func(file string) error {
		if !v.beside {
			v.printNote("changed: " + v.relative(file))
		}
		problem, err := v.reload(ctx)
		if err != nil {
			problem = err.Error()
		}
		v.server.Reload(problem)
		return nil
	})
	if err != nil {
		v.printNote("files are not watched any more: " + err.Error())
	}
}

// load loads the plugins to answer one question of the page.
func (v *inspected) load(ctx context.Context, change func(*loader.Options)) (*loader.Set, *Result, error) {
	env, round := v.Env, v.newRound()
	env.lastGood = v.lastGoodSet()
	set, err := env.loadOrLastGood(ctx, round, v.flags, v.paths, func(o *loader.Options) {
		o.RequiredInArgs = true
		change(o)
	})
	return set, round, err
}

// lastGoodSet returns the last plugins that had no mistake, or nil.
func (v *inspected) lastGoodSet() *goodSet {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.good
}

// reload loads the plugins, and watches their files. problem is their first mistake, for the page. If they do
// not load, the set from before stays.
func (v *inspected) reload(ctx context.Context) (problem string, err error) {
	round := v.newRound()
	set, err := v.Env.load(ctx, round, v.flags, v.paths)
	if err != nil {
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set != nil {
		_ = v.set.Close()
	}
	v.set = set
	switch {
	case set.Err() == nil:
		v.good = &goodSet{set.Sources, time.Now()}
	case v.good != nil:
		problem = round.firstProblem() + "\n" + v.good.note()
	default:
		problem = round.firstProblem()
	}
	if !v.beside {
		v.report(round)
	}
	in := set.Inputs()
	return problem, v.watcher.Inputs(in.Files, in.Folders)
}

// folder returns the folder of a loaded plugin, and the plugin's file if it is a single file.
func (v *inspected) folder(plugin string) (dir, file string, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.set.Plugins {
		p := &v.set.Plugins[i]
		if p.Name != plugin {
			continue
		}
		name := v.path(p.Path)
		if ext := filepath.Ext(name); ext == ".star" || ext == ".rules" {
			return filepath.Dir(name), filepath.Base(name), true
		}
		return name, "", true
	}
	return "", "", false
}

// A hookAnswer is what the page shows about an agent's event.
type hookAnswer struct {
	Out     string               `json:"out"`
	Stderr  string               `json:"stderr"`
	Code    int                  `json:"code"`
	Records []*decision.Record   `json:"records"`
	Ran     []string             `json:"ran"`     // the places of the registrations whose handlers ran
	Reached []report.ReachedFile `json:"reached"` // the lines that ran
	Problem string               `json:"problem"` // a mistake in the plugins on the disk, or ""
}

// decide answers an agent's event in a new session, and writes no record to the log.
func (v *inspected) decide(ctx context.Context, agent, event string) (any, error) {
	answer := hookAnswer{Records: []*decision.Record{}, Ran: []string{}}
	var ran []starhost.Pos
	records := decision.New(decision.Options{
		Agent: agent, Starhost: version(), Include: []string{decision.IncludePrompt, decision.IncludeResults, decision.IncludeWrites},
	})
	set, round, err := v.load(ctx, func(o *loader.Options) {
		observe(records, o.Config, &o.Host, func(e starhost.Event, out host.Outcome) error {
			answer.Records = append(answer.Records, records.Record(e, out))
			for i := range out.Hooks {
				ran = append(ran, out.Hooks[i].Pos)
			}
			return nil
		})
		o.Host.ObserveAll = true // for the page, which says why no handler ran
	})
	if err != nil {
		return nil, err
	}
	defer set.Close()
	useSet(records, set)
	if len(round.problems) > 0 {
		answer.Problem = round.firstProblem()
		for _, w := range round.warnings {
			answer.Problem += "\n" + w.String()
		}
	}
	answer.Out, answer.Stderr, answer.Code, err = answerHooks(hook.Plugins{Host: set.Host})(ctx, agent, event)
	for _, pos := range ran {
		answer.Ran = append(answer.Ran, round.fromHere(pos).String())
	}
	answer.Reached = v.reachedBy(ctx, agent, event)
	return answer, err
}

// reachedBy returns the lines that an agent's event reaches. It answers the event once more, because counting
// lines changes the steps.
func (v *inspected) reachedBy(ctx context.Context, agent, event string) []report.ReachedFile {
	var r report.Reach
	set, _, err := v.load(ctx, r.Measure)
	if err != nil {
		return []report.ReachedFile{} // the plugins have changed meanwhile, and the page asks again
	}
	defer set.Close()
	r.Begin()
	_, _, _, _ = answerHooks(hook.Plugins{Host: set.Host})(ctx, agent, event) // the answer is not needed, because decide has it
	return r.Files(v.path("."))
}

// example returns an event of the agent before a shell command.
func (v *inspected) example(agent, command string) string {
	return hook.AgentOf(agent).Example(command, v.server.Workspace)
}

// keepPictures stores the attachments of a result for the page, because the JSON of the result has only their
// ids.
func keepPictures(env Env, e *evaluation) {
	if env.keepPicture == nil {
		return
	}
	if e.Prompt != nil {
		for _, r := range e.Prompt.Attachments {
			env.keepPicture(r.ID.String(), r.Content)
		}
	}
	if e.Call != nil {
		for _, at := range e.Call.Reply.Result.Attachments {
			env.keepPicture(at.ID().String(), at.Content)
		}
	}
}

// firstProblem returns the message of the first problem in the report.
func (res *Result) firstProblem() string {
	if len(res.problems) == 0 {
		return "it is missing"
	}
	return res.problems[0].Text()
}

// runInside runs a command of this program for the page.
func (v *inspected) runInside(ctx context.Context, args []string, last bool) ui.Output {
	var out, diagnostics bytes.Buffer
	b := program{env: Env{
		stdin: strings.NewReader(""), stdout: &out, stderr: &diagnostics, getenv: v.getenv, lookupEnv: v.lookupEnv,
		managed:  v.managed,
		deadline: v.deadline, inside: true, keepPicture: v.server.KeepPicture,
	}}
	if last {
		b.env.lastGood = v.lastGoodSet()
	}
	code := b.run(ctx, args)
	return ui.Output{Out: out.Bytes(), Diagnostics: diagnostics.Bytes(), Code: code}
}

// commandFlags returns the flags of a command as arguments for other commands: global has the flags that all
// commands have, loading those for loading plugins.
func commandFlags(cmd *cobra.Command) (global, loading []string) {
	var load cobra.Command
	new(loadFlags).add(&load)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if many, ok := f.Value.(*stringList); ok {
			values = *many
		}
		for _, value := range values {
			arg := "--" + f.Name + "=" + value
			switch {
			case load.Flags().Lookup(f.Name) != nil:
				loading = append(loading, arg)
			case cmd.InheritedFlags().Lookup(f.Name) != nil && f.Name != "output" && f.Name != "format":
				global = append(global, arg)
			}
		}
	})
	return global, loading
}
