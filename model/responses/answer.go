package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/model/wire"
)

// Dialect describes Responses.
func Dialect() model.Dialect {
	return model.Dialect{
		API: api, Path: "/responses", Fill: fill, Decode: decode,
		Own: []string{"input", "instructions", "model", "previous_response_id", "stream", "tools"},
		Tool: func(t *starhost.Tool) any {
			return tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema()}
		},
		Optional: "include", Refuses: refuses,
	}
}

const api = "responses"

// maxItems is the most items of an answer.
const maxItems = 4096

// An answer collects the events of a stream, or the output of a whole answer.
type answer struct {
	from  string
	emit  func(model.Piece)
	items map[int]json.RawMessage // complete ones, by their index
	calls map[int]*call           // by the index of their item
	text  strings.Builder         // from deltas
	last  int                     // index of the item of the last text
	usage starhost.Usage
	stop  string
	ended bool

	streamed, stored int // bytes of deltas and of items: two forms of one answer
}

// A call is a tool call whose arguments arrive.
type call struct {
	number int
	name   string
}

// A response is the object that the last event of a stream contains, and a whole answer.
type response struct {
	Status  string            `json:"status"`
	Output  []json.RawMessage `json:"output"`
	Error   json.RawMessage   `json:"error"`
	Details struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage wire.Usage `json:"usage"`
}

// An outputItem is the part of an item that this package reads.
type outputItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Encrypted string `json:"encrypted_content"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

// message returns the text of an item, "" if it is no message.
func (i *outputItem) message() string {
	var text strings.Builder
	for _, c := range i.Content {
		if i.Type == "message" {
			text.WriteString(c.Text + c.Refusal)
		}
	}
	return text.String()
}

func decode(from string, emit func(model.Piece)) model.Decoder {
	a := &answer{from: from, emit: emit, items: map[int]json.RawMessage{}, calls: map[int]*call{}, last: -1}
	size := func() int { return max(a.streamed, a.stored) }
	return model.Decoder{Event: a.event, Whole: a.whole, Reply: a.reply, Size: size}
}

// An event is an event of a stream.
type event struct {
	Type     string          `json:"type"`
	Index    int             `json:"output_index"`
	Delta    json.RawMessage `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response response        `json:"response"`
}

func (a *answer) event(_ string, data []byte) (done bool, err error) {
	if string(data) == "[DONE]" { // some gateways send it
		return true, nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("got an event that is none of Responses: %w", err)
	}
	if e.Index < 0 || e.Index >= maxItems {
		return false, fmt.Errorf("got item %d, want at most %d items", e.Index, maxItems)
	}
	switch e.Type {
	case "error":
		return false, model.StreamError(data)
	case "response.output_text.delta", "response.refusal.delta":
		a.addText(e.Index, deltaText(e.Delta))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.addReasoning(deltaText(e.Delta))
	case "response.output_item.added":
		a.startItem(e.Index, e.Item)
	case "response.function_call_arguments.delta":
		a.addArguments(e.Index, deltaText(e.Delta))
	case "response.output_item.done":
		a.stored += len(e.Item) - len(a.items[e.Index])
		a.items[e.Index] = e.Item
	case "response.completed", "response.incomplete", "response.failed":
		return true, a.finish(&e.Response)
	}
	return false, nil
}

// deltaText returns a delta, "" if it is no string.
func deltaText(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // another type has no text
	return s
}

// addText adds to the text of an item. A blank line separates the texts of two items.
func (a *answer) addText(index int, text string) {
	if text == "" {
		return
	}
	if a.last >= 0 && a.last != index {
		text = "\n\n" + text
	}
	a.last = index
	a.streamed += len(text)
	a.text.WriteString(text)
	a.emit(model.Piece{Kind: model.PieceText, Text: text})
}

func (a *answer) addReasoning(text string) {
	if text == "" {
		return
	}
	a.streamed += len(text)
	a.emit(model.Piece{Kind: model.PieceReasoning, Text: text})
}

// startItem begins an item.
func (a *answer) startItem(index int, raw json.RawMessage) {
	var i outputItem
	if json.Unmarshal(raw, &i) != nil || i.Type != "function_call" || a.calls[index] != nil {
		return
	}
	c := &call{len(a.calls), i.Name}
	a.calls[index] = c
	a.streamed += len(raw)
	a.emit(model.Piece{Kind: model.PieceTool, Text: i.Arguments, Call: c.number, Name: c.name})
}

func (a *answer) addArguments(index int, text string) {
	a.streamed += len(text)
	if c := a.calls[index]; c != nil && text != "" {
		a.emit(model.Piece{Kind: model.PieceTool, Text: text, Call: c.number, Name: c.name})
	}
}

func (a *answer) whole(data []byte) error {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("got an answer that is no response: %w", err)
	}
	if r.Status == "" && r.Output == nil && len(r.Error) == 0 {
		return errors.New("got no output in the answer, want a list")
	}
	if err := a.finish(&r); err != nil {
		return err
	}
	for number, i := range a.functionCalls() {
		a.emit(model.Piece{Kind: model.PieceTool, Text: i.Arguments, Call: number, Name: i.Name})
	}
	return nil
}

// finish ends the answer.
func (a *answer) finish(r *response) error {
	if len(r.Error) > 0 && string(r.Error) != "null" {
		return model.StreamError(r.Error)
	}
	if r.Status == "failed" || r.Status == "cancelled" {
		return fmt.Errorf("the endpoint ended the answer: %s", r.Status)
	}
	if len(r.Output) > maxItems {
		return fmt.Errorf("got %d items, want at most %d", len(r.Output), maxItems)
	}
	for i, item := range r.Output { // some endpoints leave it out, because the items were sent
		a.stored += len(item) - len(a.items[i])
		a.items[i] = item
	}
	a.usage = r.Usage.Sum()
	switch {
	case r.Status != "incomplete":
	case r.Details.Reason == "max_output_tokens":
		a.stop = "the limit of its tokens"
	case r.Details.Reason == "content_filter":
		a.stop = "the filter of the endpoint"
	default:
		a.stop = "the endpoint"
	}
	a.ended = true
	if a.text.Len() == 0 { // nothing was streamed
		for index, i := range a.outputItems() {
			a.addText(index, i.message())
		}
	}
	return nil
}

func (a *answer) outputItems() []outputItem {
	var list []outputItem
	for _, index := range slices.Sorted(maps.Keys(a.items)) {
		var i outputItem
		if json.Unmarshal(a.items[index], &i) == nil {
			list = append(list, i)
		}
	}
	return list
}

// functionCalls returns the tool calls of the answer.
func (a *answer) functionCalls() []outputItem {
	return slices.DeleteFunc(a.outputItems(), func(i outputItem) bool { return i.Type != "function_call" })
}

// reply returns the answer so far.
func (a *answer) reply() (starhost.Reply, bool) {
	r := starhost.Reply{Content: a.text.String(), Usage: a.usage, Stop: a.stop}
	if !a.ended {
		return r, false
	}
	if text := textOf(a.outputItems()); text != "" {
		r.Content = text // the items have the last word
	}
	for _, i := range a.functionCalls() {
		r.ToolCalls = append(r.ToolCalls, callOf(&i))
	}
	n := model.Native{API: api, From: a.from}
	for _, index := range slices.Sorted(maps.Keys(a.items)) {
		n.Items = append(n.Items, a.items[index])
	}
	if len(n.Items) > 0 {
		r.Native = n.Encode()
	}
	return r, true
}

func callOf(i *outputItem) starhost.ToolCall {
	return starhost.ToolCall{ID: i.CallID, Name: i.Name, Arguments: json.RawMessage(i.Arguments)}
}

// between separates the texts of two items.
const between = "\n\n"

// textOf returns the texts of items with a blank line between two of them.
func textOf(items []outputItem) string {
	var texts []string
	for _, i := range items {
		if text := i.message(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, between)
}

// nativeItems returns the items of a message as the model wrote them: see [model.NativeItems]. It omits
// reasoning without encrypted content, because the endpoint stored none.
func nativeItems(m *starhost.Message, from string) []any {
	read := func(raw json.RawMessage) (p model.NativeItem, err error) {
		var i outputItem
		err = json.Unmarshal(raw, &i)
		if i.Type == "function_call" {
			c := callOf(&i)
			p.Call = &c
		}
		p.Text, p.IsText, p.Drop = i.message(), i.Type == "message", i.Type == "reasoning" && i.Encrypted == ""
		return p, err
	}
	exact := func(arguments json.RawMessage) string { return string(arguments) }
	message := func(text string) any {
		return item{Type: "message", Role: starhost.RoleAssistant, Content: []part{{Type: "output_text", Text: text}}}
	}
	return model.NativeItems(m, api, from, between, read, exact, message)
}
