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
)

func (a *app) printSessionsPretty(l sessionList) error {
	var rows [][]string
	for i := range l.sessions {
		s := &l.sessions[i]
		rows = append(rows, []string{
			texttable.Cell(s.ID), s.Stored.Format(time.DateOnly), s.Agent, texttable.Count(s.Turns, "turn"),
			fmt.Sprintf("%d B", s.Size), s.Status,
		})
	}
	a.out.Table(rows)
	if l.more {
		a.out.WriteString("There are more: see --limit.\n")
	}
	return nil
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

func (a *app) printSessionsJSON(l sessionList) error {
	return a.out.JSON(struct {
		Schema   string               `json:"schema"`
		OK       bool                 `json:"ok"`
		Sessions []sessionSummaryJSON `json:"sessions"`
		More     bool                 `json:"more"`
	}{"starhost.sessions/1", true, jsontext.List(l.sessions, newSessionSummaryJSON), l.more})
}

// storedMessages returns the messages of a session, with texts that are UTF-8.
func storedMessages(s *host.SavedSession) []messageJSON {
	messages := []messageJSON{}
	for i := range s.Messages {
		m := &s.Messages[i]
		var text strings.Builder
		for _, part := range m.Content {
			text.WriteString(string(part))
		}
		out := messageJSON{Role: m.Role, Content: validUTF8(text.String()), IsError: m.IsError}
		out.Name = validUTF8(string(m.ToolName))
		if m.Merged != 0 {
			for _, id := range m.Contents {
				out.Merged = append(out.Merged, id.Short())
			}
		}
		for _, c := range m.ToolCalls {
			id, name, arguments := validUTF8(string(c.ID)), validUTF8(string(c.Name)), validUTF8(string(c.Arguments))
			out.Calls = append(out.Calls, storedCallJSON{id, name, arguments})
		}
		for _, at := range m.Attachments {
			out.Attachments = append(out.Attachments, fmt.Sprintf("%s, %d B", at.ID().Short(), len(at.Bytes)))
		}
		messages = append(messages, out)
	}
	return messages
}

func validUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// messageJSON is a message of a stored session.
type messageJSON struct {
	Role        string           `json:"role"`
	Content     string           `json:"content"`
	Name        string           `json:"name,omitempty"` // the tool that answers
	IsError     bool             `json:"is_error,omitempty"`
	Calls       []storedCallJSON `json:"tool_calls,omitempty"`
	Attachments []string         `json:"attachments,omitempty"`
	Merged      []string         `json:"merged,omitempty"` // ids of the fragments that starhost added
}

// storedCallJSON is a tool call of a stored session. The arguments are the text of the model, which
// may be invalid JSON.
type storedCallJSON struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (a *app) printSessionPretty(s storedSession) error {
	rows := [][]string{
		{"session", s.ID}, {"agent", s.Agent}, {"turns", fmt.Sprint(s.Turns)}, {"contents", fmt.Sprint(len(s.saved.Sent))},
	}
	if s.file != "" {
		rows = append(rows, []string{"file", s.file + ".json"})
	}
	if s.Status != "" {
		rows = append(rows, []string{"status", s.Status})
	}
	if newQuestionJSON(&s.saved) != nil {
		rows = append(rows, a.questionRows(&s)...)
	}
	plugins := s.saved.State
	for _, owner := range slices.Sorted(maps.Keys(plugins)) {
		plugin, _, _ := strings.Cut(owner, "@") // JSON has the owner
		for _, key := range slices.Sorted(maps.Keys(plugins[owner])) {
			rows = append(rows, []string{"state", fmt.Sprintf("%s: %s = %s", plugin, key, texttable.Cell(string(plugins[owner][key])))})
		}
	}
	a.out.Table(rows)
	if s.saved.System != "" {
		a.printMessageText("system", s.saved.System)
	}
	for _, m := range storedMessages(&s.saved) {
		who := strings.TrimSpace(m.Role + " " + m.Name)
		if m.IsError {
			who += ", error"
		}
		a.printMessageText(who, m.Content)
		for _, c := range m.Calls {
			a.out.WriteString(texttable.Escape("call " + c.Name + " " + c.Arguments + "\n"))
		}
		for _, at := range m.Attachments {
			a.out.WriteString(texttable.Escape("attachment " + at + "\n"))
		}
	}
	return nil
}

// questionRows returns the question for which a session's turn waits.
func (a *app) questionRows(s *storedSession) [][]string {
	q := newQuestionJSON(&s.saved)
	rows := [][]string{
		{"question", q.Digest[:min(len(q.Digest), 12)] + ", " + q.Asked}, {"call", q.Tool + " " + q.Arguments},
	}
	for _, reason := range q.Reasons {
		rows = append(rows, []string{"reason", reason})
	}
	if q.Answer != "" {
		rows = append(rows, []string{"answer", q.Answer})
	}
	return rows
}

// questionJSON is a question for which a turn waits.
type questionJSON struct {
	Digest    string   `json:"digest"`
	Asked     string   `json:"asked"`
	Tool      string   `json:"tool"`
	Arguments string   `json:"arguments"`
	Plugin    string   `json:"plugin"`
	Reasons   []string `json:"reasons"`
	Answer    string   `json:"answer"` // "yes", "no" or ""
}

// newQuestionJSON returns the question of a session, nil if no turn waits.
func newQuestionJSON(s *host.SavedSession) *questionJSON {
	p := s.Paused
	if p == nil || p.Digest == "" { // it waits for its own program
		return nil
	}
	q := &questionJSON{
		Digest: p.Digest, Asked: p.Asked.Format(time.RFC3339), Tool: validUTF8(string(p.Call.Name)),
		Arguments: validUTF8(string(p.Call.Arguments)), Plugin: p.Plugin, Reasons: append([]string{}, p.Reasons...),
	}
	if p.Answer != nil {
		q.Answer = map[bool]string{true: "yes", false: "no"}[p.Answer.Approved]
	}
	return q
}

func (a *app) printAnswerPretty(s answeredSession) error {
	q := newQuestionJSON(&s.saved)
	rows := [][]string{{"answered", s.ID + ": " + q.Answer}, {"call", q.Tool + " " + q.Arguments}}
	if s.Agent == platform {
		rows = append(rows, []string{"next", "starhost run --session " + shellwords.Quote(s.ID) + " goes on with the turn"})
	}
	a.out.Table(rows)
	return nil
}

func (a *app) printAnswerJSON(s answeredSession) error {
	return a.out.JSON(struct {
		Schema   string        `json:"schema"`
		OK       bool          `json:"ok"`
		ID       string        `json:"id"`
		Question *questionJSON `json:"question"`
	}{"starhost.answer/1", true, s.ID, newQuestionJSON(&s.saved)})
}

// printMessageText prints a text below the name of its author.
func (a *app) printMessageText(who, text string) {
	fmt.Fprintf(&a.out, "\n[%s]\n", texttable.EscapeLine(who))
	if text != "" {
		a.out.WriteString(texttable.Escape(strings.TrimSuffix(text, "\n") + "\n"))
	}
}

func (a *app) printSessionJSON(s storedSession) error {
	return a.out.JSON(struct {
		Schema   string                                `json:"schema"`
		OK       bool                                  `json:"ok"`
		ID       string                                `json:"id"`
		Agent    string                                `json:"agent"`
		Turns    int                                   `json:"turns"`
		Version  int64                                 `json:"version"`
		File     string                                `json:"file"`
		Status   string                                `json:"status"`
		System   string                                `json:"system"`
		Messages []messageJSON                         `json:"messages"`
		State    map[string]map[string]json.RawMessage `json:"state"`
		Contents int                                   `json:"contents"`
		Question *questionJSON                         `json:"question"`
	}{
		"starhost.session/1", true, s.ID, s.Agent, s.Turns, s.Version, s.file, s.Status,
		validUTF8(s.saved.System), storedMessages(&s.saved), s.saved.State, len(s.saved.Sent),
		newQuestionJSON(&s.saved),
	})
}

func (a *app) printExport(s exportedSession) error {
	return a.out.JSON(struct {
		Schema  string            `json:"schema"`
		OK      bool              `json:"ok"`
		Session host.SavedSession `json:"session"`
	}{"starhost.session_export/1", true, s.saved})
}

func (a *app) printRemovalPretty(ids removal) error {
	for _, id := range ids {
		fmt.Fprintf(&a.out, "removed %s\n", texttable.EscapeLine(id))
	}
	return nil
}

func (a *app) printRemovalJSON(ids removal) error {
	return a.out.JSON(struct {
		Schema  string      `json:"schema"`
		OK      bool        `json:"ok"`
		Removed []string    `json:"removed"`
		Errors  []errorJSON `json:"errors"`
	}{"starhost.removal/1", len(a.problems) == 0, append([]string{}, ids...), a.errorsJSON()})
}
