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

// cutLength is the number of bytes that stay of a cut text. While the record still has values to mask, twice
// as many stay, so that masking can also remove half of a secret at the end of the text.
const cutLength = 1 << 10

// cutMark ends a cut text.
const cutMark = "…"

// encode returns the JSON of a record between two newlines, cut to at most MaxRecord bytes and masked. It
// cuts first, so that it copies, searches and encodes no more of a value than fits into a record. Masking can
// make a record larger, so encode must sometimes cut again.
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

// fillLists makes an empty list of each list that is nil, because readers in other languages expect lists.
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
	size(bytes int) // size counts bytes that cannot be cut
	text(at string, text *string)
	// raw reports whether a record has room for a value. Only an effect and the fields of a line may have no
	// room.
	raw(at string, value *json.RawMessage) bool
	// list visits the elements of a list, and returns for how many of them the record has room. The caller
	// has counted the list's name.
	list(at string, elements int, visit func(at string, i int) bool) int
}

// visit shows the visitor the parts of a record, the most telling first. The effects and logs of handlers
// come last, because there may be many of them.
func (r *Record) visit(v partVisitor) {
	const fields = 700 // bytes of the names of all fields and lists, and of the short values
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

// visitMembers shows the visitor the values of an object's members, in the order of their names.
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
	v.size(60 + 4*len(h.Context) + len(at+`/logs`+at+`/effects`) + 6) // with the names of two lists
	h.Decision.visit(at, v)
	v.text(at+"/error", &h.Error)
}

// A sizer finds out how many bytes a record takes.
type sizer struct {
	total int
	// texts has the number of the texts of 1<<(i-1) up to 1<<i - 1 bytes, and their bytes.
	texts [32]struct{ count, bytes int } // an event has less than 1<<31 bytes
}

func (s *sizer) size(bytes int) { s.total += bytes }

func (s *sizer) list(at string, elements int, visit func(at string, i int) bool) int {
	for i := range elements {
		visit(at, i)
	}
	return elements
}

// sizeOfText returns the number of bytes that a text takes in JSON.
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
		return true // so short a value has no long text
	}
	r := jsontext.Reader{Text: string(*value)}
	for { // each quote outside of strings begins a string
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

// longest returns the length to which texts must be cut so that the record takes want bytes. It cuts the
// longest texts first, and no text that is shorter than the result.
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

// A cutter cuts long texts, and replaces values without room by digests.
type cutter struct {
	longest int // the result of sizer.longest
	left    int // how many bytes are left for the rest of the record
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

// mark notes that the part at a pointer is cut.
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

// shorten returns a value in which long texts are cut, and the places of these texts. The error says that the
// record has no room for the value.
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

// startOf returns a string, or at least its first bytes.
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
	text, _ := q.Decode() // no error, because it is the start of a valid string
	return text
}

// fit makes a record fit into limit bytes. It first cuts the longest texts. Then it replaces values without
// room by digests and drops the last elements of lists. Last, it drops all parts that can have any number of
// elements. Afterwards the record shares no part that fit changes with the caller's copy.
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
		r.Input, r.Set.Plugins, r.Roles = map[string]json.RawMessage{}, nil, nil
		r.Cut = append(r.Cut, "/input", "/set/plugins", "/roles")
	}
}

// separate copies all parts of a record that fit changes, so that the caller's copy stays as it is.
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
