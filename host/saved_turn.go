// This file stores a turn that waits as JSON.

package host

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/jsontext"
)

// approvalTime is how long a person can answer a question, and how long the answer counts.
const approvalTime = 24 * time.Hour

// resumeTime is how long a turn that one process has resumed is closed to other processes.
const resumeTime = 10 * time.Minute

// A pausedTurn is a turn that waits for a person's approval of a tool call, or for results of calls
// that the program runs.
type pausedTurn struct {
	// Call is the call with the arguments that it would run with. Plugin is the plugin that has the tool, and
	// Reasons say why a person must approve the call. All are empty if there is no question.
	Call    savedCall `json:"call"`
	Plugin  string    `json:"plugin"`
	Reasons []string  `json:"reasons"`
	// Asked is the time of the question. Nonce is random, so that no two questions are equal.
	// Digest is the SHA-256 of the call, the session, the set of plugins and Nonce.
	Asked  time.Time `json:"asked"`
	Nonce  string    `json:"nonce"`
	Digest string    `json:"digest"`
	// Answer is the person's answer, or nil.
	Answer *savedAnswer `json:"answer,omitempty"`

	// The other fields are the state of the turn.

	Round     int             `json:"round"`
	Lanes     int             `json:"lanes"`
	Words     jsontext.Text   `json:"words"`
	Messages  []savedMessage  `json:"messages"`
	Spent     fragments.Spent `json:"spent"`
	System    string          `json:"system,omitempty"`
	Model     string          `json:"model,omitempty"`
	Options   json.RawMessage `json:"options,omitempty"`
	Tools     []starhost.Tool `json:"tools,omitempty"`   // tools that the request brought
	Allowed   [][]string      `json:"allowed,omitempty"` // globs of the request and of its template
	Offered   []string        `json:"offered"`           // names of the tools that the last prompt offered
	Requested []savedCall     `json:"requested"`
	Usage     starhost.Usage  `json:"usage"`
	Start     time.Time       `json:"start"`
}

// A savedAnswer is a person's answer to a question.
type savedAnswer struct {
	Digest   string    `json:"digest"` // the digest of the question that it answers
	Approved bool      `json:"approved"`
	Given    time.Time `json:"given"`
	Used     time.Time `json:"used,omitzero"` // when a process resumed the turn with this answer
}

// isQuestion reports whether the turn waits for an approval.
func (p *pausedTurn) isQuestion() bool { return p.Digest != "" }

// expired reports whether the time to answer the question is over, or has not begun.
func (p *pausedTurn) expired(now time.Time) bool {
	age := now.Sub(p.Asked)
	return age > approvalTime || age < -approvalTime
}

// contentIDs returns the ids of the contents in the turn's messages.
func (p *pausedTurn) contentIDs() (ids []fragments.Hash) {
	if p == nil {
		return nil
	}
	for i := range p.Messages {
		ids = slices.Concat(ids, p.Messages[i].Contents)
	}
	return ids
}
