package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/model/wire"
	"github.com/starhost/starhost/serve/hook"
)

// A wholeReply is a reply in the form that is no stream. Plugins decide about its text and its calls in this
// form, also for a stream.
type wholeReply struct {
	*dialect
	doc    jsontext.Document
	edits  *jsontext.Edits
	outs   []output
	calls  []*call
	texts  []text
	answer string   // the text of the reply after plugins saw it
	before []string // the items of earlier replies

	isUnclear bool // two clients could find different calls in it
}

// An output is one answer of a reply. A chat reply can have several.
type output struct {
	holder int // the node of the object that has the answer
	list   int // the node of the content or of the list of items
	stop   int // the node that says why the model stopped; noNode if there is none
}

// A call is a call of a tool in a reply.
type call struct {
	starhost.ToolCall
	form *callForm
	out  int  // the index in outs of the output that has the call
	item int  // the node of the call's object
	own  bool // the proxy offered the tool, so the proxy runs it
	kind string

	denied string           // why the call must not run; "" if it may
	result *starhost.Result // the answer that plugins have for the call; nil if the client runs it
}

// newWhole finds the parts of a reply that plugins see.
func newWhole(x *exchange, doc jsontext.Document) *wholeReply {
	w := &wholeReply{dialect: x.dialect, doc: doc}
	w.edits = jsontext.NewEdits(&w.doc)
	w.outs = []output{{0, w.doc.Member(0, w.content), w.doc.Member(0, "stop_reason")}}
	if w.dialect == &chat {
		w.outs = nil
		for _, choice := range w.doc.Elements(w.doc.Member(0, "choices")) {
			holder := w.doc.Member(choice, "message")
			w.outs = append(w.outs, output{holder, w.doc.Member(holder, w.content), w.doc.Member(choice, "finish_reason")})
		}
	}
	for i, out := range w.outs {
		w.addOutput(x, i, out)
	}
	return w
}

func (w *wholeReply) addOutput(x *exchange, i int, out output) {
	add := func(form *callForm, item int) {
		if x.needs.calls {
			w.keepKnown(form, item)
		}
		c := &call{ToolCall: form.read(&w.doc, item), form: form, out: i, item: item}
		c.kind, c.own = w.doc.StringAt(w.doc.Member(item, "type")), slices.Contains(x.offered, c.Name)
		w.calls = append(w.calls, c)
	}
	w.texts = append(w.texts, textsOf(&w.doc, out.list)...)
	for _, item := range w.doc.Elements(out.list) {
		if form, ok := formOf(&w.doc, item); ok {
			add(form, item)
		} else if w.doc.StringAt(w.doc.Member(item, "type")) == "message" {
			w.texts = append(w.texts, textsOf(&w.doc, w.doc.Member(item, "content"))...)
		}
	}
	for _, item := range w.doc.Elements(w.doc.Member(out.holder, "tool_calls")) {
		form, ok := chatFormOf(&w.doc, item)
		w.isUnclear = w.isUnclear || !ok
		add(form, item)
	}
	if old := w.doc.Member(out.holder, "function_call"); w.doc.HasKind(old, jsontext.Object) {
		add(oldCall, old)
	}
}

// keepKnown removes the members of a call that no client knows, so that the proxy writes the call anew.
// otherMembers says why.
func (w *wholeReply) keepKnown(form *callForm, item int) {
	for key, value := range w.doc.Members(item) {
		if !form.knows(w.doc.StringAt(key)) {
			w.edits.Remove(value)
		}
	}
	for _, name := range []string{"function", "custom"} {
		for key, value := range w.doc.Members(w.doc.Member(item, name)) {
			if !slices.Contains(functionMembers, w.doc.StringAt(key)) {
				w.edits.Remove(value)
			}
		}
	}
}

// callsByItem returns the calls by the nodes of their items.
func (w *wholeReply) callsByItem() map[int]*call {
	calls := map[int]*call{}
	for _, c := range w.calls {
		calls[c.item] = c
	}
	return calls
}

// text returns the text of the reply, which plugins see.
func (w *wholeReply) text() string { return join(&w.doc, w.texts, "") }

// decide asks plugins about a reply, runs the calls of their tools, and changes the reply as they decide.
// again is true if the proxy has answers to calls, so that it must send them to the model.
func (x *exchange) decide(ctx context.Context, w *wholeReply, canAsk bool) (again bool, err error) {
	w.answer = w.text()
	if len(w.calls) == 0 && !x.needs.text && !x.needs.end {
		return false, nil
	}
	err = x.inSession(ctx, func(s *host.Session) error {
		t, err := s.BetweenTurns(ctx)
		if err != nil {
			return err
		}
		defer t.End(ctx)
		if err := x.hearReply(ctx, t, w); err != nil {
			return err
		}
		for _, c := range w.calls {
			if err := x.decideCall(ctx, t, w, c, canAsk); err != nil {
				return err
			}
			again = again || c.result != nil
		}
		if again {
			return nil
		}
		w.finish()
		return x.endTurn(ctx, t, w)
	})
	return again, err
}

// hearReply fires post_llm_call, whose handlers see and change the text.
func (x *exchange) hearReply(ctx context.Context, t *host.Turn, w *wholeReply) error {
	if !x.needs.text {
		return nil
	}
	e := &starhost.Event{
		Name: "post_llm_call", SessionID: x.session, Response: w.answer, Model: w.doc.StringAt(w.doc.Member(0, "model")),
		UserMessage: x.words, Usage: w.usage(),
	}
	for _, c := range w.calls {
		e.ToolCalls = append(e.ToolCalls, c.ToolCall)
	}
	out, err := t.Fire(ctx, e)
	switch d := out.Decision; {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case d.Action == starhost.ActionAbort:
		return &host.AbortError{Reason: d.Reason, Plugin: d.Plugin, Pos: d.Pos}
	}
	if e.Response != w.answer {
		w.setText(e.Response)
	}
	return nil
}

// setText replaces the text of the reply. The first string becomes the new text, and the other strings are
// removed.
func (w *wholeReply) setText(text string) {
	w.answer = text
	for i, t := range w.texts {
		switch {
		case i == 0:
			w.edits.Set(t.value, string(jsontext.Must(text)))
		case t.element != noNode && w.dialect != &responses:
			w.edits.Remove(t.element)
		default:
			w.edits.Set(t.value, `""`)
		}
	}
}

// userWords returns the last text of the user.
func (q *request) userWords() string {
	if q.words == noNode {
		return ""
	}
	return q.messages[q.words].Content.String()
}

// decideCall asks the guards about a call of the client's tool, and runs a call of a plugin's tool.
func (x *exchange) decideCall(ctx context.Context, t *host.Turn, w *wholeReply, c *call, canAsk bool) error {
	e := &starhost.Event{
		Name: "pre_tool_call", SessionID: x.session, Tool: c.Name, Foreign: !c.own, Agent: x.agent, CallID: c.ID,
		Arguments: c.Arguments, UserMessage: x.words,
	}
	if err := checkArguments(&c.ToolCall); err != nil {
		c.denied = err.Error()
		x.deny(e, c.denied)
		return nil
	}
	switch {
	case c.own && !canAsk:
		c.denied = fmt.Sprintf("starhost: the model called plugins' tools %d times, limit [limits] rounds", x.Rounds)
		return nil
	case c.own && len(w.outs) > 1:
		c.denied = "starhost: plugins' tools need a request for one answer"
		return nil
	case c.own:
		reply, err := t.CallTool(ctx, c.ToolCall)
		c.result = &reply.Result
		return err
	}
	if !x.needs.calls {
		return nil
	}
	v, err := hook.AskGuards(ctx, t, e)
	if err != nil {
		return err
	}
	switch {
	case v.Abort:
		return refuse(http.StatusForbidden, "%s", v.Denied)
	case v.Answer != nil && canAsk && len(w.outs) == 1:
		c.result = v.Answer
	case v.Answer != nil:
		c.denied = "answered in the tool's stead: " + v.Answer.ForLLM
	case v.Denied != "":
		c.denied = v.Denied
	case v.Arguments != nil:
		place, isList, _ := c.form.place(&w.doc, c.item)
		raw, ok := c.form.write(v.Arguments, isList)
		if !ok {
			c.denied = "starhost: a plugin changed the call to one that the client's tool does not take"
			return nil
		}
		w.edits.Set(place, raw)
	}
	return nil
}

// endTurn fires turn_end if no call is left for the client to run.
func (x *exchange) endTurn(ctx context.Context, t *host.Turn, w *wholeReply) error {
	if !x.needs.end || w.callsLeft(noNode) {
		return nil
	}
	_, err := t.Fire(ctx, &starhost.Event{
		Name: "turn_end", SessionID: x.session, UserMessage: x.words, Response: w.answer, Completed: true,
	})
	return err
}

// callsLeft reports whether the output at index out has a call that the client runs. noNode stands for any
// output.
func (w *wholeReply) callsLeft(out int) bool {
	return slices.ContainsFunc(w.calls, func(c *call) bool {
		return c.denied == "" && c.result == nil && (out == noNode || c.out == out)
	})
}

// finish replaces denied calls by the reasons of the denials. If an answer has no call left, finish lets the
// answer say that the model stopped at the end of a text.
func (w *wholeReply) finish() {
	for i, out := range w.outs {
		var reasons []string
		for _, c := range w.calls {
			if c.denied != "" && c.out == i {
				reasons = append(reasons, c.denied)
				w.replaceCall(c, out)
			}
		}
		if len(reasons) == 0 {
			continue
		}
		if w.dialect == &chat {
			w.addReasons(out, reasons)
		}
		if !w.callsLeft(i) && slices.Contains([]string{"tool_use", "tool_calls", "function_call"}, w.doc.StringAt(out.stop)) {
			w.edits.Set(out.stop, string(jsontext.Must(w.finished)))
		}
	}
}

// replaceCall replaces a denied call by the reason, or removes the call from a list that may contain calls
// only.
func (w *wholeReply) replaceCall(c *call, out output) {
	if w.newText != nil {
		w.edits.Set(c.item, string(jsontext.Must(w.newText(c.denied, c.ID))))
		return
	}
	w.edits.Remove(c.item)
	if !w.callsLeft(c.out) {
		for _, name := range []string{"tool_calls", "function_call"} {
			if i := w.doc.Member(out.holder, name); i != noNode {
				w.edits.Remove(i)
			}
		}
	}
}

// addReasons adds the reasons of denials to the text of a chat message.
func (w *wholeReply) addReasons(out output, reasons []string) {
	reason := strings.Join(reasons, "\n")
	if w.doc.HasKind(out.list, jsontext.String) {
		text := w.edits.TextAt(out.list)
		if text != `""` {
			reason = "\n\n" + reason
		}
		w.edits.Set(out.list, text[:len(text)-1]+string(jsontext.Must(reason))[1:])
		return
	}
	w.edits.SetMember(out.holder, "content", string(jsontext.Must(reason)))
}

// usage returns the reply's counts of tokens.
func (w *wholeReply) usage() starhost.Usage {
	var u wire.Usage
	_ = json.Unmarshal([]byte(w.doc.TextAt(w.doc.Member(0, "usage"))), &u) // a count of another type stays 0
	return u.Sum()
}
