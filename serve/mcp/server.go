// Package mcp joins hosts and the Model Context Protocol, in both directions.
//
// A [Server] offers what a host has to any MCP client: tools, fragment loaders as
// resource templates and as the tool load_fragment, skills as resources, commands
// and templates as prompts, completion. An MCP session is a session of the host,
// so hooks guard each call, and the state of plugins lives as long as the client
// stays. Calls of one session run one after another; sessions run beside each
// other. A [Mount] is the other direction: the tools of another MCP server, as a
// plugin of a host.
//
// The protocol is the SDK's. What is asked for is answered here, by the host of
// the moment: it validates arguments, and what goes wrong in a tool is a result
// that the model reads. There is no sampling, as hosts call no model here, and no
// logging, as logs are the operator's.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// Options say how a [Server] works. The zero value works.
type Options struct {
	// Version is what clients are told of the program's version.
	Version string
	// Session is what the sessions of clients are; its ID is not used: sessions
	// over HTTP have the id that the client knows, others one of the host's.
	Session starhost.SessionConfig
	// Fragments is the store of the hosts, of which a client is told what has a name
	// and what its own prompts kept. Nil lists nothing.
	Fragments fragments.Store
	// Warn is told what cannot be offered, and why. Nil drops it.
	Warn func(text string)
}

// Bounds of what a server keeps and sends.
const (
	maxSessions    = 1024
	maxCompletions = 100              // that the protocol allows
	endTimeout     = 10 * time.Second // of a session's end, with the hooks for it
)

// A Server answers MCP clients with what a host offers.
type Server struct {
	live    *starhost.Live
	options Options
	sdk     *sdk.Server

	mu          sync.Mutex
	sessions    map[*sdk.ServerSession]*session
	lists       clientLists
	subscribed  map[string]int // resources, with how many clients want to hear of them
	draining    bool
	calls       sync.WaitGroup // under way
	sessionEnds sync.WaitGroup // of sessions
}

// NewServer returns a server of what the hosts of live offer. After a Swap comes
// [Server.Refresh].
func NewServer(live *starhost.Live, o Options) *Server {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Session.Platform == "" {
		o.Session.Platform = "mcp"
	}
	s := &Server{live: live, options: o, sessions: map[*sdk.ServerSession]*session{}, subscribed: map[string]int{}}
	changing := &sdk.ServerCapabilities{
		Tools:       &sdk.ToolCapabilities{ListChanged: true},
		Prompts:     &sdk.PromptCapabilities{ListChanged: true},
		Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Completions: &sdk.CompletionCapabilities{},
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "starhost", Version: o.Version}, &sdk.ServerOptions{
		Capabilities:              changing,
		SupportedProtocolVersions: sessionVersions(),
		CompletionHandler:         s.complete,
		SubscribeHandler: func(_ context.Context, r *sdk.SubscribeRequest) error {
			return s.subscribe(r.Params.URI, 1)
		},
		UnsubscribeHandler: func(_ context.Context, r *sdk.UnsubscribeRequest) error {
			return s.subscribe(r.Params.URI, -1)
		},
	})
	s.sdk.AddReceivingMiddleware(s.handleRequest)
	s.Refresh(context.Background())
	return s
}

// sessionVersions returns the versions of the protocol that have sessions: later ones
// have none, so that plugins could keep nothing and nobody could be asked. Clients
// that know later ones know these as well.
func sessionVersions() []string {
	return slices.DeleteFunc(sdk.SupportedProtocolVersions(), func(v string) bool { return v >= "2026" })
}

// A method answers one kind of request.
type method func(*Server, context.Context, sdk.Request) (sdk.Result, error)

// methods are the requests that are answered here; the SDK answers the others.
var methods = map[string]method{
	"tools/call":     methodOf((*Server).callTool),
	"resources/read": methodOf((*Server).readResource),
	"prompts/get":    methodOf((*Server).getPrompt),
}

// methodOf makes a method of a function for one kind of request.
func methodOf[R sdk.Request, A sdk.Result](handle func(*Server, context.Context, R) (A, error)) method {
	return func(s *Server, ctx context.Context, r sdk.Request) (sdk.Result, error) {
		a, err := handle(s, ctx, r.(R))
		if err != nil {
			return nil, err // no interface of a nil A
		}
		return a, nil
	}
}

// errDraining answers what comes while the server stops.
var errDraining = errors.New("the server is shutting down")

// handleRequest answers a request, or lets the SDK do it.
func (s *Server) handleRequest(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, name string, r sdk.Request) (sdk.Result, error) {
		if !s.beginRequest() {
			return nil, errDraining
		}
		defer s.calls.Done()
		if m := methods[name]; m != nil {
			return m(s, ctx, r)
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

// beginRequest counts a request, if there may be more.
func (s *Server) beginRequest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.draining {
		s.calls.Add(1)
	}
	return !s.draining
}

// refuseRequests answers no new requests any more.
func (s *Server) refuseRequests() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
}

// drain waits until requests under way are answered, or ctx ends; new ones are
// refused. Then it ends all sessions.
func (s *Server) drain(ctx context.Context) {
	s.refuseRequests()
	waitFor(ctx, &s.calls)
	for ss := range s.sdk.Sessions() {
		_ = ss.Close() // it is over either way
	}
	waitFor(ctx, &s.sessionEnds)
}

// waitFor waits for a group, but not for longer than ctx.
func waitFor(ctx context.Context, group *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// A session is what the host knows of an MCP session.
type session struct {
	*starhost.Session
	mu            sync.Mutex
	toolsHost     *starhost.Host            // whose tools are known
	tools         map[string]bool           // that are for the session
	callCount     int                       // calls, for their ids
	sentFragments map[fragments.Hash]string // what its prompts kept, with where it came from
}

// findSession returns the session of a client, made at its first request.
func (s *Server) findSession(ss *sdk.ServerSession) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.sessions[ss]; known != nil {
		return known
	}
	config := s.options.Session
	config.ID = ss.ID()
	made := &session{Session: s.live.NewSession(config), sentFragments: map[fragments.Hash]string{}}
	s.sessions[ss] = made
	s.sessionEnds.Go(func() { s.endSession(ss, made) })
	return made
}

// endSession waits for the end of a client's session, and ends that of the host.
func (s *Server) endSession(ss *sdk.ServerSession, ours *session) {
	_ = ss.Wait() // why it ended is of no interest
	s.mu.Lock()
	delete(s.sessions, ss)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := ours.Close(ctx); err != nil {
		s.options.Warn(fmt.Sprintf("session %s: its end: %v", ours.ID(), err))
	}
}

// isFull reports whether no more sessions may begin.
func (s *Server) isFull() bool {
	n := 0
	for range s.sdk.Sessions() {
		n++
	}
	return n >= maxSessions
}

// An offers is what clients were told last, by name, as JSON.
type clientLists struct{ tools, templates, resources, prompts map[string]string }

// Refresh tells clients what changed after the host was replaced: lists, and
// resources that they subscribed to, which may be others now.
func (s *Server) Refresh(ctx context.Context) {
	h := s.live.Host()
	s.mu.Lock()
	l, removeTemplates := &s.lists, s.sdk.RemoveResourceTemplates
	l.tools = updateList(l.tools, tools(h), toolKey, s.addTool, s.sdk.RemoveTools)
	l.templates = updateList(l.templates, resourceTemplates(h), templateKey, s.addTemplate, removeTemplates)
	l.resources = updateList(l.resources, resources(h), resourceKey, s.addResource, s.sdk.RemoveResources)
	l.prompts = updateList(l.prompts, prompts(h), promptKey, s.addPrompt, s.sdk.RemovePrompts)
	uris := sortedKeys(s.subscribed)
	s.mu.Unlock()
	for _, uri := range uris {
		_ = s.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // who is gone needs no news
	}
}

// updateList makes what the SDK lists what it should, and touches nothing else: each
// change is told to all clients.
func updateList[T any](
	old map[string]string, items []T, key func(T) string, add func(T), remove func(...string),
) map[string]string {
	now := map[string]string{}
	for _, item := range items {
		data, _ := json.Marshal(item) // plain data
		name := key(item)
		now[name] = string(data)
		if old[name] != now[name] {
			add(item)
		}
	}
	for _, name := range sortedKeys(old) {
		if _, stays := now[name]; !stays {
			remove(name)
		}
	}
	return now
}
