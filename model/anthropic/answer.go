package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/model/wire"
)

// Dialect describes Messages.
func Dialect() model.Dialect {
	return model.Dialect{
		API: api, Path: "/v1/messages", SetKey: setKey, Fill: fill, Decode: decode,
		Own:  []string{"messages", "model", "system", "tools", "stream"},
		Tool: func(t *starhost.Tool) any { return tool{t.Name, t.Description, t.Schema()} },
	}
}

const api = "anthropic"

// version is the version of the interface that this package speaks.
const version = "2023-06-01"

func setKey(set func(name, value string), key string) {
	set("Anthropic-Version", version)
	if key != "" {
		set("X-Api-Key", key)
	}
}

// maxBlocks is the most blocks of an answer.
const maxBlocks = 4096

// An answer collects the events of a stream, or the content of a whole answer.
type answer struct {
	from   string
	emit   func(model.Piece)
	blocks []*part
	calls  int // blocks that are tool calls
	usage  wire.Usage
	stop   string
	size   int
	ended  bool
}

// A part is a block of the answer so far, in the form that the endpoint sent.
type part struct {
	kind   string
	fields map[string]json.RawMessage
	texts  map[string]*strings.Builder // by field: parts that deltas add
	added  []json.RawMessage           // citations that deltas add
	input  strings.Builder             // JSON of a tool's arguments
	call   int                         // number of the tool call
	id     string                      // the id of the tool call
	name   string
}

func decode(from string, emit func(model.Piece)) model.Decoder {
	a := &answer{from: from, emit: emit}
	return model.Decoder{Event: a.event, Whole: a.whole, Reply: a.reply, Size: func() int { return a.size }}
}

// An event is an event of a stream, or a whole answer.
type event struct {
	Type    string          `json:"type"`
	Error   json.RawMessage `json:"error"`
	Index   int             `json:"index"`
	Block   json.RawMessage `json:"content_block"`
	Message struct {
		Usage wire.Usage `json:"usage"`
	} `json:"message"`
	Delta      json.RawMessage   `json:"delta"`
	Usage      wire.Usage        `json:"usage"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
}

func (a *answer) event(_ string, data []byte) (done bool, err error) {
	e := event{Usage: a.usage} // counts that the event does not have stay
	e.Message.Usage = a.usage
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("got an event that is none of Messages: %w", err)
	}
	switch e.Type {
	case "error":
		return false, model.StreamError(e.Error)
	case "message_start":
		a.usage = e.Message.Usage
	case "content_block_start":
		return false, a.start(e.Index, e.Block)
	case "content_block_delta":
		return false, a.delta(e.Index, e.Delta)
	case "message_delta":
		a.usage = e.Usage
		var d struct {
			StopReason string `json:"stop_reason"`
		}
		if len(e.Delta) > 0 && json.Unmarshal(e.Delta, &d) == nil && d.StopReason != "" {
			a.stop = stops[d.StopReason]
		}
	case "message_stop":
		a.ended = true
		return true, nil
	}
	return false, nil
}

func (a *answer) whole(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("got an answer that is no message: %w", err)
	}
	switch {
	case e.Type == "error":
		return model.StreamError(e.Error)
	case e.Content == nil:
		return errors.New("got no content in the answer, want a list")
	}
	for i, block := range e.Content {
		if err := a.start(i, block); err != nil {
			return err
		}
	}
	a.usage = e.Usage
	a.stop, a.ended = stops[e.StopReason], true
	return nil
}

// stops say why an answer is not whole, by its stop_reason.
var stops = map[string]string{
	"max_tokens": "the limit of its tokens", "model_context_window_exceeded": "the limit of its context",
	"refusal": "a refusal", "pause_turn": "a pause of the endpoint",
}

// start begins a block, which a whole answer contains whole.
func (a *answer) start(index int, raw json.RawMessage) error {
	if index != len(a.blocks) || index >= maxBlocks {
		return fmt.Errorf("got block %d after %d blocks, want them in order and at most %d", index, len(a.blocks), maxBlocks)
	}
	b := &part{fields: map[string]json.RawMessage{}, texts: map[string]*strings.Builder{}}
	if err := json.Unmarshal(raw, &b.fields); err != nil {
		return fmt.Errorf("content_block: %w", err)
	}
	b.kind, b.id, b.name = b.text("type"), b.text("id"), b.text("name")
	a.blocks = append(a.blocks, b)
	a.size += len(raw)
	switch b.kind {
	case "text":
		a.send(model.PieceText, b, b.text("text"))
	case "thinking":
		a.send(model.PieceReasoning, b, b.text("thinking"))
	case "tool_use":
		b.call = a.calls
		a.calls++
		a.emit(model.Piece{Kind: model.PieceTool, Call: b.call, Name: b.name})
	}
	return nil
}

// text returns a field that is a string.
func (b *part) text(name string) string {
	var s string
	_ = json.Unmarshal(b.fields[name], &s) // another type has no text
	return s
}

// send emits a part of a block that is not empty.
func (a *answer) send(kind string, b *part, text string) {
	if text == "" {
		return
	}
	p := model.Piece{Kind: kind, Text: text}
	if kind == model.PieceTool {
		p.Call, p.Name = b.call, b.name
	}
	a.emit(p)
}

// blockOfDelta gives the types of blocks that some deltas add to.
var blockOfDelta = map[string]string{
	"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "citations_delta": "text",
}

// delta adds to a block.
func (a *answer) delta(index int, raw json.RawMessage) error {
	if index < 0 || index >= len(a.blocks) {
		return fmt.Errorf("got a part of block %d, want one of %d blocks", index, len(a.blocks))
	}
	var d struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Partial   string          `json:"partial_json"`
		Citation  json.RawMessage `json:"citation"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return fmt.Errorf("delta: %w", err)
	}
	b := a.blocks[index]
	if want, ok := blockOfDelta[d.Type]; ok && b.kind != want {
		return fmt.Errorf("got a %s in block %d of type %q, want one of type %s", d.Type, index, b.kind, want)
	}
	switch d.Type {
	case "text_delta":
		a.add(b, "text", d.Text)
		a.send(model.PieceText, b, d.Text)
	case "thinking_delta":
		a.add(b, "thinking", d.Thinking)
		a.send(model.PieceReasoning, b, d.Thinking)
	case "signature_delta":
		a.add(b, "signature", d.Signature)
	case "input_json_delta":
		a.size += len(d.Partial)
		b.input.WriteString(d.Partial)
		if b.kind == "tool_use" {
			a.send(model.PieceTool, b, d.Partial)
		}
	case "citations_delta":
		a.size += len(d.Citation)
		b.added = append(b.added, d.Citation)
	}
	return nil
}

// add adds text to a field of a block.
func (a *answer) add(b *part, field, text string) {
	a.size += len(text)
	if b.texts[field] == nil {
		b.texts[field] = new(strings.Builder)
		b.texts[field].WriteString(b.text(field))
	}
	b.texts[field].WriteString(text)
}

// content returns the text of a block.
func (b *part) content() string {
	if t := b.texts["text"]; t != nil {
		return t.String()
	}
	return b.text("text")
}

// arguments returns the arguments of a tool call, which may be cut.
func (b *part) arguments() json.RawMessage {
	if b.input.Len() > 0 {
		return json.RawMessage(b.input.String())
	}
	return b.fields["input"]
}

// item returns the block as the endpoint would have sent it whole.
func (b *part) item() json.RawMessage {
	for name, text := range b.texts {
		b.fields[name], _ = jsontext.Encode(text.String()) // no error: it is a string
	}
	if b.input.Len() > 0 {
		b.fields["input"] = b.arguments()
	}
	if len(b.added) > 0 {
		var before []json.RawMessage
		_ = json.Unmarshal(b.fields["citations"], &before) // null stands for none
		b.fields["citations"], _ = jsontext.Encode(append(before, b.added...))
		b.added = nil
	}
	item, _ := jsontext.Encode(b.fields) // an error: a cut argument
	return item
}

// hasMore reports whether the block has a field besides its type and the given ones.
func (b *part) hasMore(than ...string) bool {
	for name, value := range b.fields {
		if name != "type" && string(value) != "null" && !slices.Contains(than, name) {
			return true
		}
	}
	return false
}

// reply returns the answer so far.
func (a *answer) reply() (starhost.Reply, bool) {
	r := starhost.Reply{Usage: a.usage.Sum(), Stop: a.stop}
	n := model.Native{API: api, From: a.from}
	var text strings.Builder
	needsNative := false
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			text.WriteString(b.content())
			needsNative = needsNative || len(b.added)+len(r.ToolCalls) > 0 || b.hasMore("text")
		case "tool_use":
			needsNative = needsNative || b.hasMore("id", "name", "input")
			r.ToolCalls = append(r.ToolCalls, starhost.ToolCall{ID: b.id, Name: b.name, Arguments: b.arguments()})
		default:
			needsNative = true
		}
		n.Items = append(n.Items, b.item())
	}
	r.Content = text.String()
	if needsNative && a.ended {
		r.Native = n.Encode()
	}
	return r, a.ended
}

// nativeBlocks returns the blocks of a message as the model wrote them: see [model.NativeItems].
func nativeBlocks(m *starhost.Message, from string) []any {
	read := func(item json.RawMessage) (p model.NativeItem, err error) {
		var b block
		err = json.Unmarshal(item, &struct {
			*block
			Content json.RawMessage `json:"content"` // has other types than ours
			Source  json.RawMessage `json:"source"`
		}{block: &b})
		switch b.Type {
		case "text":
			p = model.NativeItem{Text: b.Text, IsText: true, Drop: b.Text == ""} // the interface refuses an empty one
		case "tool_use":
			p.Call = &starhost.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input}
		}
		return p, err
	}
	return model.NativeItems(m, api, from, "", read, compact, func(text string) any { return block{Type: "text", Text: text} })
}

// compact returns JSON without white space; empty means {}.
func compact(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	data, err := jsontext.Encode(raw)
	if err != nil {
		return string(raw)
	}
	return string(data)
}
