package loader

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/starlark"
)

// fill gives each field that others see a value of its own, funcs left out.
func fill(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", *next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*next) * -1_000_003)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(*next) % 251)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, next)
		fill(elem, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), next)
			}
		}
	}
}

// sameData compares what is no func and what others see.
var sameData = cmp.Options{
	cmp.AllowUnexported(registration{}),
	cmpopts.IgnoreUnexported(starhost.Tool{}, starhost.Hook{}, starhost.FragmentLoader{}, starhost.TemplateLoader{}, starhost.Command{}, starhost.Skill{}, starhost.Endpoint{}),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type().Kind() == reflect.Func }, cmp.Ignore()),
}

// TestRegistrationCode writes and reads registrations in which each field says something:
// one that is added to a type and forgotten is told.
func TestRegistrationCode(t *testing.T) {
	var want, got registration
	next := 0
	for _, list := range []any{
		&want.plugin.Tools, &want.plugin.Hooks, &want.plugin.FragmentLoaders, &want.plugin.TemplateLoaders,
		&want.plugin.Commands, &want.plugin.Skills, &want.plugin.Endpoints,
	} {
		fill(reflect.ValueOf(list).Elem(), &next)
	}
	want.usage.Steps, want.usage.Bytes = 1<<63, 7
	c := coder{reading: true, in: want.encode()}
	got.code(&c)
	if c.broken || len(c.in) > 0 {
		t.Fatalf("what was written cannot be read: broken %v, %d bytes left", c.broken, len(c.in))
	}
	if diff := cmp.Diff(want, got, sameData); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// TestRegistrationNone shows that nothing stays nothing, and an empty list an empty one.
func TestRegistrationNone(t *testing.T) {
	want := registration{plugin: starhost.Plugin{
		Tools:     []starhost.Tool{{Roles: []string{}}, {Available: func(context.Context, *starhost.Turn) (bool, error) { return true, nil }}},
		Hooks:     []starhost.Hook{},
		Endpoints: []starhost.Endpoint{{Headers: map[string]string{}}, {}},
	}}
	c, got := coder{reading: true, in: want.encode()}, registration{}
	got.code(&c)
	if diff := cmp.Diff(want, got, sameData); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if got.plugin.Tools[0].Available != nil || got.plugin.Tools[1].Available == nil {
		t.Error("which tool says when it is available was forgotten")
	}
}

// FuzzSnapshot reads any bytes: they are no snapshot, or one that is written and read
// again as it is.
func FuzzSnapshot(f *testing.F) {
	s := snapshot{logs: []starhost.LogLine{{Level: "info", Text: "x"}}, looks: []look{{kind: lookGlob, name: "*"}}}
	s.registered.plugin.Tools = []starhost.Tool{{Name: "t", Parameters: []byte("{}")}}
	c := coder{}
	s.code(&c)
	f.Add(c.out)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var s, again snapshot
		if s.decode(data); !s.known() {
			return
		}
		var once, twice coder
		s.code(&once)
		if again.decode(once.out); !again.known() {
			t.Fatal("what was written cannot be read")
		}
		if again.code(&twice); string(once.out) != string(twice.out) {
			t.Errorf("written again it is another one: %q, then %q", once.out, twice.out)
		}
	})
}

// loadKept loads the plugins of a folder with a cache that is read anew.
func loadKept(t *testing.T, dir, cache string) *Set {
	t.Helper()
	c, err := starlark.OpenCache(cache)
	if err != nil {
		t.Fatal(err)
	}
	set, err := Load(t.Context(), Options{Dir: dir, Args: []string{"plugins"}, Cache: c})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(set.Err(), c.Save()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close(); c.Close() })
	return set
}

// isOpen reports whether the files of the first plugin were evaluated.
func isOpen(s *Set) bool { return s.Plugins[0].Inside.of.files.Load() != nil }

// pluginsOf writes files below a new folder.
func pluginsOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const twiceSource = "def twice(n):\n    \"Doubles.\"\n    return str(n * 2)\nregister_tool(twice, parameters = {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}})\n"

// callTwice calls the tool of twiceSource.
func callTwice(ctx context.Context, s *Set) (string, error) {
	turn, err := s.Host.NewSession(starhost.SessionConfig{}).Begin(ctx, starhost.Request{Text: "x"})
	if err != nil {
		return "", err
	}
	defer turn.End(ctx)
	if _, err := turn.Prompt(ctx); err != nil {
		return "", err
	}
	reply, err := turn.CallTool(ctx, starhost.ToolCall{Name: "twice", Arguments: []byte(`{"n":21}`)})
	return reply.Result.ForLLM, errors.Join(err, reply.Err)
}

// TestSnapshotOpens shows when the files of a plugin are evaluated that is known: once,
// when the first of many callers needs them.
func TestSnapshotOpens(t *testing.T) {
	dir, cache := pluginsOf(t, map[string]string{"plugins/a.star": twiceSource}), filepath.Join(t.TempDir(), "cache")
	if !isOpen(loadKept(t, dir, cache)) {
		t.Error("files that nobody knew were not evaluated")
	}
	set := loadKept(t, dir, cache)
	if isOpen(set) {
		t.Error("known files were evaluated before anybody needed them")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := callTwice(t.Context(), set); err != nil || got != "42" {
				t.Errorf("got %q, %v, want 42", got, err)
			}
		})
	}
	wg.Wait()
	if !isOpen(set) {
		t.Error("files were not evaluated")
	}
}

// TestSnapshotCut shows that a call which ends while files are evaluated does not spoil
// later ones.
func TestSnapshotCut(t *testing.T) {
	dir, cache := pluginsOf(t, map[string]string{"plugins/a.star": twiceSource}), filepath.Join(t.TempDir(), "cache")
	loadKept(t, dir, cache)
	set := loadKept(t, dir, cache)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Plugins[0].Registered.Tools[0].Call(ctx, nil, starhost.ToolCall{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cut: got %v, want context canceled", err)
	}
	if got, err := callTwice(t.Context(), set); err != nil || got != "42" {
		t.Errorf("later: got %q, %v, want 42", got, err)
	}
}

// TestSnapshotOther puts a snapshot in the place of a plugin's own: its calls fail with
// a place, and what was wrong is gone.
func TestSnapshotOther(t *testing.T) {
	dir, cache := pluginsOf(t, map[string]string{"plugins/a.star": twiceSource}), filepath.Join(t.TempDir(), "cache")
	loadKept(t, dir, cache)
	c, err := starlark.OpenCache(cache)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l, err := newLoading(Options{Dir: dir, Args: []string{"plugins"}, Cache: c})
	if err != nil {
		t.Fatal(err)
	}
	defer l.set.Close()
	var p Plugin
	e := evaluation{loading: l, source: l.sources[0], plugin: &p}
	e.prepare()
	e.snapshot.registered.usage.Steps++
	forged := coder{}
	e.snapshot.code(&forged)
	c.Keep(e.key, forged.out)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	const want = "a.star: the plugin registers something else than when it was last evaluated: load it again"
	set := loadKept(t, dir, cache)
	if _, err := callTwice(t.Context(), set); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if got, err := callTwice(t.Context(), loadKept(t, dir, cache)); err != nil || got != "42" {
		t.Errorf("loaded again: got %q, %v, want 42", got, err)
	}
}
