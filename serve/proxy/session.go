package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
)

// A state is all that a session has from one request to the next. The client has everything else.
type state struct {
	// Session has only the context of session_start, the number of events beside turns, and guards.
	Session starhost.SavedSession `json:"session"`
	Plugins effects.SavedStates   `json:"plugins,omitempty"`
}

// idBytes is the length of a hash. Its 30 digits are fewer than those of a word that the decision
// log could take for a key and must look at twice.
const idBytes = 15

// sessionID returns the name of a request's session: a hash of the credential and of the first text
// of the user, so that two clients never share state.
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

// inSession calls use with the session of the request. A request that only counts tokens leaves the
// session as it was.
func (x *exchange) inSession(ctx context.Context, use func(*starhost.Session) error) error {
	var used error
	err := x.memory.Use(ctx, x.session, func(old []byte) ([]byte, error) {
		var st state
		if len(old) > 0 {
			if err := json.Unmarshal(old, &st); err != nil {
				return old, err
			}
		}
		st.Session.Turns, st.Session.Offer = x.turns, len(st.Session.Welcome) > 0
		s := x.host.Resume(starhost.SessionConfig{ID: x.session, Platform: "proxy", Guarded: true}, st.Session)
		if err := effects.RestoreStates(s, st.Plugins); err != nil {
			return old, err
		}
		if used = use(s); x.dialect == &count {
			return old, nil
		}
		after, err := s.Save(context.WithoutCancel(ctx))
		if err != nil {
			return old, err
		}
		st.Session = starhost.SavedSession{
			Started: after.Started, Asides: after.Asides, Welcome: after.Welcome, Guards: after.Guards,
		}
		st.Plugins = effects.SaveStates(s)
		return json.Marshal(st)
	})
	return cmp.Or(err, used)
}

// userAgents are the starts of the header User-Agent of agents whose tools starhost has a table of.
var userAgents = []struct{ start, agent string }{
	{"claude-cli/", "claude-code"}, {"codex_", "codex"},
}

// agentOf returns the agent that sends a request, "" for another client.
func agentOf(h http.Header) string {
	for _, a := range userAgents {
		if strings.HasPrefix(h.Get("User-Agent"), a.start) {
			return a.agent
		}
	}
	return ""
}
