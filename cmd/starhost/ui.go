package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/front"
	"github.com/starhost/starhost/serve/ui"
)

// uiFlags are the flags of ui.
type uiFlags struct {
	loadFlags
	listen       string
	allowEffects bool
}

func (a *app) uiCommand() *cobra.Command {
	var f uiFlags
	cmd := &cobra.Command{
		Use:   "ui [PATH...]",
		Short: "Show prompts, decisions, the log and sessions on a page",
		Long: `Show on a page in the browser what plugins do: the prompt with the source of each block,
what handlers decide about an event, a form for each tool, the decision log with its
counts, stored sessions, and the plugins with their mistakes.

The page runs the commands of starhost with what you type as flags: eval, list, check,
test, log, replay and sessions. Effects of tools that outlive the call run only with
--allow-effects. The page writes no file, except new golden cases below a plugin's folder.
When you save a plugin, the page loads the plugins again; a broken one shows its mistake.

The server listens on this machine only. ui prints a URL with a token: open it in one
browser, which then has a cookie. Whoever has the token may do what you may do with the
commands above.`,
		Example: `  starhost ui
  starhost ui plugins --listen 127.0.0.1:8799`,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.showUI(cmd, &f, paths) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "serve the page at this `ADDR` of this machine")
	cmd.Flags().BoolVar(&f.allowEffects, "allow-effects", false, "let called tools run effects that outlive the call, too")
	return cmd
}

// An inspected is the set of plugins that the page shows.
type inspected struct {
	*app
	flags *uiFlags
	paths []string

	mu  sync.Mutex
	set *loader.Set // the last one that loaded; or nil
}

// showUI serves the page until ctx ends.
func (a *app) showUI(cmd *cobra.Command, f *uiFlags, paths []string) error {
	ctx := cmd.Context()
	if err := a.chooseFormat("ui"); err != nil {
		return err
	}
	dir, _, err := a.openLog()
	if err != nil {
		return err
	}
	workspace, err := loader.Workspace(a.dir)
	if err != nil {
		return err
	}
	v := &inspected{app: a, flags: f, paths: paths}
	w, err := newWatcher()
	if err != nil {
		return err
	}
	defer w.Close()
	if err := v.reload(ctx, w); err != nil && v.set == nil {
		return err // such as a path that is missing: there is nothing to watch
	}
	global, loading := commandFlags(cmd)
	s := ui.NewServer(ui.Options{
		Token: rand.Text(), Run: a.runInside, Global: global, Loading: loading, Paths: paths,
		AllowEffects: f.allowEffects, Decide: v.decide, Agents: agentNames(), Folder: v.folder,
		Workspace: workspace, LogDir: dir,
	})
	return v.serve(ctx, s, w)
}

// serve serves the page, reads the log and watches the plugins until ctx ends.
func (v *inspected) serve(ctx context.Context, s *ui.Server, w *watcher) error {
	o := front.Options{MaxBody: ui.MaxBody, MaxRequests: ui.MaxRequests}
	l, err := o.Listen(ctx, v.flags.listen)
	if err != nil {
		return usagef("--listen: %v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() {
		if err := s.ReadLog(ctx); err != nil {
			v.printNote("ui: " + err.Error())
		}
	})
	beside.Go(func() { v.watch(ctx, s, w) })
	fmt.Fprintf(v.stderr, "open http://%s/?token=%s\n", l.Addr(), s.Token)
	return o.Serve(ctx, l, s)
}

// watch loads the plugins again after each change, and tells the page.
func (v *inspected) watch(ctx context.Context, s *ui.Server, w *watcher) {
	for {
		file, err := w.wait(ctx)
		if err == nil {
			v.printNote("changed: " + v.relative(file))
			_ = v.reload(ctx, w) // the page shows the mistake
			s.Reload()
			continue
		}
		if ctx.Err() == nil {
			v.printNote("files are not watched any more: " + err.Error())
		}
		return
	}
}

// load loads the plugins for one question.
func (v *inspected) load(ctx context.Context, change func(*loader.Options)) (*loader.Set, *app, error) {
	round := v.newRound()
	set, err := round.loadWith(ctx, &v.flags.loadFlags, v.paths, func(o *loader.Options) {
		o.RequiredInArgs = true
		change(o)
	})
	return set, round, err
}

// reload loads the plugins, and watches their files. The set from before stays if they do not load.
func (v *inspected) reload(ctx context.Context, w *watcher) error {
	set, round, err := v.load(ctx, func(*loader.Options) {})
	if err != nil {
		return err
	}
	round.report()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set != nil {
		_ = v.set.Close()
	}
	v.set = set
	return w.watchInputs(set.Inputs())
}

// folder returns the folder of a loaded plugin, and its file if it is a single file.
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

// A hookAnswer is what the page shows of an agent's event.
type hookAnswer struct {
	Out     string             `json:"out"`
	Stderr  string             `json:"stderr"`
	Code    int                `json:"code"`
	Records []*decision.Record `json:"records"`
}

// decide answers an agent's event in a new session, and writes no record to the log.
func (v *inspected) decide(ctx context.Context, agent, event string) (any, error) {
	answer := hookAnswer{Records: []*decision.Record{}}
	records := decision.New(decision.Options{
		Agent: agent, Starhost: version(), Include: []string{decision.IncludePrompt, decision.IncludeResults, decision.IncludeWrites},
	})
	set, round, err := v.load(ctx, func(o *loader.Options) {
		observe(records, o.Config, &o.Host, func(e starhost.Event, out starhost.Outcome) error {
			answer.Records = append(answer.Records, records.Record(e, out))
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	defer set.Close()
	useSet(records, set)
	if lost := set.LostGuards(); len(lost) > 0 {
		return nil, fmt.Errorf("a guard does not load, so hook refuses: %s", round.firstProblem())
	}
	answer.Out, answer.Stderr, answer.Code, err = caseHooks(set.Host)(ctx, agent, event)
	return answer, err
}

// firstProblem returns the message of the first problem.
func (a *app) firstProblem() string {
	if len(a.problems) == 0 {
		return "it is missing"
	}
	return a.problems[0].text()
}

// runInside runs a command of this program for the page.
func (a *app) runInside(ctx context.Context, args []string, stdin string) ui.Output {
	var out, diagnostics bytes.Buffer
	b := &app{
		stdin: strings.NewReader(stdin), stdout: &out, stderr: &diagnostics, getenv: a.getenv, managed: a.managed,
		deadline: a.deadline,
	}
	code := b.run(ctx, args)
	return ui.Output{Out: out.Bytes(), Diagnostics: diagnostics.Bytes(), Code: code}
}

// commandFlags returns the flags of a command as arguments of other commands: those of all
// commands, and those for loading plugins.
func commandFlags(cmd *cobra.Command) (global, loading []string) {
	own := map[string]bool{"listen": true, "allow-effects": true, "output": true, "format": true}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if own[f.Name] {
			return
		}
		values := []string{f.Value.String()}
		if many, ok := f.Value.(*stringList); ok {
			values = *many
		}
		for _, value := range values {
			arg := "--" + f.Name + "=" + value
			if cmd.InheritedFlags().Lookup(f.Name) != nil {
				global = append(global, arg)
			} else {
				loading = append(loading, arg)
			}
		}
	})
	return global, loading
}
