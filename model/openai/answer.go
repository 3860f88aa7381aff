package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/model/wire"
)

// Dialect describes Chat Completions.
func Dialect() model.Dialect {
	return model.Dialect{
		API: api, Path: "/chat/completions", Fill: fill, Decode: decode,
		Own:      []string{"messages", "model", "tools", "stream"},
		Tool:     func(t *starhost.Tool) any { return tool{"function", toolSpec{t.Name, t.Description, t.Schema()}} },
		Streamed: map[string]any{streamOptions: map[string]bool{"include_usage": true}},
		Optional: streamOptions, Refuses: func(message string) bool { return strings.Contains(message, streamOptions) },
	}
}

const (
	api           = "openai"
	streamOptions = "stream_options"
)

// maxCalls is the most tool calls of an answer.
const maxCalls = 1024

// An answer collects the chunks of a stream, or the message of a whole answer.
type answer struct {
	from string
	emit func(model.Piece)
	text strings.Builder
	// extra and texts are the fields of the message that this package does not name: a
	// json.RawMessage, or the elements of an array.
	extra map[string]any
	texts map[string]*strings.Builder
	calls []*call
	usage starhost.Usage
	stop  string
	size  int
	ended bool
}

// A call is a tool call so far.
type call struct {
	index     int
	id, name  string
	arguments strings.Builder
	extra     map[string]json.RawMessage
}

// A chunk is an event of a stream, or a whole answer.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int                        `json:"index"`
		Delta        map[string]json.RawMessage `json:"delta"`
		Message      map[string]json.RawMessage `json:"message"`
		FinishReason string                     `json:"finish_reason"`
	} `json:"choices"`
	Usage *wire.Usage `json:"usage"`
}

func decode(from string, emit func(model.Piece)) model.Decoder {
	a := &answer{from: from, emit: emit, extra: map[string]any{}, texts: map[string]*strings.Builder{}}
	return model.Decoder{Event: a.event, Whole: a.whole, Reply: a.reply, Size: func() int { return a.size }}
}

// event reads a chunk. The end of the stream is the text [DONE].
func (a *answer) event(_ string, data []byte) (done bool, err error) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		if !a.ended {
			return true, errors.New("the stream ended without finish_reason")
		}
		return true, nil
	}
	return false, a.read(data)
}

func (a *answer) whole(data []byte) error {
	if err := a.read(data); err != nil {
		return err
	}
	if !a.ended {
		return errors.New("got no choice in the answer, want one")
	}
	return nil
}

func (a *answer) read(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("got an answer that is not a chat completion: %w", err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return model.StreamError(c.Error)
	}
	if u := c.Usage; u != nil {
		a.usage = u.Sum()
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // starhost uses the first choice of an option n
		}
		fields, isWhole := choice.Delta, choice.Message != nil
		if isWhole {
			fields = choice.Message
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if err := a.field(name, fields[name]); err != nil {
				return err
			}
		}
		if choice.FinishReason != "" {
			a.ended, a.stop = true, stops[choice.FinishReason]
		}
		a.ended = a.ended || isWhole
	}
	return nil
}

// stops say why an answer is not whole, by its finish_reason.
var stops = map[string]string{"length": "the limit of its tokens", "content_filter": "the filter of the endpoint"}

// field adds a field of a message, or a part of it.
func (a *answer) field(name string, value json.RawMessage) error {
	if string(value) == "null" {
		return nil
	}
	switch name {
	case "role":
		return nil
	case "content", "refusal":
		a.content(value)
		return nil
	case "tool_calls":
		return a.toolCalls(value)
	}
	a.size += len(value)
	var text string
	if json.Unmarshal(value, &text) == nil {
		a.extraText(name, text)
		return nil
	}
	a.extraValue(name, value)
	return nil
}

// content adds a text, or a list of parts, to the answer.
func (a *answer) content(value json.RawMessage) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		a.addText(text)
		return
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(value, &parts) != nil {
		return
	}
	for _, p := range parts {
		if p.Text != "" {
			a.addText(p.Text)
		}
	}
}

func (a *answer) addText(text string) {
	if text == "" {
		return
	}
	a.size += len(text)
	a.text.WriteString(text)
	a.emit(model.Piece{Kind: model.PieceText, Text: text})
}

// extraText adds to a text of the message, such as reasoning_content.
func (a *answer) extraText(name, text string) {
	b := a.texts[name]
	if b == nil {
		b = new(strings.Builder)
		a.texts[name] = b
	}
	b.WriteString(text)
	isReasoning := name == "reasoning_content" || name == "reasoning" && a.texts["reasoning_content"] == nil
	if isReasoning && text != "" {
		a.emit(model.Piece{Kind: model.PieceReasoning, Text: text})
	}
}

// extraValue adds the elements of an array to those of earlier chunks. Any other value replaces an
// earlier one.
func (a *answer) extraValue(name string, value json.RawMessage) {
	var elements []json.RawMessage
	if json.Unmarshal(value, &elements) != nil {
		a.extra[name] = value
		return
	}
	old, _ := a.extra[name].([]json.RawMessage)
	if old = append(old, elements...); len(old) > 0 {
		a.extra[name] = old
	}
}

// toolCalls adds parts of tool calls.
func (a *answer) toolCalls(value json.RawMessage) error {
	var parts []map[string]json.RawMessage
	if err := json.Unmarshal(value, &parts); err != nil {
		return fmt.Errorf("tool_calls: %w", err)
	}
	for _, part := range parts {
		if err := a.toolCall(part); err != nil {
			return err
		}
	}
	return nil
}

// toolCall adds a part of a tool call.
func (a *answer) toolCall(part map[string]json.RawMessage) error {
	var (
		head struct {
			Index    *int   `json:"index"`
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		}
		raw, _ = json.Marshal(part) // no error: it was JSON
	)
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("tool_calls: %w", err)
	}
	c, err := a.callOf(head.Index, head.ID)
	if err != nil {
		return err
	}
	c.id, c.name = cmp.Or(c.id, head.ID), cmp.Or(c.name, head.Function.Name)
	arguments := argumentText(head.Function.Arguments)
	c.arguments.WriteString(arguments)
	a.size += len(raw)
	for name, value := range part {
		switch name {
		case "index", "id", "type", "function":
		default:
			c.extra[name] = value
		}
	}
	number := slices.Index(a.calls, c)
	a.emit(model.Piece{Kind: model.PieceTool, Text: arguments, Call: number, Name: c.name})
	return nil
}

// argumentText returns arguments, which are JSON in a string; some servers omit the string.
func argumentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil || len(raw) == 0 {
		return text
	}
	return string(raw)
}

// callOf returns the call that a part continues, or a new one. Servers that send whole calls may
// omit the index.
func (a *answer) callOf(index *int, id string) (*call, error) {
	last := len(a.calls) - 1
	switch {
	case index == nil && last >= 0 && (id == "" || id == a.calls[last].id):
		return a.calls[last], nil
	case index != nil:
		i := slices.IndexFunc(a.calls, func(c *call) bool { return c.index == *index })
		if i >= 0 && (id == "" || a.calls[i].id == "" || a.calls[i].id == id) {
			return a.calls[i], nil
		}
	}
	if len(a.calls) == maxCalls {
		return nil, fmt.Errorf("got more than %d tool calls, the most of one answer", maxCalls)
	}
	c := &call{index: last + 1, extra: map[string]json.RawMessage{}}
	if index != nil {
		c.index = *index
	}
	a.calls = append(a.calls, c)
	return c, nil
}

// reply returns the answer so far.
func (a *answer) reply() (starhost.Reply, bool) {
	r := starhost.Reply{Content: a.text.String(), Usage: a.usage, Stop: a.stop}
	for _, c := range a.calls {
		arguments := json.RawMessage(c.arguments.String())
		r.ToolCalls = append(r.ToolCalls, starhost.ToolCall{ID: c.id, Name: c.name, Arguments: arguments})
	}
	if a.ended {
		r.Native = a.native()
	}
	return r, a.ended
}

// native returns the message with the fields that a [starhost.Reply] does not have, nil if there
// are none.
func (a *answer) native() json.RawMessage {
	fields := map[string]any{"role": starhost.RoleAssistant, "content": a.text.String()}
	extras := len(a.extra) + len(a.texts)
	maps.Copy(fields, a.extra)
	for name, text := range a.texts {
		fields[name] = text.String()
	}
	var calls []map[string]any
	for _, c := range a.calls {
		extras += len(c.extra)
		object := map[string]any{
			"id": c.id, "type": "function", "function": function{c.name, c.arguments.String()},
		}
		for name, value := range c.extra {
			object[name] = value
		}
		calls = append(calls, object)
	}
	if calls != nil {
		fields["tool_calls"] = calls
	}
	item, err := jsontext.Encode(fields)
	if extras == 0 || err != nil {
		return nil
	}
	n := model.Native{API: api, From: a.from, Items: []json.RawMessage{item}}
	return n.Encode()
}

// nativeMessage returns the message as the model wrote it, with the text of m, because a plugin may
// have changed it. It returns nil if another model wrote it or its calls are not those of m.
func nativeMessage(m *starhost.Message, from string) json.RawMessage {
	items := model.ItemsFor(m, api, from)
	if len(items) != 1 {
		return nil
	}
	var fields map[string]json.RawMessage
	var calls struct {
		ToolCalls []toolCall `json:"tool_calls"`
	}
	if json.Unmarshal(items[0], &fields) != nil || json.Unmarshal(items[0], &calls) != nil {
		return nil
	}
	same := slices.EqualFunc(calls.ToolCalls, m.ToolCalls, func(c toolCall, own starhost.ToolCall) bool {
		return c.ID == own.ID && c.Function == function{own.Name, string(own.Arguments)}
	})
	if !same {
		return nil
	}
	if argumentText(fields["content"]) == m.Content.String() {
		return items[0]
	}
	fields["content"], _ = jsontext.Encode(m.Content.String()) // no error: it is a string
	changed, _ := jsontext.Encode(fields)                      // no error: it was JSON
	return changed
}
