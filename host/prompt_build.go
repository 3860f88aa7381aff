// A prompt is built: gather, pre_llm_call, merge, render, pre_send.

package host

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// Prompt builds the turn's next request. It resolves the request's references in the first round,
// fires pre_llm_call, merges all offered context, appends it to the conversation and fires
// pre_send. The error is an *AbortError, a *RefError, a *fragments.OverflowError, or the error of
// ctx. Failures of handlers are in the prompt's Errors.
func (t *Turn) Prompt(ctx context.Context) (*Prompt, error) {
	t.round++
	t.completed = false
	offers, err := t.resolveRequested(ctx)
	if err != nil {
		return nil, err
	}
	if t.round == 1 {
		offers = slices.Concat(offers, t.session.unsentContext, t.offers)
	}
	pre := t.newEvent("pre_llm_call")
	pre.Tools = t.tools
	if t.hasHooks(pre.Name) {
		pre.Messages = starhost.NewList(typedConversation(t))
	}
	if t.withoutTools {
		pre.Tools = starhost.NewList[starhost.Tool](nil)
	}
	t.withdrawn = nil
	out, err := t.fireEvent(ctx, pre)
	if err != nil {
		return nil, err
	}
	offers = out.appendContext(offers)
	before := t.mark()
	p, err := t.build(ctx, pre, offers)
	if err == nil && p.lacksNamed && before != nil {
		t.restore(before) // the new message has the content now
		p, err = t.build(ctx, pre, offers)
	}
	if err != nil {
		return nil, err
	}
	t.storeFragments(ctx, p.Fragments)
	t.storeAttachments(ctx, p.Attachments)
	p.Hooks, p.Errors = appendTraces(nil, t.notes[t.reported.trace:]), slices.Clone(t.errors[t.reported.errors:])
	t.reported.trace, t.reported.errors = len(t.notes), len(t.errors)
	t.model = p.Model
	return p, nil
}

// build merges offers into the conversation and fires pre_send.
func (t *Turn) build(ctx context.Context, pre *starhost.Event, offers []starhost.Context) (*Prompt, error) {
	t.offeredTools = pre.Tools
	m, err := mergeOffers(t, offers)
	if err != nil {
		return nil, err
	}
	t.appendMessage(m)
	m.system = t.session.system.render(m.set)
	p := &Prompt{
		System: m.system, Messages: slices.Clip(t.messages), Text: m.text,
		Tools: pre.Tools.Items(), Model: pre.Model, Options: pre.Options,
		Fragments: m.set.Rows(), Attachments: m.set.Attachments(),
		Given: m.set.Offers(), SavedBytes: m.set.SavedBytes(),
	}
	return p, t.firePreSend(ctx, p, m)
}

// A promptMark stores what building a prompt can change in its turn and session.
type promptMark struct {
	messages, followed []starhost.Message
	spent              fragments.Spent
	sent               map[fragments.Hash]int
	documents          int
	transcript         *transcript
	system             systemText
}

// mark returns the state before the first prompt. It returns nil if no handler can drop messages of that
// prompt.
func (t *Turn) mark() *promptMark {
	s := t.session
	if t.round != 1 || !t.hasHooks("pre_send") {
		return nil
	}
	return &promptMark{
		slices.Clip(t.messages), t.followed, t.budgetSpent.Clone(),
		maps.Clone(s.sentContents), s.documents, s.lastTranscript, s.system,
	}
}

// restore takes a prompt back. It does not take back what the handlers of pre_send showed: a content that
// they dropped with an earlier message is no longer in the session.
func (t *Turn) restore(m *promptMark) {
	s := t.session
	for id := range m.sent {
		if _, isSent := s.sentContents[id]; !isSent {
			delete(m.sent, id)
		}
	}
	t.messages, t.followed, t.budgetSpent = m.messages, m.followed, m.spent
	s.sentContents, s.documents, s.lastTranscript, s.system = m.sent, m.documents, m.transcript, m.system
}

// storeFragments stores the fragments that a prompt sends.
func (t *Turn) storeFragments(ctx context.Context, rows []*fragments.Row) {
	store := t.host.opts.Fragments
	if store == nil {
		return
	}
	var kept []fragments.Content
	for _, r := range rows {
		if r.Status == fragments.Kept || r.Status == fragments.Changed {
			kept = append(kept, fragments.Content{ID: r.ID, Text: r.Content, Source: cmp.Or(r.Source, r.Plugin)})
		}
	}
	if len(kept) == 0 {
		return
	}
	if err := store.Put(ctx, kept...); err != nil {
		t.host.opts.Log(LogLine{Plugin: starhost.HostPlugin, Level: "warn", Text: "fragments were not stored: " + err.Error()})
	}
}

// storeAttachments stores the attachments that a prompt sends, if the store has a place for attachments.
func (t *Turn) storeAttachments(ctx context.Context, rows []*fragments.AttachmentRow) {
	store, ok := t.host.opts.Fragments.(interface {
		PutAttachments(context.Context, ...*fragments.AttachmentRow) error
	})
	if !ok {
		return
	}
	var kept []*fragments.AttachmentRow
	for _, r := range rows {
		if r.Status == fragments.Kept || r.Status == fragments.Changed {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		return
	}
	if err := store.PutAttachments(ctx, kept...); err != nil {
		t.host.opts.Log(LogLine{Plugin: starhost.HostPlugin, Level: "warn", Text: "attachments were not stored: " + err.Error()})
	}
}

// typedConversation returns the conversation as plugins see it before merging: with the users' own
// words, including the new ones.
func typedConversation(t *Turn) []starhost.Message {
	all := typedMessages(t.messages)
	if t.round == 1 {
		all = append(all, starhost.Message{Role: starhost.RoleUser, Content: fragments.NewText(t.words)})
		all = append(all, t.followed...)
	}
	return all
}

// A mergeResult has the parts that one prompt adds to the session.
type mergeResult struct {
	set     *fragments.Set
	system  string         // the session's new system text
	text    fragments.Text // the new user message
	changed *fragments.Row // a system fragment that the previous prompt did not have, or nil
}

// mergeOffers merges the context that was offered for this prompt.
func mergeOffers(t *Turn, offers []starhost.Context) (*mergeResult, error) {
	set := fragments.Merge(fragmentLists(offers)...)
	var attachments [][]fragments.Attachment
	if t.round == 1 {
		attachments = append(attachments, pinAttachments(t.request.Attachments))
	}
	for _, o := range offers {
		if len(o.Attachments) > 0 {
			attachments = append(attachments, o.Attachments)
		}
	}
	set.Attach(attachments...)
	set.InSession(t.inSession)
	s := &t.session.system
	s.markPresent(set)
	if err := set.Fit(t.remainingBudget()); err != nil {
		return nil, err
	}
	s.setOwnText(t.request.System)
	return &mergeResult{set: set, changed: s.update(set)}, nil
}

// remainingBudget returns what is left of the turn's budget.
func (t *Turn) remainingBudget() fragments.Budget {
	b := t.host.opts.Prompt.Budget
	b.Spent = &t.budgetSpent
	return b
}

// pinAttachments returns the user's attachments marked as pinned.
func pinAttachments(list []fragments.Attachment) []fragments.Attachment {
	list = slices.Clone(list)
	for i := range list {
		list[i].Pinned = true
	}
	return list
}

// inSession reports whether an earlier message has a content. With DedupPrompt, only messages of this turn
// count. Messages that pre_send probably drops do not count.
func (t *Turn) inSession(h fragments.Hash) bool {
	s := t.session
	use, sent := s.sentContents[h]
	age := s.currentUse() - use
	return sent && (age == 0 || t.host.opts.Prompt.Dedup == DedupSession && (s.droppedAge == 0 || age < s.droppedAge))
}

// appendMessage renders the merged context, and adds it to the turn: in the first round before the user's
// words, later as a message of its own.
func (t *Turn) appendMessage(m *mergeResult) {
	msg := starhost.Message{Role: starhost.RoleUser, Merged: starhost.FragmentsOnly, Contents: make([]fragments.Hash, 0, len(m.set.Rows()))}
	if len(t.session.sentContents) == 0 {
		t.session.sentContents = make(map[fragments.Hash]int, len(m.set.Rows()))
	}
	for _, r := range m.set.Rows() {
		if r.Status == fragments.Kept && r.Target == fragments.Prompt {
			t.addContent(&msg, r.ID)
		}
	}
	for _, a := range m.set.Attachments() {
		if a.Status == fragments.Kept {
			t.addContent(&msg, a.ID)
			msg.Attachments = append(msg.Attachments, a.Attachment)
		}
	}
	var tail []string
	for _, note := range m.set.Notes() {
		if id := fragments.Sum(note); !t.inSession(id) { // a note is sent only once, like a fragment
			t.addContent(&msg, id)
			tail = append(tail, note)
		}
	}
	if t.round == 1 {
		msg.OwnWords, msg.Merged = t.words, starhost.FragmentsBefore
		tail = append(tail, t.words)
		t.session.unsentContext = nil
	}
	_, m.text = m.set.Render(t.host.opts.Prompt.Render, t.session.documents, tail...)
	t.session.documents += m.set.CountSent(fragments.Prompt)
	msg.Content = m.text
	if t.round == 1 || msg.Content.Len() > 0 || len(msg.Attachments) > 0 {
		t.messages = append(t.messages, msg)
	}
	t.messages, t.followed = append(t.messages, t.followed...), nil
}

// addContent notes that a message has a content.
func (t *Turn) addContent(m *starhost.Message, id fragments.Hash) {
	s := t.session
	if s.sentContents == nil {
		s.sentContents = map[fragments.Hash]int{}
	}
	m.Contents, s.sentContents[id] = append(m.Contents, id), s.currentUse()
}

// firePreSend fires pre_send with the complete request and compares the result with the session's
// previous prompt.
func (t *Turn) firePreSend(ctx context.Context, p *Prompt, m *mergeResult) error {
	e := t.newEvent("pre_send")
	e.System, e.Messages, e.Tools = p.System, starhost.NewList(p.Messages), t.offeredTools
	e.Model, e.Options = p.Model, p.Options
	if t.hasHooks(e.Name) {
		e.Fragments = starhost.NewList(copyRows(p.Fragments))
	}
	out, err := t.fireEvent(ctx, e)
	if err != nil {
		return err
	}
	plain := rendering{p.Tools, p.System, p.Messages}
	p.transcript = transcript{rendering: plain, changedBy: lastChange(out), unchanged: plain}
	if p.changedBy != nil {
		p.System, p.Messages, p.Model = e.System, e.Messages.Items(), e.Model
		t.offeredTools, p.Tools = e.Tools, e.Tools.Items()
		p.Text = lastUserText(p.Messages, p.Text)
		p.rendering = rendering{p.Tools, p.System, p.Messages}
		relocateFragments(p, out)
		t.checkSent(p, plain.messages, out)
		p.SavedBytes = m.set.SavedBytes()
	}
	if last := t.session.lastTranscript; last != nil {
		compareTranscripts(p, last, m.changed, t.session.idOf)
	}
	sent := p.transcript // store a copy, so that the session does not keep the report in memory
	t.session.lastTranscript = &sent
	return nil
}
