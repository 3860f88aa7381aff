package builtins

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// ctxName is the parameter that receives the context, wherever it stands.
const ctxName = "ctx"

// A param is one parameter of a handler, without * and **.
type param struct {
	name  string
	value starlark.Value // the default, or nil
}

// private reports whether the parameter is never offered anything.
func (p param) private() bool { return strings.HasPrefix(p.name, "_") }

// A signature is what a handler's def or lambda line says.
type signature struct {
	fn     *starlark.Function
	params []param // in order, private ones too
	rest   bool    // it has **kwargs
}

// signatureOf reads a handler's parameters. What no handler may have is an error:
// a builtin has no parameters to read, *args has no names, and a private
// parameter would stay empty without a default.
func (c modCall) signatureOf(r *Recorder, handler starlark.Callable) (*signature, error) {
	fn, ok := handler.(*starlark.Function)
	if !ok {
		return nil, c.fail("E0307", "handler: got the builtin %s, want a def or a lambda: lambda x: %s(x)", handler.Name(), handler.Name())
	}
	if trap, ok := r.captures[posOf(fn.Position())]; ok {
		return nil, c.fail("E0309", "handler: %s uses %s, which the loop at %s binds: called later, each of them sees the last value", fn.Name(), trap.name, trap.loop).
			way(fmt.Sprintf("a default keeps the value of now: write _%s = %s among the parameters, and _%s in the body", trap.name, trap.name, trap.name))
	}
	if fn.HasVarargs() {
		return nil, c.fail("E0307", "handler: %s has *args, but arguments arrive by name: use **kwargs", fn.Name())
	}
	s := &signature{fn: fn, rest: fn.HasKwargs()}
	n := fn.NumParams()
	if s.rest {
		n--
	}
	for i := range n {
		name, _ := fn.Param(i)
		p := param{name, fn.ParamDefault(i)}
		if p.private() && p.value == nil {
			return nil, c.fail("E0307", "handler: parameter %s of %s is private, as its name begins with _, so it needs a default", name, fn.Name())
		}
		s.params = append(s.params, p)
	}
	return s, nil
}

// offered returns the parameters that take an argument by name: not ctx, and no
// private ones.
func (s *signature) offered() []param {
	return slices.DeleteFunc(slices.Clone(s.params), func(p param) bool { return p.name == ctxName || p.private() })
}

// paramList returns the names of parameters.
func paramList(params []param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
	}
	return names
}

// has reports whether a parameter of that name takes an argument.
func (s *signature) has(name string) bool {
	return slices.ContainsFunc(s.params, func(p param) bool { return p.name == name && !p.private() })
}

// checkNames reports a parameter that nothing is offered for.
func (c modCall) checkNames(s *signature, what string, offered []string) error {
	for _, p := range s.offered() {
		if !slices.Contains(offered, p.name) {
			return c.fail("E0307", "handler: %s offers no %q%s; it offers ctx, %s", what, p.name, didYouMean(p.name, append(slices.Clone(offered), ctxName)), strings.Join(offered, ", ")).
				way("a parameter that is only for a default begins with _")
		}
	}
	return nil
}

// named returns the keyword arguments of a call: ctx, what the parameters name,
// and with **kwargs everything else on offer, in the order of names.
func (s *signature) named(h *handlerCall, names []string, get func(name string) (starlark.Value, error)) ([]starlark.Tuple, error) {
	var kwargs []starlark.Tuple
	if s.has(ctxName) {
		kwargs = append(kwargs, starlark.Tuple{starlark.String(ctxName), &ctxValue{h, ""}})
	}
	for _, name := range names {
		if name == ctxName || !s.rest && !s.has(name) {
			continue
		}
		v, err := get(name)
		if err != nil {
			return nil, err
		}
		kwargs = append(kwargs, starlark.Tuple{starlark.String(name), v})
	}
	return kwargs, nil
}

// checkPlaces reports a handler that does not take (arg) or (ctx, arg), and
// returns whether it takes ctx.
func (c modCall) checkPlaces(s *signature) (takesCtx bool, err error) {
	var places []param
	for _, p := range s.params {
		if !p.private() {
			places = append(places, p)
		}
	}
	switch {
	case len(places) == 1 && places[0].name != ctxName:
		return false, nil
	case len(places) == 2 && places[0].value == nil && (places[1].value == nil || places[0].name == ctxName) && s.fn.NumKwonlyParams() == 0:
		return true, nil
	}
	return false, c.fail("E0307", "handler: %s has the parameters (%s), want (arg) or (ctx, arg)", s.fn.Name(), strings.Join(paramList(places), ", ")).
		way("a parameter that is only for a default begins with _")
}
