package front

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/starhost/starhost/internal/loopback"
)

// checkSender returns the status and the reason for refusing the sender of a request, 0 for one
// that may ask. It refuses web pages, including a page whose own host name resolves to this
// machine. A browser cannot reach a Unix socket, so the Host of its requests says nothing.
func (f *front) checkSender(r *http.Request) (status int, why string) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	switch {
	case f.Token == "" && !isUnix(r) && !loopback.Is(host):
		return http.StatusForbidden, "Host: want localhost"
	case !sameOrigin(r):
		return http.StatusForbidden, "Origin: want none, or this server's own"
	}
	return 0, ""
}

// isUnix reports whether a request came over a Unix socket.
func isUnix(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && local.Network() == "unix"
}

// sameOrigin reports whether a request comes from no web page, or from a page of this server.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// takeToken returns the token of a request, "" for none. It leaves a request to a server that wants
// no token as it is.
func (f *front) takeToken(r *http.Request) string {
	switch {
	case f.Token == "":
		return ""
	case f.TakeToken != nil:
		return f.TakeToken(r)
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// isToken reports whether a text is the token. The time of the comparison says nothing about the
// token.
func (f *front) isToken(text string) bool {
	got := hashToken(text)
	return subtle.ConstantTimeCompare(got[:], f.token[:]) == 1
}

func hashToken(s string) [32]byte { return sha256.Sum256([]byte(s)) }
