package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// askPrompt shows a request to plugins, and changes it as they decide, before the model gets it. Each request
// is a new turn for plugins: clients do not store the context that plugins added to earlier requests, so
// plugins add it again.
func (x *exchange) askPrompt(ctx context.Context) error {
	q := x.request
	x.turns = q.turnsBefore()
	return x.inSession(ctx, func(s *host.Session) error {
		r := host.Request{
			System: join(&q.doc, q.system, "\n"), Model: q.doc.StringAt(q.doc.Member(0, "model")), Options: q.options(),
			OnlyTools: []string{"!"}, // no tool has this name
		}
		for i := range q.tools {
			r.Tools = append(r.Tools, q.describe(q.tools[i]))
		}
		if own := x.ownTools(q); len(own) > 0 {
			r.OnlyTools = own
		}
		var after []starhost.Message
		if r.History = q.messages; q.words != noNode {
			r.History, after = q.messages[:q.words:q.words], q.messages[q.words+1:]
			r.Text = q.userWords()
		}
		t, err := s.Begin(ctx, r)
		if err != nil {
			return err
		}
		defer t.Leave(ctx)
		t.Follow(after)
		p, err := t.Prompt(ctx)
		if err != nil {
			return err
		}
		return x.applyPrompt(q, t, p, &r)
	})
}

// turnsBefore returns how many turns of the user the request contains before the last one. Several messages
// of the user in a row are one turn.
func (q *request) turnsBefore() (n int) {
	isOpen := false
	for i := range q.messages[:max(q.words, 0)] {
		switch q.messages[i].Role {
		case starhost.RoleUser:
			isOpen = true
		case starhost.RoleAssistant:
			if isOpen {
				n++
			}
			isOpen = false
		}
	}
	return n
}

// ownTools returns the names of the plugins' tools that the proxy offers: the tools that match Options.Tools,
// except those whose name a tool of the client has.
func (x *exchange) ownTools(q *request) (names []string) {
	if len(x.Tools) == 0 {
		return nil
	}
	matches := func(name string) bool {
		return slices.ContainsFunc(x.Tools, func(glob string) bool { ok, _ := path.Match(glob, name); return ok })
	}
	for _, t := range x.host.Tools() {
		if matches(t.Name) && !slices.ContainsFunc(q.tools, func(own tool) bool { return own.name == t.Name }) {
			names = append(names, t.Name)
		}
	}
	return names
}

// notOptions are the members of a request that plugins do not see among the options.
var notOptions = []string{
	"model", "messages", "input", "system", "instructions", "stream", "tools", "functions", "mcp_servers",
}

// options returns the members of the request that plugins see as options, as one object.
func (q *request) options() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for key, value := range q.doc.Members(0) {
		if slices.Contains(notOptions, q.doc.PeekAt(key)) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(q.doc.TextAt(key) + ":" + q.doc.TextAt(value))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// applyPrompt changes the request as plugins have decided.
func (x *exchange) applyPrompt(q *request, t *host.Turn, p *host.Prompt, r *host.Request) error {
	if p.Model != r.Model {
		q.edits.SetMember(0, "model", string(jsontext.Must(p.Model)))
	}
	if !bytes.Equal(p.Options, r.Options) {
		q.setOptions(p.Options)
	}
	q.removeTools(p.Tools)
	x.addTools(q, p.Tools)
	system, isChanged := strings.CutSuffix(p.System, strings.TrimSpace(r.System))
	if !isChanged || changedBySend(p, "system") {
		q.setSystem(p.System)
		system = ""
	}
	sent := p.Text.String()
	if changedBySend(p, "messages") {
		var err error
		if sent, err = q.setMessages(p.Messages, t.UserWords()); err != nil {
			return err
		}
	}
	added, ok := strings.CutSuffix(sent, t.UserWords())
	words := t.UserWords()
	if !ok { // a plugin has written the whole text
		words, added = sent, ""
	}
	if words != r.Text {
		q.setWords(words)
	}
	texts := []string{strings.TrimSpace(system), strings.TrimSuffix(added, "\n")}
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	x.addContext(q, strings.Join(texts, "\n\n"), p.Attachments)
	return nil
}

// changedBySend reports whether a handler of pre_send changed the named argument.
func changedBySend(p *host.Prompt, name string) bool {
	return slices.ContainsFunc(p.Hooks, func(h host.HookTrace) bool {
		_, ok := h.Changes[name]
		return ok && h.Event == "pre_send"
	})
}

// setOptions changes the options in the request to those that plugins have set.
func (q *request) setOptions(options json.RawMessage) {
	var set map[string]json.RawMessage
	if json.Unmarshal(options, &set) != nil {
		return
	}
	for key, value := range q.doc.Members(0) {
		name := q.doc.StringAt(key)
		next, ok := set[name]
		delete(set, name)
		switch {
		case slices.Contains(notOptions, name):
		case !ok:
			q.edits.Remove(value)
		case q.doc.TextAt(value) != string(next):
			q.edits.Set(value, string(next))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !slices.Contains(notOptions, name) {
			q.edits.SetMember(0, name, string(set[name]))
		}
	}
}

// removeTools removes the client's tools that plugins have removed. left are the tools that remain.
func (q *request) removeTools(left []starhost.Tool) {
	gone := map[int]bool{}
	for _, t := range q.tools {
		if !slices.ContainsFunc(left, func(l starhost.Tool) bool { return l.Name == t.name }) {
			gone[t.value] = true
			q.edits.Remove(t.value)
			q.forgetChoice(t.name)
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, name := range toolLists {
		list := q.doc.Member(0, name)
		all := q.doc.Elements(list)
		if len(all) > 0 && !slices.ContainsFunc(all, func(i int) bool { return !gone[i] }) {
			q.emptied = append(q.emptied, name)
		}
	}
}

// forgetChoice removes the request's demand that the model call a tool, if the request no longer offers that
// tool.
func (q *request) forgetChoice(name string) {
	for _, member := range []string{"tool_choice", "function_call"} {
		choice := q.doc.Member(0, member)
		if q.doc.HasKind(choice, jsontext.Object) && toolName(&q.doc, choice) == name {
			q.edits.Remove(choice)
		}
	}
}

// addTools adds the offered tools of plugins to the request.
func (x *exchange) addTools(q *request, offered []starhost.Tool) {
	var list []string
	for i := range offered {
		if t := &offered[i]; t.PluginName() != "" {
			list = append(list, string(jsontext.Must(q.newTool(t))))
			x.offered = append(x.offered, t.Name)
		}
	}
	tools := q.doc.Member(0, "tools")
	if isGone := slices.Contains(q.emptied, "tools"); len(list) > 0 && q.doc.HasKind(tools, jsontext.Array) && !isGone {
		for _, t := range list {
			q.edits.Add(tools, t)
		}
		return
	}
	for _, name := range q.emptied { // endpoints refuse an empty list of tools
		q.edits.Remove(q.doc.Member(0, name))
	}
	switch {
	case len(list) > 0:
		q.edits.SetMember(0, "tools", "["+strings.Join(list, ",")+"]")
	case slices.Contains(q.emptied, "tools"):
		for _, name := range []string{"tool_choice", "parallel_tool_calls"} {
			if i := q.doc.Member(0, name); i != noNode {
				q.edits.Remove(i)
			}
		}
	}
}

// setSystem replaces the system text. The first string of the old text becomes the new text, and the other
// strings are removed.
func (q *request) setSystem(system string) {
	raw := string(jsontext.Must(system))
	if len(q.system) > 0 {
		q.replaceTexts(q.system, 0, system)
		return
	}
	if q.dialect.system != "" {
		q.edits.SetMember(0, q.dialect.system, raw)
		return
	}
	q.edits.AddFirst(q.list, `{"role":"system","content":`+raw+`}`)
}

// replaceTexts replaces several strings by one text: the string at index becomes the text, and the others are
// removed.
func (q *request) replaceTexts(list []text, index int, with string) {
	for i, t := range list {
		switch {
		case i == index:
			q.edits.Set(t.value, string(jsontext.Must(with)))
		case t.element != noNode:
			q.edits.Remove(t.element)
		default:
			q.edits.Set(t.value, `""`)
		}
	}
}

// setWords replaces the user's last text. The last string of the text gets the new one, because a cache
// breakpoint is at the last string.
func (q *request) setWords(words string) {
	if q.words != noNode {
		q.setText(&q.entries[q.words], words)
	}
}

func (q *request) setText(e *entry, text string) {
	if len(e.texts) > 0 {
		q.replaceTexts(e.texts, len(e.texts)-1, text)
		return
	}
	if e.element != noNode && len(e.blocks) == 0 {
		q.edits.SetMember(e.element, "content", string(jsontext.Must(text)))
	}
}

// setMessages changes the messages of the request to those that pre_send made. It returns the text of the
// user's last message.
func (q *request) setMessages(made []starhost.Message, words string) (sent string, err error) {
	next, removed := 0, map[int][]int{}
	remove := func(upTo int) {
		for ; next < upTo; next++ {
			if e := &q.entries[next]; next != q.words {
				removed[e.element] = append(removed[e.element], e.blocks...)
				q.removeEntry(e, removed[e.element])
			}
		}
	}
	isSame := len(made) == len(q.entries)
	for i := range made {
		m := &made[i]
		if isSame && (next >= len(q.entries) || !isLike(&q.messages[next], m)) {
			isSame = false
		}
		found := 0
		if !isSame {
			found = slices.IndexFunc(q.messages[next:], func(own starhost.Message) bool {
				return isLike(&own, m) && own.Content.String() == m.Content.String()
			})
		}
		if found < 0 && m.Role == starhost.RoleUser && q.words >= next && strings.HasSuffix(m.Content.String(), words) {
			found = q.words - next
		}
		if found < 0 {
			if q.words == noNode && i == len(made)-1 {
				return m.Content.String(), nil
			}
			return "", refuse(403, "starhost: pre_send made a message that the proxy cannot write: it can drop messages and change texts")
		}
		remove(next + found)
		if next == q.words {
			sent = m.Content.String()
		} else if text := m.Content.String(); q.messages[next].Content.String() != text {
			q.setText(&q.entries[next], text)
		}
		next++
	}
	remove(len(q.entries))
	return sent, nil
}

// isLike reports whether two messages differ at most in their texts.
func isLike(a, b *starhost.Message) bool {
	isSame := func(a, b starhost.ToolCall) bool { return a.ID == b.ID && a.Name == b.Name }
	return a.Role == b.Role && a.CallID == b.CallID && slices.EqualFunc(a.ToolCalls, b.ToolCalls, isSame)
}

// removeEntry removes a message from the request. If all blocks of its element are gone, the whole element
// goes.
func (q *request) removeEntry(e *entry, gone []int) {
	if all := q.doc.Elements(q.doc.Member(e.element, "content")); len(e.blocks) > 0 && len(gone) < len(all) {
		for _, block := range e.blocks {
			q.edits.Remove(block)
		}
		return
	}
	q.edits.Remove(e.element)
}

// addContext adds context at the end of the user's last message, after the results of tools and after a cache
// breakpoint.
func (x *exchange) addContext(q *request, context string, attachments []*fragments.AttachmentRow) {
	var parts []string
	for _, a := range attachments {
		switch {
		case a.Status != fragments.Kept:
		case !strings.HasPrefix(a.Type, "image/"):
			x.Warn("an attachment is left out: clients of models send pictures alone")
		default:
			parts = append(parts, string(jsontext.Must(q.newImage(&a.Attachment))))
		}
	}
	if context == "" && len(parts) == 0 {
		return
	}
	content := q.place
	if !q.doc.HasKind(content, jsontext.String) {
		content = q.doc.Member(q.place, "content")
	}
	if context != "" && len(parts) == 0 && q.doc.HasKind(content, jsontext.String) {
		q.appendText(content, context)
	} else {
		if context != "" {
			parts = append([]string{string(jsontext.Must(dict{"type": q.textType, "text": context}))}, parts...)
		}
		q.addParts(content, parts)
	}
	if _, end := q.doc.Span(max(q.place, 0)); q.place != noNode {
		_, last := q.doc.Span(q.list)
		if end < last && strings.Contains(q.doc.Text[end:last], `"cache_control"`) {
			x.Warn("a cache breakpoint behind the user's last message is lost, because context stands before it")
		}
	}
}

// appendText adds context at the end of a string, whose own bytes stay as they are.
func (q *request) appendText(value int, context string) {
	text := q.edits.TextAt(value)
	q.edits.Set(value, text[:len(text)-1]+string(jsontext.Must("\n\n" + context))[1:])
}

// addParts adds blocks at the end of the user's last message, or adds a message with the blocks.
func (q *request) addParts(content int, parts []string) {
	switch {
	case q.doc.HasKind(content, jsontext.Array):
		for _, part := range parts {
			q.edits.Add(content, part)
		}
	case q.doc.HasKind(content, jsontext.String):
		if own := q.edits.TextAt(content); own != `""` {
			parts = append([]string{`{"type":"` + q.textType + `","text":` + own + `}`}, parts...)
		}
		list := "[" + strings.Join(parts, ",") + "]"
		if content == q.list {
			list = `[{"role":"user","content":` + list + `}]`
		}
		q.edits.Set(content, list)
	case q.place != noNode:
		q.edits.SetMember(q.place, "content", "["+strings.Join(parts, ",")+"]")
	default:
		q.edits.Add(q.list, `{"role":"user","content":[`+strings.Join(parts, ",")+`]}`)
	}
}
