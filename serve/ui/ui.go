// Package ui is the inspector: a page that shows what plugins do to prompts and to calls.
//
// Its central idea is that the page shows what commands print. A view asks for a row of a short
// table, and the server runs that command of starhost with the page's values as flags. So the page
// and the command line cannot differ. Only the decision log has an index in memory, because a
// filter must not read a week's records again.
//
// The page is open to one browser: the operator's URL has a token, which the server swaps for a
// cookie. Everything that plugins, prompts and the log contain is text to the page, never markup.
//
// The package loads no plugins and changes no file, except that it writes new golden cases.
package ui

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// Bounds of the server.
const (
	// MaxBody is the most bytes of a question of the page, with an agent's event in it.
	MaxBody = 16 << 20
	// MaxRequests is the most requests at one time. Each visible page has one that waits for
	// changes.
	MaxRequests = 32

	maxPages   = 16   // pages that wait for changes; the other requests are for their questions
	maxRuns    = 2    // commands that run at one time
	maxProblem = 4000 // bytes of a mistake

	exampleCommand = "@COMMAND@" // the page replaces it by what the user types
)

// An Output is what a command of starhost wrote.
type Output struct {
	Out, Diagnostics []byte
	Code             int // the exit code
}

// Options describe an inspector.
type Options struct {
	// Token is what the operator's URL contains.
	Token string
	// Run runs a command of starhost with its arguments. With last, it uses the last plugins
	// without a mistake, if those on the disk have one.
	Run func(ctx context.Context, args []string, last bool) Output
	// Global are flags that all commands take, Loading those for loading plugins.
	Global, Loading []string
	// Paths are the paths of the plugins.
	Paths []string
	// AllowEffects allows calls of tools to run effects that outlive the call.
	AllowEffects bool
	// Decide answers the event of an agent's hook, and returns a value for the page.
	Decide func(ctx context.Context, agent, event string) (any, error)
	// Agents are the names that Decide knows.
	Agents []string
	// Example returns an event of an agent before a shell command.
	Example func(agent, command string) string
	// Folder returns the folder of a loaded plugin, and its file if the plugin is a single file.
	Folder func(plugin string) (dir, file string, ok bool)
	// Workspace is the folder that the page names in its title.
	Workspace string
	// Problem is the first mistake of the plugins, "" for none.
	Problem string
	// LogDir is the folder of the decision log, "" if there is none.
	LogDir string
}

// A Server is an inspector. All its methods may be called at the same time.
type Server struct {
	Options
	secret   string // the cookie's value
	commands map[string]command
	log      *index
	runs     chan struct{} // has a token for each command that runs
	pictures pictures
	handler  http.Handler

	mu      sync.Mutex
	waiting map[chan string]bool // pages that wait for changes
	problem string               // the first mistake of the plugins, or ""
}

//go:embed page
var page embed.FS

// NewServer returns an inspector. Its decision log is empty until ReadLog reads it.
func NewServer(o Options) *Server {
	s := &Server{
		Options: o, secret: rand.Text(), commands: newCommands(), log: newIndex(), runs: make(chan struct{}, maxRuns),
		waiting: map[chan string]bool{}, problem: errtext.CutTo(o.Problem, maxProblem, "…"),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", answerFile)
	mux.HandleFunc("GET /api/about", s.answerAbout)
	mux.HandleFunc("GET /api/changes", s.answerChanges)
	mux.HandleFunc("GET /api/costs", s.answerCosts)
	mux.HandleFunc("GET /api/log", s.answerLog)
	mux.HandleFunc("GET /api/picture", s.answerPicture)
	mux.HandleFunc("GET /api/record", s.answerRecord)
	mux.HandleFunc("GET /api/source", s.answerSource)
	mux.HandleFunc("POST /api/golden", s.answerGolden)
	mux.HandleFunc("POST /api/hook", s.answerHook)
	for name := range s.commands {
		mux.HandleFunc("POST /api/"+name, s.answerCommand)
	}
	s.handler = s.guard(mux)
	return s
}

// ReadLog reads the decision log, and what programs write to it, until ctx ends.
func (s *Server) ReadLog(ctx context.Context) error {
	if s.LogDir == "" {
		return nil
	}
	return s.log.read(ctx, s.LogDir, func() { s.notify("log") })
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// fileTypes are the types of the page's files. The server of net/http would read the types of the
// machine at each start of the program.
var fileTypes = [][2]string{
	{".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"},
	{".css", "text/css; charset=utf-8"}, {".svg", "image/svg+xml"},
}

// answerFile answers with a file of the page.
func answerFile(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(strings.TrimPrefix(r.URL.Path, "/"), "index.html")
	for _, t := range fileTypes {
		data, err := page.ReadFile("page/" + name)
		if err == nil && strings.HasSuffix(name, t[0]) {
			w.Header().Set("Content-Type", t[1])
			_, _ = w.Write(data) // the page went away
			return
		}
	}
	http.NotFound(w, r)
}

// answerAbout says what the page needs before its first view.
func (s *Server) answerAbout(w http.ResponseWriter, _ *http.Request) {
	type event struct {
		Name string   `json:"name"`
		Args []string `json:"args"`
	}
	events := []event{}
	for _, e := range starhost.Events() {
		events = append(events, event{e.Name, e.Args})
	}
	examples := map[string]string{} // by agent
	for _, name := range s.Agents {
		examples[name] = s.Example(name, exampleCommand)
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"workspace": s.Workspace, "agents": s.Agents, "examples": examples, "events": events, "allow_effects": s.AllowEffects, "log": s.LogDir != "",
		"problem": s.currentProblem(),
	})
}

// answerHook answers the event of an agent's hook.
func (s *Server) answerHook(w http.ResponseWriter, r *http.Request) {
	var q struct{ Agent, Event string }
	if !readQuestion(w, r, &q) {
		return
	}
	leave, ok := s.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	v, err := s.Decide(r.Context(), q.Agent, q.Event)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, v)
}

// enter waits until few commands run. The caller must call leave when its command ended.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) (leave func(), ok bool) {
	select {
	case s.runs <- struct{}{}:
		return func() { <-s.runs }, true
	case <-r.Context().Done():
		writeError(w, http.StatusServiceUnavailable, "the page went away")
		return nil, false
	}
}

// readQuestion decodes the body of a request into v. If it fails, it has answered.
func readQuestion(w http.ResponseWriter, r *http.Request, v any) (ok bool) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		writeError(w, http.StatusBadRequest, "the question: "+err.Error())
		return false
	}
	return true
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the page went away
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": errtext.CutTo(text, 2000, "…")})
}
