// This file finds out what pre_send left of a prompt, and so which contents the model has.

package host

import (
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// checkSent compares the complete request with p, which handlers of pre_send made of it. If they dropped a
// message, its contents leave the session, so that a later prompt sends them again. The report then does not
// say in_session for a content that p does not have.
func (t *Turn) checkSent(p *Prompt, complete []starhost.Message, out Outcome) {
	s, sent := t.session, t.newSentContents(p.Messages, complete)
	var lost []fragments.Hash
	for i := range complete {
		m := &complete[i]
		ids := contentIDs(m)
		missing := slices.DeleteFunc(slices.Clone(ids), func(id fragments.Hash) bool { return sent.has(m, id) })
		lost = append(lost, missing...)
		if len(missing) > 0 && len(missing) == len(ids) {
			s.noteDropped(s.sentContents[missing[0]])
		}
	}
	for _, id := range lost {
		if !sent.found[id] {
			delete(s.sentContents, id)
		}
	}
	for _, r := range p.Fragments {
		if r.Target != fragments.Prompt || r.Status != fragments.InSession || sent.hasText(r.Content) {
			continue
		}
		if r.Status = fragments.Changed; !sent.found[r.ID] {
			r.Status, p.lacksNamed = fragments.Dropped, p.lacksNamed || r.Pinned
		}
		r.Reason = errtext.Format("%s by %s", r.Status, changerOf(out, r.Target, r.Content))
	}
	for _, r := range p.Attachments {
		if (r.Status == fragments.Kept || r.Status == fragments.InSession) && !sent.attachments[r.ID] {
			p.lacksNamed = p.lacksNamed || r.Pinned && r.Status == fragments.InSession
			r.Status, r.Reason = fragments.Dropped, "dropped by pre_send"
		}
	}
}

// noteDropped notes that pre_send dropped a message of an earlier use. A context engine that drops one
// message will drop others of the same age, so their contents no longer count as sent.
func (s *Session) noteDropped(use int) {
	if age := s.currentUse() - use; age > 0 && (s.droppedAge == 0 || age < s.droppedAge) {
		s.droppedAge = age
	}
}

// sentContents finds the contents that a request still has after pre_send changed it.
type sentContents struct {
	messages    []starhost.Message
	parts       map[string]bool // the texts of messages and of their parts
	attachments map[fragments.Hash]bool
	derived     map[fragments.Hash]bool // texts that were in a message whose text a handler replaced
	found       map[fragments.Hash]bool // results of has, by content
	sameCount   bool
	idOf        func(*fragments.Attachment) fragments.Hash
}

func (t *Turn) newSentContents(sent, complete []starhost.Message) *sentContents {
	c := &sentContents{
		messages: sent, parts: map[string]bool{}, attachments: map[fragments.Hash]bool{},
		derived: map[fragments.Hash]bool{}, found: map[fragments.Hash]bool{},
		sameCount: len(sent) == len(complete), idOf: t.session.idOf,
	}
	for i := range sent {
		m := &sent[i]
		c.parts[m.Content.String()] = true
		for _, part := range m.Content.Parts() {
			c.parts[part] = true
		}
		for j := range m.Attachments {
			c.attachments[c.idOf(&m.Attachments[j])] = true
		}
		for _, id := range m.Contents {
			c.derived[id] = true
		}
	}
	return c
}

// has reports whether the request has a content of the message m. It also finds the content in a form that a
// handler changed, because a redacted text need not be sent again.
func (c *sentContents) has(m *starhost.Message, id fragments.Hash) bool {
	found := c.found[id] || c.attachments[id]
	if !found && !c.isAttachment(m, id) {
		found = c.derived[id] || c.sameCount || c.parts[m.Content.String()] ||
			slices.ContainsFunc(m.Content.Parts(), func(part string) bool {
				return c.parts[part] && fragments.Sum(part) == id
			})
	}
	c.found[id] = found
	return found
}

func (c *sentContents) isAttachment(m *starhost.Message, id fragments.Hash) bool {
	for i := range m.Attachments {
		if c.idOf(&m.Attachments[i]) == id {
			return true
		}
	}
	return false
}

// hasText reports whether a message of the request contains the text.
func (c *sentContents) hasText(text string) bool {
	return c.parts[text] || slices.ContainsFunc(c.messages, func(m starhost.Message) bool {
		return strings.Contains(m.Content.String(), text)
	})
}

// idOf returns the id of an attachment. It computes the id of each content once.
func (s *Session) idOf(a *fragments.Attachment) fragments.Hash {
	if a.URL != "" {
		return a.ID()
	}
	id, known := s.attachmentIDs[a.Content]
	if !known {
		if s.attachmentIDs == nil {
			s.attachmentIDs = map[string]fragments.Hash{}
		}
		id = a.ID()
		s.attachmentIDs[a.Content] = id
	}
	return id
}
