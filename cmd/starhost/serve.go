package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/watch"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/decide"
	"github.com/starhost/starhost/serve/mcp"
	"github.com/starhost/starhost/serve/metrics"
	"github.com/starhost/starhost/serve/neko"
	"github.com/starhost/starhost/serve/otlp"
	"github.com/starhost/starhost/serve/programs"
	"github.com/starhost/starhost/serve/proxy"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	loadFlags
	mcp, hooks, guardrail  string
	metrics                string
	tools, register        string
	proxy, upstream        string
	ui                     string
	pageGlobal             []string // arguments for the commands that the page runs
	pageLoading            []string
	offered                []string
	passUnknown            bool
	watch                  bool
	tokenFile, printConfig string
	deadline               time.Duration
	failClosed, isOpen     bool // isOpen is true for --fail-closed=false
}

// guards reports whether one of the servers asks guards. Then a guard that does not load must refuse, and may
// not be absent unseen.
func (f *serveFlags) guards() bool { return f.decides() || f.proxy != "" }

// decides reports whether one of the servers answers questions of other programs.
func (f *serveFlags) decides() bool { return f.hooks != "" || f.guardrail != "" }

func (p *program) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:         "serve [PATH...] --mcp stdio|ADDR --hooks ADDR --guardrail ADDR --proxy ADDR --tools ADDR",
		Annotations: formats("pretty"),
		Short:       "Serve plugins to MCP clients, agents, gateways and clients of models",
		Long: `Serve plugins to other programs; each flag is one server. An ADDR is as 127.0.0.1:8080.
docs/servers.md describes the servers.

--mcp serves clients of the Model Context Protocol: one on standard input and output, or
any number over HTTP at ADDR; the protocol is at /mcp. Clients get the tools, the fragment
loaders as resources and as the tool load_fragment, commands and templates as prompts.
Hooks guard each call. The effects of plugins run, as far as they are granted.

--hooks answers agents that send their hooks over HTTP (` + strings.Join(decide.AgentNames(), ", ") + `) at /hooks/AGENT, as
starhost hook does, and programs that fire events at /v1/fire/EVENT. Sessions are in memory,
or in the database if [store] url names a PostgreSQL server, which several servers can share.
If a guard does not load, it refuses all calls of tools and all approvals. --print-config
prints what to paste into an agent's settings.

--guardrail answers gateways: LiteLLM's Generic Guardrail API at /litellm, and agentgateway's
webhook. Texts of requests fire turn_start, texts of replies post_llm_call, and tool calls
pre_tool_call.

--proxy stands between clients of models and their endpoints: plugins add context to requests
and guard the tool calls of replies. Clients take http://ADDR (Anthropic) or http://ADDR/v1
(OpenAI) as their base URL. Requests go to --upstream, a URL without /v1 or an endpoint of the
config; without it to the endpoints "anthropic" and "openai". --tool offers plugins' tools,
which the proxy runs. docs/proxy.md describes it.

--tools takes the tools that programs register by N.E.K.O's contract for tools, for the roles
of the config's serve.tools.roles, and offers them to the other servers' clients, behind the
hooks. --register offers the plugins' tools to N.E.K.O at a URL.

--metrics writes counts of decisions, errors, times and steps for Prometheus, at /metrics.

--ui shows the page of starhost ui beside the other servers, and prints its URL, which has another
token. The page is for this machine only, also with --token-file.

--token-file is a file with a token of 16 bytes or more, which clients send as
"Authorization: Bearer TOKEN". A server that decides, and --tools, needs one, unless it is at
unix:PATH, a socket that only you can open. So does any address that others reach. Without a
token, only programs of this machine are answered, and no web page. Clients of --proxy and
--tools may send the token as X-Starhost-Token, or as /t/TOKEN before the path. Each HTTP server has /healthz and /readyz.

With --watch, and at a hangup signal, serve loads the plugins again. If one cannot be
loaded, serve reports it and continues with the old ones. Running calls end with the
plugins that they began with. Without a plugin that the config requires, --mcp serves
nothing.`,
		Example: `  starhost serve plugins --mcp stdio
  starhost serve --mcp stdio --watch
  starhost serve --hooks 127.0.0.1:8790 --print-config claude-code`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			f.pageGlobal, f.pageLoading = commandFlags(cmd)
			f.isOpen = cmd.Flags().Changed("fail-closed") && !f.failClosed
			return runServe(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.mcp, "mcp", "", "serve the Model Context Protocol: `stdio|ADDR`")
	flags.BoolVar(&f.watch, "watch", false, "load plugins again whenever a file changes")
	flags.StringVar(&f.hooks, "hooks", "", "answer agents' HTTP hooks and events of programs at an `ADDR` or unix:PATH")
	flags.StringVar(&f.guardrail, "guardrail", "", "answer LiteLLM and agentgateway at an `ADDR` or unix:PATH")
	flags.StringVar(&f.tools, "tools", "", "take tools of N.E.K.O's plugins at an `ADDR` of this machine")
	flags.StringVar(&f.register, "register", "", "register the plugins' tools with N.E.K.O at a `URL`, and answer its calls at --tools")
	flags.StringVar(&f.metrics, "metrics", "", "write metrics for Prometheus at an `ADDR` or unix:PATH")
	flags.StringVar(&f.ui, "ui", "", "show the page of starhost ui, beside the other servers, at an `ADDR` of this machine")
	flags.StringVar(&f.proxy, "proxy", "", "stand between clients of models and their endpoints, at an `ADDR` or unix:PATH")
	flags.StringVar(&f.upstream, "upstream", "", "pass the requests at --proxy to a `URL|NAME`: a URL without /v1, or an endpoint")
	flags.StringArrayVarP(&f.offered, "tool", "T", nil, "offer the plugins' tools that match a `GLOB` in requests at --proxy (repeatable)")
	flags.BoolVar(&f.passUnknown, "pass-unknown", false, "let --proxy pass requests that plugins cannot check")
	flags.Var(span(&f.deadline), "deadline", "answer an agent or gateway within this `TIME` (default 4.5s)")
	flags.BoolVar(&f.failClosed, "fail-closed", false, "refuse events that the agent does not document, too")
	flags.StringVar(&f.printConfig, "print-config", "", "print what to paste into the settings of an `AGENT` for --hooks")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the token that clients must send")
	return cmd
}

// maxWaiting is the most calls of one client that wait for a running call, because agents make
// many calls at once.
const maxWaiting = 1000

// stdioAddress is the value of --mcp that means standard input and output.
const stdioAddress = "stdio"

// A server is one run of serve.
type server struct {
	Env
	*Result
	flags      *serveFlags
	paths      []string
	live       *host.LiveHost
	mcp        *mcp.Server    // nil without --mcp
	decide     *decide.Server // nil if no server answers questions
	proxy      *proxy.Server  // nil without --proxy
	guards     atomic.Pointer[guardState]
	metrics    *metrics.Registry // nil without --metrics
	tools      *neko.Registry    // nil without --tools
	page       *inspected        // nil without --ui
	traces     *otlp.Exporter    // nil if the environment names no collector
	fragments  fragments.Store   // all sets share it
	background sync.WaitGroup    // goroutines that do not answer requests

	toolRequests chan struct{} // has a token if other programs have changed their tools

	reloading sync.Mutex    // guards the fields below
	set       *loader.Set   // the set in use
	plugins   *host.Host    // the plugins of set, without the tools of other programs
	fresh     *host.Host    // the same for the set that was loaded last
	records   *decision.Log // nil if the log is not enabled
	mounts    programs.Servers
}

// check returns an error for flags that need others.
func (f *serveFlags) check() error {
	switch {
	case f.register != "" && f.tools == "":
		return usagef("--register: want --tools ADDR beside it, at which N.E.K.O calls")
	case f.mcp == "" && f.tools == "" && !f.guards():
		return &report.UsageError{Msg: "serve: got nothing to serve, want one of --mcp, --hooks, --guardrail, --proxy and --tools", Help: "starhost serve --help"}
	case f.proxy == "" && (f.upstream != "" || len(f.offered) > 0 || f.passUnknown):
		return usagef("--upstream, --tool and --pass-unknown: want --proxy ADDR beside them")
	}
	return nil
}

// runServe runs the command.
func runServe(ctx context.Context, env Env, res *Result, f *serveFlags, paths []string) error {
	if f.printConfig != "" {
		return printHTTPConfig(env, res, f)
	}
	res.written = true // this command answers other programs
	if err := f.check(); err != nil {
		return err
	}
	token, err := readToken(env, f)
	if err != nil {
		return err
	}
	in, out := env.stdin, env.stdout
	env.stdin, env.stderr = nil, &lockedWriter{w: env.stderr} // the client writes to stdin, so no reference may read it
	v := &server{Env: env, Result: res, flags: f, paths: paths, toolRequests: make(chan struct{}, 1)}
	v.mounts.Getenv, v.mounts.PinDir, v.mounts.Changed, v.mounts.Warn = env.getenv, env.pinDir(), v.requestTools, v.printWarning
	if f.metrics != "" {
		v.metrics = metrics.New()
		v.metrics.SetUpstreams(v.upstreamStates)
	}
	if v.traces, err = otlp.New(env.getenv, v.printWarning); err != nil {
		return usagef("%v", err)
	}
	defer v.mounts.Close()
	if v.set, v.records, err = v.load(ctx, res); err != nil {
		return err
	}
	if v.set.Missing() != nil && !f.guards() {
		return nil // loading has reported it
	}
	env.report(res)
	res.code = report.ExitOK // plugins that failed are reported, and starhost serves the others
	v.live, v.plugins = host.NewLiveHost(v.set.Host), v.fresh
	v.takeGuards()
	if err := v.openServers(ctx, token); err != nil {
		return err
	}
	if v.tools != nil {
		defer v.tools.Close()
	}
	if v.page != nil {
		defer v.page.watcher.Close()
	}
	beside, stop := context.WithCancel(ctx)
	defer v.background.Wait()
	defer stop()
	if v.traces != nil {
		v.background.Go(func() { v.traces.Run(beside) })
	}
	if v.page != nil {
		v.background.Go(func() { v.page.follow(beside) })
	}
	if err := v.startReloading(beside); err != nil {
		return err
	}
	return v.answer(ctx, in, out, token)
}

// load loads the plugins, and adds the tools of mounted servers and load_fragment. It adds problems to res.
// If the log is not enabled, records is nil.
func (v *server) load(ctx context.Context, res *Result) (set *loader.Set, records *decision.Log, err error) {
	set, err = v.loadWith(ctx, res, &v.flags.loadFlags, v.paths, func(o *loader.Options) {
		if v.fragments == nil {
			v.fragments = v.writeContents(o.Config)
		}
		o.Host.Log, o.Host.Approver, o.Host.Fragments = v.logLine, mcp.Approve, v.fragments
		o.Host.MaxWaiting = maxWaiting
		if records = v.newLog(o.Config, "", v.countLogFailure(o.Config)); records != nil {
			observe(records, o.Config, &o.Host, records.Observe)
		}
		v.observe(&o.Host)
	})
	if err != nil {
		return nil, nil, err
	}
	useSet(records, set)
	if tool, ok := mcp.LoaderTool(set.Host); ok && v.flags.mcp != "" {
		err = set.Host.Add(tool)
	}
	plugins := set.Host
	if err == nil {
		set, err = v.withTools(ctx, set, plugins)
	}
	if err != nil {
		return nil, nil, errors.Join(err, set.Close())
	}
	v.fresh = plugins
	return set, records, nil
}

// withTools returns a set that has the plugins of a host, and the tools that other programs offer now.
func (v *server) withTools(ctx context.Context, set *loader.Set, plugins *host.Host) (*loader.Set, error) {
	next := *set
	next.Host = plugins.Losing()
	if err := v.mounts.AddTools(ctx, &next, func(string) bool { return true }); err != nil {
		return set, err
	}
	if v.tools == nil {
		return &next, nil
	}
	return &next, programs.AddTools(next.Host, v.tools.Plugin(), "--tools", v.printWarning)
}

// startReloading starts goroutines that reload the plugins until ctx ends.
func (v *server) startReloading(ctx context.Context) error {
	if v.flags.watch {
		w, err := watch.New()
		if err == nil {
			in := v.set.Inputs()
			err = w.Inputs(in.Files, in.Folders)
		}
		if err != nil {
			return err
		}
		v.background.Go(func() { v.reloadOnChange(ctx, w) })
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	v.background.Go(func() {
		defer signal.Stop(hangup)
		v.reloadOnRequest(ctx, hangup)
	})
	return nil
}

// reloadOnRequest reloads the plugins after a hangup signal. After a call of requestTools it only replaces
// the tools of other programs: these programs do not decide when starhost reads plugins again.
func (v *server) reloadOnRequest(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			v.reload(ctx)
		case <-v.toolRequests:
			v.reloading.Lock()
			if err := v.replaceTools(ctx); err != nil {
				v.printWarning(err.Error())
			}
			v.reloading.Unlock()
		}
	}
}

// reloadOnChange reloads the plugins whenever a file changes.
func (v *server) reloadOnChange(ctx context.Context, w *watch.Watcher) {
	defer w.Close()
	err := w.Loop(ctx, func(file string) error {
		v.printNote("changed: " + v.relative(file))
		in := v.reload(ctx)
		return w.Inputs(in.Files, in.Folders)
	})
	if err != nil {
		v.printWarning("files are not watched any more: " + err.Error())
	}
}

// requestTools makes the server replace the tools of other programs soon.
func (v *server) requestTools() {
	select {
	case v.toolRequests <- struct{}{}:
	default: // a request is waiting already
	}
}

// reload loads the plugins again, and serves them if all of them load. It returns the inputs of the set in
// use.
func (v *server) reload(ctx context.Context) loader.Inputs {
	v.reloading.Lock()
	defer v.reloading.Unlock()
	_ = v.replaceSet(ctx) // replaceSet reports its error itself
	return v.set.Inputs()
}

// replaceSet loads the plugins again. If it fails, the old set stays. It has reported the error that it
// returns.
func (v *server) replaceSet(ctx context.Context) error {
	round := v.newRound()
	set, records, err := v.load(ctx, round)
	if err == nil {
		err = set.Err()
	}
	if err != nil && len(round.problems) == 0 {
		round.addError(err)
	}
	v.report(round)
	if err != nil {
		v.printNote("the plugins from before stay")
		return err
	}
	v.records, v.plugins = records, v.fresh
	v.use(ctx, set)
	v.mounts.CloseUnused()
	v.processes.CloseUnused()
	v.printNote("loaded " + report.PluginLine(set.Plugins))
	return nil
}

// replaceTools serves the loaded plugins with the tools that other programs offer now. The caller
// has locked reloading.
func (v *server) replaceTools(ctx context.Context) error {
	next, err := v.withTools(ctx, v.set, v.plugins)
	if err == nil {
		v.use(ctx, next)
	}
	return err
}

// use makes a set the one that the server uses.
func (v *server) use(ctx context.Context, set *loader.Set) {
	v.set = set
	v.live.Swap(set.Host)
	v.takeGuards()
	if v.mcp != nil {
		v.mcp.Refresh(ctx)
	}
}

// printWarning prints a warning for the operator.
func (v *server) printWarning(text string) {
	if !v.quiet {
		fmt.Fprintf(v.stderr, "warning: %s\n", text)
	}
}

// countLogFailure returns a function that prints why the decision log lacks a record, also with --quiet, and
// counts that. If the log is required, the observer of the metrics counts it.
func (v *server) countLogFailure(c *loader.Config) func(error) {
	return func(err error) {
		fmt.Fprintf(v.stderr, "serve: %v\n", err)
		if v.metrics != nil && !c.Log.Required {
			v.metrics.FailLog()
		}
	}
}

// logLine prints a line that a handler logged.
func (v *server) logLine(line host.LogLine) {
	if !v.quiet && (line.Level != "debug" || v.verbose) {
		v.writeLog(v.Result, line)
	}
}

// A lockedWriter lets several goroutines write, one at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *lockedWriter) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}
