package main

import (
	"context"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// An exprResult is what became of -e.
type exprResult struct {
	plugin, expr string
	value        string // as repr gives it
	usage        starlark.Usage
}

// evaluateExpr evaluates the expression that the flags give.
func (a *app) evaluateExpr(ctx context.Context, f *evalFlags, e *evaluation) (*exprResult, error) {
	p, expr, err := exprPlugin(e.set.Plugins, f.expr)
	if err != nil {
		return nil, err
	}
	value, usage, err := p.Inside.Eval(ctx, e.turn, expr)
	if err != nil {
		return nil, &starhost.HandlerError{Plugin: p.Name, What: "expression", Err: err}
	}
	return &exprResult{p.Name, strings.TrimSpace(expr), e.set.Redact(value), usage}, nil
}

// exprPlugin returns the plugin that [PLUGIN:]EXPR names, the only one if it names
// none, and the expression. What stands before a colon is a plugin if one has that
// name: expressions have colons of their own.
func exprPlugin(plugins []loader.Plugin, text string) (*loader.Plugin, string, error) {
	var loaded []*loader.Plugin
	name, expr, _ := strings.Cut(text, ":")
	for i := range plugins {
		p := &plugins[i]
		if p.Inside == nil {
			continue
		}
		if p.Name == name {
			return p, expr, nil
		}
		loaded = append(loaded, p)
	}
	if len(loaded) != 1 {
		return nil, "", usagef("-e: there are %d plugins, want -e PLUGIN:EXPR", len(loaded))
	}
	return loaded[0], text, nil
}

func (r *exprResult) json() *exprJSON {
	if r == nil {
		return nil
	}
	return &exprJSON{r.plugin, r.expr, r.value, r.usage.Steps, r.usage.Bytes}
}
