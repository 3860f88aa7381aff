package loader

import (
	"context"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/internal/seam"
	"github.com/starhost/starhost/starlark"
)

// An opened is what the evaluation of a plugin's files gave.
type opened struct {
	registered *starhost.Plugin
	box        *starlark.Sandbox
	module     *starlark.Module
	record     *builtins.Recorder
	looks      []look
	usage      starlark.Usage
}

// get returns what the plugin's files gave. The first call evaluates them, unless that was
// done at once, with limits of their own. A failure is told to who called, and not
// remembered. It is safe for concurrent use.
func (e *evaluation) get(ctx context.Context) (*opened, error) {
	if files := e.files.Load(); files != nil {
		return files, nil
	}
	e.opening.Lock()
	defer e.opening.Unlock()
	if files := e.files.Load(); files != nil {
		return files, nil
	}
	files, err := e.reopen(apart{ctx})
	if err != nil {
		return nil, err
	}
	e.files.Store(files)
	return files, nil
}

// An apart is a context that ends with another one and has nothing of it: an
// evaluation in it is no part of the call that it began in.
type apart struct{ context.Context }

func (apart) Value(any) any { return nil }

// A handler is the Go side of most registrations: it is called with an A, and
// returns an R.
type handler[A, R any] = func(context.Context, *starhost.Turn, A) (R, error)

// later returns a handler that is the one that of finds in the plugin, for the i-th
// registration of a kind, once its files are evaluated.
func later[A, R any](e *evaluation, i int, of func(*starhost.Plugin, int) handler[A, R]) handler[A, R] {
	return func(ctx context.Context, t *starhost.Turn, arg A) (result R, err error) {
		files, err := e.get(ctx)
		if err != nil {
			return result, err
		}
		return of(files.registered, i)(ctx, t, arg)
	}
}

// An asker is the Go side of registrations that are called with nothing.
type asker[R any] = func(context.Context, *starhost.Turn) (R, error)

// laterAsked is later for an asker.
func laterAsked[R any](e *evaluation, i int, of func(*starhost.Plugin, int) asker[R]) asker[R] {
	ask := later(e, i, func(p *starhost.Plugin, i int) handler[struct{}, R] {
		return func(ctx context.Context, t *starhost.Turn, _ struct{}) (R, error) { return of(p, i)(ctx, t) }
	})
	return func(ctx context.Context, t *starhost.Turn) (R, error) { return ask(ctx, t, struct{}{}) }
}

// bind gives registrations, which a host took before, handlers that evaluate the
// plugin's files first.
func (e *evaluation) bind(p *starhost.Plugin) {
	type plugin = starhost.Plugin
	for i := range p.Tools {
		t := &p.Tools[i]
		seam.MarkDerived(t)
		t.Call = later(e, i, func(p *plugin, i int) handler[starhost.ToolCall, starhost.Result] { return p.Tools[i].Call })
		if t.Available != nil {
			t.Available = laterAsked(e, i, func(p *plugin, i int) asker[bool] { return p.Tools[i].Available })
		}
	}
	for i := range p.Hooks {
		p.Hooks[i].Call = later(e, i, func(p *plugin, i int) handler[*starhost.Event, starhost.Decision] { return p.Hooks[i].Call })
	}
	for i := range p.FragmentLoaders {
		p.FragmentLoaders[i].Load = later(e, i, func(p *plugin, i int) handler[string, starhost.Context] { return p.FragmentLoaders[i].Load })
	}
	for i := range p.TemplateLoaders {
		p.TemplateLoaders[i].Load = later(e, i, func(p *plugin, i int) handler[string, starhost.Template] { return p.TemplateLoaders[i].Load })
	}
	for i := range p.Commands {
		c := &p.Commands[i]
		c.Call = later(e, i, func(p *plugin, i int) handler[starhost.CommandCall, starhost.Result] { return p.Commands[i].Call })
		if c.Complete != nil {
			c.Complete = later(e, i, func(p *plugin, i int) handler[string, []string] { return p.Commands[i].Complete })
		}
	}
	for i := range p.Skills {
		p.Skills[i].Load = laterAsked(e, i, func(p *plugin, i int) asker[string] { return p.Skills[i].Load })
	}
}
