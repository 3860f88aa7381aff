package lsp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// Options connect the server with the program.
type Options struct {
	Version   string
	Reference Reference
	// Root returns the folder of the plugin that a file belongs to, "" for a plugin that is a
	// single file.
	Root func(path string) string
	// Check analyses the plugin of a file as starhost check does.
	Check func(context.Context, Job) Analysis
	// Format returns a file in house style.
	Format func(name, text string) (string, error)
	// RunCase runs a golden case, and returns the report.
	RunCase func(ctx context.Context, file string) (report string, ok bool)
}

// A Job asks for an analysis of one plugin.
type Job struct {
	Dir     string            // the folder of the project
	Path    string            // a file of the plugin
	Unsaved map[string]string // the texts of open files by path
}

// An Analysis is the result of a check.
type Analysis struct {
	Findings []Finding // those in the open files of the plugin
	Facts    *Facts    // nil if the plugins could not be loaded
	Failed   bool      // the plugin itself could not be loaded
}

// A Finding is an error, a warning or a notice of starhost check.
type Finding struct {
	Path      string
	Line, Col int // Col counts code points from 1
	Severity  string
	Code      string
	Message   string
	Help      string
}

// Facts are names that the loaded plugins register.
type Facts struct {
	Root      string            // as Options.Root
	Files     []string          // the .star files of the plugin, except its own
	Libraries map[string]string // the folders of libraries
	Tools     []Fact
	Prefixes  []Fact // the prefixes of references
	Templates []Fact
	Events    []starhost.EventSpec // the events that plugins declare
}

// A Fact is a registered name with its description.
type Fact struct{ Name, Doc string }

// Bounds of the work beside the messages.
const (
	quiet       = 120 * time.Millisecond // without edits, before an analysis
	maxWait     = time.Second            // for an edit that others follow
	maxAnalysis = 10 * time.Second
	maxCase     = time.Minute
	maxText     = 4 << 10 // bytes of a message or report
	maxShown    = 500     // diagnostics of a document
)

// A server is one session. The goroutine of Serve owns all fields but tasks.
type server struct {
	options Options
	words   *words
	out     io.Writer
	tasks   chan func() // the results of other goroutines

	ready, closing bool
	utf8           bool // positions count bytes
	folders        []string
	docs           map[string]*document // by URI

	byRoot map[string]*Facts // the facts of the last analysis

	ctx     context.Context
	waiting map[string]bool // URIs of documents to analyse
	since   time.Time       // the first of them waits since then
	timer   *time.Timer
	working bool // an analysis runs
	testing bool // a golden case runs
}

// A handler answers a request about a document.
type handler func(*server, *document, docParams) (any, error)

// handlers are the requests about a document.
func handlers() map[string]handler {
	return map[string]handler{
		"textDocument/completion":     (*server).complete,
		"textDocument/hover":          (*server).hoverAt,
		"textDocument/signatureHelp":  (*server).signature,
		"textDocument/definition":     (*server).define,
		"textDocument/documentSymbol": (*server).symbols,
		"textDocument/formatting":     (*server).format,
		"textDocument/prepareRename":  (*server).prepareRename,
		"textDocument/rename":         (*server).rename,
		"textDocument/codeAction":     (*server).actions,
		"textDocument/codeLens":       (*server).lenses,
	}
}

// Serve answers messages until the client ends the session or closes in. It returns [ErrExit] if
// the client ended it without a shutdown, and an error if out is closed.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		options: o, words: newWords(&o.Reference), out: out, tasks: make(chan func()), ctx: ctx,
		docs: map[string]*document{}, byRoot: map[string]*Facts{}, waiting: map[string]bool{},
		timer: time.NewTimer(time.Hour),
	}
	defer s.timer.Stop()
	s.timer.Stop()
	messages := make(chan incoming)
	go read(ctx, in, messages)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-messages:
			if done, err := s.receive(m); done || err != nil {
				return err
			}
		case task := <-s.tasks:
			task()
		case <-s.timer.C:
			s.analyse()
		}
	}
}

// incoming is a message, or the reason why there is none.
type incoming struct {
	*message
	err error
}

// read passes messages on until the input ends.
func read(ctx context.Context, in io.Reader, to chan<- incoming) {
	r := bufio.NewReaderSize(in, maxHeader)
	for {
		m, err := readMessage(r)
		select {
		case to <- incoming{m, err}:
		case <-ctx.Done():
			return
		}
		if errors.Is(err, io.EOF) {
			return
		}
	}
}

// ErrExit ends a session that the client did not shut down.
var ErrExit = errors.New("the client ended the session without a shutdown request")

// receive handles one message. done is true at the end of the session.
func (s *server) receive(m incoming) (done bool, err error) {
	var skipped *messageError
	switch {
	case errors.Is(m.err, io.EOF):
		return true, nil
	case errors.As(m.err, &skipped):
		return false, s.send(failure{"2.0", json.RawMessage("null"), &responseError{codeParse, errtext.CutTo(skipped.msg, maxText, "…")}})
	case m.err != nil:
		return true, m.err
	case m.Method == "exit" && !s.closing:
		return true, ErrExit
	case m.Method == "exit":
		return true, nil
	case m.Method == "":
		return false, nil // an answer: the server asks nothing
	}
	result, err := s.call(m.message)
	if len(m.ID) == 0 || string(m.ID) == "null" {
		return false, s.logError(m.Method, err)
	}
	if err != nil {
		var e *responseError
		if !errors.As(err, &e) {
			e = &responseError{codeInternal, errtext.CutTo(err.Error(), maxText, "…")}
		}
		return false, s.send(failure{"2.0", m.ID, e})
	}
	return false, s.send(response{"2.0", m.ID, result})
}

// logError shows the failure of a notification in the client's log.
func (s *server) logError(method string, err error) error {
	var e *responseError
	if err == nil || errors.As(err, &e) && e.Code == codeMethodNotFound {
		return nil
	}
	return s.notify("window/logMessage", messageParams{messageWarning, errtext.CutTo(method+": "+err.Error(), maxText, "…")})
}

func (s *server) send(v any) error { return writeMessage(s.out, v) }

func (s *server) notify(method string, params any) error {
	return s.send(notification{"2.0", method, params})
}

// call runs the function of a request or a notification. A panic becomes an error, so that one
// text cannot end the session.
func (s *server) call(m *message) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			_ = s.notify("window/logMessage", messageParams{messageError_, errtext.CutTo(fmt.Sprintf("%s: %v\n%s", m.Method, p, debug.Stack()), maxText, "…")})
			err = &responseError{codeInternal, errtext.CutTo(fmt.Sprintf("internal error: %v; this is a bug of starhost", p), maxText, "…")}
		}
	}()
	switch {
	case m.Method == "initialize":
		return s.initialize(m.Params)
	case !s.ready:
		return nil, &responseError{codeNotInitialized, "want initialize first"}
	case s.closing:
		return nil, &responseError{codeInvalidRequest, "the session is shut down"}
	}
	if h := handlers()[m.Method]; h != nil {
		var p docParams
		if err := decode(m.Params, &p); err != nil {
			return nil, err
		}
		d := s.docs[p.TextDocument.URI]
		if d == nil {
			return nil, nil
		}
		return h(s, d, p)
	}
	return s.manage(m)
}

// manage handles the messages that are about no place in a document.
func (s *server) manage(m *message) (any, error) {
	switch m.Method {
	case "shutdown":
		s.closing = true
		return nil, nil
	case "textDocument/didOpen":
		return nil, with(m, s.open)
	case "textDocument/didChange":
		return nil, with(m, s.change)
	case "textDocument/didClose":
		return nil, with(m, s.close)
	case "textDocument/didSave", "workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration":
		for uri := range s.docs {
			s.schedule(uri)
		}
		return nil, nil
	case "completionItem/resolve":
		var item completionItem
		if err := decode(m.Params, &item); err != nil {
			return nil, err
		}
		return s.resolve(item), nil
	case "workspace/executeCommand":
		return nil, with(m, s.execute)
	case "initialized", "$/cancelRequest", "$/setTrace":
		return nil, nil
	}
	return nil, &responseError{codeMethodNotFound, "unknown method " + errtext.CutTo(m.Method, 100, "…")}
}

// decode parses the parameters of a message.
func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return &responseError{codeInvalidParams, errtext.CutTo(err.Error(), maxText, "…")}
	}
	return nil
}

// with calls do with the parameters of a message.
func with[T any](m *message, do func(T) error) error {
	var p T
	if err := decode(m.Params, &p); err != nil {
		return err
	}
	return do(p)
}

// initialize answers the first request.
func (s *server) initialize(params json.RawMessage) (any, error) {
	var p initializeParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	for _, f := range p.WorkspaceFolders {
		if path := pathOf(f.URI); path != "" {
			s.folders = append(s.folders, path)
		}
	}
	if path := pathOf(p.RootURI); path != "" && len(s.folders) == 0 {
		s.folders = append(s.folders, path)
	}
	encoding := "utf-16"
	if slices.Contains(p.Capabilities.General.PositionEncodings, "utf-8") {
		encoding, s.utf8 = "utf-8", true
	}
	s.ready = true
	type object = map[string]any
	return object{
		"capabilities": object{
			"positionEncoding":           encoding,
			"textDocumentSync":           object{"openClose": true, "change": 1, "save": true},
			"completionProvider":         object{"triggerCharacters": []string{".", "\"", "'", ":", "/"}, "resolveProvider": true},
			"hoverProvider":              true,
			"signatureHelpProvider":      object{"triggerCharacters": []string{"(", ","}},
			"definitionProvider":         true,
			"documentSymbolProvider":     true,
			"documentFormattingProvider": true,
			"renameProvider":             object{"prepareProvider": true},
			"codeActionProvider":         object{"codeActionKinds": []string{"quickfix"}},
			"codeLensProvider":           object{},
			"executeCommandProvider":     object{"commands": []string{runCase}},
		},
		"serverInfo": object{"name": "starhost", "version": s.options.Version},
	}, nil
}

// open adds a document.
func (s *server) open(p openParams) error {
	return s.setDocument(p.TextDocument.URI, p.TextDocument.Text, p.TextDocument.Version)
}

// setDocument sets the text of a document, if it is of a kind that the server understands.
func (s *server) setDocument(uri, text string, version int) error {
	path := pathOf(uri)
	if path == "" || !isPlugin(path) && !isGoldenCase(path) {
		return nil
	}
	d := s.docs[uri]
	if d == nil {
		d = &document{uri: uri, path: path, isCase: isGoldenCase(path)}
		s.docs[uri] = d
	}
	return s.setText(d, text, version)
}

// setText gives a document a new text, or forgets the document if that is over a limit.
func (s *server) setText(d *document, text string, version int) error {
	bytes := len(text)
	for _, other := range s.docs {
		if other != d && other.source != nil {
			bytes += len(other.text)
		}
	}
	problem := ""
	switch {
	case len(text) > maxDocument:
		problem = fmt.Sprintf("got %d bytes, want at most %d", len(text), maxDocument)
	case len(s.docs) > maxDocuments:
		problem = fmt.Sprintf("got %d open documents, want at most %d", len(s.docs), maxDocuments)
	case bytes > maxOpenBytes:
		problem = fmt.Sprintf("got %d bytes of open documents, want at most %d", bytes, maxOpenBytes)
	}
	if problem != "" {
		delete(s.docs, d.uri)
		return failf("%s: %s: the server ignores the document until that changes", errtext.CutTo(filepath.Base(d.path), 100, "…"), problem)
	}
	d.setText(text, version, s.utf8)
	s.schedule(d.uri)
	return nil
}

// change replaces the text of a document. The server asks for whole texts, so that a message that
// it could not read, even the one that opened the document, cannot make its text differ from the
// editor's.
func (s *server) change(p changeParams) error {
	n := len(p.ContentChanges)
	if n == 0 {
		return nil
	}
	for _, c := range p.ContentChanges {
		if c.Range != nil {
			delete(s.docs, p.TextDocument.URI)
			return failf("got a part of a text, want the whole text, as textDocumentSync says")
		}
	}
	return s.setDocument(p.TextDocument.URI, p.ContentChanges[n-1].Text, p.TextDocument.Version)
}

// close forgets a document.
func (s *server) close(p docParams) error {
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return nil
	}
	delete(s.docs, d.uri)
	delete(s.waiting, d.uri)
	s.dropFacts()
	return s.notify("textDocument/publishDiagnostics", publishParams{URI: d.uri, Diagnostics: []diagnostic{}})
}

// dropFacts forgets what is only for closed documents.
func (s *server) dropFacts() {
	roots := map[string]bool{}
	for _, d := range s.docs {
		roots[s.key(d)] = true
	}
	maps.DeleteFunc(s.byRoot, func(key string, _ *Facts) bool { return !roots[key] })
}

// key identifies the plugin of a document.
func (s *server) key(d *document) string {
	return cmp.Or(s.options.Root(d.path), d.path)
}

// facts returns the facts of the last analysis of a document's plugin. They are never nil.
func (s *server) facts(d *document) *Facts {
	if f := s.byRoot[s.key(d)]; f != nil {
		return f
	}
	return &Facts{Root: s.options.Root(d.path)}
}

// folder returns the project of a document: the workspace folder around it, or its own folder.
func (s *server) folder(d *document) string {
	best := ""
	for _, f := range s.folders {
		inside := strings.TrimSuffix(f, string(filepath.Separator)) + string(filepath.Separator)
		if strings.HasPrefix(d.path, inside) && len(f) > len(best) {
			best = f
		}
	}
	if best == "" {
		return filepath.Dir(d.path)
	}
	return best
}
