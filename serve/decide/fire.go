package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/serve/hook"
)

// firePath is the path of the events that programs fire, before the event's name.
const firePath = "/v1/fire/"

// FireSchema names the form of the answers to programs that fire events.
const FireSchema = "starhost.fire/1"

// A fireQuestion is the body of a request at firePath.
type fireQuestion struct {
	Input   map[string]json.RawMessage `json:"input"`
	Session string                     `json:"session"`
}

// answerFire fires an event for a program.
func (s *Server) answerFire(w http.ResponseWriter, r *http.Request) {
	h := s.Host()
	name := r.PathValue("event")
	body, err := io.ReadAll(r.Body)
	var q fireQuestion
	if err == nil {
		q, err = readFire(body)
	}
	var spec *starhost.EventSpec
	if err == nil {
		spec, err = starhost.LookupEvent(name, h.Events()...)
	}
	var e *starhost.Event
	if err == nil {
		e, err = starhost.NewEvent(name, q.Input, h.Events()...)
	}
	if err != nil {
		s.writeObject(w, http.StatusBadRequest, map[string]any{"schema": FireSchema, "error": err.Error()})
		return
	}
	if q.Session != "" {
		e.SessionID = q.Session
	}
	given := *e // the handlers of a late event still change e
	out, err := inTime(r.Context(), s, func(ctx context.Context, give func(host.Outcome)) {
		out, store, err := hook.Fire(ctx, h, e, s.options())
		if err != nil {
			s.Warn(name + ": " + err.Error())
			out.Lost = err
		}
		if out.Lost != nil {
			out = refusalOf(spec, out.Lost)
		}
		give(out)
		store()
	})
	if err != nil {
		s.refuseFire(w, spec, &given, err)
		return
	}
	s.writeOutcome(w, name, out)
}

// readFire decodes a question.
func readFire(body []byte) (q fireQuestion, err error) {
	members, err := hook.ReadObject(body, &q)
	if err != nil {
		return q, fmt.Errorf("the body: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "input" && name != "session" {
			return q, fmt.Errorf(`the body: unknown member %q, want "input" and "session"`, errtext.Clip(name))
		}
	}
	return q, nil
}

// refusalOf returns the outcome for an event without one: guards deny, and a prompt does not go on.
func refusalOf(spec *starhost.EventSpec, why error) host.Outcome {
	d := starhost.Decision{Action: starhost.ActionDeny, Reason: "starhost: " + why.Error()}
	if !spec.Guard {
		d.Action = starhost.ActionAbort
	}
	return host.Outcome{Decision: d}
}

// refuseFire answers an event that plugins did not decide.
func (s *Server) refuseFire(w http.ResponseWriter, spec *starhost.EventSpec, e *starhost.Event, why error) {
	out := refusalOf(spec, why)
	s.undecided(e, string(out.Decision.Action), out.Decision.Reason)
	s.writeOutcome(w, spec.Name, out)
}

// writeOutcome answers with what an event came to.
func (s *Server) writeOutcome(w http.ResponseWriter, event string, out host.Outcome) {
	s.writeObject(w, http.StatusOK, s.Outcome(event, out))
}

// writeObject answers with the JSON form of a value.
func (s *Server) writeObject(w http.ResponseWriter, status int, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		http.Error(w, "the answer has no JSON form", http.StatusInternalServerError)
		s.report(err)
		return
	}
	writeJSON(w, status, string(text)+"\n")
}
