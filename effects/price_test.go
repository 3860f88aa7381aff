package effects_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// A countingFS counts the calls of a file system and the entries of folders that it reads. A call
// counts once for each folder of its path, because the system walks through all of them.
type countingFS struct {
	afero.Fs
	calls int
}

func (c *countingFS) count(name string) { c.calls += 1 + strings.Count(name, "/") }

func (c *countingFS) Open(name string) (afero.File, error) {
	c.count(name)
	f, err := c.Fs.Open(name)
	return countingFolder{f, c}, err
}

func (c *countingFS) Stat(name string) (os.FileInfo, error) {
	c.count(name)
	return c.Fs.Stat(name)
}

type countingFolder struct {
	afero.File
	fs *countingFS
}

func (f countingFolder) Readdir(n int) ([]os.FileInfo, error) {
	list, err := f.File.Readdir(n)
	f.fs.calls += len(list)
	return list, err
}

// A payer adds up the steps that effects charge, up to a limit.
type payer struct{ steps, limit int }

var errTooDear = errors.New("over the limit")

func (p *payer) pay(steps, _ int) error {
	if p.steps += steps; p.steps > p.limit {
		return errTooDear
	}
	return nil
}

// deepWorld returns a world with all permissions, over files in a deep folder and in a large one.
func deepWorld(t *testing.T) (*effects.World, *countingFS) {
	t.Helper()
	fs := &countingFS{Fs: afero.NewMemMapFs()}
	for i := range 2000 {
		if err := afero.WriteFile(fs.Fs, fmt.Sprintf("large/%0100d.md", i), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := afero.WriteFile(fs.Fs, strings.Repeat("d/", 250)+"a.md", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := grants(t, "fs.read:**", "fs.write:**", "env:*", "secret:*", "store", "tool:*", "fragment:*",
		"exec:echo **", "http:a.test")
	return &effects.World{
		Plugin: "p", Declared: all, Granted: all, Workspace: effects.NewFiles(fs, effects.FileOptions{}),
	}, fs
}

// TestFileEffectsPayForCallsOfTheSystem checks that the steps that a plugin pays bound the number of calls of
// the system, for all effects on files and for paths and patterns of all kinds.
func TestFileEffectsPayForCallsOfTheSystem(t *testing.T) {
	paths := map[string]string{
		"one name": "a.md", "a deep file": strings.Repeat("d/", 250) + "a.md", "a deep folder": strings.Repeat("d/", 249) + "d",
		"missing in depth": strings.Repeat("d/", 250) + "b.md", "dots": strings.Repeat("./", 2000) + "large",
		"all": "**", "stars": "large/" + strings.Repeat("*0", 100) + "*", "folders": strings.Repeat("*/", 60) + "*",
		"alternatives": "{large,d}/" + strings.Repeat("{*,?}", 5) + strings.Repeat("*0", 100), "missing in a large one": "large/x.md",
	}
	for _, act := range namedActs {
		if !strings.HasPrefix(act.name, "fs.") {
			continue
		}
		for name, file := range paths {
			t.Run(act.name+" "+name, func(t *testing.T) {
				w, fs := deepWorld(t)
				p := &payer{limit: 1 << 40}
				err := act.do(effects.WithPay(t.Context(), p.pay), w, nil, file)
				const unpaid = 2 * 256 // names of siblings that starhost reads for the message about a missing file
				if fs.calls > p.steps/3+unpaid {
					t.Errorf("%d calls of the system for %d steps (error: %v)", fs.calls, p.steps, err)
				}
			})
		}
	}
}

// TestGlobPaysForThePattern checks that a walk costs more with longer patterns and with more alternatives,
// because starhost compares each name with each alternative.
func TestGlobPaysForThePattern(t *testing.T) {
	w, _ := deepWorld(t)
	spend := func(pattern string) int {
		p := &payer{limit: 1 << 40}
		if _, err := w.GlobFiles(effects.WithPay(t.Context(), p.pay), pattern); err != nil {
			t.Fatal(err)
		}
		return p.steps
	}
	short := spend("large/*x")
	long := spend("large/" + strings.Repeat("*0", 400) + "x")
	many := spend("large/" + strings.Repeat("{*0,?0}", 6) + "x")
	if long < 50*short || many < 10*short {
		t.Errorf("got %d steps for a short pattern, %d for a long one, %d for 64 alternatives", short, long, many)
	}
}

// TestEffectsPayBeforeTheyWork checks that an effect does nothing and records nothing if the plugin cannot
// pay.
func TestEffectsPayBeforeTheyWork(t *testing.T) {
	w, fs := deepWorld(t)
	records := 0
	names := map[string]string{"http of a URL": "https://a.test/", "http of a host": "a.test", "fragments.get of a prefix": "book"}
	o := host.Options{Record: func(host.Entry) { records++ }}
	inHook(t, o, func(ctx context.Context, turn *host.Turn) {
		for _, act := range namedActs {
			if strings.HasPrefix(act.name, "a ") || strings.HasPrefix(act.name, "the ") {
				continue // these are no effects
			}
			err := act.do(effects.WithPay(ctx, (&payer{}).pay), w, turn, cmp.Or(names[act.name], "A"))
			if !errors.Is(err, errTooDear) || fs.calls > 0 {
				t.Errorf("%s: got %v after %d calls of the system, want the error of the payer", act.name, err, fs.calls)
			}
		}
	})
	if records > 0 {
		t.Errorf("got %d records, want none", records)
	}
}

// TestPermissionsArePaidFor checks that a plugin that declares many or long permissions pays for comparing
// them with each name.
func TestPermissionsArePaidFor(t *testing.T) {
	acts := map[string]string{
		"fs.read": "fs.exists", "env": "env", "secret": "secret", "tool": "tools.call", "fragment": "fragments.get of a prefix",
	}
	inHook(t, host.Options{}, func(ctx context.Context, turn *host.Turn) {
		for _, act := range namedActs {
			for kind, name := range acts {
				if name != act.name {
					continue
				}
				spend := func(texts ...string) int {
					p := &payer{limit: 1 << 40}
					w := &effects.World{Plugin: "p", Declared: grants(t, texts...)}
					act.do(effects.WithPay(ctx, p.pay), w, turn, strings.Repeat("a", 200))
					return p.steps
				}
				short, long, many := kind+":b*", kind+":"+strings.Repeat("a*", 500), []string{}
				for i := range 200 {
					many = append(many, fmt.Sprintf("%s:b%d*", kind, i))
				}
				if a, b, c := spend(short), spend(long), spend(many...); b < 10*a || c < 10*a {
					t.Errorf("%s: got %d steps for a permission, %d for a long one, %d for 200", kind, a, b, c)
				}
			}
		}
	})
}

// TestReplayChargesTheWalk checks that a replay charges what the recorded turn charged, although it does not
// walk through the workspace.
func TestReplayChargesTheWalk(t *testing.T) {
	w, _ := deepWorld(t)
	var lines []string
	o := host.Options{Record: func(e host.Entry) { lines = append(lines, string(e.Line)) }}
	spend := func() int {
		p := &payer{limit: 1 << 40}
		inHook(t, o, func(ctx context.Context, _ *host.Turn) {
			if _, err := w.GlobFiles(effects.WithPay(ctx, p.pay), "large/*0.md"); err != nil {
				t.Error(err)
			}
		})
		return p.steps
	}
	recorded := spend()
	replay, err := effects.ReadJournal("journal", []byte(strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.Answers = replay
	if again := spend(); recorded != again || recorded < 4*2000 {
		t.Errorf("got %d steps, and %d in the replay", recorded, again)
	}
}
