package proxy

import (
	"bytes"
	"compress/gzip"
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

// exchangeKey is the key under which the context of a request has its *exchange.
type exchangeKey struct{}

// An exchange is one request of a client and the reply to it.
type exchange struct {
	*Server
	*dialect // nil for a path that the proxy does not read
	host     *host.Host
	needs    needs
	path     string // the escaped path
	upstream *upstream

	// The fields below are set for a request that plugins see.
	request *request // nil once the request is on its way
	isRead  bool     // plugins have seen the request
	body    string   // the request that went to the upstream; "" if no further request may follow
	words   string   // the user's last text
	session string   // the id of the session
	agent   string   // the agent that asks, "" for another client
	turns   int      // turns of the user before the current one
	offered []string // plugins' tools that the request offers
	sent    payload

	unpacked share // counts the bytes of bodies that were compressed
	replies  share // counts the bytes of replies
}

// A payload is the body of a request to the upstream. A stream can be open for minutes, so the payload drops
// its text as soon as the upstream has it.
type payload struct{ pieces atomic.Pointer[[]string] }

// open returns a reader of the whole text, for a request that the transport sends again.
func (p *payload) open() (io.ReadCloser, error) {
	pieces := p.pieces.Load()
	if pieces == nil {
		return nil, io.ErrUnexpectedEOF
	}
	var readers []io.Reader
	for _, piece := range *pieces {
		readers = append(readers, strings.NewReader(piece))
	}
	return io.NopCloser(io.MultiReader(readers...)), nil // it drops what it has read
}

// newExchange makes the exchange of a request, and finds out which of its parts plugins need.
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

// needs say which parts of requests and replies some plugin listens to.
type needs struct {
	prompt bool // plugins see requests
	calls  bool // plugins see the calls of tools in replies
	answer bool // plugins answer some of these calls
	text   bool // plugins see the text of a reply before the client does
	end    bool // plugins hear the end of turns
	guards bool // plugins can refuse a request, a call or a reply
}

// needsOf looks at the hooks of all plugins, and returns which parts of requests and replies the proxy must
// show them.
func (s *Server) needsOf(h *host.Host) needs {
	hooks := h.Hooks()
	hears := func(events ...string) bool {
		return slices.ContainsFunc(events, func(event string) bool {
			hears, _ := h.ListensTo(event, "") // true for all events if the decision log wants them
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
	} else if s.guarded.Load() { // without its guard, a session that had one lets no call pass
		n.calls, n.guards = true, true
	}
	return n
}

// readsRequest reports whether the proxy must parse the request.
func (x *exchange) readsRequest() bool {
	return x.dialect != nil && (x.needs.guards || x.needs.end || len(x.Tools) > 0)
}

// readsReply reports whether the proxy must parse the reply.
func (x *exchange) readsReply() bool {
	isNeeded := x.needs.calls || x.needs.text || x.needs.end || len(x.offered) > 0
	return x.isRead && x.dialect != &count && isNeeded
}

// readApart calls readRequest on another goroutine. Plugins and parsers need a deep stack, and the goroutine
// of a stream keeps its stack until the stream ends, which would cost 10 KiB for each open stream.
func (x *exchange) readApart(r *http.Request) (err error) {
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		err = x.readRequest(r)
	}()
	if p := <-panicked; p != nil {
		panic(p) // the front answers the panic
	}
	return err
}

// readRequest shows the request to plugins, and replaces its body if they changed it.
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
	pieces := q.edits.Pieces()
	if x.needs.answer || len(x.offered) > 0 {
		x.body = strings.Join(pieces, "")
	}
	x.sent.set(r, pieces)
	return nil
}

// parseRequest parses the request, and finds the parts that plugins see.
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

// set makes pieces the body of the request r, and stores them in the payload.
func (p *payload) set(r *http.Request, pieces []string) {
	p.pieces.Store(&pieces)
	r.GetBody = p.open
	r.Body, _ = p.open() // it cannot fail, because the payload has pieces
	r.ContentLength = 0
	for _, piece := range pieces {
		r.ContentLength += int64(len(piece))
	}
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
}

// maxUnpacked is the most bytes that the compressed bodies of all open requests may have together when they
// are expanded. The front counts the bytes that arrive.
const maxUnpacked = 4 * MaxBody

var errUnpacked = errors.New("too many compressed bodies at once")

// releaseBodies ends the count of the bytes of this request and its replies.
func (x *exchange) releaseBodies() {
	x.unpacked.end()
	x.replies.end()
}

// readEncoded reads a body, and undoes its Content-Encoding. A body of more than most bytes is an error.
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
		body = &sharedReader{z, &x.unpacked, maxUnpacked, errUnpacked}
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
		body = &sharedReader{body, &x.unpacked, maxUnpacked, errUnpacked}
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
