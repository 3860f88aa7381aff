package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// A picoSession is one conversation. Its requests are answered one after another.
type picoSession struct {
	last chan struct{} // closed once the request before is answered; the reader's
	used uint64        // the number of the last request; likewise

	session *starhost.Session // nil until plugins hear of it
	system  string            // the agent's system text, as the session has it
	turn    *starhost.Turn    // that is open, or nil
	said    picoTurn
}

// A picoTurn is what the open turn began with, and what it added.
type picoTurn struct {
	id    string
	at    int    // the place of the user's last message
	words string // its text
	text  string // the same with what all of the turn's prompts added
	media []string
	tools []string // on offer, as plugins know them
}

// session returns the conversation of a name, and ends one that is idle for long
// where there are too many.
func (p *pico) session(name string) *picoSession {
	p.requests++
	s := p.sessions[name]
	if s == nil {
		if len(p.sessions) >= maxSessions {
			p.evict()
		}
		s = &picoSession{}
		p.sessions[name] = s
	}
	s.used = p.requests
	return s
}

// evict ends the session that is longest idle.
func (p *pico) evict() {
	var oldest string
	for name, s := range p.sessions {
		if oldest == "" || s.used < p.sessions[oldest].used {
			oldest = name
		}
	}
	s := p.sessions[oldest]
	delete(p.sessions, oldest)
	p.wait.Go(func() {
		<-s.last
		s.close(context.Background())
	})
}

// close ends all sessions, in the order of their last requests.
func (p *pico) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var list []*picoSession
	for _, s := range p.sessions {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *picoSession) int { return int(a.used) - int(b.used) })
	for _, s := range list {
		s.close(ctx)
	}
}

// close ends the turn and the session.
func (s *picoSession) close(ctx context.Context) {
	s.endTurn(ctx)
	if s.session != nil {
		_ = s.session.Close(ctx) // nothing can be decided any more
	}
}

func (s *picoSession) endTurn(ctx context.Context) {
	if s.turn != nil {
		s.turn.End(ctx)
		s.turn = nil
	}
}

// in does something in the open turn, else between two turns.
func (s *picoSession) in(ctx context.Context, p *pico, name string, use func(*starhost.Turn) error) error {
	s.open(p, name)
	if s.turn != nil {
		return use(s.turn)
	}
	return s.session.Aside(ctx, use)
}

func (s *picoSession) open(p *pico, name string) {
	if s.session == nil {
		s.session = p.host.NewSession(starhost.SessionConfig{ID: name, Platform: "picoclaw"})
	}
}

// A picoRequest is what before_llm asks about. Its parts are passed on as they are
// but for the user's last message.
type picoRequest struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
	Options  json.RawMessage   `json:"options"`

	system  string             // the text of its system messages
	chat    []starhost.Message // the others
	last    int                // the place in Messages of the user's last one, -1 for none
	before  int                // how many of chat are before it
	message object             // it
	words   string             // its text
}

func readPico(r *request) (*picoRequest, error) {
	q := &picoRequest{last: -1}
	if json.Unmarshal(r.Params, q) != nil {
		return nil, errShape
	}
	var system []string
	for i, raw := range q.Messages {
		var m chatMessage
		if json.Unmarshal(raw, &m) != nil {
			return nil, errShape
		}
		if m.Role == "system" {
			system = append(system, m.text())
		}
		said, ok := m.message()
		if !ok {
			continue
		}
		for j := range said.ToolCalls {
			said.ToolCalls[j].Name = picoclaw.ours(said.ToolCalls[j].Name)
		}
		if said.Role == starhost.RoleUser {
			q.last, q.before, q.words = i, len(q.chat), said.Content.String()
		}
		q.chat = append(q.chat, said)
	}
	q.system = strings.TrimSpace(strings.Join(system, "\n\n"))
	if len(q.Options) == 0 || string(q.Options) == "null" {
		q.Options = json.RawMessage("{}")
	}
	if q.last >= 0 && json.Unmarshal(q.Messages[q.last], &q.message) != nil {
		return nil, errShape
	}
	return q, nil
}

// offered returns the tools on offer, as plugins know them.
func (q *picoRequest) offered() []starhost.Tool {
	var tools []starhost.Tool
	for _, raw := range q.Tools {
		var t struct {
			Function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"function"`
		}
		_ = json.Unmarshal(raw, &t) // one that is none has no name
		f := &t.Function
		if f.Name != "" {
			tools = append(tools, starhost.Tool{Name: picoclaw.ours(f.Name), Description: f.Description, Parameters: f.Parameters})
		}
	}
	return tools
}

// beforeLLM gathers what goes with the user's last message.
func beforeLLM(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, error) {
	q, err := readPico(r)
	if err != nil {
		return nil, err
	}
	s.open(p, r.meta.session())
	first, err := s.enter(ctx, r.meta.turn(), q)
	if err != nil {
		return ended(err)
	}
	prompt, err := s.turn.Prompt(ctx)
	if err != nil {
		s.endTurn(ctx)
		return ended(err)
	}
	s.said.add(prompt, q, first)
	return p.rewrite(s, r, q, prompt), nil
}

// ended is the answer where a plugin ended the turn.
func ended(err error) (picoAnswer, error) {
	if aborted, ok := errors.AsType[*starhost.AbortError](err); ok {
		return picoAnswer{"action": "abort_turn", "reason": aborted.Reason}, nil
	}
	return nil, err
}

// enter begins a turn, or goes on with the open one if the request is its next.
func (s *picoSession) enter(ctx context.Context, id string, q *picoRequest) (first bool, err error) {
	said := &s.said
	same := said.id == id && said.at == q.last && said.words == q.words && (id != "" || q.before+1 < len(q.chat))
	if s.turn != nil && same {
		s.turn.Follow(slices.Clone(q.chat[min(q.before+1, len(q.chat)):]))
		return false, nil
	}
	s.endTurn(ctx)
	tools := q.offered()
	s.system = cmp.Or(q.system, s.system)
	*said = picoTurn{id: id, at: q.last, words: q.words, text: q.words}
	for i := range tools {
		said.tools = append(said.tools, tools[i].Name)
	}
	history := append([]starhost.Message{}, q.chat[:q.before]...)
	s.turn, err = s.session.Begin(ctx, starhost.Request{
		Text: q.words, System: q.system, Model: q.Model, Options: q.Options, Tools: tools, History: history,
	})
	return true, err
}

// add takes over what a prompt of the turn added.
func (t *picoTurn) add(p *starhost.Prompt, q *picoRequest, first bool) {
	switch {
	case first:
		t.text = p.Text.String()
	case p.Text.Len() > 0:
		t.text += "\n" + p.Text.String()
	}
	for _, a := range p.Attachments {
		if a.Status == fragments.Kept {
			t.media = append(t.media, mediaURL(&a.Attachment))
		}
	}
}

// mediaURL returns the URL by which PicoClaw takes an attachment.
func mediaURL(a *fragments.Attachment) string {
	if a.URL != "" {
		return a.URL
	}
	return "data:" + a.Type + ";base64," + base64.StdEncoding.EncodeToString([]byte(a.Content))
}

// rewrite returns the answer that changes a request to what plugins made of it. The
// request of an answer replaces all of the agent's, so it has all of it.
func (p *pico) rewrite(s *picoSession, r *request, q *picoRequest, prompt *starhost.Prompt) picoAnswer {
	next := r.all
	if message := p.message(s, q, prompt); message != nil {
		messages := slices.Clone(q.Messages)
		messages[q.last] = mustJSON(message)
		next = next.with("messages", messages)
	}
	if prompt.Model != q.Model {
		next = next.with("model", prompt.Model)
	}
	if !bytes.Equal(prompt.Options, q.Options) {
		next = next.with("options", prompt.Options)
	}
	if tools := s.said.keep(q.Tools, prompt.Tools); len(tools) < len(q.Tools) {
		next = next.with("tools", tools)
	}
	if len(next) == len(r.all) && same(next, r.all) {
		return pass()
	}
	return picoAnswer{"action": "modify", "request": next}
}

// same reports whether two objects of the same size have the same parts.
func same(a, b object) bool {
	for key := range a {
		if !bytes.Equal(a[key], b[key]) {
			return false
		}
	}
	return true
}

// message returns the user's last message with what was added, or nil if nothing
// was.
func (p *pico) message(s *picoSession, q *picoRequest, prompt *starhost.Prompt) object {
	system, ok := strings.CutSuffix(prompt.System, s.system)
	if !ok {
		p.Log("hook.before_llm: a plugin changed the system text, which stays as it is")
		system = ""
	}
	text := joined("\n\n", strings.TrimSpace(system), s.said.text)
	if text == q.words && len(s.said.media) == 0 {
		return nil
	}
	if q.last < 0 {
		p.Log("hook.before_llm: there is no message of the user, so context is left out")
		return nil
	}
	next := q.message.with("content", text)
	if len(s.said.media) > 0 {
		var media []json.RawMessage
		_ = json.Unmarshal(q.message["media"], &media) // none is none
		for _, url := range s.said.media {
			media = append(media, mustJSON(url))
		}
		next = next.with("media", media)
	}
	return next
}

// keep returns the tools that plugins did not take away, as they came.
func (t *picoTurn) keep(tools []json.RawMessage, left []starhost.Tool) []json.RawMessage {
	return slices.DeleteFunc(slices.Clone(tools), func(raw json.RawMessage) bool {
		var tool struct{ Function struct{ Name string } }
		_ = json.Unmarshal(raw, &tool)
		name := picoclaw.ours(tool.Function.Name)
		isLeft := func(t starhost.Tool) bool { return t.Name == name }
		return slices.Contains(t.tools, name) && !slices.ContainsFunc(left, isLeft)
	})
}

// afterLLM tells what the model answered. An answer that asks for tools is never
// sent back: PicoClaw would read the calls without their names.
func afterLLM(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, error) {
	var in struct {
		Response struct {
			Content   string     `json:"content"`
			ToolCalls []chatCall `json:"tool_calls"`
			Usage     struct {
				Input  int64 `json:"prompt_tokens"`
				Output int64 `json:"completion_tokens"`
			} `json:"usage"`
		} `json:"response"`
		Model string `json:"model"`
	}
	if json.Unmarshal(r.Params, &in) != nil {
		return nil, errShape
	}
	said := &in.Response
	reply := starhost.Reply{Content: said.Content, ToolCalls: calls(said.ToolCalls), Usage: starhost.Usage{Input: said.Usage.Input, Output: said.Usage.Output}}
	for i := range reply.ToolCalls {
		reply.ToolCalls[i].Name = picoclaw.ours(reply.ToolCalls[i].Name)
	}
	text, err := s.hear(ctx, p, r, in.Model, reply)
	switch {
	case err != nil:
		return ended(err)
	case text == said.Content:
		return pass(), nil
	case len(said.ToolCalls) > 0:
		p.Log(r.Method + ": a plugin changed a reply that asks for tools, which stays as it is")
		return pass(), nil
	}
	var response object
	if json.Unmarshal(r.all["response"], &response) != nil {
		return nil, errShape
	}
	return picoAnswer{"action": "modify", "response": r.all.with("response", response.with("content", text))}, nil
}

// hear passes a reply through post_llm_call and returns what is left of its text.
// The final answer of a turn ends it.
func (s *picoSession) hear(ctx context.Context, p *pico, r *request, model string, reply starhost.Reply) (string, error) {
	if s.turn != nil && len(reply.ToolCalls) == 0 {
		if err := s.turn.Reply(ctx, reply); err != nil {
			s.endTurn(ctx)
			return "", err
		}
		text := s.turn.Result().Text
		s.endTurn(ctx)
		return text, nil
	}
	e := &starhost.Event{Name: "post_llm_call", Response: reply.Content, ToolCalls: reply.ToolCalls, Usage: reply.Usage, Model: model}
	var out starhost.Outcome
	err := s.in(ctx, p, r.meta.session(), func(t *starhost.Turn) (err error) {
		out, err = t.Fire(ctx, e)
		return err
	})
	if d := out.Decision; err == nil && d.Action == starhost.ActionAbort {
		s.endTurn(ctx)
		return "", &starhost.AbortError{Reason: d.Reason, Plugin: d.Plugin, Pos: d.Pos}
	}
	return e.Response, err
}

// runtimeEvent hears of the end of a turn.
func runtimeEvent(ctx context.Context, _ *pico, s *picoSession, r *request) (picoAnswer, error) {
	if id := r.meta.turn(); strings.HasSuffix(r.meta.Kind, "turn.end") && (id == "" || id == s.said.id) {
		s.endTurn(ctx)
	}
	return picoAnswer{}, nil
}
