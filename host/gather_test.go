package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

func TestReferences(t *testing.T) {
	say := func(prefix string) starhost.FragmentLoader {
		return loader(prefix, func(arg string) (starhost.Context, error) {
			if prefix == "" && !strings.HasPrefix(arg, "./") {
				return starhost.Context{}, host.ErrNoReference
			}
			return texts(fmt.Sprintf("%s(%s)", prefix, arg)), nil
		})
	}
	own := starhost.Plugin{Name: "docs", FragmentLoaders: []starhost.FragmentLoader{say("runbook"), say("wiki"),
		loader("bad", func(string) (starhost.Context, error) { return starhost.Context{}, errors.New("404") }),
		loader("oops", func(string) (starhost.Context, error) {
			panic("nil")
		}), loader("big", func(string) (starhost.Context, error) { return texts(strings.Repeat("x", 300<<10)), nil })}}
	reserved := starhost.Plugin{Name: starhost.HostPlugin, FragmentLoaders: []starhost.FragmentLoader{say(""), say("-"), say("file")}}
	tests := []struct {
		name, ref string
		bare      bool // without loaders of the host itself
		want, err string
	}{
		{"prefix", "runbook:a:b", false, "runbook(a:b)", ""},
		{"empty argument", "runbook:", false, "runbook()", ""},
		{"stdin", "-", false, "-()", ""},
		{"not stdin", "-:x", false, "", `unknown fragment reference "-:x": no loader has its prefix, and no alias or file its name; prefixes: bad:, big:, file:, oops:, runbook:, wiki:`},
		{"path", "./a:b", false, "(./a:b)", ""},
		{"a drive is no prefix", `c:\x`, false, "", `unknown fragment reference "c:\\x": no loader has its prefix, and no alias or file its name; prefixes: bad:, big:, file:, oops:, runbook:, wiki:`},
		{"prefixes are case-sensitive", "Runbook:x", false, "", `unknown fragment reference "Runbook:x" (did you mean runbook:x?)`},
		{"near", "runbok:checkout", false, "", `unknown fragment reference "runbok:checkout" (did you mean runbook:checkout?)`},
		{"without a path loader", "wikki:x", true, "", `unknown fragment reference "wikki:x" (did you mean wiki:x?)`},
		{"stdin without a loader", "-", true, "", `unknown fragment reference "-": no loader has its prefix, and no alias or file its name; prefixes: bad:, big:, oops:, runbook:, wiki:`},
		{"a loader fails", "bad:x", false, "", "404"},
		{"a loader panics", "oops:x", false, "", "panic: nil"},
		{"a loader gives too much", "big:x", false, "", `fragment "big:x" is 307200 bytes, limit 262144 (max_fragment)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, host.Options{}, own)
			if !tt.bare {
				if err := h.Add(reserved); err != nil {
					t.Fatal(err)
				}
			}
			turn := begin(t, h, host.Request{Fragments: []string{"runbook:first", tt.ref}})
			p, err := turn.Prompt(context.Background())
			if tt.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				diff(t, "text", "runbook(first)\n"+tt.want, p.Text.String())
				if r := p.Fragments[1]; r.Source != tt.ref || !r.Pinned {
					t.Errorf("row: source %q, pinned %v, want %q, pinned by the user", r.Source, r.Pinned, tt.ref)
				}
				return
			}
			var ref *host.RefError
			if !errors.As(err, &ref) || ref.Ref != tt.ref || err.Error() != tt.err {
				t.Errorf("Prompt:\n got %v\nwant a *RefError of %q: %s", err, tt.ref, tt.err)
			}
		})
	}
}

func TestUnknownRefError(t *testing.T) {
	turn := begin(t, newHost(t, host.Options{}), host.Request{})
	_, err := turn.Load(context.Background(), []string{"x:y"})
	var unknown *host.UnknownRefError
	if !errors.As(err, &unknown) || unknown.Ref != "x:y" {
		t.Errorf("Load: got %v, want an *UnknownRefError", err)
	}
}

// TestLoaderOwnsItsContext checks that the host writes the plugin's name into a copy of a context, so that a
// loader may return one context to many hosts.
func TestLoaderOwnsItsContext(t *testing.T) {
	given := texts("one", "two")
	given.Attachments = []fragments.Attachment{{Content: "png", Type: "image/png"}}
	l := loader("xx", func(string) (starhost.Context, error) { return given, nil })
	h := newHost(t, host.Options{}, starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{l}})
	p := ask(t, h.NewSession(host.SessionConfig{}), host.Request{Text: "hi", Fragments: []string{"xx:1"}})
	if row := p.Fragments[0]; row.Plugin != "p" || row.Source != "xx:1" {
		t.Errorf("row: got plugin %q, source %q, want p and xx:1", row.Plugin, row.Source)
	}
	if given.Fragments[0].Plugin != "" || given.Attachments[0].Plugin != "" {
		t.Errorf("the host has written into the context that the loader returned: %+v", given)
	}
}

// TestFirstFailureIsTold checks that the error names the first reference that fails, whichever loader ends
// first.
func TestFirstFailureIsTold(t *testing.T) {
	second := make(chan struct{})
	p := starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{
		loader("slow", func(string) (starhost.Context, error) { <-second; return starhost.Context{}, errors.New("slow") }),
		loader("fast", func(string) (starhost.Context, error) { close(second); return starhost.Context{}, errors.New("fast") }),
	}}
	turn := begin(t, newHost(t, host.Options{}, p), host.Request{Fragments: []string{"slow:", "fast:"}})
	if _, err := turn.Prompt(context.Background()); err == nil || err.Error() != "slow" {
		t.Errorf("Prompt: got %v, want slow", err)
	}
	var got []string
	for _, tr := range turn.Hooks() {
		got = append(got, fmt.Sprint(tr.Event, " ", tr.Action, " ", tr.Detail))
	}
	diff(t, "trace", []string{"load error slow", "load error fast"}, got)
}

// TestNestedLoaders checks that a loader may load other references, and that traces and logs follow the order
// of the references and not the clock.
func TestNestedLoaders(t *testing.T) {
	type load = func(ctx context.Context, arg string) (starhost.Context, error)
	logging := func(prefix string, then load) starhost.FragmentLoader {
		return starhost.FragmentLoader{Prefix: prefix,
			Load: func(ctx context.Context, arg string) (starhost.Context, error) {
				turn := host.TurnOf(ctx)
				turn.Now()
				lane := host.LaneOf(ctx)
				lane.Logs = append(lane.Logs,
					host.LogLine{Plugin: "p", Level: "info", Text: prefix + " " + arg + " " + lane.Path()})
				return then(ctx, arg)
			}}
	}
	inner := func(_ context.Context, arg string) (starhost.Context, error) {
		return texts(arg), nil
	}
	outer := func(ctx context.Context, arg string) (starhost.Context, error) {
		turn := host.TurnOf(ctx)
		got, err := turn.Load(ctx, []string{"in:" + arg + "1", "in:" + arg + "2"})
		if err != nil {
			return starhost.Context{}, err
		}
		if _, err := turn.CallTool(ctx, starhost.ToolCall{Name: "echo"}); !errors.Is(err, host.ErrReadOnly) {
			return starhost.Context{}, fmt.Errorf("CallTool in a loader: got %v", err)
		}
		return starhost.Context{Fragments: append(got[0].Fragments, got[1].Fragments...)}, nil
	}
	var logged []string
	h := newHost(t, host.Options{Log: func(l host.LogLine) { logged = append(logged, l.Text) }}, echo(),
		starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{logging("in", inner), logging("out", outer)}})
	turn := begin(t, h, host.Request{Fragments: []string{"out:a", "out:b"}})
	diff(t, "text", "a1\na2\nb1\nb2", prompt(t, turn).Text.String())
	diff(t, "log", []string{"out a 1", "in a1 1/1", "in a2 1/2", "out b 2", "in b1 2/1", "in b2 2/2"}, logged)
	var traced []string
	for _, tr := range turn.Hooks() {
		traced = append(traced, tr.Detail)
	}
	diff(t, "trace", []string{"2 B", "2 B", "4 B", "2 B", "2 B", "4 B"}, traced)
	if _, asked := turn.FirstNow(); !asked {
		t.Error("AskedNow: got false after loaders asked")
	}
}

func TestWorkersBoundLoaders(t *testing.T) {
	for _, workers := range []int{-1, 1, 3} {
		limit := workers
		if workers < 1 {
			limit = 8
		}
		running := make(chan struct{}, limit)
		p := starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{loader("xx",
			func(arg string) (starhost.Context, error) {
				select {
				case running <- struct{}{}:
				default:
					return starhost.Context{}, errors.New("too many at once")
				}
				defer func() { <-running }()
				return texts(arg), nil
			})}}
		var refs []string
		for i := range 40 {
			refs = append(refs, fmt.Sprintf("xx:%d", i))
		}
		diff(t, "kept", 40, len(prompt(t, begin(t, newHost(t, host.Options{Workers: workers}, p),
			host.Request{Fragments: refs})).Fragments))
	}
}

func TestCancelledLoaders(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ran := 0
	p := starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{loader("xx", func(string) (starhost.Context, error) { ran++; cancel(); return starhost.Context{}, nil })}}
	turn := begin(t, newHost(t, host.Options{Workers: 1}, p), host.Request{Fragments: []string{"xx:1", "xx:2", "xx:3"}})
	if _, err := turn.Prompt(ctx); !errors.Is(err, context.Canceled) || ran != 1 {
		t.Errorf("Prompt: got %v after %d loaders, want context.Canceled after 1", err, ran)
	}
}

func TestSystemReferences(t *testing.T) {
	image := fragments.Attachment{Content: "png", Type: "image/png"}
	p := starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{loader("xx",
		func(arg string) (starhost.Context, error) {
			c := texts(" " + arg + "\n")
			c.Attachments = []fragments.Attachment{image}
			return c, nil
		})}}
	got := prompt(t, begin(t, newHost(t, host.Options{}, p), host.Request{Text: "hi", System: "\nBe brief.\n", Fragments: []string{"xx:a"}, SystemFragments: []string{"xx:b"}}))
	diff(t, "system", "b\n\nBe brief.", got.System)
	diff(t, "text", " a\n\nhi", got.Text.String())
	diff(t, "attachments", 1, len(got.Attachments))
	if !got.Attachments[0].Pinned || got.Attachments[0].Source != "xx:a" {
		t.Errorf("attachment: got %+v, want it pinned, from xx:a", got.Attachments[0])
	}
}
