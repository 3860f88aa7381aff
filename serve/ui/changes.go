package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/starhost/starhost/internal/errtext"
)

// heartbeat is the time between two lines for a page without changes, so that a lost page ends.
const heartbeat = 15 * time.Second

// Reload tells all pages that the plugins changed, and shows their first mistake, "" for none.
func (s *Server) Reload(problem string) {
	s.mu.Lock()
	s.problem = errtext.CutTo(problem, maxProblem, "…")
	s.mu.Unlock()
	s.notify("plugins")
}

// currentProblem returns the mistake of the last Reload.
func (s *Server) currentProblem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// notify sends the name of what changed to all pages. A page that is behind gets the name once.
func (s *Server) notify(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.waiting {
		select {
		case c <- what:
		default: // it has other changes to read
		}
	}
}

// answerChanges sends server-sent events until the page goes away.
func (s *Server) answerChanges(w http.ResponseWriter, r *http.Request) {
	c := make(chan string, 4)
	s.mu.Lock()
	full := len(s.waiting) >= maxPages
	if !full {
		s.waiting[c] = true
	}
	s.mu.Unlock()
	if full {
		writeError(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages wait for changes: close one", maxPages))
		return
	}
	defer func() {
		s.mu.Lock()
		delete(s.waiting, c)
		s.mu.Unlock()
	}()
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	line := ": open\n\n"
	for {
		if _, err := fmt.Fprint(w, line); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case what := <-c:
			data, _ := json.Marshal(map[string]string{"problem": s.currentProblem()}) // a text
			line = "event: " + what + "\ndata: " + string(data) + "\n\n"
		case <-beat.C:
			line = ": beat\n\n"
		}
	}
}
