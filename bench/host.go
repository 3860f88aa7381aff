package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
	evaluator "github.com/starhost/starhost/starlark"
	"go.starlark.net/starlark"
)

// load loads plugins from their sources, by name.
func (r *rig) load(folder string, sources map[string]string) (*loader.Set, error) {
	files := map[string]string{}
	for name, src := range sources {
		files[name+".star"] = src
	}
	dir, err := r.folder(folder, files)
	if err != nil {
		return nil, err
	}
	set, err := loader.Load(context.Background(), loader.Options{Args: []string{dir}})
	if err != nil {
		return nil, err
	}
	r.ends = append(r.ends, func() { set.Close() })
	return set, set.Err()
}

// fired makes work of firing an event at a host. A turn keeps a trace of all that
// happened in it, so there is a new one every hundred times, which is longer than
// turns are.
func fired(h *starhost.Host, e *starhost.Event) func() error {
	session := h.NewSession(starhost.SessionConfig{ID: "bench"})
	ctx := context.Background()
	var turn *starhost.Turn
	n := 0
	return func() (err error) {
		if n%100 == 0 {
			if turn != nil {
				turn.End(ctx)
			}
			if turn, err = session.Begin(ctx, starhost.Request{}); err != nil {
				return err
			}
		}
		n++
		if _, err = turn.Fire(ctx, e); err != nil || len(turn.Errors()) == 0 {
			return err
		}
		return errors.Join(turn.Errors()...)
	}
}

// raw makes a side of starlark.Call alone: a function of a plugin that was loaded,
// called over and over within one run that has limits out of reach.
func raw(fn starlark.Callable, args ...starlark.Value) side {
	box := evaluator.New(evaluator.Options{Limits: evaluator.Limits{Steps: math.MaxUint64 / 2, Memory: math.MaxUint64 / 2, Timeout: time.Hour}})
	return func(n int) (took time.Duration, err error) {
		again := starlark.NewBuiltin("again", func(th *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			took, err = loop(func() error {
				_, err := starlark.Call(th, fn, args, nil)
				return err
			})(n)
			return starlark.None, err
		})
		if _, _, err := box.Call(context.Background(), again, nil, nil); err != nil {
			return 0, err
		}
		return took, nil
	}
}

// hooks loads a plugin that registers the same hook several times.
func (r *rig) hooks(folder, source string, times int) (*loader.Set, error) {
	return r.load(fmt.Sprintf("%s%d", folder, times), map[string]string{folder: fmt.Sprintf(source, times)})
}

// global returns a function of the only plugin of a set.
func global(set *loader.Set, name string) (starlark.Callable, error) {
	module, _, err := set.Plugins[0].Inside.Open(context.Background())
	if err != nil {
		return nil, err
	}
	fn, ok := module.Globals[name].(starlark.Callable)
	if !ok {
		return nil, fmt.Errorf("no function %s in %s", name, set.Plugins[0].Name)
	}
	return fn, nil
}

// The standard hook reads 5 roles and 3 tool names and returns a text. It is there as
// often as the plugin's maker says.
const standardHook = `
def standard(messages, tools):
    return "roles " + ",".join(messages.roles) + "; tools " + ",".join(tools.names)

[register_hook("pre_llm_call", standard) for _ in range(%d)]
`

// noopHook is told nothing and says nothing.
const noopHook = `
def noop():
    return None

[register_hook("pre_llm_call", noop) for _ in range(%d)]
`

// A conversation is what hooks are shown.
func conversation(messages, bytes int) *starhost.Messages {
	list := make([]starhost.Message, messages)
	for i := range list {
		list[i] = starhost.Message{Role: []string{starhost.RoleUser, starhost.RoleAssistant}[i%2], Content: starhost.NewText(words(bytes / messages))}
	}
	return starhost.NewList(list)
}

// words returns a text of n bytes.
func words(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = "word "[i%5]
	}
	return string(text)
}

// offered are the tools that hooks are shown.
func offered() *starhost.Tools {
	list := make([]starhost.Tool, 3)
	for i := range list {
		list[i] = starhost.Tool{Name: fmt.Sprintf("tool%d", i), Description: "A tool."}
	}
	return starhost.NewList(list)
}

// beforeRequest returns an event as the pipeline fires it.
func beforeRequest(m *starhost.Messages) *starhost.Event {
	return &starhost.Event{Name: "pre_llm_call", SessionID: "bench", Platform: "go", Model: "m", Messages: m, Tools: offered(), Round: 1}
}
