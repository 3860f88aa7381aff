package starhost_test

import (
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// TestLoaderFresh: what a loader gives is the same prompt whether it is fresh or not, and
// what is not fresh is left as it was.
func TestLoaderFresh(t *testing.T) {
	var rows [2][]fragments.Row
	for i, fresh := range []bool{false, true} {
		given := texts("one", "two")
		given.Attachments = []fragments.Attachment{{Content: "png", Type: "image/png"}}
		l := loader("xx", func(string) (starhost.Context, error) { return given, nil })
		l.Fresh = fresh
		h := newHost(t, starhost.Options{}, starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{l}})
		p := ask(t, h.NewSession(starhost.SessionConfig{}), starhost.Request{Text: "hi", Fragments: []string{"xx:1"}})
		for _, r := range p.Fragments {
			rows[i] = append(rows[i], *r)
		}
		if written := given.Fragments[0].Plugin != "" || given.Attachments[0].Plugin != ""; written != fresh {
			t.Errorf("fresh %v: the host has written into what the loader gave: %v", fresh, written)
		}
	}
	diff(t, "rows", rows[0], rows[1])
}
