package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
)

// exchangeKey is the context key of the *exchange of a request.
type exchangeKey struct{}

// An exchange is a request of a client with its reply.
type exchange struct {
	*Server
	*dialect // nil for a path that the proxy does not read
	host     *host.Host
	needs    needs
	path     string // the escaped path
	upstream *upstream

	// These are for a request that plugins see.
	request *request // nil once it is on its way
	isRead  bool     // plugins have seen it
	body    string   // the request to the upstream, "" if no further one can follow
	words   string   // the user's last text
	session string   // the name of the session
	agent   string   // the agent that asks, "" for another client
	turns   int      // turns of the user before this one
	offered []string // plugins' tools that the request offers
	sent    payload

	unpacked share // bytes of bodies that were compressed
	replies  share // bytes of replies
}

// A payload is the body of a request to the upstream. A stream can be open for minutes, so the
// payload forgets its text as soon as the upstream has it.
type payload struct{ text atomic.Pointer[string] }

// open returns a reader of the whole text.
func (p *payload) open() (io.ReadCloser, error) {
	text := p.text.Load()
	if text == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return &payloadReader{strings.NewReader(*text)}, nil
}

// A payloadReader forgets its text at the end.
type payloadReader struct{ *strings.Reader }

func (r *payloadReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil {
		r.Reader.Reset("")
	}
	return n, err
}

// Close implements [io.Closer].
func (*payloadReader) Close() error { return nil }

func (x *exchange) withExchange(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// newExchange finds out what plugins need of a request.
func (s *Server) newExchange(r *http.Request) (*exchange, error) {
	x := &exchange{Server: s, path: r.URL.EscapedPath()}
	x.unpacked.total, x.replies.total = &s.unpacked, &s.replies
	x.host = s.Host()
	x.dialect = findDialect(r.Method, x.path)
	x.needs = s.needsOf(x.host)
	var err error
	if x.upstream, err = s.findUpstream(x.host, x.path); err != nil {
		return nil, err
	}
	isList := r.Method == http.MethodGet && (x.path == modelsPath || strings.HasPrefix(x.path, modelsPath+"/")) &&
		path.Clean(r.URL.Path) == r.URL.Path
	if x.dialect == nil && x.needs.guards && !isList && !s.PassUnknown {
		return nil, refuse(http.StatusForbidden,
			"starhost: plugins cannot check %s %s, so it does not pass: --pass-unknown lets it", errtext.Clip(r.Method), errtext.Clip(x.path))
	}
	return x, nil
}

// needs say what plugins must see.
type needs struct {
	prompt bool // requests
	calls  bool // calls of tools in replies
	answer bool // some of these calls, to answer them
	text   bool // the text of replies, before the client
	end    bool // the end of turns
	guards bool // any of these events can refuse something
}

// needsOf returns what the plugins of a host must see.
func (s *Server) needsOf(h *host.Host) needs {
	hooks := h.Hooks()
	hears := func(events ...string) bool {
		return slices.ContainsFunc(events, func(event string) bool {
			hears, _ := h.ListensTo(event, "") // all events, if the decision log wants them
			isEvent := func(k host.HookInfo) bool { return k.Event == event }
			return hears || slices.ContainsFunc(hooks, isEvent)
		})
	}
	n := needs{
		prompt: hears("session_start", "turn_start", "pre_llm_call", "pre_send"),
		calls:  hears("pre_tool_call", "approve_tool_call"), text: hears("post_llm_call"), end: hears("turn_end"),
	}
	n.answer = slices.ContainsFunc(hooks, func(k host.HookInfo) bool {
		return k.Event == "pre_tool_call" && len(k.RespondsTo) > 0
	})
	n.guards = n.prompt || n.calls || n.text
	if n.calls {
		s.guarded.Store(true)
	} else if s.guarded.Load() { // sessions that had a guard are refused without it
		n.calls, n.guards = true, true
	}
	return n
}

// readsRequest reports whether the proxy must read the request.
func (x *exchange) readsRequest() bool {
	return x.dialect != nil && (x.needs.guards || x.needs.end || len(x.Tools) > 0)
}

// readsReply reports whether the proxy must read the reply.
func (x *exchange) readsReply() bool {
	isNeeded := x.needs.calls || x.needs.text || x.needs.end || len(x.offered) > 0
	return x.isRead && x.dialect != &count && isNeeded
}

// readApart is readRequest on another goroutine, because plugins and parsers need a deep stack,
// and the goroutine of a stream has its stack until the stream ends: 10 KiB for each open stream.
func (x *exchange) readApart(r *http.Request) (err error) {
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		err = x.readRequest(r)
	}()
	if p := <-panicked; p != nil {
		panic(p) // the front answers it
	}
	return err
}

// readRequest lets plugins see a request, and replaces its body if they changed it.
func (x *exchange) readRequest(r *http.Request) error {
	if !x.readsRequest() {
		return nil
	}
	x.agent = agentOf(r.Header)
	if err := x.parseRequest(r); err != nil {
		if x.needs.guards {
			x.deny(&starhost.Event{Name: "turn_start", Platform: "proxy", Agent: x.agent}, err.Error())
		}
		return err
	}
	x.session = sessionID(r.Header, x.request)
	x.followID()
	if x.needs.prompt || len(x.Tools) > 0 {
		if err := x.askPrompt(r.Context()); err != nil {
			return err
		}
	}
	q := x.request
	x.request, x.isRead, x.words = nil, true, q.userWords()
	if q.edits.IsEmpty() && r.Header.Get("Content-Encoding") != "" {
		var err error
		r.Body, err = r.GetBody()
		return err
	}
	text := q.edits.String()
	if x.needs.answer || len(x.offered) > 0 {
		x.body = text
	}
	x.sent.set(r, text)
	return nil
}

// parseRequest finds the parts of a request that plugins see.
func (x *exchange) parseRequest(r *http.Request) error {
	body, err := x.readEncoded(r.Body, r.Header, MaxBody)
	if errors.Is(err, errUnpacked) {
		return refuse(http.StatusServiceUnavailable, "starhost: the body: %v", err)
	}
	if err != nil {
		return refuse(http.StatusUnsupportedMediaType, "starhost: the body: %v", err)
	}
	doc, err := readJSON(body, x.needs.guards)
	if err != nil {
		return err
	}
	if x.request = newRequest(x.dialect, doc); !x.needs.guards {
		return nil
	}
	return x.request.checkNames()
}

// set makes a text the body of a request.
func (p *payload) set(r *http.Request, body string) {
	p.text.Store(&body)
	r.GetBody = p.open
	r.Body, _ = p.open() // it has a text
	r.ContentLength = int64(len(body))
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
}

// maxUnpacked is the most bytes of compressed bodies in all open requests, after their expansion.
// The front counts the bytes that arrive.
const maxUnpacked = 4 * MaxBody

var errUnpacked = errors.New("too many compressed bodies at once")

// An unpacker reads an expanded body and counts its bytes.
type unpacker struct {
	io.Reader
	x *exchange
}

// Read implements [io.Reader].
func (u *unpacker) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if u.x.unpacked.add(n) > maxUnpacked {
		return 0, errUnpacked
	}
	return n, err
}

// releaseBodies subtracts the bytes of the request's bodies.
func (x *exchange) releaseBodies() {
	x.unpacked.end()
	x.replies.end()
}

// readEncoded reads a body of at most a number of bytes. It undoes its encoding.
func (x *exchange) readEncoded(body io.Reader, h http.Header, most int64) (string, error) {
	switch encoding := strings.Join(h.Values("Content-Encoding"), ", "); strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		if whole, ok := body.(interface{ Text() string }); ok { // the front has read it, within its own limit
			return whole.Text(), nil
		}
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return "", err
		}
		body = &unpacker{z, x}
	case "zstd":
		packed, err := io.ReadAll(io.LimitReader(body, most+1))
		if err == nil && int64(len(packed)) > most {
			err = refuse(0, "got more than %d bytes", most)
		}
		if err == nil {
			body, err = openZstd(packed, most)
		}
		if err != nil {
			return "", err
		}
		body = &unpacker{body, x}
	default:
		return "", refuse(0, "Content-Encoding: got %q, want gzip, zstd or none", errtext.Clip(encoding))
	}
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(body, most+1))
	if err == nil && n > most {
		err = refuse(0, "got more than %d bytes", most)
	}
	return b.String(), err
}
