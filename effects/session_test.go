package effects_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// inTurn runs f in a hook of a plugin in the first turn of a session.
func inTurn(t testing.TB, c host.SessionConfig, plugin string, f func(*host.Turn, *host.Lane)) {
	t.Helper()
	h := host.New(host.Options{})
	hook := starhost.Hook{Event: "turn_start", Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		turn := host.TurnOf(ctx)
		f(turn, host.LaneOf(ctx))
		return starhost.Decision{}, nil
	}}
	if err := h.Add(starhost.Plugin{Name: plugin, Hooks: []starhost.Hook{hook}}); err != nil {
		t.Fatal(err)
	}
	p, err := h.NewSession(c).Prompt(context.Background(), host.Request{Text: "hi"})
	if err != nil || len(p.Errors) > 0 {
		t.Fatal(err, p.Errors)
	}
}

// draws returns the random numbers that a handler of the plugin draws.
func draws(t *testing.T, c host.SessionConfig, plugin string) []string {
	var got []string
	inTurn(t, c, plugin, func(turn *host.Turn, l *host.Lane) {
		for range 3 {
			n, err := effects.RandomInt(turn, l, 1_000_000)
			if err != nil {
				t.Error(err)
			}
			got = append(got, fmt.Sprint(n), effects.UUID(turn, l))
		}
	})
	return got
}

// TestDraw checks that the drawn numbers are the same in each version, because the bytes of sessions depend
// on them.
func TestDraw(t *testing.T) {
	base := host.SessionConfig{ID: "s", Seed: 1}
	want := []string{
		"830140", "911bdc03-e3f9-4afd-a087-87652001a364",
		"15915", "e2d6d033-e09e-4b92-9c5d-294cccfe5186",
		"956731", "b51ba582-67c3-49fc-9e03-885e9dc2b93c",
	}
	got := draws(t, base, "p")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("draws (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, draws(t, base, "p")); diff != "" {
		t.Errorf("drawn again (-first +second):\n%s", diff)
	}
	for name, other := range map[string][]string{
		"seed":    draws(t, host.SessionConfig{ID: "s", Seed: 2}, "p"),
		"session": draws(t, host.SessionConfig{ID: "s2", Seed: 1}, "p"),
		"plugin":  draws(t, base, "q"),
	} {
		for i := range got {
			if got[i] == other[i] {
				t.Errorf("another %s: draw %d is the same: %s", name, i, got[i])
			}
		}
	}
}

func TestRandomInt(t *testing.T) {
	inTurn(t, host.SessionConfig{}, "p", func(turn *host.Turn, l *host.Lane) {
		for _, n := range []int64{0, -1} {
			if _, err := effects.RandomInt(turn, l, n); message(err) != fmt.Sprintf("random: got n = %d, want 1 or more", n) || code(err) != "E0508" {
				t.Errorf("RandomInt(%d): got %v", n, err)
			}
		}
		if got, err := effects.RandomInt(turn, l, 1); got != 0 || err != nil {
			t.Errorf("RandomInt(1): got %d, %v, want 0", got, err)
		}
		seen := map[int64]int{}
		for range 600 {
			n, err := effects.RandomInt(turn, l, 6)
			if err != nil || n < 0 || n > 5 {
				t.Fatalf("RandomInt(6): got %d, %v", n, err)
			}
			seen[n]++
		}
		for n := range int64(6) {
			if seen[n] < 60 {
				t.Errorf("RandomInt(6): got %d only %d times of 600", n, seen[n])
			}
		}
		for range 100 {
			if n, err := effects.RandomInt(turn, l, 1<<62+1); err != nil || n < 0 || n > 1<<62 {
				t.Fatalf("RandomInt: got %d, %v", n, err)
			}
		}
	})
}

func TestState(t *testing.T) {
	s := host.New(host.Options{}).NewSession(host.SessionConfig{})
	p := effects.StateOf(s, "p")
	if _, ok := p.Get("a"); ok || len(p.Keys()) != 0 || p.Delete("a") {
		t.Error("a new state: got something, want nothing")
	}
	value := json.RawMessage(`{"n":1}`)
	for _, key := range []string{"b", "a", "c", "a"} {
		if err := p.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	value[2] = 'x' // the state has a copy
	if got, ok := effects.StateOf(s, "p").Get("a"); string(got) != `{"n":1}` || !ok {
		t.Errorf("Get: got %s, %v", got, ok)
	}
	if !p.Delete("b") || p.Delete("b") {
		t.Error("Delete: want true, then false")
	}
	if diff := cmp.Diff([]string{"a", "c"}, p.Keys()); diff != "" {
		t.Errorf("Keys (-want +got):\n%s", diff)
	}
	if _, ok := effects.StateOf(s, "q").Get("a"); ok {
		t.Error("Get: got another plugin's value")
	}
}

func TestStateLimit(t *testing.T) {
	s := host.New(host.Options{}).NewSession(host.SessionConfig{})
	p := effects.StateOf(s, "p")
	most := json.RawMessage(`"` + strings.Repeat("x", effects.MaxState-3) + `"`) // with a key of one byte
	for range 2 {
		if err := p.Set("k", most); err != nil {
			t.Fatal(err)
		}
	}
	err := p.Set("l", json.RawMessage(`1`))
	if message(err) != `state: got 1048578 bytes of keys and values with key "l", want at most 1048576 in a session` || code(err) != "E0506" {
		t.Errorf("Set: got %v", err)
	}
	if err := p.Set(strings.Repeat("k", 2000), nil); !strings.Contains(message(err), strings.Repeat("k", 64)+`…"`) {
		t.Errorf("Set: got %v, want the key cut", err)
	}
	p.Delete("k")
	if err := p.Set("l", json.RawMessage(`1`)); err != nil {
		t.Errorf("Set after Delete: got %v", err)
	}
}

// TestStateSize checks that the limit counts the current values, not those that were there before.
func TestStateSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := effects.StateOf(host.New(host.Options{}).NewSession(host.SessionConfig{}), "p")
		model, size := map[string]int{}, 0
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "bb", "ccc"}).Draw(t, "key")
			n := rapid.IntRange(0, effects.MaxState/2).Draw(t, "bytes")
			if rapid.Bool().Draw(t, "delete") {
				p.Delete(key)
				size -= model[key]
				delete(model, key)
				continue
			}
			fits := size-model[key]+len(key)+n <= effects.MaxState
			if err := p.Set(key, make(json.RawMessage, n)); (err == nil) != fits {
				t.Fatalf("Set: got %v, want fits = %v", err, fits)
			}
			if fits {
				size += len(key) + n - model[key]
				model[key] = len(key) + n
			}
		}
	})
}

func TestStateConcurrent(t *testing.T) {
	s := host.New(host.Options{}).NewSession(host.SessionConfig{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			p := effects.StateOf(s, "p")
			if err := p.Set(fmt.Sprint(i), json.RawMessage(`1`)); err != nil {
				t.Error(err)
			}
			p.Get("1")
			p.Delete(fmt.Sprint(i + 100))
		})
	}
	wg.Wait()
	if got := effects.StateOf(s, "p").Keys(); len(got) != 8 {
		t.Errorf("Keys: got %q, want 8", got)
	}
}

// load resolves references with only the host's plugin, and returns a line for each fragment
// and attachment.
func load(t *testing.T, o effects.RefOptions, refs ...string) ([]string, error) {
	t.Helper()
	h := host.New(host.Options{Fragments: o.Store})
	if err := h.Add(effects.HostPlugin(o)); err != nil {
		t.Fatal(err)
	}
	turn, err := h.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	all, err := turn.Load(t.Context(), refs)
	var lines []string
	for _, c := range all {
		for _, f := range c.Fragments {
			lines = append(lines, f.Source+" = "+f.Content)
		}
		for _, a := range c.Attachments {
			lines = append(lines, fmt.Sprintf("%s = %s %s %d B", a.Source, a.Name, a.Type, a.Bytes()))
		}
	}
	return lines, err
}

var refTree = map[string]string{
	"docs/b.md": "B", "docs/a.md": "A", "docs/a-2.md": "A2", "docs/a/x.md": "X", "docs/.git/config": "no", "docs/.env": "no",
	"docs/pixel.gif": pixelGIF, "docs/latin1.txt": "caf\xe9", "top.md": "T", "c:x": "letter",
}

func TestReferences(t *testing.T) {
	docs := []string{
		"docs/a-2.md = A2", "docs/a.md = A", "docs/a/x.md = X", "docs/b.md = B",
		"docs/latin1.txt = latin1.txt text/plain 4 B", "docs/pixel.gif = pixel.gif image/gif 35 B",
	}
	tests := []struct {
		name string
		refs []string
		want []string
	}{
		{"a file", []string{"top.md"}, []string{"top.md = T"}},
		{"a file by prefix", []string{"file:./top.md"}, []string{"top.md = T"}},
		{"a folder", []string{"docs"}, docs},
		{"a folder by prefix", []string{"file:./docs/"}, docs},
		{"upwards", []string{"docs/../top.md"}, []string{"top.md = T"}},
		{"a binary file", []string{"docs/pixel.gif"}, []string{"docs/pixel.gif = pixel.gif image/gif 35 B"}},
		{"a hidden file that is spelled", []string{"docs/.env"}, []string{"docs/.env = no"}},
		{"a single letter is no prefix", []string{"c:x"}, []string{"c:x = letter"}},
		{"standard input", []string{"-", "top.md", "-"}, []string{"- = piped", "top.md = T", "- = piped"}},
	}
	dir := folder(t, refTree)
	link(t, filepath.Join(folder(t, map[string]string{"secret": "S"}), "secret"), filepath.Join(dir, "docs", "out.md"))
	for name, o := range map[string]effects.RefOptions{"folder": {Dir: dir}, "memory": {FS: memory(t, refTree)}, "memory below": {Dir: "x", FS: below(memory(t, nil), t)}} {
		for _, tt := range tests {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				o.Stdin = strings.NewReader("piped")
				got, err := load(t, o, tt.refs...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("Load (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// below returns a file system that has all files of m in the folder x.
func below(m afero.Fs, t *testing.T) afero.Fs {
	for name, content := range refTree {
		if err := afero.WriteFile(m, "x/"+name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestAbsoluteReference(t *testing.T) {
	place := filepath.Join(folder(t, refTree), "top.md")
	got, err := load(t, effects.RefOptions{Dir: t.TempDir()}, place)
	if diff := cmp.Diff([]string{place + " = T"}, got); diff != "" || err != nil {
		t.Errorf("Load (-want +got), %v:\n%s", err, diff)
	}
}

func TestReferenceErrors(t *testing.T) {
	dir := folder(t, map[string]string{"runbooks/checkout.md": "C", "big/1": "12345", "empty/.hidden": ""})
	tests := []struct{ ref, want string }{
		{"file:runbooks/chekout.md", `file "runbooks/chekout.md": no such file or folder (did you mean runbooks/checkout.md?)`},
		{"file:runbook", `file "runbook": no such file or folder (did you mean runbooks?)`},
		{"file:nothing-like-it", `file "nothing-like-it": no such file or folder`},
		{"file:no/such/folder.md", `file "no/such/folder.md": no such file or folder`},
		{"file:", `path: got none, want one as file:notes.md`},
		{"file:a\x00b", `file "a\x00b": invalid argument`},
		{"filee:x", `unknown fragment reference "filee:x" (did you mean file:x?)`},
		{"runbooks/chekout.md", `unknown fragment reference "runbooks/chekout.md": no loader has its prefix, and no alias or file its name; prefixes: file:`},
		{"", `unknown fragment reference "": no loader has its prefix, and no alias or file its name; prefixes: file:`},
		{"a\x00b", `unknown fragment reference "a\x00b": no loader has its prefix, and no alias or file its name; prefixes: file:`},
		{"runbooks/checkout.md/x", `unknown fragment reference "runbooks/checkout.md/x": no loader has its prefix, and no alias or file its name; prefixes: file:`},
		{"big/1", `file "big/1": got 5 bytes, want at most 4`},
		{"big", `file "big/1": got 5 bytes, want at most 4`},
		{"-", `reference -: there is no standard input here`},
		{"empty", ``},
	}
	for _, tt := range tests {
		t.Run(tt.ref, func(t *testing.T) {
			_, err := load(t, effects.RefOptions{Dir: dir, MaxRead: 4}, tt.ref)
			if diff := cmp.Diff(tt.want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReferencesOfHandlers checks that a handler may not use references that the user may type.
func TestReferencesOfHandlers(t *testing.T) {
	o := effects.RefOptions{FS: memory(t, refTree), Stdin: strings.NewReader("piped"), World: &effects.World{HTTP: network("")}}
	refused := 0
	play(t, host.Options{}, o, []string{"run:x", "top.md"}, nil, func(ctx context.Context, turn *host.Turn) {
		for _, ref := range []string{"top.md", "file:top.md", "-", "https://a.test/", "http://127.0.0.1/"} {
			_, err := turn.Load(ctx, []string{ref})
			want := fmt.Sprintf("reference %q: got it from a handler, want it typed by the user", ref)
			if message(err) != want {
				t.Errorf("Load: got %v, want %s", err, want)
			}
			refused++
		}
	})
	if refused != 5 {
		t.Errorf("got %d refusals, want 5", refused)
	}
}

func TestStdinErrors(t *testing.T) {
	for want, stdin := range map[string]io.Reader{
		`file "-": got more than 4 bytes`: strings.NewReader("12345"),
		`file "-": timeout`:               iotest.ErrReader(iotest.ErrTimeout),
	} {
		if _, err := load(t, effects.RefOptions{Stdin: stdin, MaxRead: 4}, "-"); message(err) != want {
			t.Errorf("Load: got %v, want %s", err, want)
		}
	}
}

func TestFolderLimits(t *testing.T) {
	m := afero.NewMemMapFs()
	chunk := []byte(strings.Repeat("x", 4<<20))
	for i := range 17 {
		if err := afero.WriteFile(m, fmt.Sprintf("big/%02d", i), chunk, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10_001 {
		if err := afero.WriteFile(m, fmt.Sprintf("many/%d", i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]string{
		"big":  `file "big": got more than 67108864 bytes in all files of the folder`,
		"many": `file "many": more than 10000 files match, want a narrower path or pattern`,
	} {
		if _, err := load(t, effects.RefOptions{FS: m}, ref); message(err) != want {
			t.Errorf("Load(%q): got %v, want %s", ref, err, want)
		}
	}
}
