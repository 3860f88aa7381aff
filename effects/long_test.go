package effects_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// namedActs are the effects that take a name, each with a name that the caller chooses.
var namedActs = []struct {
	name string
	do   func(ctx context.Context, w *effects.World, t *host.Turn, name string) error
}{
	{"fs.read", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.ReadFile(ctx, name)
		return err
	}},
	{"fs.read_bytes", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.ReadFileBytes(ctx, name)
		return err
	}},
	{"fs.exists", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.FileExists(ctx, name)
		return err
	}},
	{"fs.stat", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.StatFile(ctx, name)
		return err
	}},
	{"fs.glob", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.GlobFiles(ctx, name)
		return err
	}},
	{"fs.write", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		return w.WriteFile(ctx, name, "x")
	}},
	{"env", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, _, err := w.GetEnv(ctx, name)
		return err
	}},
	{"secret", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.Secret(ctx, name)
		return err
	}},
	{"tools.call", func(ctx context.Context, w *effects.World, t *host.Turn, name string) error {
		_, err := w.CallTool(ctx, t, name, nil)
		return err
	}},
	{"fire", func(ctx context.Context, w *effects.World, t *host.Turn, name string) error {
		_, err := w.FireEvent(ctx, t, &starhost.Event{Name: name}, json.RawMessage("{}"))
		return err
	}},
	{"fragments.get", func(ctx context.Context, w *effects.World, t *host.Turn, name string) error {
		_, err := w.LoadFragment(ctx, "book:"+name)
		return err
	}},
	{"fragments.get of a prefix", func(ctx context.Context, w *effects.World, t *host.Turn, name string) error {
		_, err := w.LoadFragment(ctx, name+":x")
		return err
	}},
	{"state.get", func(ctx context.Context, w *effects.World, t *host.Turn, name string) error {
		_, _, err := w.StateGet(ctx, t.Session(), name)
		return err
	}},
	{"state.set", func(ctx context.Context, w *effects.World, t *host.Turn, name string) error {
		return w.StateSet(ctx, t.Session(), name, json.RawMessage(`1`))
	}},
	{"state.delete", func(ctx context.Context, w *effects.World, t *host.Turn, name string) error {
		_, err := w.StateDelete(ctx, t.Session(), name)
		return err
	}},
	{"store.get", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, _, err := w.StoreGet(ctx, name)
		return err
	}},
	{"store.set", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		return w.StoreSet(ctx, name, json.RawMessage(`1`))
	}},
	{"store.delete", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.StoreDelete(ctx, name)
		return err
	}},
	{"store.add", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.StoreAdd(ctx, name, 1)
		return err
	}},
	{"store.swap", func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.StoreSwap(ctx, name, nil, json.RawMessage(`1`))
		return err
	}},
	{"http of a URL", fetchLong(func(name string) effects.Request { return effects.Request{URL: name} })},
	{"http of a host", fetchLong(func(name string) effects.Request { return effects.Request{URL: "https://" + name} })},
	{"http of a path", fetchLong(func(name string) effects.Request { return effects.Request{URL: "https://a.test/" + name} })},
	{"http of a method", fetchLong(func(name string) effects.Request { return effects.Request{URL: "https://a.test/", Method: name} })},
	{"http of a header", fetchLong(func(name string) effects.Request {
		return effects.Request{URL: "https://a.test/", Headers: map[string]effects.Secret{name: effects.Plain("")}}
	})},
	{"http of a header's value", fetchLong(func(name string) effects.Request {
		return effects.Request{URL: "https://a.test/", Headers: map[string]effects.Secret{"A": effects.Plain(name)}}
	})},
	{"http of a parameter", fetchLong(func(name string) effects.Request {
		return effects.Request{URL: "https://a.test/", Params: map[string]effects.Secret{name: effects.Plain(name)}}
	})},
	{"http of a password", fetchLong(func(name string) effects.Request {
		return effects.Request{URL: "https://a.test/", Auth: &effects.Auth{Password: effects.Plain(name)}}
	})},
	{"exec of a program", runLong(func(name string) effects.Command { return effects.Command{Argv: []string{name}} })},
	{"exec of an argument", runLong(func(name string) effects.Command { return effects.Command{Argv: []string{"echo", name}} })},
	{"exec of a variable", runLong(func(name string) effects.Command {
		return effects.Command{Argv: []string{"echo"}, Env: map[string]effects.Secret{name: effects.Plain("")}}
	})},
	{"exec of standard input", runLong(func(name string) effects.Command {
		return effects.Command{Argv: []string{"echo"}, Stdin: effects.Plain(name)}
	})},
	{"a model's base URL", func(_ context.Context, w *effects.World, _ *host.Turn, name string) error {
		return w.CheckEndpoint("https://"+name, "")
	}},
	{"a permission", func(_ context.Context, _ *effects.World, _ *host.Turn, name string) error {
		_, err := effects.ParsePermission("fs.read:" + name)
		return err
	}},
	{"the kind of a permission", func(_ context.Context, _ *effects.World, _ *host.Turn, name string) error {
		_, err := effects.ParsePermission(name)
		return err
	}},
}

// A longAct does an effect with a name.
type longAct = func(context.Context, *effects.World, *host.Turn, string) error

func fetchLong(request func(name string) effects.Request) longAct {
	return func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.Fetch(ctx, request(name))
		return err
	}
}

func runLong(command func(name string) effects.Command) longAct {
	return func(ctx context.Context, w *effects.World, _ *host.Turn, name string) error {
		_, err := w.Run(ctx, command(name))
		return err
	}
}

// longNames are names that a plugin can choose to make a message long.
func longNames() map[string]string {
	const mb = 1 << 20
	names := map[string]string{}
	for _, size := range []int{250, 4000, 8000, 20 * mb} {
		for _, unit := range []string{"A", "\x1b", "\u202e", "\"", "a/", "\U000e0001", "\xff"} {
			names[fmt.Sprintf("%d of %+q", size, unit)] = strings.Repeat(unit, size/len(unit))
		}
	}
	return names
}

// TestLongNames checks that an effect refuses a long name before any work that grows with the name, and that
// messages show little of it.
func TestLongNames(t *testing.T) {
	names := longNames()
	if testing.Short() {
		for name := range names {
			if strings.HasPrefix(name, "8000") {
				delete(names, name)
			}
		}
	}
	for _, granted := range []bool{false, true} {
		w := everything(t, "")
		w.HTTP = nil
		if !granted {
			w.Granted = nil
		}
		var records []host.Entry
		o := host.Options{Record: func(e host.Entry) { records = append(records, e) }}
		inHook(t, o, func(ctx context.Context, turn *host.Turn) {
			for _, a := range namedActs {
				for label, name := range names {
					label = fmt.Sprintf("%s, %s, granted: %v", a.name, label, granted)
					checkLongName(t, label, name, func() error { return a.do(ctx, w, turn, name) })
				}
			}
		})
		for _, r := range records {
			if len(r.Line) > 128<<10 {
				t.Errorf("got a journal line of %d bytes: %.100s", len(r.Line), r.Line)
			}
		}
	}
}

// checkLongName does an effect and checks its message and the memory that it takes.
func checkLongName(t *testing.T, label, name string, do func() error) {
	t.Helper()
	const maxMessage = 1200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := do()
	runtime.ReadMemStats(&after)
	if n := len(message(err)); n > maxMessage {
		t.Errorf("%s: got a message of %d bytes, want at most %d: %.300s", label, n, maxMessage, message(err))
	}
	if strings.ContainsAny(message(err), "\x1b\u202e\U000e0001") {
		t.Errorf("%s: got a message with control characters: %.300q", label, message(err))
	}
	// The test itself joins some names with a prefix, which copies them once. After a program has run,
	// starhost reads the environments of all processes.
	if n := int(after.TotalAlloc - before.TotalAlloc); n > len(name)+(4<<20) {
		t.Errorf("%s: took %d bytes", label, n)
	}
	if len(name) > 1<<20 && err == nil {
		t.Errorf("%s: got no error", label)
	}
}
