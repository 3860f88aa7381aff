package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// A cut text retains cutLength bytes. While the record still has values to mask, it retains twice
// as much, so that half of a secret at the end of the text goes, too.
const cutLength = 1 << 10

// cutMark ends a cut text.
const cutMark = "…"

// encode returns a record between two newlines, cut to at most MaxRecord bytes and masked. It cuts
// first: no value is copied, searched or encoded beyond what fits in a record. Masking can make a
// record larger, so that it must sometimes be cut again.
func (l *Log) encode(r *Record) ([]byte, error) {
	for limit := MaxRecord; limit >= cutLength; limit /= 2 {
		out := *r
		out.fillLists()
		out.fit(limit)
		raw := jsontext.EncodeOrNull(&out)
		if raw[0] != '{' {
			return nil, errors.New("a value of the record is not JSON")
		}
		if raw = l.mask().apply(raw, out.Cut); len(raw) <= MaxRecord {
			return slices.Concat([]byte("\n"), raw, []byte("\n")), nil
		}
	}
	return nil, fmt.Errorf("got a record of more than %d bytes without its values", MaxRecord)
}

// fillLists makes all lists empty that are nil, because readers of other languages expect lists.
func (r *Record) fillLists() {
	for _, list := range []*[]string{&r.Errors, &r.Masked, &r.Cut, &r.Omitted} {
		if *list == nil {
			*list = []string{}
		}
	}
	if r.Handlers == nil {
		r.Handlers = []Handler{}
	}
	if r.Context == nil {
		r.Context = []Context{}
	}
	if r.Input == nil {
		r.Input = map[string]json.RawMessage{}
	}
	if r.Set.Plugins == nil {
		r.Set.Plugins = []Plugin{}
	}
}

// A partVisitor sees the parts of a record that can be long.
type partVisitor interface {
	size(bytes int) // counts what cannot be cut
	text(at string, text *string)
	// raw reports whether a value has room. Only an effect and the fields of a line may have none.
	raw(at string, value *json.RawMessage) bool
	// list visits the elements of a list, and returns how many of them have room. The caller has
	// counted the list's name.
	list(at string, elements int, visit func(at string, i int) bool) int
}

// visit passes the parts of a record on, the most telling first. The effects and logs of handlers
// come last, because there may be many of them.
func (r *Record) visit(v partVisitor) {
	const fields = 700 // the names of all fields and lists, and the short values
	v.size(fields + len(jsontext.EncodeOrNull(r.Set)))
	for _, f := range []struct {
		at   string
		text *string
	}{
		{"/agent", &r.Agent}, {"/session", &r.Session}, {"/tool", &r.Tool}, {"/tool_alias", &r.ToolAlias},
		{"/plugin", &r.Plugin}, {"/kind", &r.Kind}, {"/call_id", &r.CallID}, {"/platform", &r.Platform},
		{"/workspace", &r.Workspace}, {"/model", &r.Model}, {"/answered", &r.Answered},
	} {
		v.text(f.at, f.text)
	}
	r.Decision.visit("/decision", v)
	if a := r.Approval; a != nil {
		v.text("/approval/by", &a.By)
		a.Asks = a.Asks[:v.list("/approval/asks", len(a.Asks), func(at string, i int) bool {
			a.Asks[i].visit(at, v)
			return true
		})]
	}
	visitMembers("/input/", r.Input, v)
	for _, list := range []struct {
		at    string
		texts *[]string
	}{{"/roles", &r.Roles}, {"/errors", &r.Errors}, {"/omitted", &r.Omitted}} {
		texts := *list.texts
		*list.texts = texts[:v.list(list.at, len(texts), func(at string, i int) bool {
			v.text(at, &texts[i])
			return true
		})]
	}
	r.Handlers = r.Handlers[:v.list("/handlers", len(r.Handlers), func(at string, i int) bool {
		r.Handlers[i].visit(at, v)
		return true
	})]
	r.Context = r.Context[:v.list("/context", len(r.Context), func(at string, i int) bool {
		r.Context[i].visit(at, v)
		return true
	})]
	for i := range r.Handlers {
		h := &r.Handlers[i]
		h.Effects = h.Effects[:v.list(fmt.Sprintf("/handlers/%d/effects", i), len(h.Effects), func(at string, i int) bool {
			return v.raw(at, &h.Effects[i])
		})]
	}
	for i := range r.Handlers {
		h := &r.Handlers[i]
		h.Logs = h.Logs[:v.list(fmt.Sprintf("/handlers/%d/logs", i), len(h.Logs), func(at string, i int) bool {
			line := &h.Logs[i]
			v.size(60)
			v.text(at+"/text", &line.Text)
			return line.Fields == nil || v.raw(at+"/fields", &line.Fields)
		})]
	}
}

func (c *Context) visit(at string, v partVisitor) {
	v.size(200)
	v.text(at+"/source", &c.Source)
	v.text(at+"/title", &c.Title)
	v.text(at+"/name", &c.Name)
	v.text(at+"/url", &c.URL)
	if c.Content != nil {
		v.text(at+"/content", c.Content)
	}
}

// visitMembers passes the values of members on, in the order of their names.
func visitMembers(at string, members map[string]json.RawMessage, v partVisitor) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v.size(len(name) + 3)
		value := members[name]
		if v.raw(at+escapePointer.Replace(name), &value); len(value) != len(members[name]) {
			members[name] = value
		}
	}
}

func (d *Decision) visit(at string, v partVisitor) {
	v.size(60)
	v.text(at+"/reason", &d.Reason)
	v.text(at+"/plugin", &d.Plugin)
	v.text(at+"/pos", &d.Pos)
	visitMembers(at+"/changes/", d.Changes, v)
	if d.Result != nil {
		v.size(60 + 200*len(d.Result.Attachments))
		v.text(at+"/result/for_llm", &d.Result.ForLLM)
		v.text(at+"/result/for_user", &d.Result.ForUser)
	}
	if d.Value != nil {
		v.raw(at+"/value", &d.Value)
	}
}

func (h *Handler) visit(at string, v partVisitor) {
	v.size(60 + 4*len(h.Context) + len(at+`/logs`+at+`/effects`) + 6) // and the names of two lists
	h.Decision.visit(at, v)
	v.text(at+"/error", &h.Error)
}

// A sizer measures a record.
type sizer struct {
	total int
	// texts has the number and the bytes of the texts from 1<<(i-1) to less than 1<<i bytes.
	texts [32]struct{ count, bytes int } // an event has less than 1<<31 bytes
}

func (s *sizer) size(bytes int) { s.total += bytes }

func (s *sizer) list(at string, elements int, visit func(at string, i int) bool) int {
	for i := range elements {
		visit(at, i)
	}
	return elements
}

// sizeOfText returns the bytes of a text in JSON.
func sizeOfText(text string) int {
	n := 2 + len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}

func (s *sizer) text(_ string, text *string) {
	n := sizeOfText(*text)
	s.total += n
	s.addText(n)
}

func (s *sizer) raw(_ string, value *json.RawMessage) bool {
	s.total += len(*value)
	if len(*value) <= 2*cutLength {
		return true // it has no long text
	}
	r := jsontext.Reader{Text: string(*value)}
	for { // all quotes outside of strings begin one
		i := strings.IndexByte(r.Text[r.At:], '"')
		if i < 0 {
			return true
		}
		r.At += i
		q, err := r.Quoted()
		if err != nil {
			return true
		}
		s.addText(len(q.Text))
	}
}

func (s *sizer) addText(bytes int) {
	row := &s.texts[bits.Len(uint(bytes))]
	row.count++
	row.bytes += bytes
}

// longest returns the size from which texts must be cut, so that want bytes remain. It cuts the
// longest texts first, and none that remain whole.
func (s *sizer) longest(want int) int {
	total, longest := s.total, math.MaxInt
	for i := len(s.texts) - 1; 1<<i > 2*cutLength && total > want; i-- {
		if row := s.texts[i]; row.count > 0 {
			total -= row.bytes - row.count*2*cutLength
			longest = max(1<<(i-1), 2*cutLength+1)
		}
	}
	return longest
}

// A cutter cuts long texts, and puts digests in the place of values without room.
type cutter struct {
	longest int // see sizer.longest
	left    int // the rest of the record's bytes
	cut     []string
}

func (c *cutter) size(bytes int) { c.left -= bytes }

func (c *cutter) list(at string, elements int, visit func(at string, i int) bool) int {
	for i := range elements {
		before := *c
		if !visit(fmt.Sprintf("%s/%d", at, i), i) || c.left < 0 {
			*c = before
			c.cut = append(c.cut, at)
			return i
		}
	}
	return elements
}

// mark names a cut part.
func (c *cutter) mark(at string) {
	c.cut = append(c.cut, at)
	c.left -= len(at) + 3
}

func (c *cutter) text(at string, text *string) {
	if len(*text) >= c.longest {
		*text = errtext.CutTo(*text, 2*cutLength, cutMark)
		c.mark(at)
	}
	c.left -= sizeOfText(*text)
}

func (c *cutter) raw(at string, value *json.RawMessage) bool {
	isEffect := strings.HasPrefix(at, "/handlers/") && strings.Contains(at, "/effects/")
	isLine := strings.HasPrefix(at, "/handlers/") && strings.Contains(at, "/logs/")
	short, places, err := c.shorten(at, *value)
	if line, ok := withoutReply(*value); isEffect && ok && (err != nil || len(places) > 0) {
		if short, places, err = c.shorten(at, line); err == nil {
			places = append(places, at+"/reply")
		}
	}
	switch {
	case err == nil:
	case isEffect, isLine:
		return false
	default:
		short, places = jsontext.EncodeOrNull(digestOfJSON(*value)), []string{at}
	}
	*value = short
	for _, place := range places {
		c.mark(place)
	}
	c.left -= len(short)
	return true
}

// shorten returns a value with its long texts cut, and their places. The error is about a value
// that has no room.
func (c *cutter) shorten(at string, value json.RawMessage) (short json.RawMessage, places []string, err error) {
	w := rewriter{most: max(c.left, 1)}
	w.text = func(at []byte, q jsontext.Quoted) json.RawMessage {
		if len(q.Text) < c.longest {
			return nil
		}
		places = append(places, string(at))
		return jsontext.EncodeOrNull(errtext.CutTo(startOf(q, 2*cutLength), 2*cutLength, cutMark))
	}
	short, err = w.rewrite(at, value)
	if err == nil && len(short) > c.left {
		err = errTooLarge
	}
	return short, places, err
}

// startOf returns at least the first bytes of a string, or all of it.
func startOf(q jsontext.Quoted, bytes int) string {
	end := 1
	for n := 0; n < bytes+utf8.UTFMax && end < len(q.Text)-1; n++ {
		switch {
		case q.Text[end] != '\\':
			end++
		case q.Text[end+1] == 'u':
			end += len(`\u0000`)
		default:
			end += 2
		}
	}
	q.Text = q.Text[:errtext.RuneStart(q.Text, end)] + `"`
	text, _ := q.Decode() // it is the start of a valid string
	return text
}

// fit makes a record fit into a number of bytes. It cuts the longest texts; then values without
// room become digests, and the last elements of lists go; at last all parts go that can have any
// number of elements. The record then shares nothing that changes with the caller's.
func (r *Record) fit(limit int) {
	var s sizer
	if r.visit(&s); s.total <= limit {
		return
	}
	r.separate()
	c := cutter{longest: s.longest(limit / 2), left: limit}
	r.visit(&c)
	if r.Cut = append(r.Cut, c.cut...); c.left >= 0 {
		return
	}
	r.Decision.Changes, r.Decision.Value = nil, nil
	r.Context, r.Handlers, r.Errors = []Context{}, []Handler{}, []string{}
	r.Masked, r.Omitted = []string{}, []string{}
	r.Cut = []string{"/decision", "/context", "/handlers", "/errors", "/masked", "/omitted"}
	if r.Approval != nil {
		r.Approval.Asks = []Decision{}
		r.Cut = append(r.Cut, "/approval/asks")
	}
	var rest sizer
	if r.visit(&rest); rest.total > limit {
		r.Input, r.Set.Plugins, r.Roles = map[string]json.RawMessage{}, []Plugin{}, nil
		r.Cut = append(r.Cut, "/input", "/set/plugins", "/roles")
	}
}

// separate copies all parts of a record that fit changes.
func (r *Record) separate() {
	for _, list := range []*[]string{&r.Roles, &r.Errors, &r.Omitted, &r.Cut} {
		*list = slices.Clone(*list)
	}
	r.Input = maps.Clone(r.Input)
	r.Decision.separate()
	if r.Approval != nil {
		approval := *r.Approval
		approval.Asks = slices.Clone(approval.Asks)
		for i := range approval.Asks {
			approval.Asks[i].separate()
		}
		r.Approval = &approval
	}
	r.Handlers = slices.Clone(r.Handlers)
	for i := range r.Handlers {
		h := &r.Handlers[i]
		h.Decision.separate()
		h.Logs, h.Effects = slices.Clone(h.Logs), slices.Clone(h.Effects)
	}
	r.Context = slices.Clone(r.Context)
	for i := range r.Context {
		if c := &r.Context[i]; c.Content != nil {
			content := *c.Content
			c.Content = &content
		}
	}
}

func (d *Decision) separate() {
	d.Changes = maps.Clone(d.Changes)
	if d.Result != nil {
		result := *d.Result
		d.Result = &result
	}
}
