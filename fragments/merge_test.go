package fragments_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/fragments"
)

// line describes a row: target, content, status, reason and provenance.
func line(row *fragments.Row) string {
	pinned := ""
	if row.Pinned {
		pinned = " pinned"
	}
	return fmt.Sprintf("%s %q %s", row.Target, row.Content, row.Status) + pinned + state(row.Reason, row.Provenance())
}

func attachmentLine(row *fragments.AttachmentRow) string {
	pinned := ""
	if row.Pinned {
		pinned = " pinned"
	}
	return fmt.Sprintf("%q %s", row.Content+row.URL, row.Status) + pinned + state(row.Reason, row.Provenance())
}

func state(reason string, provenance []fragments.Origin) string {
	if reason != "" {
		reason = " (" + reason + ")"
	}
	for _, origin := range provenance {
		reason += " " + origin.Source + "@" + origin.Plugin
	}
	return reason
}

func lines(set *fragments.Set) []string {
	var list []string
	for _, row := range set.Rows() {
		list = append(list, line(row))
	}
	return list
}

func attachmentLines(set *fragments.Set) []string {
	var list []string
	for _, row := range set.Attachments() {
		list = append(list, attachmentLine(row))
	}
	return list
}

func TestMerge(t *testing.T) {
	one := fragments.Fragment{Content: "a", Source: "one.md", Plugin: "one"}
	two := fragments.Fragment{Content: "a", Source: "two.md", Plugin: "two"}
	three := fragments.Fragment{Content: "a", Source: "three.md", Plugin: "two"}
	system := fragments.Fragment{Content: "a", Source: "sys.md", Plugin: "one", Target: fragments.System}
	early := fragments.Fragment{Content: "e", Plugin: "two", Priority: -1}
	late := fragments.Fragment{Content: "l", Plugin: "two", Priority: 1}
	lateSystem := fragments.Fragment{Content: "ls", Plugin: "two", Priority: 9, Target: fragments.System}
	first := fragments.Fragment{Content: "a", Source: "first.md", Plugin: "one", Priority: -5}
	typed := fragments.Fragment{Content: "a", Source: "a", Pinned: true}
	nameless := fragments.Fragment{Content: "a"}

	type lists = [][]fragments.Fragment
	tests := []struct {
		name  string
		lists lists
		want  []string
		saved int64
	}{
		{"nothing", nil, nil, 0},
		{"empty lists", lists{{}, nil}, nil, 0},
		{"gathering order", lists{{late}, {one}, {early}}, []string{`prompt "e" kept @two`, `prompt "a" kept one.md@one`, `prompt "l" kept @two`}, 0},
		{"system comes first", lists{{one, lateSystem, system}}, []string{`system "a" kept sys.md@one`, `system "ls" kept @two`, `prompt "a" kept one.md@one`}, 0},
		{"same content keeps its first place and both sources", lists{{one}, {two}}, []string{`prompt "a" kept one.md@one two.md@two`}, 1},
		{"the same origin again", lists{{one, two, three}, {two, one, three, one}}, []string{`prompt "a" kept one.md@one two.md@two three.md@two`}, 6},
		{"the first offer is the one with the lowest priority", lists{{one, early}, {first}}, []string{`prompt "a" kept first.md@one one.md@one`, `prompt "e" kept @two`}, 1},
		{"a repeat pins the row", lists{{one}, {typed}}, []string{`prompt "a" kept pinned one.md@one a@`}, 1},
		{"a repeat does not unpin the row", lists{{typed}, {one}}, []string{`prompt "a" kept pinned a@ one.md@one`}, 1},
		{"pinned for one target", lists{{system, typed}}, []string{`system "a" kept sys.md@one`, `prompt "a" kept pinned a@`}, 0},
		{"who names nothing adds no origin", lists{{nameless}, {one}, {nameless}}, []string{`prompt "a" kept one.md@one`}, 2},
		{"empty content is content", lists{{{}, {Source: "x"}}}, []string{`prompt "" kept x@`}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := fragments.Merge(tt.lists...)
			if diff := cmp.Diff(tt.want, lines(set)); diff != "" {
				t.Errorf("Merge (-want +got):\n%s", diff)
			}
			if got := set.SavedBytes(); got != tt.saved {
				t.Errorf("SavedBytes: got %d, want %d", got, tt.saved)
			}
			given := 0
			for _, list := range tt.lists {
				given += len(list)
			}
			if got := set.Offers(); got != given {
				t.Errorf("Given: got %d, want %d", got, given)
			}
			for _, row := range set.Rows() {
				rendered := row.Offset != -1 || row.Place != 0
				if row.ID != fragments.Sum(row.Content) || row.Provenance() == nil || rendered {
					t.Errorf("row before rendering: got %+v", row)
				}
			}
		})
	}
}

// A row has the fields of its first offer, and the offers do not change.
func TestMergeKeepsOffers(t *testing.T) {
	want := fragments.Fragment{Content: "a", Source: "s", Title: "t", Plugin: "p", Pos: "p.star:1:2", Priority: 3}
	list := []fragments.Fragment{want, {Content: "a", Title: "other", Pinned: true, Priority: 4}}
	row := fragments.Merge(list).Rows()[0]
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Errorf("offer after Merge (-want +got):\n%s", diff)
	}
	want.Pinned = true
	if diff := cmp.Diff(want, row.Offer()); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

// Appending to the provenance of a row does not change that of the next row.
func TestProvenanceIsNotShared(t *testing.T) {
	set := fragments.Merge([]fragments.Fragment{
		{Content: "a", Source: "a1"}, {Content: "b", Source: "b1"}, {Content: "a", Source: "a2"}, {Content: "b", Source: "b2"},
	})
	want := []string{`prompt "a" kept a1@ a2@`, `prompt "b" kept b1@ b2@`}
	if diff := cmp.Diff(want, lines(set)); diff != "" {
		t.Errorf("Merge (-want +got):\n%s", diff)
	}
}

func TestAttach(t *testing.T) {
	png := fragments.Attachment{Content: "png", Name: "a.png", Source: "a.png", Plugin: "one"}
	again := fragments.Attachment{Content: "png", Name: "b.png", Source: "b.png", Plugin: "two"}
	typed := fragments.Attachment{Content: "png", Name: "b.png", Pinned: true}
	url := fragments.Attachment{URL: "http://x", Source: "u", Plugin: "one"}
	other := fragments.Attachment{URL: "http://y", Source: "u", Plugin: "one"}
	empty := fragments.Attachment{Source: "empty"}

	type lists = [][]fragments.Attachment
	tests := []struct {
		name  string
		calls []lists
		want  []string
	}{
		{"nothing", []lists{nil}, nil},
		{"gathering order", []lists{{{url}, {png, other}}}, []string{`"http://x" kept u@one`, `"png" kept a.png@one`, `"http://y" kept u@one`}},
		{"the same bytes", []lists{{{png, again}, {again, png}}}, []string{`"png" kept a.png@one b.png@two`}},
		{"the same bytes in a later call", []lists{{{png, again}}, {{again, url, url}}}, []string{`"png" kept a.png@one b.png@two`, `"http://x" kept u@one`}},
		{"a repeat pins", []lists{{{png}, {typed}}}, []string{`"png" kept pinned a.png@one`}},
		{"no bytes and no url are different", []lists{{{empty, url, empty}}}, []string{`"" kept empty@`, `"http://x" kept u@one`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := fragments.Merge()
			for _, lists := range tt.calls {
				set.Attach(lists...)
			}
			if diff := cmp.Diff(tt.want, attachmentLines(set)); diff != "" {
				t.Errorf("Attach (-want +got):\n%s", diff)
			}
			for _, row := range set.Attachments() {
				if row.ID != row.Attachment.ID() || row.Provenance() == nil {
					t.Errorf("row: got id %s and provenance %v, want id %s and no nil", row.ID, row.Provenance(), row.Attachment.ID())
				}
			}
		})
	}
}

func TestInSession(t *testing.T) {
	set := fragments.Merge([]fragments.Fragment{
		{Content: "old", Source: "1"}, {Content: "new"}, {Content: "old", Source: "2"}, {Content: "old", Target: fragments.System},
	})
	set.Attach([]fragments.Attachment{{Content: "old"}, {Content: "new"}})
	has := func(id fragments.Hash) bool { return id == fragments.Sum("old") }
	set.InSession(has)
	set.InSession(has) // changes nothing

	want := []string{`system "old" kept`, `prompt "old" in_session (in an earlier message) 1@ 2@`, `prompt "new" kept`}
	if diff := cmp.Diff(want, lines(set)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	want = []string{`"old" in_session (in an earlier message)`, `"new" kept`}
	if diff := cmp.Diff(want, attachmentLines(set)); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
	if got := set.SavedBytes(); got != 6 {
		t.Errorf("SavedBytes: got %d, want 6: the repeat and what the session has", got)
	}
	if got := set.CountSent(fragments.Prompt); got != 1 {
		t.Errorf("Kept(Prompt): got %d, want 1", got)
	}
	if got := set.CountSent(fragments.System); got != 1 {
		t.Errorf("Kept(System): got %d, want 1", got)
	}
	wantKept := []fragments.Fragment{{Content: "old", Target: fragments.System}, {Content: "new"}}
	if diff := cmp.Diff(wantKept, set.Fragments()); diff != "" {
		t.Errorf("Fragments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("new", set.Text()); diff != "" {
		t.Errorf("Text (-want +got):\n%s", diff)
	}
}

// A set can begin with attachments.
func TestZeroSet(t *testing.T) {
	var set fragments.Set
	set.Attach([]fragments.Attachment{{Content: "a"}})
	if err := set.Fit(fragments.DefaultBudget()); err != nil {
		t.Error(err)
	}
	if system, prompt := render(&set, fragments.XML, 0); system != "" || prompt != "" {
		t.Errorf("Render: got %q, %q, want nothing", system, prompt)
	}
	if diff := cmp.Diff([]string{`"a" kept`}, attachmentLines(&set)); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
}

// Ten thousand offers of one content from different sources are merged in linear time, and
// every origin occurs once.
func TestManyOrigins(t *testing.T) {
	const n = 10_000
	list := make([]fragments.Fragment, 2*n)
	for i := range list {
		list[i] = fragments.Fragment{Content: "same", Source: strconv.Itoa(i % n)}
	}
	if got := len(fragments.Merge(list).Rows()[0].Provenance()); got != n {
		t.Errorf("provenance: got %d origins, want %d", got, n)
	}
}

// BenchmarkMerge merges many small fragments, half of them repeats.
func BenchmarkMerge(b *testing.B) {
	list := make([]fragments.Fragment, 1000)
	for i := range list {
		list[i].Content = strconv.Itoa(i % 500) // each fragment appears twice
	}
	b.ReportAllocs()
	for b.Loop() {
		fragments.Merge(list)
	}
}

// BenchmarkMergeBytes merges and renders the fragments of a prompt of ten plugins: 50 fragments
// of 4 KiB, 40 of them unique. Its base is hashing the unique bytes.
func BenchmarkMergeBytes(b *testing.B) {
	const size, unique = 4 << 10, 40
	list := make([]fragments.Fragment, 50)
	for i := range list {
		list[i].Content = strings.Repeat(string(rune('A'+i%unique)), size)
	}
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size * unique)
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
	run("base", func() {
		for _, f := range list[:unique] {
			fragments.Sum(f.Content)
		}
	})
	run("merge", func() { fragments.Merge(list) })
	run("merge and render", func() { fragments.Merge(list).Render(fragments.XML, 0) })
}

// A row has each of its origins once, in order, also if it has many.
func TestOriginsInOrder(t *testing.T) {
	var list []fragments.Fragment
	var want []fragments.Origin
	for i := range 60 {
		o := fragments.Origin{Source: fmt.Sprint(i % 20), Plugin: "p"}
		list = append(list, fragments.Fragment{Content: "same", Source: o.Source, Plugin: o.Plugin})
		if i < 20 {
			want = append(want, o)
		}
	}
	if diff := cmp.Diff(want, fragments.Merge(list).Rows()[0].Provenance()); diff != "" {
		t.Errorf("provenance (-want +got):\n%s", diff)
	}
}
