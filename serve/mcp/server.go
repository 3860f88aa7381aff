// Package mcp connects hosts with the Model Context Protocol, in both directions.
//
// A [Server] offers a host's plugins to MCP clients. Tools are tools. Fragment loaders are resource
// templates and the tool load_fragment, skills are resources, commands and templates are prompts.
// An MCP session is a session of the host, so hooks guard each call, and the state of plugins lasts
// until the client disconnects. Calls of one session run one after another; sessions run in
// parallel. Protocol version 2026-07-28 has no sessions: over HTTP each request of that version is
// a session of the host. A [Mount] is the other direction: it provides the tools of another MCP
// server as a plugin.
//
// The SDK implements the protocol, but the current host answers calls: it validates arguments, and
// a failure in a tool is a result that the model reads. The package does not use sampling, because
// a host calls no model here, and it sends no logs, because logs belong to the operator.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// Options say how a [Server] works. The zero value works.
type Options struct {
	// Version is the program's version, which clients see.
	Version string
	// Session configures the sessions of clients. starhost ignores its ID: a session over HTTP has
	// the client's id, any other session has an id of the host.
	Session host.SessionConfig
	// Fragments is the hosts' store. A client's list of resources contains the named fragments and
	// the fragments that the client's prompts contained. Nil lists none.
	Fragments fragments.Store
	// Warn receives the reasons why starhost cannot offer something. Nil drops them.
	Warn func(text string)
}

// These limits bound a server.
const (
	maxCompletions = 100              // the protocol's limit
	endTimeout     = 10 * time.Second // for session_end and its hooks
)

// A Server answers MCP clients with the tools and texts of a host.
type Server struct {
	live    *host.LiveHost
	options Options
	sdk     *sdk.Server

	exchanges exchanges       // the open HTTP requests
	stopping  context.Context // ends when open requests must end
	stop      context.CancelFunc
	quiet     context.Context // ends when clients hear of no more changes
	hush      context.CancelFunc
	states    requestStates

	admission   sync.Mutex // serialises makeRoom
	mu          sync.Mutex
	sessions    map[*sdk.ServerSession]*session
	lists       clientLists
	subscribed  map[string]int // the number of subscribed clients by URI
	draining    bool
	calls       sync.WaitGroup // open requests
	sessionEnds sync.WaitGroup // sessions that have not ended
}

// NewServer returns a server for the hosts of live. Call [Server.Refresh] after each Swap.
func NewServer(live *host.LiveHost, o Options) *Server {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	o.Session.Platform = cmp.Or(o.Session.Platform, "mcp")
	s := &Server{live: live, options: o, sessions: map[*sdk.ServerSession]*session{}, subscribed: map[string]int{}}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.quiet, s.hush = context.WithCancel(s.stopping)
	changing := &sdk.ServerCapabilities{
		Tools:       &sdk.ToolCapabilities{ListChanged: true},
		Prompts:     &sdk.PromptCapabilities{ListChanged: true},
		Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Completions: &sdk.CompletionCapabilities{},
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "starhost", Version: o.Version}, &sdk.ServerOptions{
		Capabilities:      changing,
		CompletionHandler: s.complete,
		SetCacheable:      func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = cacheScope },
		SubscribeHandler: func(_ context.Context, r *sdk.SubscribeRequest) error {
			return s.subscribe(s.findSession(r.Session), r.Params.URI)
		},
		UnsubscribeHandler: func(_ context.Context, r *sdk.UnsubscribeRequest) error {
			s.unsubscribe(s.findSession(r.Session), r.Params.URI)
			return nil
		},
	})
	s.sdk.AddReceivingMiddleware(s.handleRequest)
	s.Refresh(context.Background())
	return s
}

// cacheScope says who may store an answer: its client only, because answers depend on roles and on
// the client's session.
const cacheScope = "private"

// listenMethod is a request that lasts until the client ends it.
const listenMethod = "subscriptions/listen"

// errDraining answers requests during a shutdown.
var errDraining = errors.New("the server is shutting down")

// handleRequest answers a request, or passes it to the SDK.
func (s *Server) handleRequest(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, name string, r sdk.Request) (sdk.Result, error) {
		if !s.beginRequest() {
			return nil, errDraining
		}
		defer s.calls.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.stopping, cancel)()
		if name == listenMethod { // a shutdown must not wait for it
			defer context.AfterFunc(s.quiet, cancel)()
		}
		if ss, ok := r.GetSession().(*sdk.ServerSession); ok {
			defer s.useSession(name, ss)()
		}
		switch r := r.(type) {
		case *sdk.ReadResourceRequest: // the SDK knows no references without a template
			result, err := s.readResource(ctx, r)
			if err != nil { // a nil pointer must not become a non-nil interface
				return nil, err
			}
			return result, nil
		case *sdk.CallToolRequest:
			if err := s.checkTool(ctx, r); err != nil {
				return nil, err
			}
		case *sdk.GetPromptRequest:
			if err := s.checkPrompt(r.Params.Name); err != nil {
				return nil, err
			}
		}
		result, err := next(ctx, name, r)
		if err != nil {
			return result, err
		}
		switch list := result.(type) {
		case *sdk.ListToolsResult:
			return s.filterTools(ctx, r.GetSession().(*sdk.ServerSession), list)
		case *sdk.ListResourcesResult:
			return s.addStored(ctx, r.GetSession().(*sdk.ServerSession), list)
		}
		return result, nil
	}
}

// beginRequest counts a request, and returns false during a shutdown.
func (s *Server) beginRequest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.draining {
		s.calls.Add(1)
	}
	return !s.draining
}

// refuseRequests makes beginRequest return false, and ends the clients' open subscriptions.
func (s *Server) refuseRequests() {
	s.hush()
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
}

// drain refuses new requests, waits until open requests are answered or ctx ends, and then ends all
// sessions. Closing a connection waits for the writes of answers, and a client that does not read
// blocks them, so drain gives each step closeTimeout after the end of ctx.
func (s *Server) drain(ctx context.Context) {
	s.refuseRequests()
	waitFor(ctx, &s.calls)
	s.stop()
	var closing sync.WaitGroup
	for ss := range s.sdk.Sessions() {
		closing.Go(func() { _ = ss.Close() }) // the session ends in any case
	}
	for _, group := range []*sync.WaitGroup{&closing, &s.sessionEnds} {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		if ctx.Err() == nil {
			waitFor(ctx, group)
		}
		waitFor(last, group)
		cancel()
	}
}

// waitFor waits for a group or the end of ctx.
func waitFor(ctx context.Context, group *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// A session is the host's session of an MCP client.
type session struct {
	*host.Session
	mu            sync.Mutex
	toolsHost     *host.Host                // the host that tools comes from
	tools         map[string]bool           // the names of the tools for this session
	callCount     atomic.Int64              // gives calls their ids
	subscribed    map[string]bool           // the URIs of the client's subscriptions; guarded by Server.mu
	requests      int                       // open ones; guarded by Server.mu
	lastUse       time.Time                 // guarded by Server.mu
	gone          chan struct{}             // closes when the client can no longer answer
	leave         func()                    // closes gone
	sentFragments map[fragments.Hash]string // the fragments of the client's prompts, with their sources
}

// findSession returns the session of a client. It begins one at the client's first request.
func (s *Server) findSession(ss *sdk.ServerSession) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.sessions[ss]; found != nil {
		return found
	}
	config := s.options.Session
	config.ID = ss.ID()
	made := &session{
		Session: s.live.NewSession(config), sentFragments: map[fragments.Hash]string{},
		subscribed: map[string]bool{}, gone: make(chan struct{}),
	}
	made.leave = sync.OnceFunc(func() { close(made.gone) })
	s.sessions[ss] = made
	s.sessionEnds.Go(func() { s.endSession(ss, made) })
	return made
}

// endSession waits until a client has gone, and then ends its session of the host.
func (s *Server) endSession(ss *sdk.ServerSession, ours *session) {
	_ = ss.Wait() // the reason does not matter
	ours.leave()
	s.mu.Lock()
	delete(s.sessions, ss)
	for uri := range ours.subscribed {
		s.forgetSubscription(ours, uri)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := ours.Close(ctx); err != nil {
		s.options.Warn(fmt.Sprintf("session %s: its end: %v", ours.ID(), err))
	}
}

// A clientLists is the JSON of all list items that clients saw last, by name.
type clientLists struct{ tools, templates, resources, prompts map[string]string }

// Refresh notifies clients after a change of the host: of changed lists, and of each resource with
// a subscription, because its content may have changed.
func (s *Server) Refresh(ctx context.Context) {
	h := s.live.Host()
	s.mu.Lock()
	l, removeTemplates := &s.lists, s.sdk.RemoveResourceTemplates
	l.tools = updateList(l.tools, tools(h), toolKey, s.addTool, s.sdk.RemoveTools)
	l.templates = updateList(l.templates, resourceTemplates(h), templateKey, s.addTemplate, removeTemplates)
	l.resources = updateList(l.resources, resources(h), resourceKey, s.addResource, s.sdk.RemoveResources)
	l.prompts = updateList(l.prompts, prompts(h), promptKey, s.addPrompt, s.sdk.RemovePrompts)
	uris := slices.Sorted(maps.Keys(s.subscribed))
	s.mu.Unlock()
	for _, uri := range uris {
		_ = s.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // the client may have gone
	}
}

// updateList adds and removes the items that changed in one of the SDK's lists. It touches no other
// item, because the SDK notifies all clients of each change.
func updateList[T any](
	old map[string]string, items []T, key func(T) string, add func(T), remove func(...string),
) map[string]string {
	now := map[string]string{}
	for _, item := range items {
		data, _ := json.Marshal(item) // the items are plain data
		name := key(item)
		now[name] = string(data)
		if old[name] != now[name] {
			add(item)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, stays := now[name]; !stays {
			remove(name)
		}
	}
	return now
}
