package starhost

import (
	"context"
	"slices"

	"github.com/starhost/starhost/fragments"
)

// Prompt builds the turn's next request: it resolves the request's references
// (in the first round), asks pre_llm_call, merges what all of them offered,
// appends it to the conversation and passes the whole through pre_send. The
// error is an *AbortError, a *RefError, a *fragments.OverflowError, or that of
// ctx; a handler that failed is in the prompt's Errors.
func (t *Turn) Prompt(ctx context.Context) (*Prompt, error) {
	t.round++
	t.completed = false
	offers, err := t.requested(ctx)
	if err != nil {
		return nil, err
	}
	if t.round == 1 {
		offers = slices.Concat(offers, t.session.opening, t.offers)
	}
	pre := t.event("pre_llm_call")
	pre.Tools = t.tools
	if t.heard(pre.Name) {
		pre.Messages = NewList(t.typed())
	}
	if t.toolless {
		pre.Tools = NewList[Tool](nil)
	}
	out, err := t.fire(ctx, pre)
	if err != nil {
		return nil, err
	}
	t.offered = pre.Tools
	m, err := t.merge(out.appendContext(offers))
	if err != nil {
		return nil, err
	}
	t.append(m)
	m.system = t.session.system.render(m.set)
	p := &Prompt{
		System: m.system, Messages: slices.Concat(t.session.history, t.messages), Text: m.text,
		Tools: pre.Tools.Items(), Model: pre.Model, Options: pre.Options,
		Fragments: m.set.Rows(), Attachments: m.set.Attachments(),
		Given: m.set.Offers(), SavedBytes: m.set.SavedBytes(),
	}
	if err := t.send(ctx, p, m); err != nil {
		return nil, err
	}
	t.store(ctx, p.Fragments)
	p.Hooks, p.Errors = appendTraces(nil, t.trace[t.reported.trace:]), slices.Clone(t.errors[t.reported.errors:])
	t.reported.trace, t.reported.errors = len(t.trace), len(t.errors)
	t.prompt = p
	return p, nil
}

// store puts the fragments that a prompt kept into the host's store.
func (t *Turn) store(ctx context.Context, rows []*fragments.Row) {
	store := t.host.opts.Fragments
	if store == nil {
		return
	}
	var kept []fragments.Content
	for _, r := range rows {
		if r.Status == fragments.Kept || r.Status == fragments.Changed {
			kept = append(kept, fragments.Content{ID: r.ID, Text: r.Content})
		}
	}
	if len(kept) == 0 {
		return
	}
	if err := store.Put(ctx, kept...); err != nil {
		t.host.opts.Log(LogLine{Plugin: HostPlugin, Level: "warn", Text: "fragments were not stored: " + err.Error()})
	}
}

// typed returns the conversation as plugins see it before merging: with users'
// own words, the new ones included.
func (t *Turn) typed() []Message {
	all := asTyped(t.session.history, t.messages)
	if t.round == 1 {
		all = append(all, Message{Role: RoleUser, Content: fragments.NewText(t.words)})
	}
	return all
}

// A merged is what one prompt adds.
type merged struct {
	set     *fragments.Set
	system  string         // the session's system text from now on
	text    fragments.Text // of the new user message
	changed *fragments.Row // a system fragment that is new since the previous prompt
}

// merge merges what was offered for this prompt.
func (t *Turn) merge(offers []Context) (*merged, error) {
	set := fragments.Merge(fragmentLists(offers)...)
	var attachments [][]fragments.Attachment
	if t.round == 1 {
		attachments = append(attachments, pin(t.request.Attachments))
	}
	for _, o := range offers {
		if len(o.Attachments) > 0 {
			attachments = append(attachments, o.Attachments)
		}
	}
	set.Attach(attachments...)
	set.InSession(t.inSession)
	s := &t.session.system
	s.mark(set)
	if err := set.Fit(t.budget()); err != nil {
		return nil, err
	}
	s.setOwn(t.request.System)
	return &merged{set: set, changed: s.take(set)}, nil
}

// budget returns what is left of the turn's.
func (t *Turn) budget() fragments.Budget {
	b := t.host.opts.Prompt.Budget
	b.Spent = &t.spent
	return b
}

// pin returns the user's own attachments, marked as such.
func pin(list []fragments.Attachment) []fragments.Attachment {
	list = slices.Clone(list)
	for i := range list {
		list[i].Pinned = true
	}
	return list
}

// inSession reports whether an earlier message holds a content: of the session,
// or of this turn alone where the host is set so.
func (t *Turn) inSession(h fragments.Hash) bool {
	use, sent := t.session.sent[h]
	return sent && (use == t.session.use() || t.host.opts.Prompt.Dedup == DedupSession)
}

// append renders what was merged and adds it to the turn: in the first round in
// front of the user's words, later as a message of its own.
func (t *Turn) append(m *merged) {
	msg := Message{Role: RoleUser, merged: alone, holds: make([]fragments.Hash, 0, len(m.set.Rows()))}
	if len(t.session.sent) == 0 {
		t.session.sent = make(map[fragments.Hash]int, len(m.set.Rows()))
	}
	for _, r := range m.set.Rows() {
		if r.Status == fragments.Kept && r.Target == fragments.Prompt {
			t.hold(&msg, r.ID)
		}
	}
	for _, a := range m.set.Attachments() {
		if a.Status == fragments.Kept {
			t.hold(&msg, a.ID)
			msg.Attachments = append(msg.Attachments, a.Attachment)
		}
	}
	var tail []string
	for _, note := range m.set.Notes() {
		if id := fragments.Sum(note); !t.inSession(id) { // said once, like a fragment
			t.hold(&msg, id)
			tail = append(tail, note)
		}
	}
	if t.round == 1 {
		msg.own, msg.merged = t.words, inFront
		tail = append(tail, t.words)
		t.session.opening = nil
	}
	_, m.text = m.set.Render(t.host.opts.Prompt.Render, t.session.docs, tail...)
	t.session.docs += m.set.CountSent(fragments.Prompt)
	msg.Content = m.text
	if t.round == 1 || msg.Content.Len() > 0 || len(msg.Attachments) > 0 {
		t.messages = append(t.messages, msg)
	}
}

// hold notes that a message brings a content.
func (t *Turn) hold(m *Message, id fragments.Hash) {
	s := t.session
	if s.sent == nil {
		s.sent = map[fragments.Hash]int{}
	}
	m.holds, s.sent[id] = append(m.holds, id), s.use()
}

// send passes the complete request through pre_send and compares it with the
// session's previous one.
func (t *Turn) send(ctx context.Context, p *Prompt, m *merged) error {
	e := t.event("pre_send")
	e.System, e.Messages, e.Tools = p.System, NewList(p.Messages), t.offered
	e.Model, e.Options = p.Model, p.Options
	if t.heard(e.Name) {
		e.Fragments = NewList(rows(p.Fragments))
	}
	out, err := t.fire(ctx, e)
	if err != nil {
		return err
	}
	plain := t.session.render(p)
	p.transcript = transcript{pieces: plain, tools: len(p.Tools), sentBy: lastChange(out), plain: plain}
	if p.sentBy != nil {
		p.System, p.Messages = e.System, e.Messages.Items()
		p.Text = lastUserText(p.Messages, p.Text)
		p.pieces = t.session.render(p)
		relocate(p, out)
	}
	if last := t.session.last; last != nil {
		compare(p, last, m.changed)
	}
	sent := p.transcript // a copy, so that the session does not hold the report
	t.session.last = &sent
	return nil
}

// render returns the pieces of a prompt's rendering.
func (s *Session) render(p *Prompt) []string {
	const around, more = 5, 16 // pieces of a message of one part; of the one that was merged
	pieces := make([]string, 0, len(p.Tools)+2+around*len(p.Messages)+more)
	for i := range p.Tools {
		pieces = append(pieces, p.Tools[i].rendering())
	}
	pieces = append(pieces, p.System, "\n")
	for i := range p.Messages {
		pieces = p.Messages[i].pieces(pieces, s.idOf)
	}
	return pieces
}

// idOf returns the id of an attachment, computed once for each content.
func (s *Session) idOf(a *fragments.Attachment) fragments.Hash {
	if a.URL != "" {
		return a.ID()
	}
	id, known := s.ids[a.Content]
	if !known {
		if s.ids == nil {
			s.ids = map[string]fragments.Hash{}
		}
		id = a.ID()
		s.ids[a.Content] = id
	}
	return id
}
