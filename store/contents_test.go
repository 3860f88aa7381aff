package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/store"
)

// The own database stores the pictures of prompts, so that a later request can name one by its id.
// A text with the bytes of an attachment is a text, in either order.
func TestAttachments(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url string) {
		now := time.Unix(1_000_000_000, 0)
		db := open(t, store.Options{URL: url, Keep: 100 * time.Hour, Clock: func() time.Time { return now }})
		s := db.Fragments()
		h := func() *host.Host {
			h := host.New(host.Options{Fragments: s})
			if err := h.Add(effects.HostPlugin(effects.RefOptions{Store: s, World: &effects.World{}})); err != nil {
				t.Fatal(err)
			}
			return h
		}
		prompt := func(r host.Request) *host.Prompt {
			t.Helper()
			p, err := h().NewSession(host.SessionConfig{}).Prompt(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		picture := fragments.Attachment{Content: "\x89PNG\x00\xff", Type: "image/png"}
		csv := fragments.Attachment{Content: "a,b", Type: "text/csv"}
		link := fragments.Attachment{URL: "https://example.com/a.pdf", Type: "application/pdf"}
		prompt(host.Request{Text: "hi", Attachments: []fragments.Attachment{picture, csv, link}})
		p := prompt(host.Request{Text: "again", Fragments: []string{"sha256:" + picture.ID().String()[:8]}})
		if got := p.Attachments; len(got) != 1 || got[0].Content != picture.Content || got[0].Type != picture.Type {
			t.Errorf("got %+v, want the picture", p.Attachments)
		}
		if _, ok, err := s.Get(t.Context(), picture.ID()); ok || err != nil {
			t.Errorf("the picture is a text: %v, %v", ok, err)
		}
		if _, ok, err := db.Attachment(t.Context(), link.ID()); ok || err != nil {
			t.Errorf("a link is stored: %v, %v", ok, err)
		}
		list, _, err := db.List(t.Context(), store.Filter{Texts: []string{"image/"}})
		if err != nil || len(list) != 1 || list[0].ID != picture.ID() || list[0].Begin != "image/png" {
			t.Errorf("List: got %+v, %v, want the picture", list, err)
		}
		kinds := func(a fragments.Attachment) string {
			t.Helper()
			text, isText, err := s.Get(t.Context(), a.ID())
			got, isAttachment, err2 := db.Attachment(t.Context(), a.ID())
			if err != nil || err2 != nil || isText && text != a.Content || isAttachment && got.Content != a.Content {
				t.Fatal(text, got, err, err2)
			}
			return fmt.Sprint(isText, isAttachment)
		}
		text := fragments.Attachment{Content: "first a text", Type: "text/plain"}
		steps := []struct {
			what string
			a    fragments.Attachment
			as   string // "text" or "attachment"
			want string
		}{
			{"an attachment becomes a text", csv, "text", "true false"},
			{"and stays one", csv, "attachment", "true false"},
			{"a text", text, "text", "true false"},
			{"stays one", text, "attachment", "true false"},
			{"a picture", picture, "attachment", "false true"},
		}
		for _, tt := range steps {
			err := db.PutAttachments(t.Context(), &fragments.AttachmentRow{Attachment: tt.a, ID: tt.a.ID()})
			if tt.as == "text" {
				err = s.Put(t.Context(), fragments.Content{ID: tt.a.ID(), Text: tt.a.Content})
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, kinds(tt.a)); diff != "" {
				t.Errorf("%s: text, attachment (-want +got):\n%s", tt.what, diff)
			}
			now = now.Add(25 * time.Hour) // so that all are due
		}
		now = now.Add(200 * time.Hour) // the next one removes those that expired
		if err := s.Put(t.Context(), fragments.Content{ID: fragments.Sum("x"), Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := kinds(picture); got != "false false" {
			t.Errorf("the picture did not expire: %s", got)
		}
	})
}
