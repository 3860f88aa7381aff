package fragments_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/fragments"
)

func TestDefaultBudget(t *testing.T) {
	want := fragments.Budget{
		MaxBytes: 1048576, MaxFragment: 262144, MaxPlugin: 524288,
		MaxAttachment: 8388608, MaxAttachments: 20, MaxPixels: 40000000,
	}
	if diff := cmp.Diff(want, fragments.DefaultBudget()); diff != "" {
		t.Errorf("DefaultBudget (-want +got):\n%s", diff)
	}
}

func TestCheckSize(t *testing.T) {
	f := fragments.Fragment{Content: "12345", Source: "a.md"}
	tests := []struct {
		name string
		max  int64
		want string
	}{
		{"no limit", 0, ""},
		{"at the limit", 5, ""},
		{"over the limit", 4, `fragment "a.md" is 5 bytes, limit 4 (max_fragment)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, message(fragments.CheckSize(f, tt.max))); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFit(t *testing.T) {
	fragment := func(content, plugin string, priority int) fragments.Fragment {
		return fragments.Fragment{Content: content, Plugin: plugin, Priority: priority}
	}
	pinned := func(f fragments.Fragment) fragments.Fragment { f.Pinned = true; return f }
	system := func(f fragments.Fragment) fragments.Fragment { f.Target = fragments.System; return f }
	abc := []fragments.Fragment{fragment("aaaa", "p", 0), fragment("bbbb", "q", 0), fragment("cccc", "p", 0)}
	words := func(content string) int64 { return int64(len(content)) / 4 }

	tests := []struct {
		name    string
		list    []fragments.Fragment
		session string // a content that the session has
		budget  fragments.Budget
		want    []string
		err     string
	}{
		{"no limits", abc, "", fragments.Budget{},
			[]string{`prompt "aaaa" kept @p`, `prompt "bbbb" kept @q`, `prompt "cccc" kept @p`}, ""},
		{"at the limits", abc, "", fragments.Budget{MaxBytes: 12, MaxPlugin: 8, MaxTokens: 3, Count: words},
			[]string{`prompt "aaaa" kept @p`, `prompt "bbbb" kept @q`, `prompt "cccc" kept @p`}, ""},
		{"the last goes first", abc, "", fragments.Budget{MaxBytes: 11},
			[]string{`prompt "aaaa" kept @p`, `prompt "bbbb" kept @q`, `prompt "cccc" dropped (all fragments are 12 bytes, limit 11 (max_bytes)) @p`}, ""},
		{"the highest priority number goes first", []fragments.Fragment{fragment("aaaa", "p", 1), system(fragment("ss", "p", 2)), fragment("bbbb", "p", 0)}, "", fragments.Budget{MaxBytes: 8},
			[]string{`system "ss" dropped (all fragments are 10 bytes, limit 8 (max_bytes)) @p`, `prompt "bbbb" kept @p`, `prompt "aaaa" kept @p`}, ""},
		{"prompt before system among equals", []fragments.Fragment{system(fragment("ss", "p", 0)), fragment("aa", "p", 0)}, "", fragments.Budget{MaxBytes: 3},
			[]string{`system "ss" kept @p`, `prompt "aa" dropped (all fragments are 4 bytes, limit 3 (max_bytes)) @p`}, ""},
		{"a plugin pays for what it offered first", append(abc, fragment("bbbb", "p", 0)), "", fragments.Budget{MaxPlugin: 7},
			[]string{`prompt "aaaa" kept @p`, `prompt "bbbb" kept @q @p`, `prompt "cccc" dropped (fragments of plugin "p" are 8 bytes, limit 7 (max_plugin)) @p`}, ""},
		{"the plugin limit goes before the total", abc, "", fragments.Budget{MaxPlugin: 7, MaxBytes: 8},
			[]string{`prompt "aaaa" kept @p`, `prompt "bbbb" kept @q`, `prompt "cccc" dropped (fragments of plugin "p" are 8 bytes, limit 7 (max_plugin)) @p`}, ""},
		{"a pinned one stays and is charged", []fragments.Fragment{fragment("aaaa", "p", 0), pinned(fragment("bbbb", "p", 0))}, "", fragments.Budget{MaxPlugin: 4},
			[]string{`prompt "aaaa" dropped (fragments of plugin "p" are 8 bytes, limit 4 (max_plugin)) @p`, `prompt "bbbb" kept pinned @p`}, ""},
		{"pinned ones may be over the plugin limit", []fragments.Fragment{pinned(fragment("bbbb", "p", 0))}, "", fragments.Budget{MaxPlugin: 3},
			[]string{`prompt "bbbb" kept pinned @p`}, ""},
		{"what the user offers is charged to no plugin", []fragments.Fragment{fragment("aaaa", "", 0), fragment("bbbb", "", 0)}, "", fragments.Budget{MaxPlugin: 3},
			[]string{`prompt "aaaa" kept`, `prompt "bbbb" kept`}, ""},
		{"tokens", abc, "", fragments.Budget{MaxTokens: 1, Count: words},
			[]string{`prompt "aaaa" kept @p`, `prompt "bbbb" dropped (all fragments are 3 tokens, limit 1 (max_tokens)) @q`, `prompt "cccc" dropped (all fragments are 3 tokens, limit 1 (max_tokens)) @p`}, ""},
		{"tokens need a count", abc[:1], "", fragments.Budget{MaxTokens: 1},
			[]string{`prompt "aaaa" kept @p`}, ""},
		{"what was sent is not counted", []fragments.Fragment{pinned(abc[0]), abc[1], abc[2]}, "aaaa", fragments.Budget{MaxBytes: 7, MaxPlugin: 4},
			[]string{`prompt "aaaa" in_session pinned (in an earlier message) @p`, `prompt "bbbb" kept @q`, `prompt "cccc" dropped (all fragments are 8 bytes, limit 7 (max_bytes)) @p`}, ""},
		{"pinned ones over the total", []fragments.Fragment{pinned(abc[0]), abc[1], pinned(abc[2])}, "", fragments.Budget{MaxBytes: 7, MaxPlugin: 2},
			[]string{`prompt "aaaa" kept pinned @p`, `prompt "bbbb" kept @q`, `prompt "cccc" kept pinned @p`},
			"the fragments that were asked for are 8 bytes, limit 7 (max_bytes)"},
		{"pinned ones over the tokens", []fragments.Fragment{pinned(abc[0]), pinned(abc[2])}, "", fragments.Budget{MaxTokens: 1, Count: words},
			[]string{`prompt "aaaa" kept pinned @p`, `prompt "cccc" kept pinned @p`},
			"the fragments that were asked for are 2 tokens, limit 1 (max_tokens)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := fragments.Merge(tt.list)
			set.InSession(func(id fragments.Hash) bool { return tt.session != "" && id == fragments.Sum(tt.session) })
			for range 2 { // a second call changes nothing
				err := set.Fit(tt.budget)
				if diff := cmp.Diff(tt.err, message(err)); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.want, lines(set)); diff != "" {
					t.Errorf("Fit (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestOverflowError(t *testing.T) {
	err := fragments.Merge([]fragments.Fragment{{Content: "aaaa", Pinned: true}}).Fit(fragments.Budget{MaxBytes: 3})
	var got *fragments.OverflowError
	if !errors.As(err, &got) {
		t.Fatalf("Fit: got %v, want an OverflowError", err)
	}
	if diff := cmp.Diff(&fragments.OverflowError{Limit: "max_bytes", Need: 4, Max: 3}, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestFitAttachments(t *testing.T) {
	small := fragments.Attachment{Content: "12", Name: "small.png", Width: 2, Height: 2}
	large := fragments.Attachment{Content: "123", Name: "a\n\"b\".png", Pinned: true}
	wide := fragments.Attachment{Content: "w", Source: "wide.png", Width: 3, Height: 2}
	huge := fragments.Attachment{Content: "h", Width: math.MaxInt, Height: math.MaxInt}
	url := fragments.Attachment{URL: "http://x"}
	all := []fragments.Attachment{small, large, wide, huge, url}

	tests := []struct {
		name    string
		session string // a content that the session has
		budget  fragments.Budget
		want    []string
		notes   []string
	}{
		{"no limits", "", fragments.Budget{},
			[]string{`"12" kept`, `"123" kept pinned`, `"w" kept wide.png@`, `"h" kept`, `"http://x" kept`}, nil},
		{"bytes", "", fragments.Budget{MaxAttachment: 2},
			[]string{`"12" kept`, `"123" dropped pinned (3 bytes, limit 2 (max_attachment))`, `"w" kept wide.png@`, `"h" kept`, `"http://x" kept`},
			[]string{`[attachment "a\n\"b\".png" left out: 3 bytes, limit 2 (max_attachment)]`}},
		{"pixels", "", fragments.Budget{MaxPixels: 5},
			[]string{`"12" kept`, `"123" kept pinned`, `"w" dropped (3x2 pixels, limit 5 (max_pixels)) wide.png@`, `"h" dropped (9223372036854775807x9223372036854775807 pixels, limit 5 (max_pixels))`, `"http://x" kept`},
			[]string{`[attachment "wide.png" left out: 3x2 pixels, limit 5 (max_pixels)]`, `[attachment "aaa9402664f1" left out: 9223372036854775807x9223372036854775807 pixels, limit 5 (max_pixels)]`}},
		{"pixels at the limit", "", fragments.Budget{MaxPixels: 6, MaxAttachments: 3},
			[]string{`"12" kept`, `"123" kept pinned`, `"w" kept wide.png@`, `"h" dropped (9223372036854775807x9223372036854775807 pixels, limit 6 (max_pixels))`, `"http://x" dropped (more than 3 attachments (max_attachments))`},
			[]string{`[attachment "aaa9402664f1" left out: 9223372036854775807x9223372036854775807 pixels, limit 6 (max_pixels)]`, `[attachment "http://x" left out: more than 3 attachments (max_attachments)]`}},
		{"what was sent is not counted", "12", fragments.Budget{MaxAttachments: 4},
			[]string{`"12" in_session (in an earlier message)`, `"123" kept pinned`, `"w" kept wide.png@`, `"h" kept`, `"http://x" kept`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := fragments.Merge()
			set.Attach(all)
			set.InSession(func(id fragments.Hash) bool { return id == fragments.Sum(tt.session) })
			if err := set.Fit(tt.budget); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.want, attachmentLines(set)); diff != "" {
				t.Errorf("Fit (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, set.Notes()); diff != "" {
				t.Errorf("Notes (-want +got):\n%s", diff)
			}
		})
	}
}

// The content of a turn's earlier prompts counts for the later ones.
func TestFitSpent(t *testing.T) {
	spent := new(fragments.Spent)
	budget := fragments.Budget{
		MaxBytes: 10, MaxPlugin: 6, MaxTokens: 3, MaxAttachments: 2,
		Count: func(s string) int64 { return int64(len(s)) / 4 }, Spent: spent,
	}
	fit := func(attachment string, list ...fragments.Fragment) []string {
		t.Helper()
		set := fragments.Merge(list)
		if attachment != "" {
			set.Attach([]fragments.Attachment{{Content: attachment, Name: attachment}})
		}
		if err := set.Fit(budget); err != nil {
			return []string{err.Error()}
		}
		return append(lines(set), set.Notes()...)
	}
	steps := []struct {
		name string
		got  []string
		want []string
	}{
		{"first", fit("one", fragments.Fragment{Content: "aaaa", Plugin: "p"}), []string{`prompt "aaaa" kept @p`}},
		{"a plugin's own limit", fit("two", fragments.Fragment{Content: "bbb", Plugin: "p"}, fragments.Fragment{Content: "ccc", Plugin: "q"}),
			[]string{`prompt "bbb" dropped (fragments of plugin "p" are 7 bytes, limit 6 (max_plugin)) @p`, `prompt "ccc" kept @q`}},
		{"all together", fit("three", fragments.Fragment{Content: "dddd", Plugin: "r"}),
			[]string{`prompt "dddd" dropped (all fragments are 11 bytes, limit 10 (max_bytes)) @r`, `[attachment "three" left out: more than 2 attachments (max_attachments)]`}},
		{"pinned ones", fit("", fragments.Fragment{Content: "eeee", Pinned: true}),
			[]string{"the fragments that were asked for are 11 bytes, limit 10 (max_bytes)"}},
		{"what was dropped is not counted", fit("", fragments.Fragment{Content: "fff", Plugin: "q"}),
			[]string{`prompt "fff" kept @q`}},
	}
	for _, s := range steps {
		if diff := cmp.Diff(s.want, s.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
	}
}
