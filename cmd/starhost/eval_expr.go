package main

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// An exprResult is the result of -e.
type exprResult struct {
	plugin, expr string
	value        string // as Starlark's repr shows it
	usage        starlark.Usage
}

// evaluateExpr evaluates the expression of -e.
func evaluateExpr(ctx context.Context, f *evalFlags, e *evaluation) (*exprResult, error) {
	p, expr, err := exprPlugin(e.set.Plugins, f.expr)
	if err != nil {
		return nil, err
	}
	if text := strings.TrimSpace(expr); helpCall().MatchString(text) && p.Inside.Module().Describe("help") == "" {
		value := helpText
		if name := helpName(text); name != "" {
			if value, err = explainName(p.Inside, name); err != nil {
				return nil, err
			}
		}
		return &exprResult{plugin: p.Name, expr: text, value: e.set.Redact(strings.TrimSuffix(value, "\n"))}, nil
	}
	value, usage, err := p.Inside.Eval(ctx, e.turn, expr)
	if err != nil {
		return nil, &host.HandlerError{Plugin: p.Name, What: "expression", Err: err}
	}
	return &exprResult{p.Name, strings.TrimSpace(expr), e.set.Redact(value), usage}, nil
}

// helpCall matches an expression that asks for help, as at the prompt of repl.
var helpCall = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^help(\(["']?[\w.]*["']?\))?$`) })

// exprPlugin splits [PLUGIN:]EXPR. Without a plugin it returns the only loaded one.
func exprPlugin(plugins []loader.Plugin, text string) (*loader.Plugin, string, error) {
	loaded := map[string]*loader.Plugin{}
	for i := range plugins {
		if p := &plugins[i]; p.Inside != nil {
			loaded[p.Name] = p
		}
	}
	names := slices.Sorted(maps.Keys(loaded))
	name, expr, _ := strings.Cut(text, ":")
	switch p := loaded[name]; {
	case p != nil:
		return p, expr, nil
	case name != text && namesPlugin(name):
		return nil, "", usagef("-e: no loaded plugin is named %s%s", name, near.DidYouMean(name, names))
	case len(names) != 1:
		return nil, "", usagef("-e: there are %d plugins, want -e PLUGIN:EXPR", len(names))
	}
	return loaded[names[0]], text, nil
}

// namesPlugin reports whether the text before a colon must be a plugin's name: only a lambda is
// an expression that begins with a name and a colon.
func namesPlugin(s string) bool {
	return s != "" && s != "lambda" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" && s[0] >= 'a'
}

func (r *exprResult) json() *report.ExprJSON {
	if r == nil {
		return nil
	}
	return &report.ExprJSON{
		Plugin: r.plugin, Expr: r.expr, Value: r.value, Steps: r.usage.Steps, AllocBytes: r.usage.Bytes,
	}
}
