package decision

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// A cut text retains cutLength bytes. While the record still has values to mask, it retains twice
// as much, so that half of a secret at the end of the text goes, too.
const cutLength = 1 << 10

// encode returns a record between two newlines, masked, and cut to at most MaxRecord bytes.
func (l *Log) encode(r *Record) ([]byte, error) {
	out := *r
	out.fillLists()
	raw := encode(&out)
	if raw[0] != '{' {
		return nil, errors.New("a value of the record is not JSON")
	}
	var cut []string
	if len(raw) > MaxRecord {
		cut = longTexts(raw)
		raw = cutTexts(raw, cut, 2*cutLength)
	}
	hidden, places := l.mask().apply(raw)
	if raw = cutTexts(hidden, cut, cutLength); len(cut)+len(places) > 0 || len(raw) > MaxRecord {
		out = Record{} // json.Unmarshal would add to its maps
		if err := json.Unmarshal(raw, &out); err != nil {
			return nil, err
		}
		out.Cut, out.Masked = append(out.Cut, cut...), places
		if raw = encode(&out); len(raw) > MaxRecord {
			out.shrink()
			raw = encode(&out)
		}
	}
	return slices.Concat([]byte("\n"), raw, []byte("\n")), nil
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

// longTexts returns the pointers of the longest texts, as many as must be cut to make a record
// small enough.
func longTexts(record []byte) (places []string) {
	type text struct {
		at   string
		size int
	}
	var texts []text
	rewriteJSON("", record, func(at string, d *jsontext.Document, i int) json.RawMessage {
		if size := len(d.TextAt(i)); d.HasKind(i, jsontext.String) && size > 2*cutLength && !strings.HasPrefix(at, "/set/") {
			texts = append(texts, text{at, size})
		}
		return nil
	})
	slices.SortStableFunc(texts, func(a, b text) int { return cmp.Compare(b.size, a.size) })
	size := len(record)
	for _, t := range texts {
		if size <= MaxRecord/2 {
			break
		}
		size -= t.size - 2*cutLength
		places = append(places, t.at)
	}
	return places
}

// cutTexts cuts the texts at the pointers.
func cutTexts(record []byte, places []string, most int) []byte {
	if len(places) == 0 {
		return record
	}
	return rewriteJSON("", record, func(at string, d *jsontext.Document, i int) json.RawMessage {
		if !d.HasKind(i, jsontext.String) || !slices.Contains(places, at) {
			return nil
		}
		text := d.StringAt(i)
		if len(text) <= most {
			return nil
		}
		return encode(text[:errtext.RuneStart(text, most)] + "…")
	})
}

// shrink makes a record of too many short texts small enough. It drops effects, then inputs and
// changes, then context, then handlers.
func (r *Record) shrink() {
	for i := range r.Handlers {
		if r.Handlers[i].Effects != nil {
			r.Handlers[i].Effects = nil
			r.Cut = append(r.Cut, fmt.Sprintf("/handlers/%d/effects", i))
		}
	}
	if len(encode(r)) <= MaxRecord {
		return
	}
	for name, value := range r.Input {
		if len(value) > cutLength {
			r.Input[name] = encode(digestOfJSON(value))
			r.Cut = append(r.Cut, "/input/"+escapePointer.Replace(name))
		}
	}
	slices.Sort(r.Cut)
	if len(encode(r)) <= MaxRecord {
		return
	}
	r.Decision.Changes, r.Decision.Value = nil, nil
	r.Context, r.Handlers, r.Errors = []Context{}, []Handler{}, []string{}
	r.Masked, r.Omitted = []string{}, []string{}
	r.Cut = []string{"/decision", "/context", "/handlers", "/errors", "/masked", "/omitted"}
	if len(encode(r)) > MaxRecord {
		r.Input, r.Set.Plugins, r.Roles = map[string]json.RawMessage{}, []Plugin{}, nil
		r.Cut = append(r.Cut, "/input", "/set/plugins", "/roles")
	}
}
