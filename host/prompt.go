// This file describes a prompt and its report: what was merged, and what breaks the provider's cache.

package host

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// A Prompt is one complete request to a model, with a report that explains it. The caller must not
// change it, because the session shares its parts.
type Prompt struct {
	// System is the system text. Messages is the conversation. At its end is the new user message, or the
	// answers of tools. Both are as the model gets them.
	System   string
	Messages []starhost.Message
	// Text is the user message that this prompt added; empty if it added none.
	Text fragments.Text
	// Tools are the tools on offer, by name. The caller must not change them.
	Tools []starhost.Tool
	// Model and Options (a JSON object) are the request's values after all hooks.
	Model   string
	Options json.RawMessage

	// Fragments and Attachments have a row for each offered content.
	Fragments   []*fragments.Row
	Attachments []*fragments.AttachmentRow
	// Given is the number of offered fragments, including repeated ones. SavedBytes is the size of the
	// fragments that were not sent again.
	Given      int
	SavedBytes int64
	// Hooks are the traces of handlers since the turn's previous prompt, and Errors their failures.
	Hooks  []HookTrace
	Errors []error
	// SharedPrefix is the length of the common prefix of this prompt's rendering and the rendering
	// of the session's previous prompt, in bytes.
	SharedPrefix int64
	// CacheBreak says why the previous prompt is not a prefix of this one, or is nil.
	CacheBreak *CacheBreak

	transcript
}

// Sum returns the SHA-256 of the prompt's rendering: everything that a provider sees except the
// model's name and the options.
func (p *Prompt) Sum() fragments.Hash {
	h := sha256.New()
	for piece := range p.pieces {
		h.Write([]byte(piece))
	}
	return fragments.Hash(h.Sum(nil))
}

// Bytes returns the size of the system text and the new user message.
func (p *Prompt) Bytes() int { return len(p.System) + p.Text.Len() }

// Rendering returns the prompt as one text, which begins with the tools and the system text. Ids stand for
// the attachments. SharedPrefix and CacheBreak count the bytes of this text.
func (p *Prompt) Rendering() string { return strings.Join(slices.Collect(p.pieces), "") }

// A CacheBreak says at which byte a prompt differs from the previous one, so that the provider's prompt cache
// loses everything after it.
type CacheBreak struct {
	Offset int64  `json:"offset"`
	Cause  string `json:"cause"`
	Plugin string `json:"plugin"` // the plugin that caused it, or ""
	Pos    string `json:"pos"`    // the place of the plugin's registration, or ""
}

// A transcript is what a prompt's report and the next prompt need of a request.
type transcript struct {
	rendering
	lacksNamed bool // pre_send dropped a message with a content that the user has named in this turn
	// changedBy is the handler of pre_send that changed the request, or nil. unchanged is the rendering before
	// that change.
	changedBy *HookInfo
	unchanged rendering
}

// compareTranscripts measures the prefix that p shares with the previous prompt, and names the
// cause of a break. If there are several causes, it names the first one in the rendering.
func compareTranscripts(p *Prompt, last *transcript, changed *fragments.Row, idOf idFunc) {
	shared, whole := sharedPrefix(&last.rendering, &p.rendering, idOf)
	p.SharedPrefix = shared
	if whole {
		return
	}
	b := &CacheBreak{Offset: shared}
	p.CacheBreak = b
	_, unchanged := sharedPrefix(&last.unchanged, &p.unchanged, idOf)
	switch {
	case unchanged && p.changedBy != nil:
		b.Cause, b.Plugin, b.Pos = "pre_send changed the request", p.changedBy.Plugin, p.changedBy.Pos.String()
	case unchanged:
		b.Cause, b.Plugin, b.Pos = "pre_send had changed the previous request", last.changedBy.Plugin, last.changedBy.Pos.String()
	case !slices.EqualFunc(last.unchanged.tools, p.unchanged.tools, func(a, b starhost.Tool) bool { return toolPiece(a) == toolPiece(b) }):
		b.Cause = "tools changed"
	case last.unchanged.system == p.unchanged.system:
		b.Cause = "history changed"
	case changed != nil:
		b.Cause, b.Plugin, b.Pos = errtext.Format("system fragment %q changed", changed.Source), changed.Plugin, changed.Pos
	default:
		b.Cause = "system text changed"
	}
}

// sharedPrefix returns the length of the common prefix of two renderings, and whether b begins with all
// of a. It does not compare the bytes of equal pieces that share memory.
func sharedPrefix(a, b *rendering, idOf idFunc) (n int64, whole bool) {
	left, right := cursor{of: a, idOf: idOf}, cursor{of: b, idOf: idOf}
	var x, y string
	for {
		if x == "" {
			x = left.next()
		}
		if y == "" {
			y = right.next()
		}
		k := min(len(x), len(y))
		if k == 0 {
			return n, x == ""
		}
		if x[:k] != y[:k] {
			i := 0
			for x[i] == y[i] {
				i++
			}
			return n + int64(i), false
		}
		n += int64(k)
		x, y = x[k:], y[k:]
	}
}

// lastChange returns the last handler that changed the request, or nil.
func lastChange(out Outcome) *HookInfo {
	for _, d := range slices.Backward(out.Decisions) {
		if len(d.Changes) > 0 {
			return &HookInfo{Event: "pre_send", Plugin: d.Plugin, Pos: d.Pos}
		}
	}
	return nil
}

// lastUserText returns the text of the last user message, or an empty text if the prompt added no message.
func lastUserText(messages []starhost.Message, added fragments.Text) fragments.Text {
	if added.Len() == 0 {
		return added
	}
	for _, m := range slices.Backward(messages) {
		if m.Role == starhost.RoleUser {
			return m.Content
		}
	}
	return fragments.Text{}
}

// relocateFragments finds the sent fragments in a request that pre_send changed, and sets their offsets. If a
// fragment's bytes are gone, its row becomes Changed and names the handler.
func relocateFragments(p *Prompt, out Outcome) {
	from := map[fragments.Target]int{}
	for _, r := range p.Fragments {
		if r.Status != fragments.Kept || r.Offset < 0 {
			continue
		}
		in := p.Text.String()
		content := r.Content
		if r.Target == fragments.System {
			in, content = p.System, strings.TrimSpace(r.Content)
		}
		if i := strings.Index(in[from[r.Target]:], content); i >= 0 {
			r.Offset = from[r.Target] + i
			from[r.Target] = r.Offset + r.Length
			continue
		}
		r.Status, r.Offset, r.Length, r.Place = fragments.Changed, -1, 0, 0
		r.Reason = "changed by " + changerOf(out, r.Target, content)
	}
}

// changerOf returns the first pre_send handler whose request does not contain the content.
func changerOf(out Outcome, target fragments.Target, content string) string {
	for _, d := range out.Decisions {
		if system, ok := d.Changes["system"].(string); ok && target == fragments.System && !strings.Contains(system, content) {
			return fmt.Sprintf("%s (%s)", d.Plugin, d.Pos)
		}
		list, ok := d.Changes["messages"].(*starhost.Messages)
		if ok && target == fragments.Prompt &&
			!slices.ContainsFunc(list.Items(), func(m starhost.Message) bool {
				return strings.Contains(m.Content.String(), content)
			}) {
			return fmt.Sprintf("%s (%s)", d.Plugin, d.Pos)
		}
	}
	return "pre_send"
}

// copyRows returns copies of the rows of the report, for plugins.
func copyRows(list []*fragments.Row) []fragments.Row {
	out := make([]fragments.Row, len(list))
	for i, r := range list {
		out[i] = *r
	}
	return out
}
