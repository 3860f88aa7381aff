package ui

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// policy lets the page load its own files and nothing else, from nowhere else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard passes the requests of the operator's browser on. The URL with the token sets the cookie
// and leads to a URL without it, so that the token stays out of the browser's history.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		name := cookieName(r)
		token := r.URL.Query().Get("token")
		switch {
		case r.URL.Path == "/" && r.Method == http.MethodGet && isSame(token, s.Token):
			http.SetCookie(w, &http.Cookie{
				Name: name, Value: s.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		case !s.hasCookie(r, name):
			http.Error(w, "open the URL that starhost ui printed", http.StatusUnauthorized)
			return
		case !isOwnRequest(r):
			http.Error(w, "Origin: want this page's own", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// cookieName returns the name of the cookie of this server: cookies do not tell ports apart.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "0"
	}
	return "starhost_ui_" + port
}

// hasCookie reports whether a request has the cookie.
func (s *Server) hasCookie(r *http.Request, name string) bool {
	c, err := r.Cookie(name)
	return err == nil && isSame(c.Value, s.secret)
}

// isOwnRequest reports whether the page itself sent a request. A browser names the origin of each
// request that may change something.
func isOwnRequest(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := r.Header.Get("Origin")
	if r.Method == http.MethodGet && origin == "" {
		return true
	}
	return strings.EqualFold(origin, "http://"+r.Host)
}

// isSame compares secrets. Its time says nothing about them.
func isSame(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
