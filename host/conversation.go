// This file says what the messages of a session mean for the next prompt: the words that the user typed, and
// the contents that the model has.

package host

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// typedMessages returns messages as plugins see them before merging: with the users' own words, and
// without the fragments that merging added.
func typedMessages(messages []starhost.Message) []starhost.Message {
	typed := make([]starhost.Message, 0, len(messages)+1)
	for i := range messages {
		switch m := &messages[i]; m.Merged {
		case starhost.FragmentsOnly:
		case starhost.FragmentsBefore:
			typed = append(typed, starhost.Message{Role: m.Role, Content: fragments.NewText(m.OwnWords)})
		default:
			typed = append(typed, *m)
		}
	}
	return typed
}

// checkHistory returns an error for a history that no provider accepts: each call of a tool needs exactly one
// answer after it.
func checkHistory(list []starhost.Message) error {
	waiting := map[string]int{} // the number of calls without an answer, by id
	for i := range list {
		m := &list[i]
		if m.Role == starhost.RoleTool {
			if waiting[m.CallID]--; waiting[m.CallID] < 0 {
				return errtext.Errorf("modify: history: [%d]: got the answer to call %q, which no message before it makes", i, m.CallID)
			}
			continue
		}
		for id, n := range waiting {
			if n > 0 {
				return errtext.Errorf("modify: history: [%d]: got no answer to call %q before it", i, id)
			}
		}
		for _, c := range m.ToolCalls {
			waiting[c.ID]++
		}
	}
	for id, n := range waiting {
		if n > 0 {
			return errtext.Errorf("modify: history: got no answer to call %q", id)
		}
	}
	return nil
}

// contentsOf returns the contents that the messages already have, so that starhost need not send them again:
// contents from merging, and attachments of messages from other sources. It says for each in which use of the
// session it was sent last. It counts these uses back from use, one for each message of the user.
func contentsOf(messages []starhost.Message, use int) map[fragments.Hash]int {
	all := map[fragments.Hash]int{}
	add := func(id fragments.Hash) {
		if _, newer := all[id]; !newer {
			all[id] = use - 1
		}
	}
	for i := range slices.Backward(messages) {
		m := &messages[i]
		for _, id := range contentIDs(m) {
			add(id)
		}
		if m.Role == starhost.RoleUser && m.Merged != starhost.FragmentsOnly {
			use--
		}
	}
	return all
}

// contentIDs returns the ids of the contents that a message has. The caller must not change the list.
func contentIDs(m *starhost.Message) []fragments.Hash {
	if m.Contents != nil {
		return m.Contents
	}
	var ids []fragments.Hash
	for i := range m.Attachments {
		ids = append(ids, m.Attachments[i].ID())
	}
	return ids
}

// shownText returns the text that the user sees of a result.
func shownText(r *starhost.Result) string {
	if r.Silent {
		return ""
	}
	return cmp.Or(r.ForUser, r.ForLLM)
}

// noArguments are the arguments of a call without any.
var noArguments = json.RawMessage("{}")
