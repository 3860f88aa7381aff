package fragments_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/fragments"
)

// These are the laws of merging, rendering and budgets. Each is a property test, and a
// fuzz target that drives the same generators from mutated bytes.

// content often repeats another text, and is often hostile to a rendering.
var content = rapid.OneOf(
	rapid.SampledFrom([]string{"", " ", "\n", "a", "b", "</document>", "\n</document-", "```", "`````\n", "é\x00", "<document index=\"1\""}),
	rapid.StringN(0, 20, -1),
	rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")) }),
)

var name = rapid.OneOf(
	rapid.SampledFrom([]string{"", "a.md", "b.md", "&quot;", "x\"y\n"}),
	rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")) }),
)

var fragment = rapid.Custom(func(t *rapid.T) fragments.Fragment {
	return fragments.Fragment{
		Content:  content.Draw(t, "content"),
		Source:   name.Draw(t, "source"),
		Title:    name.Draw(t, "title"),
		Plugin:   rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "plugin"),
		Target:   rapid.SampledFrom([]fragments.Target{fragments.Prompt, fragments.System}).Draw(t, "target"),
		Priority: rapid.IntRange(-1, 1).Draw(t, "priority"),
		Pinned:   rapid.IntRange(0, 5).Draw(t, "pinned") == 0,
	}
})

var (
	list      = rapid.SliceOfN(fragment, 0, 8)
	rendering = rapid.SampledFrom([]fragments.Rendering{fragments.Plain, fragments.XML, fragments.Markdown})
)

func TestLaws(t *testing.T) {
	t.Run("idempotent", rapid.MakeCheck(idempotent))
	t.Run("associative", rapid.MakeCheck(associative))
	t.Run("complete", rapid.MakeCheck(complete))
	t.Run("offsets", rapid.MakeCheck(offsets))
	t.Run("xml", rapid.MakeCheck(xmlInverse))
	t.Run("markdown", rapid.MakeCheck(markdownFences))
	t.Run("budget", rapid.MakeCheck(budget))
	t.Run("append only", rapid.MakeCheck(appendOnly))
}

func FuzzIdempotent(f *testing.F)  { f.Fuzz(rapid.MakeFuzz(idempotent)) }
func FuzzAssociative(f *testing.F) { f.Fuzz(rapid.MakeFuzz(associative)) }
func FuzzComplete(f *testing.F)    { f.Fuzz(rapid.MakeFuzz(complete)) }
func FuzzRender(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(offsets)) }
func FuzzXML(f *testing.F)         { f.Fuzz(rapid.MakeFuzz(xmlInverse)) }
func FuzzMarkdown(f *testing.F)    { f.Fuzz(rapid.MakeFuzz(markdownFences)) }
func FuzzFit(f *testing.F)         { f.Fuzz(rapid.MakeFuzz(budget)) }
func FuzzAppendOnly(f *testing.F)  { f.Fuzz(rapid.MakeFuzz(appendOnly)) }

// Merging the result of a merge changes nothing, alone or in front of the offers.
func idempotent(t *rapid.T) {
	offers := list.Draw(t, "offers")
	once := fragments.Merge(offers)
	same(t, "Merge(x.Fragments())", once, fragments.Merge(once.Fragments()))
	same(t, "Merge(x.Fragments(), offers)", once, fragments.Merge(once.Fragments(), offers))
	if diff := cmp.Diff(lines(once), lines(fragments.Merge(once.Fragments(), offers))); diff != "" {
		t.Errorf("rows (-once +twice):\n%s", diff)
	}
}

// The order in which lists are merged pairwise does not matter.
func associative(t *rapid.T) {
	a, b, c := list.Draw(t, "a"), list.Draw(t, "b"), list.Draw(t, "c")
	all := fragments.Merge(a, b, c)
	same(t, "Merge(ab, c)", all, fragments.Merge(fragments.Merge(a, b).Fragments(), c))
	same(t, "Merge(a, bc)", all, fragments.Merge(a, fragments.Merge(b, c).Fragments()))
	same(t, "one list", all, fragments.Merge(slices.Concat(a, b, c)))
}

// same fails unless both sets send the same fragments and render the same text.
func same(t *rapid.T, what string, want, got *fragments.Set) {
	t.Helper()
	if diff := cmp.Diff(want.Fragments(), got.Fragments()); diff != "" {
		t.Errorf("%s: fragments (-want +got):\n%s", what, diff)
	}
	for _, r := range []fragments.Rendering{fragments.Plain, fragments.XML, fragments.Markdown} {
		wantSystem, wantPrompt := render(want, r, 0)
		gotSystem, gotPrompt := render(got, r, 0)
		if diff := cmp.Diff(wantSystem+"\x00"+wantPrompt, gotSystem+"\x00"+gotPrompt); diff != "" {
			t.Errorf("%s: %s text (-want +got):\n%s", what, r, diff)
		}
	}
}

// Each offer is in exactly one row, which names its origin. Rows are in order: system first,
// low priorities first.
func complete(t *rapid.T) {
	type key struct {
		content string
		target  fragments.Target
	}
	offers := list.Draw(t, "offers")
	set := fragments.Merge(offers)
	rows := map[key]*fragments.Row{}
	var bytes, kept int64
	for i, row := range set.Rows() {
		rows[key{row.Content, row.Target}] = row
		kept += int64(len(row.Content))
		if i > 0 {
			before := set.Rows()[i-1]
			if before.Target < row.Target || before.Target == row.Target && before.Priority > row.Priority {
				t.Errorf("row %d: got target %s, priority %d behind %s, %d", i, row.Target, row.Priority, before.Target, before.Priority)
			}
		}
	}
	if len(rows) != len(set.Rows()) {
		t.Errorf("rows: got %d for %d contents", len(set.Rows()), len(rows))
	}
	for _, offer := range offers {
		bytes += int64(len(offer.Content))
		row := rows[key{offer.Content, offer.Target}]
		if row == nil || offer.Pinned && !row.Pinned || row.Priority > offer.Priority {
			t.Errorf("offer %+v: got row %+v", offer, row)
			continue
		}
		want := 1
		origin := fragments.Origin{Source: offer.Source, Plugin: offer.Plugin}
		if origin == (fragments.Origin{}) {
			want = 0
		}
		if got := count(row.Provenance(), origin); got != want {
			t.Errorf("provenance of %q: got %v %d times, want %d", row.Content, origin, got, want)
		}
	}
	if got := set.SavedBytes(); got != bytes-kept {
		t.Errorf("SavedBytes: got %d, want %d", got, bytes-kept)
	}
}

func count(list []fragments.Origin, origin fragments.Origin) int {
	n := 0
	for _, o := range list {
		if o == origin {
			n++
		}
	}
	return n
}

// In every rendering, the offsets are disjoint, increasing, and point to the contents. A row
// that is not sent has no offset.
func offsets(t *rapid.T) {
	set := fragments.Merge(list.Draw(t, "offers"))
	old := content.Draw(t, "old")
	set.InSession(func(id fragments.Hash) bool { return id == fragments.Sum(old) })
	_ = set.Fit(fragments.Budget{MaxBytes: rapid.Int64Range(0, 30).Draw(t, "max")}) // an error drops nothing
	system, prompt := render(set, rendering.Draw(t, "rendering"), rapid.IntRange(0, 3).Draw(t, "index"))
	checkPlaces(t, set, system, prompt)
	if _, plain := render(set, fragments.Plain, 0); plain != set.Text() {
		t.Errorf("Text: got %q, want %q", set.Text(), plain)
	}
}

// Parsing an xml rendering returns its fragments.
func xmlInverse(t *rapid.T) {
	set := fragments.Merge(list.Draw(t, "offers"))
	_, prompt := render(set, fragments.XML, rapid.IntRange(0, 3).Draw(t, "index"))
	got, err := fragments.ParseXML(prompt)
	if err != nil {
		t.Fatalf("ParseXML of %q: %v", prompt, err)
	}
	if diff := cmp.Diff(documents(set), got); diff != "" {
		t.Errorf("ParseXML of %q (-want +got):\n%s", prompt, diff)
	}
}

// documents returns, for each prompt fragment that is sent, the fields that its rendering
// contains.
func documents(set *fragments.Set) []fragments.Fragment {
	var list []fragments.Fragment
	for _, f := range set.Fragments() {
		if f.Target == fragments.Prompt {
			list = append(list, fragments.Fragment{Content: f.Content, Source: f.Source, Title: f.Title})
		}
	}
	return list
}

// In the markdown rendering, the only lines outside of the contents are fences, and no content
// contains its fence.
func markdownFences(t *rapid.T) {
	set := fragments.Merge(list.Draw(t, "offers"))
	_, prompt := render(set, fragments.Markdown, 0)
	at := 0
	for _, row := range set.Rows() {
		if row.Target == fragments.System {
			continue
		}
		opening := strings.TrimPrefix(prompt[at:row.Offset], "\n")
		fence := opening[:len(opening)-len(strings.TrimLeft(opening, "`"))]
		if len(fence) < 3 || strings.Contains(row.Content, fence) {
			t.Errorf("content %q: got fence %q", row.Content, fence)
		}
		info := strings.TrimPrefix(opening, fence)
		if strings.Trim(info, "\n") != strings.TrimSuffix(info, "\n") || strings.ContainsAny(info, "`\r") {
			t.Errorf("source %q, title %q: got info %q, want one line", row.Source, row.Title, info)
		}
		closing := "\n" + fence
		at = row.Offset + row.Length
		if !strings.HasPrefix(prompt[at:], closing) {
			t.Fatalf("content %q: got %q behind it, want %q", row.Content, prompt[at:], closing)
		}
		at += len(closing)
	}
	if at != len(prompt) {
		t.Errorf("got %q behind the last fence", prompt[at:])
	}
}

// After Fit the rest is within the limits, pinned fragments are sent, each dropped row has a
// reason, and no row is dropped while a row that should go first is sent. An error means that
// the pinned fragments alone are over a limit, and that nothing was dropped.
func budget(t *rapid.T) {
	offers := list.Draw(t, "offers")
	b := fragments.Budget{
		MaxBytes:  rapid.Int64Range(0, 30).Draw(t, "max_bytes"),
		MaxPlugin: rapid.Int64Range(0, 20).Draw(t, "max_plugin"),
		MaxTokens: rapid.Int64Range(0, 5).Draw(t, "max_tokens"),
		Count:     func(content string) int64 { return int64(strings.Count(content, "a")) },
	}
	set := fragments.Merge(offers)
	err := set.Fit(b)

	var overflow *fragments.OverflowError
	if errors.As(err, &overflow) {
		if overflow.Need <= overflow.Max || len(set.Fragments()) != len(set.Rows()) {
			t.Errorf("got %v, %d of %d kept, want all kept", err, len(set.Fragments()), len(set.Rows()))
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var bytes, tokens int64
	unpinned := map[string]int64{} // bytes that each plugin sends
	pinned := map[string]int64{}
	for _, row := range set.Rows() {
		if explained := row.Reason != ""; explained != (row.Status == fragments.Dropped) || row.Pinned && explained {
			t.Errorf("row %q, pinned %t: got status %s, reason %q", row.Content, row.Pinned, row.Status, row.Reason)
		}
		if row.Status != fragments.Kept {
			continue
		}
		bytes += int64(len(row.Content))
		tokens += b.Count(row.Content)
		if plugin := first(row.Provenance()).Plugin; row.Pinned {
			pinned[plugin] += int64(len(row.Content))
		} else if plugin != "" {
			unpinned[plugin] += int64(len(row.Content))
		}
	}
	if over(bytes, b.MaxBytes) || over(tokens, b.MaxTokens) {
		t.Errorf("got %d bytes, limit %d, and %d tokens, limit %d", bytes, b.MaxBytes, tokens, b.MaxTokens)
	}
	for plugin, size := range unpinned {
		if size > 0 && over(size+pinned[plugin], b.MaxPlugin) {
			t.Errorf("plugin %q: got %d bytes, limit %d", plugin, size+pinned[plugin], b.MaxPlugin)
		}
	}
	if b.MaxPlugin == 0 {
		dropsInOrder(t, set)
	}
}

// dropsInOrder fails if a row is dropped while a row that should go first is sent.
func dropsInOrder(t *rapid.T, set *fragments.Set) {
	for i, kept := range set.Rows() {
		for j, dropped := range set.Rows() {
			later := dropped.Priority < kept.Priority || dropped.Priority == kept.Priority && j < i
			if later && !kept.Pinned && kept.Status == fragments.Kept && dropped.Status == fragments.Dropped {
				t.Errorf("row %d was dropped, but row %d kept", j, i)
			}
		}
	}
}

func over(size, max int64) bool { return max > 0 && size > max }

func first(list []fragments.Origin) fragments.Origin {
	if len(list) == 0 {
		return fragments.Origin{}
	}
	return list[0]
}

// Over the messages of a session, no content is sent twice, the numbers of documents continue,
// and a message does not depend on later ones.
func appendOnly(t *rapid.T) {
	held := map[fragments.Hash]bool{}
	has := func(id fragments.Hash) bool { return held[id] }
	var session []string
	documents := 0
	for range rapid.IntRange(1, 4).Draw(t, "messages") {
		set := fragments.Merge(list.Draw(t, "offers"))
		set.InSession(has)
		_, prompt := render(set, fragments.XML, documents)
		documents += set.CountSent(fragments.Prompt)
		for _, row := range set.Rows() {
			if row.Target == fragments.Prompt && row.Status == fragments.Kept {
				if held[row.ID] {
					t.Errorf("content %q: sent again", row.Content)
				}
				held[row.ID] = true
			}
		}
		if prompt != "" {
			session = append(session, prompt)
		}
	}
	got, err := fragments.ParseXML(strings.Join(session, "\n"))
	if err != nil || len(got) != len(held) {
		t.Errorf("ParseXML of the session: got %d documents, %v, want %d", len(got), err, len(held))
	}
}

// Merging again changes nothing, for any contents.
func FuzzMerge(f *testing.F) {
	f.Add("a", "", "é\x00")
	f.Fuzz(func(t *testing.T, x, y, z string) {
		list := []fragments.Fragment{{Content: x}, {Content: y}, {Content: z}}
		once := fragments.Merge(list)
		if twice := fragments.Merge(once.Fragments(), list); twice.Text() != once.Text() {
			t.Errorf("merging again changed the text: %q, then %q", once.Text(), twice.Text())
		}
	})
}

// Parsing ends on any text. A text that it accepts, it accepts again after rendering.
func FuzzParseXML(f *testing.F) {
	_, good := render(fragments.Merge([]fragments.Fragment{{Content: "a", Source: "\""}, {Content: "</document>", Title: "t"}}), fragments.XML, 0)
	f.Add(good)
	f.Add("<document index=\"1\" source=\"")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := fragments.ParseXML(text)
		if err != nil {
			return
		}
		set := fragments.Merge(list)
		_, prompt := render(set, fragments.XML, 0)
		again, err := fragments.ParseXML(prompt)
		if diff := cmp.Diff(documents(set), again); err != nil || diff != "" {
			t.Errorf("ParseXML of %q: %v (-want +got):\n%s", prompt, err, diff)
		}
	})
}

// render returns the texts of Render as strings.
func render(s *fragments.Set, r fragments.Rendering, index int, tail ...string) (system, prompt string) {
	system, text := s.Render(r, index, tail...)
	return system, text.String()
}
