package effects_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// keeping returns a store with some texts. The first text has the alias style. The store also has eleven
// contents whose ids begin with cccccccc.
func keeping(t *testing.T, texts ...string) *fragments.MemoryStore {
	t.Helper()
	s := new(fragments.MemoryStore)
	var list []fragments.Content
	for _, text := range texts {
		list = append(list, fragments.Content{ID: fragments.Sum(text), Text: text})
	}
	for i := range 11 {
		id, err := fragments.ParseHash(fmt.Sprintf("cccccccc%056x", i))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fragments.Content{ID: id, Text: fmt.Sprint("c", i)})
	}
	if err := errors.Join(s.Put(t.Context(), list...), s.SetAlias(t.Context(), "style", list[0].ID)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoredReferences(t *testing.T) {
	id := fragments.Sum("Be brief.").String()
	last := "cccccccc" + strings.Repeat("0", 54)
	var ids []string
	for i := range 10 {
		ids = append(ids, fmt.Sprintf("%s%02x", last, i))
	}
	tests := []struct{ name, ref, want, err string }{
		{"an id", "sha256:" + id, "sha256:" + id + " = Be brief.", ""},
		{"the first digits", "sha256:" + id[:8], "sha256:" + id[:8] + " = Be brief.", ""},
		{"an id without prefix", id, id + " = Be brief.", ""},
		{"the first digits without prefix", id[:12], id[:12] + " = Be brief.", ""},
		{"an alias", "style", "style = Be brief.", ""},
		{"an alias before a file", "notes.md", "notes.md = Be exact.", ""},
		{"a file of the alias's name", "./notes.md", "notes.md = file", ""},
		{"digits that no id has are a path", "0123456789", "0123456789 = digits", ""},
		{"a misspelt alias", "stile", "", `unknown fragment reference "stile" (did you mean style?)`},
		{"aliases have case", "Style", "", `unknown fragment reference "Style" (did you mean style?)`},
		{"no such id", "sha256:0123456789", "", `reference sha256:0123456789: the store has no such content`},
		{"a misspelt id", "sha256:" + id[:10] + flip(id[10:11]), "", `reference sha256:` + id[:10] + flip(id[10:11]) + `: the store has no such content (did you mean sha256:` + id[:11] + `?)`},
		{"too few digits", "sha256:" + id[:7], "", `reference sha256: got "` + id[:7] + `", want 8 to 64 of 0-9 a-f`},
		{"too many digits", "sha256:" + id + "0", "", `reference sha256: got "` + id + `0", want 8 to 64 of 0-9 a-f`},
		{"upper case", "sha256:" + strings.ToUpper(id), "", `reference sha256: got "` + strings.ToUpper(id) + `", want 8 to 64 of 0-9 a-f`},
		{"an alias with the prefix", "sha256:style", "", `reference sha256: got "style", want 8 to 64 of 0-9 a-f`},
		{"several ids", "sha256:" + last, "", "reference " + last + ": got the beginning of several ids, want more of one of " + strings.Join(ids, ", ") + ", …"},
		{"several ids without prefix", "cccccccc", "", "reference cccccccc: got the beginning of several ids, want more of one of " + strings.Join(ids, ", ") + ", …"},
	}
	s := keeping(t, "Be brief.", "Be exact.")
	if err := s.SetAlias(t.Context(), "notes.md", fragments.Sum("Be exact.")); err != nil {
		t.Fatal(err)
	}
	files := memory(t, map[string]string{"notes.md": "file", "0123456789": "digits"})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := load(t, effects.RefOptions{FS: files, Store: s}, tt.ref)
			if diff := cmp.Diff(tt.err, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("Load (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := load(t, effects.RefOptions{FS: files}, "sha256:"+id); !strings.Contains(message(err), "unknown fragment reference") {
		t.Errorf("Load without a store: got %v", err)
	}
}

// flip returns a hexadecimal digit that differs from digit.
func flip(digit string) string {
	if digit == "0" {
		return "1"
	}
	return "0"
}

// TestStoredReferencesOfHandlers checks that a handler with fragment:sha256 reaches the store, but no file
// that has the name of an alias.
func TestStoredReferencesOfHandlers(t *testing.T) {
	id := fragments.Sum("Be brief.").String()
	s := keeping(t, "Be brief.")
	refs := effects.RefOptions{Store: s, FS: memory(t, map[string]string{"notes.md": "file"})}
	play(t, host.Options{Fragments: s}, refs, nil, func(ctx context.Context, turn *host.Turn) {
		granted, without := plugin(t, "fragment:sha256"), plugin(t, "fragment:book", "fs.read:**")
		for _, tt := range []struct{ ref, want, refused string }{
			{"sha256:" + id[:8], "Be brief.", `plugin p has no permission fragment:sha256: `},
			{"style", "Be brief.", `plugin p has no permission fragment:sha256 ("style" has no prefix, so it is an alias): `},
			{"stile", `unknown fragment reference "stile" (did you mean style?)`, `plugin p has no permission fragment:sha256 ("stile" has no prefix, so it is an alias): `},
			{"notes.md", `unknown fragment reference "notes.md": no loader has its prefix, and no alias or file its name; prefixes: book:, file:, sha256:`, `plugin p has no permission fragment:sha256 ("notes.md" has no prefix, so it is an alias): `},
			{"./notes.md", `fragments.get: got "./notes.md", want PREFIX:ARG or an alias`, `fragments.get: got "./notes.md", want PREFIX:ARG or an alias`},
		} {
			got, err := granted.LoadFragment(ctx, tt.ref)
			text := message(err)
			if err == nil {
				text = got.Fragments[0].Content
			}
			if text != tt.want {
				t.Errorf("LoadFragment(%q): got %s, want %s", tt.ref, text, tt.want)
			}
			if _, err := without.LoadFragment(ctx, tt.ref); !strings.HasPrefix(message(err), tt.refused) {
				t.Errorf("LoadFragment(%q) without the permission: got %v, want %s", tt.ref, err, tt.refused)
			}
		}
	}, nil)
}

// TestStoredReferencesReplay checks that a replayed turn gets the contents of its journal, even if the store
// has changed.
func TestStoredReferencesReplay(t *testing.T) {
	refs := []string{"sha256:" + fragments.Sum("Be brief.").String()[:8], "style"}
	run := func(o host.Options, s fragments.Store, w *effects.World) string {
		h := host.New(o)
		if err := h.Add(effects.HostPlugin(effects.RefOptions{Store: s, World: w})); err != nil {
			t.Fatal(err)
		}
		p, err := h.NewSession(host.SessionConfig{ID: "s"}).Prompt(
			t.Context(), host.Request{Text: "hi", Fragments: refs},
		)
		if err != nil {
			t.Fatal(err)
		}
		return p.Rendering()
	}
	j := new(effects.Journal)
	want := run(host.Options{Record: j.Record}, keeping(t, "Be brief."), &effects.World{})
	lines, err := j.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	replay, err := effects.ReadJournal("journal", lines)
	if err != nil {
		t.Fatal(err)
	}
	if got := run(host.Options{}, new(fragments.MemoryStore), &effects.World{Answers: replay}); got != want {
		t.Errorf("replay: got %q, want %q", got, want)
	}
}

// A brokenStore fails on every read.
type brokenStore struct{ fragments.Store }

func (brokenStore) Find(context.Context, string, int) ([]fragments.Hash, error) {
	return nil, errBroken
}
func (brokenStore) Alias(context.Context, string) (id fragments.Hash, ok bool, err error) {
	return id, false, errBroken
}
func (brokenStore) Aliases(context.Context) ([]string, error) { return nil, errBroken }

func TestBrokenFragmentStore(t *testing.T) {
	for _, ref := range []string{"sha256:01234567", "01234567", "style"} {
		_, err := load(t, effects.RefOptions{Store: brokenStore{}}, ref)
		coded, ok := errors.AsType[*effects.Error](err)
		if want := "fragment store: " + errBroken.Error(); message(err) != want || !ok || coded.Code() != "E0518" {
			t.Errorf("Load(%q): got %v, want %s", ref, err, want)
		}
	}
}
