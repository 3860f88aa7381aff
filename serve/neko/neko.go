// Package neko speaks N.E.K.O's HTTP contract for tools, in both directions. A [Registry] takes the
// tools of N.E.K.O's plugins, so that a host offers them and guards their calls. A [Provider]
// registers the tools of a host with N.E.K.O, and answers its calls.
//
// Its central idea is that the other side comes and goes: a registry forgets tools whose plugin no
// longer answers, and a provider looks again and again whether its tools are still there.
//
// The form is that of main_routers/tool_router.py in Project-N-E-K-O/N.E.K.O, of the year 2026.
package neko

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/starhost/starhost/internal/loopback"
)

// These limits bound both directions.
const (
	// MaxBody is the most bytes of a request, and of an answer of the other side.
	MaxBody = 4 << 20
	// MaxRequests is the most requests at one time.
	MaxRequests    = 256
	maxTools       = 1000 // in a registry
	maxName        = 64   // in bytes
	maxTimeout     = 300 * time.Second
	defaultTimeout = 30 * time.Second
	connectTimeout = 5 * time.Second
	maxFailures    = 3 // connections in a row that fail, after which a plugin is gone
)

// newClient returns a client that connects to this machine only and follows no redirects. The other
// side names the addresses, and the requests contain what a model and a user said.
func newClient() *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, Control: checkLoopback}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConns: 20, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// checkURL returns an error for the URL of a server that is not on this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("got %q, want a URL", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("got the scheme %q, want http or https", u.Scheme)
	case !loopback.Is(u.Hostname()):
		return fmt.Errorf("got the host %q, want a loopback address", u.Hostname())
	}
	return nil
}

// refuseOthers passes on requests of this machine only.
func refuseOthers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); err == nil && (ip == nil || !ip.IsLoopback()) {
			writeJSON(w, http.StatusForbidden, map[string]any{"detail": "only programs of this machine may ask"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"detail":"the answer has no JSON form"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone learns nothing
}

// A fieldError is a mistake in a member of a request.
type fieldError struct{ field, text string }

func (e *fieldError) Error() string { return e.field + ": " + e.text }

// writeInvalid answers a request that has a mistake, with 422 as FastAPI does.
func writeInvalid(w http.ResponseWriter, err error) {
	loc, text := []string{"body"}, err.Error()
	if f, ok := errors.AsType[*fieldError](err); ok {
		loc, text = append(loc, f.field), f.text
	}
	detail := []any{map[string]any{"type": "value_error", "loc": loc, "msg": text}}
	writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"detail": detail})
}
