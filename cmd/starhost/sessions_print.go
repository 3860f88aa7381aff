package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/report"
)

func (l sessionList) WriteText(res *Result) {
	var rows [][]string
	for i := range l.sessions {
		s := &l.sessions[i]
		rows = append(rows, []string{
			texttable.Cell(s.ID), s.Stored.Format(time.DateOnly), s.Agent, texttable.Count(s.Turns, "turn"),
			fmt.Sprintf("%d B", s.Size), s.Status,
		})
	}
	res.out.Table(rows)
	if l.more {
		res.out.WriteString("There are more: see --limit.\n")
	}
}

// sessionSummaryJSON is a session in a list.
type sessionSummaryJSON struct {
	ID      string `json:"id"`
	Agent   string `json:"agent"`
	Turns   int    `json:"turns"`
	Version int64  `json:"version"` // 0 for a session of hook
	Bytes   int64  `json:"bytes"`
	Stored  string `json:"stored"`
	File    string `json:"file"` // "" for a session in the store
	Status  string `json:"status"`
}

func newSessionSummaryJSON(s *storedSession) sessionSummaryJSON {
	return sessionSummaryJSON{
		s.ID, s.Agent, s.Turns, s.Version, s.Size, s.Stored.Format(time.RFC3339), s.file, s.Status,
	}
}

func (l sessionList) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		Sessions []sessionSummaryJSON `json:"sessions"`
		More     bool                 `json:"more"`
	}{head{"starhost.sessions/1", true}, jsontext.List(l.sessions, newSessionSummaryJSON), l.more})
}

func (s storedSession) WriteText(res *Result) {
	rows := [][]string{
		{"session", s.ID}, {"agent", s.Agent}, {"turns", fmt.Sprint(s.Turns)}, {"contents", fmt.Sprint(len(s.saved.Sent))},
	}
	if s.file != "" {
		rows = append(rows, []string{"file", s.file + ".json"})
	}
	if s.Status != "" {
		rows = append(rows, []string{"status", s.Status})
	}
	if q := report.QuestionOf(&s.saved); q != nil {
		rows = append(rows, report.QuestionRows(q)...)
	}
	plugins := s.saved.State
	for _, owner := range slices.Sorted(maps.Keys(plugins)) {
		plugin, _, _ := strings.Cut(owner, "@") // JSON has the owner
		for _, key := range slices.Sorted(maps.Keys(plugins[owner])) {
			rows = append(rows, []string{"state", fmt.Sprintf("%s: %s = %s", plugin, key, texttable.Cell(string(plugins[owner][key])))})
		}
	}
	res.out.Table(rows)
	if s.saved.System != "" {
		report.WriteMessage(&res.out, "system", s.saved.System)
	}
	report.WriteMessages(&res.out, report.Messages(&s.saved))
}

func (s answeredSession) WriteText(res *Result) {
	q := report.QuestionOf(&s.saved)
	rows := [][]string{{"answered", s.ID + ": " + q.Answer}, {"call", q.Tool + " " + q.Arguments}}
	if s.Agent == platform {
		rows = append(rows, []string{"next", "starhost run --session " + shellwords.Quote(s.ID) + " goes on with the turn"})
	}
	res.out.Table(rows)
}

func (s answeredSession) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		ID       string           `json:"id"`
		Question *report.Question `json:"question"`
	}{head{"starhost.answer/1", true}, s.ID, report.QuestionOf(&s.saved)})
}

func (s storedSession) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		ID       string                                `json:"id"`
		Agent    string                                `json:"agent"`
		Turns    int                                   `json:"turns"`
		Version  int64                                 `json:"version"`
		File     string                                `json:"file"`
		Status   string                                `json:"status"`
		System   string                                `json:"system"`
		Messages []report.Message                      `json:"messages"`
		State    map[string]map[string]json.RawMessage `json:"state"`
		Contents int                                   `json:"contents"`
		Question *report.Question                      `json:"question"`
	}{
		head{"starhost.session/1", true}, s.ID, s.Agent, s.Turns, s.Version, s.file, s.Status,
		report.ValidUTF8(s.saved.System), report.Messages(&s.saved), s.saved.State, len(s.saved.Sent),
		report.QuestionOf(&s.saved),
	})
}

func (s exportedSession) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		Session host.SavedSession `json:"session"`
	}{head{"starhost.session_export/1", true}, s.saved})
}

func (ids removal) WriteText(res *Result) {
	for _, id := range ids {
		fmt.Fprintf(&res.out, "removed %s\n", texttable.EscapeLine(id))
	}
}

func (ids removal) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		Removed []string           `json:"removed"`
		Errors  []report.ErrorJSON `json:"errors"`
	}{head{"starhost.removal/1", len(res.problems) == 0}, append([]string{}, ids...), res.errorsJSON()})
}
