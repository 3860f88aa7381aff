package effects

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/starhost/starhost/internal/jsontext"
)

// CheckInput returns an error with the code E0516 if input, the request that a caller is
// about to replay, is not the one that the journal recorded. Both are JSON; the error names
// the first member that differs.
func (p *Replay) CheckInput(input []byte) error {
	if d := difference(p.Header.Input, input); d != "" {
		return errorf("E0516", "replay: another question: %s as in the journal", d)
	}
	return nil
}

// difference returns the first member, by name, in which two JSON values differ,
// as "request.text: got "b", want "a"", or "" if they are equal.
func difference(want, got []byte) string {
	return memberDifference("", decodeText(want), decodeText(got))
}

// decodeText returns a JSON text as a Go value that can be compared, nil for a text that is not
// JSON. Numbers keep their spelling, so that 1 and 1.0 differ.
func decodeText(text []byte) any {
	v, err := jsontext.DecodeValue(string(text))
	if err != nil {
		return nil
	}
	return v
}

// memberDifference returns the difference of two decoded values; path leads to them.
func memberDifference(path string, want, got any) string {
	w, wantObject := want.(map[string]any)
	g, gotObject := got.(map[string]any)
	switch {
	case reflect.DeepEqual(want, got):
		return ""
	case !wantObject || !gotObject:
		return fmt.Sprintf("%s: got %s, want %s", path, abbreviate(got), abbreviate(want))
	}
	names := maps.Clone(w)
	maps.Copy(names, g)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		member := name
		if path != "" {
			member = path + "." + name
		}
		if text := memberDifference(member, w[name], g[name]); text != "" {
			return text
		}
	}
	return ""
}

// maxShown is the most bytes of a value that a message shows.
const maxShown = 60

// abbreviate returns a decoded value for a message.
func abbreviate(v any) string {
	if v == nil {
		return "nothing"
	}
	text := string(jsontext.EncodeOrNull(v))
	if len(text) > maxShown {
		return strconv.Quote(text[:maxShown]) + "..."
	}
	return text
}
