package effects_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// guesses are the effects by which a plugin can write a text and read it back.
var guesses = []struct {
	name string
	do   func(ctx context.Context, w *effects.World, t *host.Turn, guess string) (got string, err error)
}{
	{"a file", func(ctx context.Context, w *effects.World, _ *host.Turn, guess string) (string, error) {
		if err := w.WriteFile(ctx, "guess", guess); err != nil {
			return "", err
		}
		return w.ReadFile(ctx, "guess")
	}},
	{"a file's bytes", func(ctx context.Context, w *effects.World, _ *host.Turn, _ string) (string, error) {
		b, err := w.ReadFileBytes(ctx, "guess")
		return string(b), err
	}},
	{"a file's name", func(ctx context.Context, w *effects.World, _ *host.Turn, guess string) (string, error) {
		if err := w.WriteFile(ctx, "names/"+guess, ""); err != nil {
			return "", err
		}
		names, err := w.GlobFiles(ctx, "names/*")
		return strings.TrimPrefix(strings.Join(names, " "), "names/"), err
	}},
	{"the name in an error", func(ctx context.Context, w *effects.World, _ *host.Turn, guess string) (string, error) {
		_, err := w.ReadFile(ctx, "gone/"+guess)
		_, rest, _ := strings.Cut(message(err), `"gone/`)
		name, _, _ := strings.Cut(rest, `"`)
		return name, nil
	}},
	{"state", func(ctx context.Context, w *effects.World, t *host.Turn, guess string) (string, error) {
		if err := w.StateSet(ctx, t.Session(), "k", asJSON(guess)); err != nil {
			return "", err
		}
		v, _, err := w.StateGet(ctx, t.Session(), "k")
		return string(v[1 : len(v)-1]), err
	}},
	{"a key of state", func(ctx context.Context, w *effects.World, t *host.Turn, guess string) (string, error) {
		if err := w.StateSet(ctx, t.Session(), "x"+guess, asJSON("")); err != nil {
			return "", err
		}
		keys, err := w.StateKeys(ctx, t.Session())
		return strings.TrimPrefix(keys[len(keys)-1], "x"), err
	}},
	{"the store", func(ctx context.Context, w *effects.World, _ *host.Turn, guess string) (string, error) {
		if err := w.StoreSet(ctx, "k", asJSON(guess)); err != nil {
			return "", err
		}
		v, _, err := w.StoreGet(ctx, "k")
		return string(v[1 : len(v)-1]), err
	}},
	{"a server", func(ctx context.Context, w *effects.World, _ *host.Turn, guess string) (string, error) {
		r, err := w.Fetch(ctx, effects.Request{Method: "POST", URL: "http://a.test/", Body: guess})
		return r.Body[strings.LastIndexByte(r.Body, ' ')+1:], err
	}},
	{"a program", func(ctx context.Context, w *effects.World, _ *host.Turn, guess string) (string, error) {
		out, err := w.Run(ctx, effects.Command{Argv: []string{"echo", "-n", guess}})
		return out.Stdout, err
	}},
}

func asJSON(text string) json.RawMessage {
	b, _ := json.Marshal(text)
	return b
}

// TestRedactionTestsNoGuesses checks that a plugin that may not use a secret reads back exactly the text that
// it wrote, so that it cannot test guesses. The journal and the list of a dry run still do not show the
// secret. A plugin that may use the secret gets replies without it.
func TestRedactionTestsNoGuesses(t *testing.T) {
	const value = "s3cret-value"
	for _, owner := range []bool{false, true} {
		permissions := []string{"fs.read:**", "fs.write:**", "http:GET,POST http://a.test", "exec:echo **", "store"}
		if owner {
			permissions = append(permissions, "secret:TOKEN")
		}
		w := plugin(t, permissions...)
		w.Workspace = effects.NewFiles(memory(t, nil), effects.FileOptions{})
		w.HTTP, w.Exec, w.Store = network(serve(t, echo)), &effects.Exec{}, &effects.MemoryKV{}
		w.Secrets = secrets(map[string]string{"TOKEN": value})
		w.Secrets.Watch("TOKEN")
		var lines []string
		o := host.Options{Record: func(e host.Entry) { lines = append(lines, string(e.Line)) }}
		inHook(t, o, func(ctx context.Context, turn *host.Turn) {
			for _, guess := range guesses {
				got, err := guess.do(ctx, w, turn, value)
				if err != nil {
					t.Errorf("%s: %v", guess.name, err)
				}
				if !owner && got != value {
					t.Errorf("%s: got %q, want the guess unchanged", guess.name, got)
				}
				if clean := w.Redact(got); strings.Contains(clean, value) {
					t.Errorf("%s: Redact: got %q", guess.name, clean)
				}
			}
			for _, name := range []string{"a server", "a program"} {
				for _, guess := range guesses {
					if got, _ := guess.do(ctx, w, turn, value); guess.name == name && owner && got == value {
						t.Errorf("%s: got the plugin's own secret", name)
					}
				}
			}
		})
		for _, line := range lines {
			if strings.Contains(line, value) {
				t.Errorf("the journal shows the secret: %s", line)
			}
		}
		if len(lines) < len(guesses) {
			t.Errorf("got %d lines", len(lines))
		}
	}
}
