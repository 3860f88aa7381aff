// This file lets a handler of turn_start replace the history.

package host

import (
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// setHistory replaces the session's history before the turn has messages.
func (t *Turn) setHistory(history []starhost.Message) {
	t.session.history, t.messages, t.first = history, history, len(history)
}

// changeHistory replaces the session's history by next, which a handler of turn_start returned. A content
// that next does not have counts as not sent, so that a later prompt may send it again.
func (t *Turn) changeHistory(next []starhost.Message) {
	s := t.session
	texts := map[fragments.Hash]string{} // texts of the parts that merging added, by id
	for i := range s.history {
		for _, part := range s.history[i].Content.Parts() {
			texts[fragments.Sum(part)] = part
		}
	}
	present := map[fragments.Hash]bool{}
	list := slices.Clone(next)
	for i := range list {
		m := &list[i]
		if m.Merged == starhost.NotMerged && m.Contents == nil {
			for j := range m.Attachments {
				present[s.idOf(&m.Attachments[j])] = true
			}
			continue
		}
		m.Contents = slices.DeleteFunc(slices.Clone(m.Contents), func(id fragments.Hash) bool {
			return !hasContent(m, id, texts, s.idOf)
		})
		for _, id := range m.Contents {
			present[id] = true
		}
	}
	for id := range s.sentContents {
		if !present[id] {
			delete(s.sentContents, id)
		}
	}
	t.setHistory(list)
	for _, c := range s.startContext {
		if slices.ContainsFunc(c.Fragments, func(f fragments.Fragment) bool {
			return f.Target == fragments.Prompt && !present[f.ID()]
		}) {
			s.unsentContext = s.startContext // merging omits what the history still has
		}
	}
}

// hasContent reports whether a message contains a content, which is an attachment or a text.
func hasContent(
	m *starhost.Message, id fragments.Hash, texts map[fragments.Hash]string, idOf func(*fragments.Attachment) fragments.Hash,
) bool {
	text, isText := texts[id]
	return isText && text != "" && strings.Contains(m.Content.String(), text) ||
		slices.ContainsFunc(m.Attachments, func(a fragments.Attachment) bool { return idOf(&a) == id })
}
