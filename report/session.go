package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
)

// Messages returns the messages of a session, with texts that are UTF-8.
func Messages(s *host.SavedSession) []Message {
	messages := []Message{}
	for i := range s.Messages {
		m := &s.Messages[i]
		var text strings.Builder
		for _, part := range m.Content {
			text.WriteString(string(part))
		}
		out := Message{Role: m.Role, Content: ValidUTF8(text.String()), IsError: m.IsError}
		out.Name = ValidUTF8(string(m.ToolName))
		if m.Merged != 0 {
			for _, id := range m.Contents {
				out.Merged = append(out.Merged, id.Short())
			}
		}
		for _, c := range m.ToolCalls {
			id, name, arguments := ValidUTF8(string(c.ID)), ValidUTF8(string(c.Name)), ValidUTF8(string(c.Arguments))
			out.Calls = append(out.Calls, Call{id, name, arguments})
		}
		for _, at := range m.Attachments {
			out.Attachments = append(out.Attachments, fmt.Sprintf("%s, %d B", at.ID().Short(), len(at.Bytes)))
		}
		messages = append(messages, out)
	}
	return messages
}

// ValidUTF8 returns a text of a session, which may have any bytes.
func ValidUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Message is a message of a stored session.
type Message struct {
	Role        string   `json:"role"`
	Content     string   `json:"content"`
	Name        string   `json:"name,omitempty"` // the tool that answers
	IsError     bool     `json:"is_error,omitempty"`
	Calls       []Call   `json:"tool_calls,omitempty"`
	Attachments []string `json:"attachments,omitempty"`
	Merged      []string `json:"merged,omitempty"` // ids of the fragments that starhost added
}

// Call is a tool call of a stored session. The arguments are the text of the model, which
// may be invalid JSON.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// WriteMessages prints messages below the names of their authors.
func WriteMessages(p *page.Page, messages []Message) {
	for _, m := range messages {
		who := strings.TrimSpace(m.Role + " " + m.Name)
		if m.IsError {
			who += ", error"
		}
		WriteMessage(p, who, m.Content)
		for _, c := range m.Calls {
			p.WriteString(texttable.Escape("call " + c.Name + " " + c.Arguments + "\n"))
		}
		for _, at := range m.Attachments {
			p.WriteString(texttable.Escape("attachment " + at + "\n"))
		}
	}
}

// QuestionRows returns the rows of a table about a question.
func QuestionRows(q *Question) [][]string {
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

// Question is a question for which a turn waits.
type Question struct {
	Digest    string   `json:"digest"`
	Asked     string   `json:"asked"`
	Tool      string   `json:"tool"`
	Arguments string   `json:"arguments"`
	Plugin    string   `json:"plugin"`
	Reasons   []string `json:"reasons"`
	Answer    string   `json:"answer"` // "yes", "no" or ""
}

// QuestionOf returns the question of a session, nil if no turn waits.
func QuestionOf(s *host.SavedSession) *Question {
	p := s.Paused
	if p == nil || p.Digest == "" { // it waits for its own program
		return nil
	}
	q := &Question{
		Digest: p.Digest, Asked: p.Asked.Format(time.RFC3339), Tool: ValidUTF8(string(p.Call.Name)),
		Arguments: ValidUTF8(string(p.Call.Arguments)), Plugin: p.Plugin, Reasons: append([]string{}, p.Reasons...),
	}
	if p.Answer != nil {
		q.Answer = map[bool]string{true: "yes", false: "no"}[p.Answer.Approved]
	}
	return q
}

// WriteMessage prints a text below the name of its author.
func WriteMessage(p *page.Page, who, text string) {
	fmt.Fprintf(p, "\n[%s]\n", texttable.EscapeLine(who))
	if text != "" {
		p.WriteString(texttable.Escape(strings.TrimSuffix(text, "\n") + "\n"))
	}
}
