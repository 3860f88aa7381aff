package report

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

func TestText(t *testing.T) {
	row := func(content, source string, status fragments.Status, reason string, plugins ...string) *fragments.Row {
		f := &fragments.Fragment{Content: content, Source: source}
		r := &fragments.Row{Fragment: f, ID: fragments.Sum(content), Status: status, Reason: reason}
		for _, p := range plugins {
			r.Again = append(r.Again, fragments.Origin{Source: source, Plugin: p})
		}
		return r
	}
	kept := row("first", "a.md", fragments.Kept, "", "one", "two", "one")
	kept.Place = 1
	image := fragments.Attachment{Content: "png", Name: "dash.png", Type: "image/png", Width: 1280, Height: 720}
	link := fragments.Attachment{URL: "https://x.test/a.pdf", Type: "application/pdf"}
	p := &host.Prompt{
		System: "Be brief.", Text: fragments.NewText("first\nhi"), Given: 6, SavedBytes: 12, Model: "acme/small", Options: json.RawMessage(`{"n":1}`),
		Fragments: []*fragments.Row{
			kept,
			row("second text", "new\nline", fragments.Changed, "changed by p (p.star:1:1)", "one"),
			row("é", "é.md", fragments.Dropped, "too much"),
			row("old", "old.md", fragments.InSession, ""),
		},
		Attachments: []*fragments.AttachmentRow{
			{Attachment: image, ID: image.ID(), Status: fragments.Kept, Again: []fragments.Origin{{Plugin: "one"}}},
			{Attachment: link, ID: link.ID(), Status: fragments.Dropped, Reason: "more than 1 attachments (max_attachments)"},
		},
		Hooks: []host.HookTrace{
			{Event: "turn_start", Plugin: "one"},
			{Event: "pre_llm_call", Plugin: "one", Action: starhost.ActionContext, Detail: "4 B"},
			{Event: "turn_start", Plugin: "two", Action: starhost.ActionAbort, Detail: "no"},
		},
		Tools:      []starhost.Tool{{Name: "a"}, {Name: "b"}},
		CacheBreak: &host.CacheBreak{Offset: 7, Cause: "system fragment \"x\" changed", Plugin: "one", Pos: "one.star:1:1"},
	}
	want := `fragments    6 given, 1 kept, 2 repeated, 1 in_session, 1 changed, 1 dropped (12 B saved)
  1  a7937b64b8ca  a.md          5 B  one, two
  -  633ecdd67db6  "new\nline"  11 B  one       changed: changed by p (p.star:1:1)
  -  4a99557e4033  é.md          2 B            dropped: too much
  -  cba06b5736fa  old.md        3 B            in_session
attachments  1 kept, 1 dropped
  1  8f8cbb7dcf46  dash.png              image/png 1280x720     3 B  one
  2  be37017534d2  https://x.test/a.pdf  application/pdf     by URL       dropped: more than 1 attachments (max_attachments)
hooks        turn_start: one, two (abort no)
             pre_llm_call: one (context 4 B)
tools        a, b
model        acme/small
options      {"n":1}
cache break  at byte 7: system fragment "x" changed by one (one.star:1:1)
prompt       17 B, about 4 tokens, and 1 attachment of 3 B
`
	if diff := cmp.Diff(want, Text(p)); diff != "" {
		t.Errorf("Text (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("prompt       0 B, about 0 tokens\n", Text(&host.Prompt{Options: json.RawMessage("{}")})); diff != "" {
		t.Errorf("Text of nothing (-want +got):\n%s", diff)
	}
}

// The table says which contents are nearly the same, who else gave one, and what of it is not used.
func TestTextOfAlike(t *testing.T) {
	set := fragments.Merge([]fragments.Fragment{
		{Content: "a\nb", Source: "a.md", Plugin: "one", Title: "A"},
		{Content: "a\r\nb\r\n", Source: "crlf.md", Plugin: "one"},
		{Content: "a\nb", Source: "b.md", Plugin: "two", Title: "B", Priority: 5},
		{Content: "a\nb", Source: "c.md", Title: "A"},
		{Content: " a\nb", Source: "d.md", Plugin: "one"},
	})
	set.Render(fragments.Plain, 0)
	p := &host.Prompt{Options: json.RawMessage("{}"), Fragments: set.Rows(), Given: 5}
	want := `fragments    5 given, 3 kept, 2 repeated
  1  7e18f737311b  a.md     3 B  one, two  also from c.md, b.md; not used: title "B", priority 5
  2  58055bdcc737  crlf.md  6 B  one       nearly the same as 1: line ends or blanks at the end differ
  3  e514bf2d83e6  d.md     4 B  one
prompt       0 B, about 0 tokens
`
	if diff := cmp.Diff(want, Text(p)); diff != "" {
		t.Errorf("Text (-want +got):\n%s", diff)
	}
}

func TestLine(t *testing.T) {
	row := func(source string, status fragments.Status, reason string) *fragments.Row {
		return &fragments.Row{Fragment: &fragments.Fragment{Source: source}, Status: status, Reason: reason}
	}
	link := fragments.Attachment{URL: "https://x.test/a.pdf"}
	many := &host.Prompt{Options: json.RawMessage(`{}`)}
	for range 14 {
		many.Tools = append(many.Tools, starhost.Tool{Name: "t"})
	}
	for _, tt := range []struct {
		p    *host.Prompt
		want string
	}{
		{&host.Prompt{Options: json.RawMessage(`{}`)}, "no fragments"},
		{&host.Prompt{
			Fragments:   []*fragments.Row{row("a.md", fragments.Kept, ""), row("b\n", fragments.Dropped, "too much"), row("c", fragments.InSession, "")},
			Attachments: []*fragments.AttachmentRow{{Attachment: link, Status: fragments.Kept}},
			Tools:       []starhost.Tool{{Name: "t"}}, Given: 5, Model: "m", Options: json.RawMessage(`{"n":1}`),
			CacheBreak: &host.CacheBreak{Offset: 7, Cause: "tools changed"},
		}, `fragments: a.md; attachments: https://x.test/a.pdf; not sent: "b\n" dropped: too much, c in_session; tools: t; 2 repeated; model: m; options: {"n":1}; cache break: tools changed`},
		{many, "tools: t, t, t, t, t, t, t, t, t, t, t, t and 2 more"},
	} {
		if diff := cmp.Diff("prompt       "+tt.want+"\n", Line(tt.p)); diff != "" {
			t.Errorf("Line (-want +got):\n%s", diff)
		}
	}
}
