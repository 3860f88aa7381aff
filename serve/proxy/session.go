package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// idBytes is the number of bytes of a session's id. Its 30 digits are fewer than those of a word that the
// decision log could take for a key and would have to look at twice.
const idBytes = 15

// sessionID returns the id of a request's session. It is a hash of the client's credential and of the first
// text of the user, so that two clients never share state.
func sessionID(h http.Header, q *request) string {
	sum := sha256.New()
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		sum.Write([]byte(h.Get(name) + "\x00"))
	}
	for i := range q.messages {
		if m := &q.messages[i]; m.Role == starhost.RoleUser {
			sum.Write([]byte(m.Content.String()))
			break
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:idBytes])
}

// inSession calls use with the session of the request. Between two requests, a session stores only the
// context of session_start, the number of events beside turns, its guards and the values of its plugins: the
// client sends everything else again. A request that only counts tokens does not change the session.
func (x *exchange) inSession(ctx context.Context, use func(*host.Session) error) error {
	var used error
	err := x.memory.Use(ctx, x.session, func(
		saved *host.SavedSession, restore func(*host.Session) error,
	) (*host.Session, error) {
		saved.Turns, saved.Offer = x.turns, len(saved.Welcome) > 0
		s := x.host.Resume(host.SessionConfig{ID: x.session, Platform: "proxy", Guarded: true}, *saved)
		if err := restore(s); err != nil {
			return nil, err
		}
		if used = use(s); x.dialect == &count {
			return nil, nil
		}
		after, err := s.Save(context.WithoutCancel(ctx))
		*saved = host.SavedSession{
			Started: after.Started, Asides: after.Asides, Welcome: after.Welcome, Guards: after.Guards,
		}
		return s, err
	})
	return cmp.Or(used, err)
}

// userAgents say how the header User-Agent begins for each agent whose tools starhost has a table of.
var userAgents = []struct{ start, agent string }{
	{"claude-cli/", "claude-code"}, {"codex_", "codex"},
}

// agentOf returns the agent that sent a request, or "" for another client.
func agentOf(h http.Header) string {
	for _, a := range userAgents {
		if strings.HasPrefix(h.Get("User-Agent"), a.start) {
			return a.agent
		}
	}
	return ""
}
