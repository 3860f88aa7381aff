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

// A conversation is the sequence of requests that the proxy sends to the model for one request of a client.
type conversation struct {
	*exchange
	first   *http.Request // the first request to the upstream
	rounds  int           // the number of requests so far
	earlier []*wholeReply // the replies before the last one
}

// canAsk reports whether the proxy may send one more request.
func (c *conversation) canAsk() bool { return c.rounds < c.Rounds && c.body != "" }

// askAgain sends the reply back to the model with the results of its calls, and returns the model's next
// reply.
func (c *conversation) askAgain(ctx context.Context, w *wholeReply) (*http.Response, error) {
	c.earlier = append(c.earlier, w)
	var err error
	if c.body, err = c.nextBody(w); err != nil {
		return nil, err
	}
	c.rounds++
	r := c.first.Clone(ctx)
	c.exchange.sent.set(r, []string{c.body})
	a, err := c.Transport.RoundTrip(r)
	if err != nil {
		return nil, refuse(http.StatusBadGateway, "starhost: the upstream does not answer: %s", errtext.Cut(err.Error()))
	}
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 2<<10)) // the text is only for the error
		a.Body.Close()
		return nil, refuse(http.StatusBadGateway, "starhost: the upstream refuses the results of tools: %s: %s",
			a.Status, errtext.Clip(string(text)))
	}
	return a, nil
}

// nextBody returns the body of the last request with the reply and the results of its calls added.
func (c *conversation) nextBody(w *wholeReply) (string, error) {
	doc, err := jsontext.Parse(c.body, maxNesting)
	if err != nil {
		return "", err
	}
	said, results := w.answered()
	list, edits := doc.Member(0, c.list), jsontext.NewEdits(&doc)
	if owner := doc.Member(0, "conversation"); owner != noNode && doc.TextAt(owner) != "null" {
		edits.Set(list, "["+strings.Join(results, ",")+"]") // the endpoint has stored the rest
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

// answered returns what the next request adds: the elements of the reply, with only those calls that have
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

// chatTurn returns the messages by which a request of Chat Completions continues a reply with the results of
// its calls.
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
		results = append(results, string(jsontext.Must(m)))
	}
	return said, results
}

// messagesTurn returns the messages by which a request of Messages continues a reply. It leaves out empty
// texts, because the endpoint refuses them.
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
		[]string{string(jsontext.Must(dict{"role": "user", "content": list}))}
}

// responsesTurn returns the items by which a request of Responses continues a reply. If the endpoint stores
// no responses, it cannot find reasoning that is not encrypted, so responsesTurn leaves that out.
func responsesTurn(w *wholeReply, e *jsontext.Edits, calls []*call) (said, results []string) {
	isCall := w.callsByItem()
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
		results = append(results, string(jsontext.Must(r)))
	}
	return said, results
}

// join adds to the last reply the texts and the counts of tokens of the earlier replies.
func (c *conversation) join(w *wholeReply) {
	for i := len(c.earlier) - 1; i >= 0; i-- {
		c.earlier[i].addBefore(w)
	}
	c.addUsage(w, w.doc.Member(0, "usage"), w.edits)
}

// addBefore puts the content of an earlier reply, without its calls, in front of the content of w.
func (w *wholeReply) addBefore(last *wholeReply) {
	if w.dialect == &chat {
		if text := w.text(); text != "" && len(last.outs) > 0 {
			last.prependText(text)
		}
		return
	}
	isCall := w.callsByItem()
	items := w.doc.Elements(w.outs[0].list)
	for i := len(items) - 1; i >= 0; i-- {
		if isCall[items[i]] == nil {
			last.before = append([]string{w.doc.TextAt(items[i])}, last.before...)
		}
	}
}

// prependText puts a text in front of the text of a chat message.
func (w *wholeReply) prependText(text string) {
	out := w.outs[0]
	own := ""
	if w.doc.HasKind(out.list, jsontext.String) {
		_ = json.Unmarshal([]byte(w.edits.TextAt(out.list)), &own) // it cannot fail, because the value is a string
	}
	if own != "" {
		text += "\n\n" + own
	}
	w.edits.SetMember(out.holder, "content", string(jsontext.Must(text)))
}

// result returns the text of the reply with everything that plugins changed.
func (w *wholeReply) result() string {
	for _, item := range w.before {
		w.edits.AddFirst(w.outs[0].list, item)
	}
	w.before = nil
	return w.edits.String()
}

// addUsage adds the counts of tokens of the earlier replies to those of the last one. usage is the node of
// its counts.
func (c *conversation) addUsage(w *wholeReply, usage int, edits *jsontext.Edits) {
	if len(c.earlier) == 0 || usage == noNode {
		return
	}
	var sum any
	_ = json.Unmarshal([]byte(w.doc.TextAt(usage)), &sum) // it cannot fail, because the counts are valid JSON
	for _, e := range c.earlier {
		var more any
		if i := e.doc.Member(0, "usage"); i != noNode {
			_ = json.Unmarshal([]byte(e.doc.TextAt(i)), &more)
			sum = addCounts(sum, more)
		}
	}
	edits.Set(usage, string(jsontext.Must(sum)))
}

// addCounts returns the sum of two numbers, or for two objects an object with the sums of their members.
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

// readReply shows the reply to plugins before the client gets it, and replaces it.
func (s *Server) readReply(a *http.Response) error {
	x, _ := a.Request.Context().Value(exchangeKey{}).(*exchange)
	if x != nil {
		x.sent.pieces.Store(nil)
	}
	if x == nil || !x.readsReply() {
		return nil
	}
	switch kind := a.StatusCode / 100; {
	case kind == 3 && x.needs.guards: // a client would follow the redirect to an address without guards
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

// readWhole replaces the body of a reply that is no stream by what plugins left of it.
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

// parseWhole parses a reply. It returns an error if guards cannot read the reply, which then does not pass.
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

// readReplyBody reads the body of a reply, and closes it.
func (c *conversation) readReplyBody(a *http.Response) (string, error) {
	defer a.Body.Close()
	body, err := c.readEncoded(&sharedReader{a.Body, &c.replies, maxReplies, errReplies}, a.Header, maxReply)
	if errors.Is(err, errReplies) {
		return "", errReplies
	}
	if err != nil {
		return "", unreadable("%v", err)
	}
	a.Header.Del("Content-Encoding")
	return body, nil
}
