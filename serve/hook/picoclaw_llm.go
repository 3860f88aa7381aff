package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/mediatype"
	"github.com/starhost/starhost/internal/texttable"
)

// A picoSession is one conversation. One goroutine at a time answers its requests.
type picoSession struct {
	lastEntry *queueEntry // the newest request, nil before the first; guarded by picoConn.mu
	lastUse   uint64      // the number of the newest request; guarded by picoConn.mu
	verdicts  verdicts    // decisions about the last calls; has a lock of its own

	session  *host.Session // nil until a request reaches plugins
	system   string        // the agent's own system text
	turn     *host.Turn    // nil between turns
	turnText picoTurnText
}

// A picoTurnText is the user's message that began the open turn, with the context that plugins added to it.
type picoTurnText struct {
	id    string
	place int    // the index of the user's last message
	words string // the text of that message
	text  string // words with the context of all prompts of the turn
	// endsWithWords is true if the first prompt's text ends with words, so that plugins only added
	// context.
	endsWithWords bool
	media         []string
	tools         []string // the names of the agent's tools that plugins see
}

// findSession returns the conversation with a name. If there are maxSessions already, it ends the one whose
// last request is the oldest.
func (p *picoConn) findSession(name string) *picoSession {
	p.requestCount++
	s := p.sessions[name]
	if s == nil {
		if len(p.sessions) >= maxSessions {
			p.evictIdle()
		}
		s = &picoSession{}
		p.sessions[name] = s
	}
	s.lastUse = p.requestCount
	return s
}

// evictIdle ends the session whose last request is the oldest.
func (p *picoConn) evictIdle() {
	var oldest string
	for name, s := range p.sessions {
		if oldest == "" || s.lastUse < p.sessions[oldest].lastUse {
			oldest = name
		}
	}
	s := p.sessions[oldest]
	delete(p.sessions, oldest)
	p.workers.Go(func() {
		(&queueEntry{before: s.lastEntry}).awaitTurn(context.Background())
		s.closeSession(context.Background())
	})
}

// closeSessions ends all sessions in the order of their last requests.
func (p *picoConn) closeSessions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.Deadline)
	defer cancel()
	byUse := func(a, b *picoSession) int { return int(a.lastUse) - int(b.lastUse) }
	for _, s := range slices.SortedFunc(maps.Values(p.sessions), byUse) {
		s.closeSession(ctx)
	}
}

// closeSession ends the open turn and the session.
func (s *picoSession) closeSession(ctx context.Context) {
	s.endTurn(ctx)
	if s.session != nil {
		_ = s.session.Close(ctx) // too late for an error to change an answer
	}
}

func (s *picoSession) endTurn(ctx context.Context) {
	if s.turn != nil {
		s.turn.End(ctx)
		s.turn = nil
	}
}

// inTurn calls use with the open turn. If no turn is open, it calls use with a turn between two turns.
func (s *picoSession) inTurn(ctx context.Context, p *picoConn, name string, use func(*host.Turn) error) error {
	s.openSession(p, name)
	if s.turn != nil {
		return use(s.turn)
	}
	t, err := s.session.BetweenTurns(ctx)
	if err != nil {
		return err
	}
	defer t.End(ctx)
	return use(t)
}

func (s *picoSession) openSession(p *picoConn, name string) {
	if s.session == nil {
		s.session = p.Host.NewSession(host.SessionConfig{ID: name, Platform: "picoclaw", Guarded: true})
	}
}

// A picoRequest is a decoded before_llm request.
type picoRequest struct {
	*request
	model    string
	options  json.RawMessage
	messages int // the node of the list of messages

	system string             // the text of all system messages together
	chat   []starhost.Message // the messages that are no system messages
	last   int                // the node of the user's last message; noNode if there is none
	place  int                // the index of the user's last message
	before int                // how many chat messages precede it
	words  string             // the text of the user's last message
}

func readPicoRequest(r *request) (*picoRequest, error) {
	q := &picoRequest{
		request: r, model: r.param("model"), options: json.RawMessage("{}"),
		messages: r.Member(r.params, "messages"), last: noNode, place: noNode,
	}
	if options := r.Member(r.params, "options"); r.HasKind(options, objectNode) {
		q.options = r.CopyAt(options)
	}
	if q.messages != noNode && !r.HasKind(q.messages, arrayNode) && r.TextAt(q.messages) != "null" {
		return nil, errShape
	}
	c := r.conversation(q.messages)
	picoclaw.renameTools(c.messages)
	if slices.ContainsFunc(c.places, func(m int) bool { return !r.HasKind(m, objectNode) }) {
		return nil, errShape
	}
	q.chat = c.chatMessages()
	q.findMessages(c)
	return q, nil
}

// findMessages finds the system text and the user's last message.
func (q *picoRequest) findMessages(c *conversation) {
	var system []string
	before := 0
	for i := range c.messages {
		switch m := &c.messages[i]; m.Role {
		case "":
			continue
		case roleSystem:
			system = append(system, m.Content.String())
			continue
		case starhost.RoleUser:
			q.last, q.place, q.before, q.words = c.places[i], i, before, m.Content.String()
		}
		before++
	}
	q.system = strings.TrimSpace(strings.Join(system, "\n\n"))
}

// offeredTools returns the agent's tools under the names that plugins see. It omits a tool without a name.
func (q *picoRequest) offeredTools() (tools []starhost.Tool) {
	for _, t := range q.Elements(q.Member(q.params, "tools")) {
		f := q.Member(t, "function")
		if name := q.toolName(t); name != "" {
			tools = append(tools, starhost.Tool{
				Name: name, Description: q.StringAt(q.Member(f, "description")), Parameters: q.CopyAt(q.Member(f, "parameters")),
			})
		}
	}
	return tools
}

// toolName returns the name that plugins see of a tool in the agent's list.
func (d *document) toolName(tool int) string {
	return picoclaw.pluginToolName(d.StringAt(d.Member(d.Member(tool, "function"), "name")))
}

// beforeLLM gathers context for the user's last message.
func beforeLLM(ctx context.Context, p *picoConn, s *picoSession, r *request) (string, *verdict, error) {
	q, err := readPicoRequest(r)
	if err != nil {
		return "", nil, err
	}
	s.openSession(p, r.session)
	first, err := s.enterTurn(ctx, r.turn, q)
	if err != nil {
		return abortAnswer(err)
	}
	prompt, err := s.turn.Prompt(ctx)
	if err != nil {
		s.endTurn(ctx)
		return abortAnswer(err)
	}
	s.turnText.addPrompt(prompt, q, first)
	return p.rewriteRequest(s, q, prompt), nil, nil
}

// abortAnswer returns the answer that ends the turn, if err is a plugin's abort. Otherwise it returns err.
func abortAnswer(err error) (string, *verdict, error) {
	if aborted, ok := errors.AsType[*host.AbortError](err); ok {
		return refusalAnswer("hook.before_llm")(abortReason(aborted)), nil, nil
	}
	return "", nil, err
}

// enterTurn begins a turn, or continues the open one if the request belongs to it. first says whether the
// turn is new.
func (s *picoSession) enterTurn(ctx context.Context, id string, q *picoRequest) (first bool, err error) {
	said := &s.turnText
	same := said.id == id && said.place == q.place && said.words == q.words && (id != "" || q.before+1 < len(q.chat))
	if s.turn != nil && same {
		s.turn.Follow(q.chat[min(q.before+1, len(q.chat)):])
		return false, nil
	}
	s.endTurn(ctx)
	tools := q.offeredTools()
	s.system = cmp.Or(q.system, s.system)
	*said = picoTurnText{id: id, place: q.place, words: q.words, text: q.words}
	for i := range tools {
		said.tools = append(said.tools, tools[i].Name)
	}
	s.turn, err = s.session.Begin(ctx, host.Request{
		Text: q.words, System: q.system, Model: q.model, Options: q.options, Tools: tools,
		History: q.chat[:q.before:q.before],
	})
	return true, err
}

// addPrompt adds a prompt's context and attachments to the text of the turn.
func (t *picoTurnText) addPrompt(p *host.Prompt, q *picoRequest, first bool) {
	switch {
	case first:
		t.text = p.Text.String()
		t.endsWithWords = strings.HasSuffix(t.text, q.words)
	case p.Text.Len() > 0:
		t.text += "\n" + p.Text.String()
	}
	for _, a := range p.Attachments {
		if a.Status == fragments.Kept {
			t.media = append(t.media, mediatype.Address(a.URL, a.Type, a.Content))
		}
	}
}

// rewriteRequest returns the answer that changes a request as plugins have decided. The answer contains the
// whole request, because PicoClaw replaces its own request by it.
func (p *picoConn) rewriteRequest(s *picoSession, q *picoRequest, prompt *host.Prompt) string {
	edits := q.edit()
	p.editMessage(s, q, prompt, edits)
	q.mayPass = s.turnText.endsWithWords && s.turn.UserWords() == q.words
	set := func(name string, value []byte) {
		q.mayPass = false
		edits.SetMember(q.params, name, string(value))
	}
	if prompt.Model != q.model {
		set("model", jsontext.Must(prompt.Model))
	}
	if !bytes.Equal(prompt.Options, q.options) {
		set("options", prompt.Options)
	}
	if tools, fewer := s.turnText.remainingTools(q, prompt.Tools); fewer {
		set("tools", tools)
	}
	if edits.IsEmpty() {
		return passAnswer
	}
	return q.modifyAnswer("request", edits)
}

// editMessage adds the turn's context and attachments to the user's last message.
func (p *picoConn) editMessage(s *picoSession, q *picoRequest, prompt *host.Prompt, edits *jsontext.Edits) {
	system, ok := strings.CutSuffix(prompt.System, s.system)
	if !ok {
		p.Warn("hook.before_llm: a plugin changed the system text, which stays as it is")
		system = ""
	}
	text := texttable.JoinSome("\n\n", strings.TrimSpace(system), s.turnText.text)
	if text == q.words && len(s.turnText.media) == 0 {
		return
	}
	if q.last == noNode {
		p.Warn("hook.before_llm: there is no message of the user, so context is left out")
		return
	}
	edits.SetMember(q.last, "content", string(jsontext.Must(text)))
	if len(s.turnText.media) > 0 {
		media := []json.RawMessage{}
		for _, m := range q.Elements(q.Member(q.last, "media")) {
			media = append(media, q.CopyAt(m))
		}
		for _, url := range s.turnText.media {
			media = append(media, jsontext.Must(url))
		}
		edits.SetMember(q.last, "media", string(jsontext.Must(media)))
	}
}

// remainingTools returns the JSON of the agent's tools without those that plugins removed. fewer says whether
// plugins removed any.
func (t *picoTurnText) remainingTools(q *picoRequest, left []starhost.Tool) (tools []byte, fewer bool) {
	stays := map[string]bool{}
	for i := range left {
		stays[left[i].Name] = true
	}
	gone := slices.DeleteFunc(slices.Clone(t.tools), func(name string) bool { return stays[name] })
	if len(gone) == 0 {
		return nil, false
	}
	list := q.Elements(q.Member(q.params, "tools"))
	remaining := []json.RawMessage{}
	for _, tool := range list {
		if !slices.Contains(gone, q.toolName(tool)) {
			remaining = append(remaining, q.CopyAt(tool))
		}
	}
	return jsontext.Must(remaining), len(remaining) < len(list)
}

// afterLLM fires post_llm_call for the model's answer. It never changes an answer that asks for tools,
// because PicoClaw would read the changed calls without their names.
func afterLLM(ctx context.Context, p *picoConn, s *picoSession, r *request) (string, *verdict, error) {
	response := r.Member(r.params, "response")
	if !r.HasKind(response, objectNode) {
		return "", nil, errShape
	}
	usage := r.Member(response, "usage")
	reply := starhost.Reply{
		Content: r.messageText(response), ToolCalls: r.toolCalls(r.Member(response, "tool_calls")),
		Usage: starhost.Usage{Input: r.IntegerAt(r.Member(usage, "prompt_tokens")), Output: r.IntegerAt(r.Member(usage, "completion_tokens"))},
	}
	for i := range reply.ToolCalls {
		reply.ToolCalls[i].Name = picoclaw.pluginToolName(reply.ToolCalls[i].Name)
	}
	text, err := s.hearReply(ctx, p, r, reply)
	switch {
	case err != nil:
		return abortAnswer(err)
	case text == reply.Content:
		return passAnswer, nil, nil
	case len(reply.ToolCalls) > 0:
		p.Warn(r.method + ": a plugin changed a reply that asks for tools, which stays as it is")
		return passAnswer, nil, nil
	}
	edits := r.edit()
	edits.SetMember(response, "content", string(jsontext.Must(text)))
	return r.modifyAnswer("response", edits), nil, nil
}

// hearReply fires post_llm_call, and returns the text of the reply after that. A reply without tool calls
// also ends the turn.
func (s *picoSession) hearReply(ctx context.Context, p *picoConn, r *request, reply starhost.Reply) (string, error) {
	if s.turn != nil && len(reply.ToolCalls) == 0 {
		if err := s.turn.Reply(ctx, reply); err != nil {
			s.endTurn(ctx)
			return "", err
		}
		text := s.turn.Result().Text
		s.endTurn(ctx)
		return text, nil
	}
	e := &starhost.Event{
		Name: "post_llm_call", Response: reply.Content, ToolCalls: reply.ToolCalls, Usage: reply.Usage, Model: r.param("model"),
	}
	var out host.Outcome
	err := s.inTurn(ctx, p, r.session, func(t *host.Turn) (err error) {
		out, err = t.Fire(ctx, e)
		return err
	})
	if d := out.Decision; err == nil && d.Action == starhost.ActionAbort {
		s.endTurn(ctx)
		return "", &host.AbortError{Reason: d.Reason, Plugin: d.Plugin, Pos: d.Pos}
	}
	return e.Response, err
}

// runtimeEvent ends the open turn when PicoClaw announces the turn's end.
func runtimeEvent(ctx context.Context, _ *picoConn, s *picoSession, r *request) (string, *verdict, error) {
	if strings.HasSuffix(r.param("kind"), "turn.end") && (r.turn == "" || r.turn == s.turnText.id) {
		s.endTurn(ctx)
	}
	return passAnswer, nil, nil
}
