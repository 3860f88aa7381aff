package effects_test

import (
	"encoding/json"
	"testing"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// TestPathEscapes checks that the path of an http permission has no incomplete escape.
func TestPathEscapes(t *testing.T) {
	for text, ok := range map[string]bool{
		"a%20b": true, "a%zz": false, "a%4": false, "a%": false, "%2e%2e/b": false, "a;b": true, "..;a/b": false,
	} {
		if _, err := effects.ParseGrants([]string{"http:a.test/" + text}); (err == nil) != ok {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestSwapCompares checks which values store.swap takes for equal.
func TestSwapCompares(t *testing.T) {
	w := plugin(t, "store")
	w.Store = &effects.MemoryKV{}
	for _, tt := range []struct {
		stored, old string
		want        bool
	}{
		{"1", "1", true}, {"1", "2", false}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`, true}, {`{"a":1}`, `{"a":2}`, false}, {"1", "1.0", false},
	} {
		if err := w.StoreSet(t.Context(), "k", json.RawMessage(tt.stored)); err != nil {
			t.Fatal(err)
		}
		got, err := w.StoreSwap(t.Context(), "k", json.RawMessage(tt.old), json.RawMessage("9"))
		if got != tt.want || err != nil {
			t.Errorf("%s for %s: got %v, %v", tt.old, tt.stored, got, err)
		}
	}
}

// TestAttachmentInJournal checks that a journal records the attachment that a reference resolves to, and that
// a file that begins with a NUL is an attachment.
func TestAttachmentInJournal(t *testing.T) {
	const content = "\x00 data"
	run := func(o host.Options, refs effects.RefOptions) []*fragments.AttachmentRow {
		h := host.New(o)
		if err := h.Add(effects.HostPlugin(refs)); err != nil {
			t.Fatal(err)
		}
		r := host.Request{Text: "hi", Fragments: []string{"./a.bin"}}
		p, err := h.NewSession(host.SessionConfig{ID: "s"}).Prompt(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return p.Attachments
	}
	j := new(effects.Journal)
	files := memory(t, map[string]string{"a.bin": content})
	first := run(host.Options{Record: j.Record}, effects.RefOptions{FS: files, World: &effects.World{}})
	lines, err := j.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	replay, err := effects.ReadJournal("journal", lines)
	if err != nil {
		t.Fatal(err)
	}
	again := run(host.Options{}, effects.RefOptions{FS: memory(t, nil), World: &effects.World{Answers: replay}})
	for what, rows := range map[string][]*fragments.AttachmentRow{"the first time": first, "replayed": again} {
		if len(rows) != 1 || rows[0].Content != content {
			t.Errorf("%s: got %+v, want the attachment", what, rows)
		}
	}
}
