package loader

import (
	"context"
	"sync"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/starlark"
)

// vocabulary returns a sandbox with all names that a plugin file can use. All loads share it, because its
// functions keep all state in the calling thread.
var vocabulary = sync.OnceValues(func() (*starlark.Sandbox, error) {
	box := starlark.New(starlark.Options{})
	for _, t := range builtins.Topics(box) {
		if err := builtins.DefineAll(box, t.Entries); err != nil {
			return nil, err
		}
	}
	return box, nil
})

// newSandbox makes the sandbox for all plugins.
func (l *loadRun) newSandbox() (*starlark.Sandbox, error) {
	words, err := vocabulary()
	if err != nil {
		return nil, err
	}
	return words.With(starlark.Options{
		Limits: sandboxLimits(l.config.Limits),
		Print: func(ctx context.Context, pos starlark.Pos, text string) {
			builtins.PrintTo(ctx, pos.File, pos.Line, pos.Col, text)
		},
		Cache:    l.Cache,
		Coverage: l.Coverage,
		Profile:  l.Profile,
	}), nil
}

// boxOf returns the sandbox of a plugin: the shared one, or one with the plugin's own limits if it has any.
func (l *loadRun) boxOf(s *Source) (*starlark.Sandbox, error) {
	box, err := l.sandbox()
	c := l.configFor(s)
	if err != nil || c.Plugin[s.Name] == nil && !s.Managed && !c.hasProjectLimits(s) {
		return box, err
	}
	return box.WithLimits(sandboxLimits(c.LimitsOf(s))), nil
}

func sandboxLimits(c LimitsConfig) starlark.Limits {
	return starlark.Limits{
		Steps: c.Steps, Memory: c.Memory, Timeout: c.Timeout,
		Source: c.Source, Output: c.Output, Settings: c.Raised,
	}
}
