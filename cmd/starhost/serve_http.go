package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents/install"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/decide"
	"github.com/starhost/starhost/serve/front"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/serve/mcp"
	"github.com/starhost/starhost/serve/neko"
	"github.com/starhost/starhost/serve/proxy"
	"github.com/starhost/starhost/serve/ui"
)

// A guardState has the plugins that decide.
type guardState struct {
	host    *host.Host
	records *decision.Log // nil if the log is not enabled
	secret  func(name string) (string, error)
}

// takeGuards makes the plugins of the loaded set those that decide.
func (v *server) takeGuards() {
	v.guards.Store(&guardState{host: v.set.Host, records: v.records, secret: v.set.Secret})
	if v.metrics != nil {
		modes := map[string]string{}
		for _, p := range v.set.Plugins {
			modes[p.Name] = p.Mode
		}
		for name, p := range v.set.Config.Processes {
			modes["process-"+name] = p.Mode
		}
		v.metrics.SetPlugins(v.set.Revision(), modes)
	}
}

// upstreamStates says which MCP servers of the config answer, and which endpoints behind the proxy.
func (v *server) upstreamStates() map[string]bool {
	v.reloading.Lock()
	defer v.reloading.Unlock()
	states := map[string]bool{}
	for name, up := range v.mounts.Up() {
		states["mcp."+name] = up
	}
	if v.proxy != nil {
		maps.Copy(states, v.proxy.Upstreams())
	}
	return states
}

// observe makes a host pass its decisions to the metrics and traces.
func (v *server) observe(o *host.Options) {
	next := o.Observe
	if v.metrics == nil && v.traces == nil {
		return
	}
	o.Observe = func(e starhost.Event, out host.Outcome) (err error) {
		if next != nil {
			err = next(e, out)
		}
		if v.traces != nil {
			v.traces.Observe(e, out)
		}
		if v.metrics != nil {
			v.metrics.Observe(e, out)
			if err != nil {
				v.metrics.FailLog()
			}
		}
		return err
	}
}

// guardingHost returns the plugins that decide.
func (v *server) guardingHost() *host.Host { return v.guards.Load().host }

// undecided records an event about which plugins did not decide.
func (v *server) undecided(e *starhost.Event, answered, reason string) {
	records := v.guards.Load().records
	hook.WaitBriefly(hook.LogWait, func() { _ = records.DeliverUndecided(e, answered, reason) }) // e is refused in any case
}

// openServers makes the servers that the flags ask for.
func (v *server) openServers(ctx context.Context, token string) (err error) {
	if v.flags.mcp != "" {
		session := host.SessionConfig{Model: v.set.Config.Model.Default}
		if v.flags.mcp == stdioAddress { // relative to the folder in which the client starts the server
			session.Workspace = v.path(".")
		}
		v.mcp = mcp.NewServer(v.live, mcp.Options{
			Version: version(), Session: session, Fragments: v.fragments, Warn: v.printWarning,
		})
	}
	if v.flags.tools != "" {
		v.tools = neko.NewRegistry(neko.RegistryOptions{
			Roles: v.set.Config.Serve.ToolRoles, Apply: v.applyTools, Warn: v.printWarning,
		})
	}
	if v.flags.decides() {
		var shared *hook.Shared
		if db, err := v.database(v.set.Config); err == nil && db != nil && db.IsServer() {
			shared = &hook.Shared{Take: db.TakeLive, Store: db.StoreLive}
		}
		v.decide = decide.NewServer(decide.Options{
			Shared:   shared,
			Host:     v.guardingHost,
			Deadline: v.flags.deadline, FailClosed: v.flags.failClosed, IsOpen: v.flags.isOpen,
			Outcome: v.outcome, Warn: v.printWarning, Undecided: v.undecided,
			Answered: func(e *starhost.Event, a hook.Answer) {
				v.guards.Load().records.DeliverAnswered(e, a.Action, a.Args, "")
			},
		})
		if v.metrics != nil {
			v.metrics.AddGauge("starhost_sessions", "Sessions in memory.", v.decide.Sessions)
		}
	}
	if v.flags.proxy != "" {
		err = v.openProxy(token)
	}
	if v.flags.ui != "" && err == nil {
		page := &inspected{Env: v.Env, Result: v.Result, flags: &v.flags.loadFlags, paths: v.paths, beside: true}
		if err = page.open(ctx, ui.Options{Global: v.flags.pageGlobal, Loading: v.flags.pageLoading}); err == nil {
			v.page = page
		}
	}
	return err
}

// proxyGarbage is by how many percent the heap grows before the garbage collector runs. At 400 %, 1,000 open
// streams with requests of 48 KB take 79 MiB instead of 35, and a request takes 3 % less time.
const proxyGarbage = 200

// openProxy makes the proxy. It gives the proxy keys of endpoints only if clients need a token.
func (v *server) openProxy(token string) (err error) {
	o := proxy.Options{
		Host: v.guardingHost, Upstream: v.flags.upstream, Tools: v.flags.offered, PassUnknown: v.flags.passUnknown,
		Rounds: v.set.Config.Model.Rounds, Warn: func(text string) { v.printWarning("proxy: " + text) },
		Undecided: v.undecided,
	}
	if token != "" {
		o.Secret = func(name string) (string, error) { return v.guards.Load().secret(name) }
	}
	if v.getenv("GOGC") == "" {
		debug.SetGCPercent(proxyGarbage) // process.go sets a higher value, for short commands
	}
	if v.proxy, err = proxy.NewServer(o); err != nil {
		return usagef("--upstream: %v", err)
	}
	if err := v.checkProxyFlags(); err != nil {
		return err
	}
	if v.metrics != nil {
		v.metrics.AddGauge("starhost_proxy_sessions", "Sessions of --proxy in memory.", v.proxy.Sessions)
	}
	return nil
}

// checkProxyFlags returns an error for a wrong glob of --tool, and for a name of --upstream that no endpoint
// has. Otherwise nobody would notice such a mistake before the first request. A reload may still remove the
// endpoint.
func (v *server) checkProxyFlags() error {
	for _, glob := range v.flags.offered {
		if _, err := path.Match(glob, ""); err != nil {
			return usagef("--tool: got %q, want a glob as who_*", glob)
		}
	}
	name := v.flags.upstream
	if name == "" || strings.Contains(name, "/") {
		return nil
	}
	var names []string
	for _, e := range v.set.Host.Endpoints() {
		names = append(append(names, e.Name), e.Aliases...)
	}
	if !slices.Contains(names, name) {
		return usagef("--upstream: no endpoint is named %q%s", name, near.DidYouMean(name, names))
	}
	return nil
}

// applyTools makes a host that has the registered tools the one in use. It fails if the name of a tool is
// taken.
func (v *server) applyTools(ctx context.Context) error {
	v.reloading.Lock()
	defer v.reloading.Unlock()
	if err := v.replaceTools(context.WithoutCancel(ctx)); err != nil { // mounted servers live longer than the request
		return err
	}
	p := v.tools.Plugin()
	for _, t := range v.set.Host.Tools() {
		i := slices.IndexFunc(p.Tools, func(o starhost.Tool) bool { return o.Name == t.Name })
		if i >= 0 && t.PluginName() != p.Name {
			return fmt.Errorf("tool '%s' already owned by plugin '%s'", t.Name, t.PluginName())
		}
	}
	return nil
}

// A firedJSON is the answer to a program that fired an event.
type firedJSON struct {
	Schema string `json:"schema"`
	*report.FireJSON
}

func (v *server) outcome(event string, out host.Outcome) any {
	return firedJSON{decide.FireSchema, v.view().NewFireJSON(event, &out)}
}

// readToken returns the token in the file of --token-file, or "" without the flag.
func readToken(env Env, f *serveFlags) (token string, err error) {
	if f.tokenFile == "" {
		return "", nil
	}
	if f.mcp == stdioAddress && !f.guards() {
		return "", usagef("--token-file: got one for stdio, which has no tokens")
	}
	text, err := env.readText(f.tokenFile)
	token = strings.TrimSpace(text)
	if err == nil && token == "" {
		err = usagef("--token-file: %s is empty", f.tokenFile)
	}
	return token, err
}

// A httpServer is an HTTP server that a flag asks for.
type httpServer struct {
	flag, address string
	note          string // a text for the operator, which precedes the server's URL
	path          string // the path of the protocol; "" if it has several
	isVital       bool   // true if the operator needs the URL, also with --quiet
	serve         func(context.Context, net.Listener) error
	listen        func(context.Context, string) (net.Listener, error)
}

// httpServers returns the HTTP servers that the flags ask for.
func (v *server) httpServers(token string) (list []httpServer) {
	if v.flags.mcp != "" && v.flags.mcp != stdioAddress {
		o, protocol := v.mcp.Front(token)
		s := v.fronted("mcp", v.flags.mcp, "serving MCP", o, protocol)
		s.path = mcp.Path
		list = append(list, s)
	}
	if v.proxy != nil { // the header Authorization is for the endpoint
		o := front.Options{
			Token: token, MaxBody: proxy.MaxBody, MaxRequests: proxy.MaxRequests, TakeToken: proxy.TakeToken,
			Ready: v.ready, Refuse: v.proxy.Refuse,
		}
		list = append(list, v.fronted("proxy", v.flags.proxy, "standing in for endpoints", o, v.proxy))
	}
	if v.flags.decides() {
		o := front.Options{
			Token: token, NeedsToken: true, MaxBody: decide.MaxBody, MaxRequests: decide.MaxRequests,
			Ready: v.ready, Refuse: v.decide.Refuse,
		}
		list = append(list,
			v.fronted("hooks", v.flags.hooks, "answering hooks", o, v.decide.Hooks()),
			v.fronted("guardrail", v.flags.guardrail, "answering gateways", o, v.decide.Guardrails()))
	}
	if v.tools != nil { // N.E.K.O's plugins send no header, but accept a URL with the token in it
		o := front.Options{
			Token: token, NeedsToken: true, MaxBody: neko.MaxBody, MaxRequests: neko.MaxRequests,
			TakeToken: takeToolsToken, Ready: v.ready,
		}
		s := v.fronted("tools", v.flags.tools, "taking tools", o, v.tools.Handler())
		if v.flags.register != "" {
			s.serve = func(ctx context.Context, l net.Listener) error { return v.serveTools(ctx, l, o) }
		}
		list = append(list, s)
	}
	if v.metrics != nil {
		o := front.Options{Token: token, MaxBody: 1 << 10, MaxRequests: 16, Ready: v.ready}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", v.metrics)
		list = append(list, v.fronted("metrics", v.flags.metrics, "writing metrics", o, mux))
	}
	if v.page != nil {
		s := v.fronted("ui", v.flags.ui, "showing the page", pageFront, v.page.server)
		s.listen, s.path, s.isVital = listenPage, v.page.urlPath(), true
		list = append(list, s)
	}
	return slices.DeleteFunc(list, func(s httpServer) bool { return s.address == "" })
}

// serveTools accepts registrations of tools, and offers the plugins' tools to N.E.K.O.
func (v *server) serveTools(ctx context.Context, l net.Listener, o front.Options) error {
	if l.Addr().Network() == "unix" {
		return errors.Join(usagef("--register: got --tools %s, want an ADDR at which N.E.K.O calls", v.flags.tools), l.Close())
	}
	p, err := neko.NewProvider(neko.ProviderOptions{
		Host: v.live, Server: v.flags.register, Callback: callbackURL(l.Addr(), o.Token), Warn: v.printWarning,
	})
	if err != nil {
		return errors.Join(usagef("--register: %v", err), l.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", v.tools.Handler())
	mux.Handle("/", p.Handler())
	o.Log = func(line string) { v.printNote("tools: " + line) }
	var offering sync.WaitGroup
	defer offering.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	offering.Go(func() { p.Run(ctx) })
	return o.Serve(ctx, l, mux)
}

// callbackURL returns the URL at which N.E.K.O calls tools. It contains the token, because N.E.K.O sends no
// header with one.
func callbackURL(a net.Addr, token string) string {
	if token == "" {
		return "http://" + a.String()
	}
	return "http://" + a.String() + "/t/" + url.PathEscape(token) // as proxy.TakeToken reads it
}

// takeToolsToken returns the token that a request to --tools brings, and removes it from the request.
func takeToolsToken(r *http.Request) string {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	return proxy.TakeToken(r)
}

// fronted returns an HTTP server whose requests pass through the front.
func (v *server) fronted(flag, address, note string, o front.Options, h http.Handler) httpServer {
	o.Log = func(line string) { v.printNote(flag + ": " + line) }
	serve := func(ctx context.Context, l net.Listener) error { return o.Serve(ctx, l, h) }
	return httpServer{flag: flag, address: address, note: note, serve: serve, listen: o.Listen}
}

// ready returns why the plugins cannot decide, or nil if they can.
func (v *server) ready() error {
	if v.guardingHost().Refuses("pre_tool_call") != nil {
		return errors.New("a guard is not loaded: all calls of tools are refused")
	}
	return nil
}

// answer serves until ctx ends, until the client on stdio closes its side, or until a server fails.
func (v *server) answer(ctx context.Context, in io.Reader, out io.Writer, token string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	servers := v.httpServers(token)
	listeners := make([]net.Listener, len(servers))
	for i, s := range servers { // opens all of them first, because half of the servers would be no use
		var err error
		if listeners[i], err = s.listen(ctx, addressHere(v.Env, s.address)); err != nil {
			for _, l := range listeners[:i] {
				l.Close()
			}
			return s.listenError(err)
		}
	}
	ended := make(chan error, len(servers)+1)
	running := len(servers)
	for i, s := range servers {
		if note := s.note + " at " + s.url(listeners[i].Addr()); s.isVital {
			fmt.Fprintln(v.stderr, note)
		} else {
			v.printNote(note)
		}
		go func() { ended <- errtext.File(s.address, s.serve(ctx, listeners[i])) }()
	}
	if v.flags.mcp == stdioAddress {
		running++
		go func() { ended <- errtext.File("stdio", v.mcp.ServeStdio(ctx, in, out)) }()
	}
	var err error
	for range running {
		err = cmp.Or(err, <-ended)
		cancel() // if one server ends, all end
	}
	if v.decide != nil {
		v.decide.Drain()
	}
	return err
}

// addressHere returns an address with the path of a socket in the form that the system needs.
func addressHere(env Env, address string) string {
	if path, ok := strings.CutPrefix(address, "unix:"); ok && path != "" {
		return "unix:" + env.path(path)
	}
	return address
}

// listenError returns the error for an address at which the server cannot listen.
func (s *httpServer) listenError(err error) error {
	if busy, ok := errors.AsType[*net.OpError](err); ok {
		return errtext.File(s.address, busy.Err)
	}
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return errtext.File(s.address, failed.Err)
	}
	return usagef("--%s: %v", s.flag, err)
}

// url returns the URL of the server.
func (s *httpServer) url(a net.Addr) string {
	if a.Network() == "unix" {
		return s.address
	}
	return "http://" + a.String() + s.path
}

// tokenEnv is the environment variable that has the token, in the settings that serve prints.
const tokenEnv = "STARHOST_TOKEN"

// printHTTPConfig prints settings by which an agent sends its events to --hooks.
func printHTTPConfig(env Env, res *Result, f *serveFlags) error {
	agent := hook.AgentOf(f.printConfig)
	switch {
	case agent == nil || !agent.HTTP:
		names := decide.AgentNames()
		return usagef("--print-config: got %q%s, want an agent with HTTP hooks: %s (others: starhost hook AGENT --print-config)",
			f.printConfig, near.DidYouMean(f.printConfig, names), strings.Join(names, ", "))
	case f.hooks == "":
		return usagef("--print-config: want --hooks ADDR beside it")
	case strings.HasPrefix(f.hooks, "unix:"):
		return usagef("--print-config: got --hooks %s, want an ADDR as 127.0.0.1:8790: %s has no hooks over a socket", f.hooks, agent.Title)
	}
	if _, port, err := net.SplitHostPort(f.hooks); err != nil || port == "0" {
		return usagef("--print-config: got --hooks %s, want HOST:PORT with the port that the agent uses", f.hooks)
	}
	flags := install.Flags{Deadline: f.deadline}
	text, where := agent.Config(hook.Settings{
		Timeout: flags.Timeout(agent), URL: decide.HooksURL(f.hooks, agent.Name), TokenEnv: tokenEnv,
	})
	res.out.WriteString(text)
	if !env.quiet {
		fmt.Fprintf(env.stderr, "this belongs into %s; the agent's environment needs %s\n", where, tokenEnv)
	}
	return nil
}
