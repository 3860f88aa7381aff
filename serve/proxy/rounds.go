package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// A conversation is the requests to the model for one request of a client.
type conversation struct {
	*exchange
	first   *http.Request // to the upstream
	rounds  int           // requests so far
	earlier []*wholeReply // replies before the last one
}

// canAsk reports whether one more request may follow.
func (c *conversation) canAsk() bool { return c.rounds < c.Rounds && c.body != "" }

// askAgain sends the reply back with the results of its calls, and returns the next reply.
func (c *conversation) askAgain(ctx context.Context, w *wholeReply) (*http.Response, error) {
	c.earlier = append(c.earlier, w)
	var err error
	if c.body, err = c.nextBody(w); err != nil {
		return nil, err
	}
	c.rounds++
	r := c.first.Clone(ctx)
	c.exchange.sent.set(r, c.body)
	a, err := c.Transport.RoundTrip(r)
	if err != nil {
		return nil, refuse(http.StatusBadGateway, "starhost: the upstream does not answer: %s", errtext.Cut(err.Error()))
	}
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 2<<10)) // it is only for the message
		a.Body.Close()
		return nil, refuse(http.StatusBadGateway, "starhost: the upstream refuses the results of tools: %s: %s",
			a.Status, errtext.Clip(string(text)))
	}
	return a, nil
}

// nextBody returns the last body with a reply and the results of its calls.
func (c *conversation) nextBody(w *wholeReply) (string, error) {
	doc, err := jsontext.Parse(c.body, maxNesting)
	if err != nil {
		return "", err
	}
	said, results := w.answered()
	list, edits := doc.Member(0, c.list), jsontext.NewEdits(&doc)
	if owner := doc.Member(0, "conversation"); owner != noNode && doc.TextAt(owner) != "null" {
		edits.Set(list, "["+strings.Join(results, ",")+"]") // the endpoint has the rest
		return edits.String(), nil
	}
	all := append(said, results...)
	if doc.HasKind(list, jsontext.String) {
		first := `{"role":"user","content":` + doc.TextAt(list) + `}`
		edits.Set(list, "["+first+","+strings.Join(all, ",")+"]")
		return edits.String(), nil
	}
	for _, element := range all {
		edits.Add(list, element)
	}
	return edits.String(), nil
}

// answered returns the elements of the next request: those of the reply with the calls that have
// results, and the results.
func (w *wholeReply) answered() (said, results []string) {
	e := jsontext.NewEdits(&w.doc)
	var calls []*call
	for _, c := range w.calls {
		if c.result == nil {
			e.Remove(c.item)
			continue
		}
		calls = append(calls, c)
	}
	return w.turnOf(w, e, calls)
}

// chatTurn returns the messages of Chat Completions for a reply and its results.
func chatTurn(w *wholeReply, e *jsontext.Edits, calls []*call) (said, results []string) {
	out := w.outs[0]
	said = []string{`{"role":"assistant"`}
	for _, name := range []string{"content", "reasoning_content", "tool_calls", "function_call"} {
		if i := w.doc.Member(out.holder, name); i != noNode {
			said[0] += `,"` + name + `":` + e.TextAt(i)
		}
	}
	said[0] += "}"
	for _, c := range calls {
		m := dict{"role": "tool", "tool_call_id": c.ID, "content": c.result.ForLLM}
		if c.form.id == "" {
			m = dict{"role": "function", "name": c.Name, "content": c.result.ForLLM}
		}
		results = append(results, string(encode(m)))
	}
	return said, results
}

// messagesTurn returns the messages of Messages. The endpoint refuses an empty text.
func messagesTurn(w *wholeReply, e *jsontext.Edits, calls []*call) (said, results []string) {
	out := w.outs[0]
	for _, block := range w.doc.Elements(out.list) {
		if w.doc.StringAt(w.doc.Member(block, "type")) == "text" && w.doc.StringAt(w.doc.Member(block, "text")) == "" {
			e.Remove(block)
		}
	}
	var list []any
	for _, c := range calls {
		r := dict{"type": "tool_result", "tool_use_id": c.ID, "content": c.result.ForLLM}
		if c.result.IsError {
			r["is_error"] = true
		}
		list = append(list, r)
	}
	return []string{`{"role":"assistant","content":` + e.TextAt(out.list) + `}`},
		[]string{string(encode(dict{"role": "user", "content": list}))}
}

// responsesTurn returns the items of Responses. Without stored responses, the endpoint cannot find
// reasoning that is not encrypted.
func responsesTurn(w *wholeReply, e *jsontext.Edits, calls []*call) (said, results []string) {
	isCall := map[int]*call{}
	for _, c := range w.calls {
		isCall[c.item] = c
	}
	for _, item := range w.doc.Elements(w.outs[0].list) {
		c := isCall[item]
		isLost := w.doc.StringAt(w.doc.Member(item, "type")) == "reasoning" &&
			w.doc.StringAt(w.doc.Member(item, "encrypted_content")) == "" && w.doc.TextAt(w.doc.Member(0, "store")) == "false"
		if c != nil && c.result == nil || isLost {
			continue
		}
		said = append(said, e.TextAt(item))
	}
	for _, c := range calls {
		r := dict{"type": c.kind + "_output", "call_id": c.ID, "output": c.result.ForLLM}
		switch c.kind {
		case "shell_call":
			exit := 0
			if c.result.IsError {
				exit = 1
			}
			r["output"] = []any{dict{"stdout": c.result.ForLLM, "stderr": "", "outcome": dict{"type": "exit", "exit_code": exit}}}
		case "apply_patch_call":
			r["status"] = "completed"
			if c.result.IsError {
				r["status"] = "failed"
			}
		case "local_shell_call":
			delete(r, "call_id")
			r["id"] = c.ID
		}
		results = append(results, string(encode(r)))
	}
	return said, results
}

// join adds the earlier replies to the last one: their texts, and their counts of tokens.
func (c *conversation) join(w *wholeReply) {
	for i := len(c.earlier) - 1; i >= 0; i-- {
		c.earlier[i].addBefore(w)
	}
	c.addUsage(w, w.doc.Member(0, "usage"), w.edits)
}

// addBefore adds the content of a reply, without its calls, in front of a later one.
func (w *wholeReply) addBefore(last *wholeReply) {
	if w.dialect == &chat {
		if text := w.text(); text != "" && len(last.outs) > 0 {
			last.prependText(text)
		}
		return
	}
	isCall := map[int]bool{}
	for _, c := range w.calls {
		isCall[c.item] = true
	}
	items := w.doc.Elements(w.outs[0].list)
	for i := len(items) - 1; i >= 0; i-- {
		if !isCall[items[i]] {
			last.before = append([]string{w.doc.TextAt(items[i])}, last.before...)
		}
	}
}

// prependText adds a text in front of the text of a chat message.
func (w *wholeReply) prependText(text string) {
	out := w.outs[0]
	own := ""
	if w.doc.HasKind(out.list, jsontext.String) {
		_ = json.Unmarshal([]byte(w.edits.TextAt(out.list)), &own) // it is a string
	}
	if own != "" {
		text += "\n\n" + own
	}
	w.edits.SetMember(out.holder, "content", string(encode(text)))
}

// result returns the text of the reply with all changes.
func (w *wholeReply) result() string {
	for _, item := range w.before {
		w.edits.AddFirst(w.outs[0].list, item)
	}
	w.before = nil
	return w.edits.String()
}

// addUsage adds the counts of the earlier replies to those of the last one.
func (c *conversation) addUsage(w *wholeReply, usage int, edits *jsontext.Edits) {
	if len(c.earlier) == 0 || usage == noNode {
		return
	}
	var sum any
	_ = json.Unmarshal([]byte(w.doc.TextAt(usage)), &sum) // it is valid
	for _, e := range c.earlier {
		var more any
		if i := e.doc.Member(0, "usage"); i != noNode {
			_ = json.Unmarshal([]byte(e.doc.TextAt(i)), &more)
			sum = addCounts(sum, more)
		}
	}
	edits.Set(usage, string(encode(sum)))
}

// addCounts adds numbers, also those in objects.
func addCounts(a, b any) any {
	switch a := a.(type) {
	case float64:
		n, _ := b.(float64)
		return a + n
	case map[string]any:
		more, _ := b.(map[string]any)
		for key, value := range more {
			if own, ok := a[key]; ok {
				a[key] = addCounts(own, value)
			} else {
				a[key] = value
			}
		}
		return a
	case nil:
		return b
	}
	return a
}

// readReply lets plugins see the reply to a request.
func (s *Server) readReply(a *http.Response) error {
	x, _ := a.Request.Context().Value(exchangeKey{}).(*exchange)
	if x != nil {
		x.sent.text.Store(nil)
	}
	if x == nil || !x.readsReply() {
		return nil
	}
	switch kind := a.StatusCode / 100; {
	case kind == 3 && x.needs.guards: // clients follow it to an address without guards
		a.Body.Close()
		return refuse(http.StatusBadGateway, "starhost: the upstream redirects to another address: %s", a.Status)
	case kind != 2 || a.StatusCode == http.StatusNoContent:
		return nil
	}
	c := &conversation{exchange: x, first: a.Request, rounds: 1}
	if isStream(a) {
		return c.stream(a)
	}
	return c.readWhole(a)
}

// isStream reports whether a reply says that it is a stream.
func isStream(a *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(a.Header.Get("Content-Type")), "text/event-stream")
}

// readWhole replaces a reply that is no stream.
func (c *conversation) readWhole(a *http.Response) error {
	ctx := a.Request.Context()
	body, err := c.readReplyBody(a)
	if err != nil {
		return err
	}
	for {
		w, err := c.parseWhole(body)
		if err != nil {
			return err
		}
		again, err := c.decide(ctx, w, c.canAsk())
		if err != nil {
			return err
		}
		if !again {
			c.join(w)
			setReply(a, w.result())
			return nil
		}
		next, err := c.askAgain(ctx, w)
		if err != nil {
			return err
		}
		if body, err = c.readReplyBody(next); err != nil {
			return err
		}
	}
}

// parseWhole parses a reply. A reply that guards cannot read does not pass.
func (c *conversation) parseWhole(body string) (*wholeReply, error) {
	doc, err := readJSON(body, c.needs.guards)
	if err != nil {
		return nil, unreadable("%v", err)
	}
	if err := checkReply(&doc); err != nil && c.needs.guards {
		return nil, err
	}
	w := newWhole(c.exchange, doc)
	if w.isUnclear && c.needs.guards {
		return nil, unreadable("a call that is no function and no custom tool, or both")
	}
	return w, nil
}

func setReply(a *http.Response, body string) {
	a.Body = io.NopCloser(strings.NewReader(body))
	a.ContentLength = int64(len(body))
	a.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// readReplyBody reads a reply, and closes it.
func (c *conversation) readReplyBody(a *http.Response) (string, error) {
	defer a.Body.Close()
	body, err := c.readEncoded(&heldReader{a.Body, c.exchange}, a.Header, maxReply)
	if errors.Is(err, errReplies) {
		return "", errReplies
	}
	if err != nil {
		return "", unreadable("%v", err)
	}
	a.Header.Del("Content-Encoding")
	return body, nil
}

// errCut is why a stream without its last event does not pass.
const errCut = "the stream of the endpoint ended within a reply that plugins must see"
