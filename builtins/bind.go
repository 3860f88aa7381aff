package builtins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/near"
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
	arg    string // that the handler was given as: "handler", "complete"
	fn     *starlark.Function
	params []param // in order, private ones too
	rest   bool    // it has **kwargs
}

// signatureOf reads a handler's parameters. What no handler may have is an error:
// a builtin has no parameters to read, *args has no names, and a private
// parameter would stay empty without a default.
func signatureOf(c call.Call, r *Recorder, arg string, handler starlark.Callable) (*signature, error) {
	fn, ok := handler.(*starlark.Function)
	if !ok {
		return nil, c.Fail("E0307", "%s: got the builtin %s, want a def or a lambda: lambda x: %s(x)", arg, handler.Name(), handler.Name())
	}
	if trap, ok := r.captures[posOf(fn.Position())]; ok {
		return nil, c.Fail("E0309", "%s: %s uses %s, which the loop at %s binds: called later, each of them sees the last value", arg, fn.Name(), trap.Name, trap.Loop).
			Way(fmt.Sprintf("a default keeps the value of now: write _%s = %s among the parameters, and _%s in the body", trap.Name, trap.Name, trap.Name))
	}
	if fn.HasVarargs() {
		return nil, c.Fail("E0307", "%s: %s has *args, but arguments arrive by name: use **kwargs", arg, fn.Name())
	}
	if n := len(fn.Doc()); n > 0 { // it is read for a description and for a schema
		if err := c.Pay(n/4, 6*n); err != nil {
			return nil, err
		}
	}
	s := &signature{arg: arg, fn: fn, rest: fn.HasKwargs()}
	n := fn.NumParams()
	if s.rest {
		n--
	}
	for i := range n {
		name, _ := fn.Param(i)
		p := param{name, fn.ParamDefault(i)}
		if p.private() && p.value == nil {
			return nil, c.Fail("E0307", "%s: parameter %s of %s is private, as its name begins with _, so it needs a default", arg, name, fn.Name())
		}
		s.params = append(s.params, p)
	}
	return s, nil
}

// namedParams returns the parameters that take an argument by name: not ctx, and no
// private ones.
func (s *signature) namedParams() []param {
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

// takesArgument reports whether a parameter of that name takes an argument.
func (s *signature) takesArgument(name string) bool {
	return slices.ContainsFunc(s.params, func(p param) bool { return p.name == name && !p.private() })
}

// checkNames reports a parameter that nothing is offered for.
func checkNames(c call.Call, s *signature, what string, offered []string) error {
	for _, p := range s.namedParams() {
		if !slices.Contains(offered, p.name) {
			return c.Fail("E0307", "%s: %s offers no %q%s; it offers ctx, %s", s.arg, what, p.name, near.DidYouMean(p.name, append(slices.Clone(offered), ctxName)), strings.Join(offered, ", ")).
				Way("a parameter that is only for a default begins with _")
		}
	}
	return nil
}

// keywordArguments returns the keyword arguments of a call: ctx, what the parameters name,
// and with **kwargs everything else on offer, in the order of names.
func (s *signature) keywordArguments(h *handlerCall, names []string, get func(name string) (starlark.Value, error)) ([]starlark.Tuple, error) {
	var kwargs []starlark.Tuple
	if s.takesArgument(ctxName) {
		kwargs = append(kwargs, starlark.Tuple{starlark.String(ctxName), h.ctx()})
	}
	for _, name := range names {
		if name == ctxName || !s.rest && !s.takesArgument(name) {
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

// An arranger makes the arguments of a hook's call: those of the event that it names.
type eventArguments func(*handlerCall, *starhost.Event) (args starlark.Tuple, kwargs []starlark.Tuple, err error)

// arranger returns the arranger of a hook of an event.
func (s *signature) arranger(spec *starhost.EventSpec) eventArguments {
	if fields, ok := s.fieldGetters(); ok {
		return func(h *handlerCall, e *starhost.Event) (starlark.Tuple, []starlark.Tuple, error) {
			args, err := positionalArguments(h, e, fields)
			return args, nil, err
		}
	}
	return func(h *handlerCall, e *starhost.Event) (starlark.Tuple, []starlark.Tuple, error) {
		kwargs, err := s.keywordArguments(h, spec.Args, func(name string) (starlark.Value, error) { return argumentValue(e.Arg(name)) })
		return nil, kwargs, err
	}
}

// fieldGetters returns what finds the arguments of a call by place, nil for ctx, and whether
// they are all: those by name alone, and those behind a private parameter, are not.
func (s *signature) fieldGetters() (fields []func(*starhost.Event) any, ok bool) {
	public := func(p param) bool { return !p.private() }
	first := slices.IndexFunc(s.params, param.private)
	if first < 0 {
		first = len(s.params)
	}
	for _, p := range s.params[:first] {
		if p.name == ctxName {
			fields = append(fields, nil)
		} else {
			fields = append(fields, func(e *starhost.Event) any { return e.Arg(p.name) })
		}
	}
	return fields, !s.rest && s.fn.NumKwonlyParams() == 0 && !slices.ContainsFunc(s.params[first:], public)
}

// positionalArguments returns the arguments of a call by place, which are the same as those
// by name and cost less.
func positionalArguments(h *handlerCall, e *starhost.Event, fields []func(*starhost.Event) any) (starlark.Tuple, error) {
	args := h.argBuffer[:0]
	for _, field := range fields {
		if field == nil {
			args = append(args, h.ctx())
			continue
		}
		v, err := argumentValue(field(e))
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return args, nil
}

// A placed handler takes its arguments by place: (arg) or (ctx, arg).
type positionalHandler struct {
	*signature
	ctx  bool // it takes ctx
	args int  // beside ctx: 1 or 0
}

// readPositionalHandler reads the parameters of a handler that takes so many arguments by place,
// 1 or 0, and ctx in front of them if it wants to.
func readPositionalHandler(c call.Call, r *Recorder, arg string, handler starlark.Callable, args int) (*positionalHandler, error) {
	s, err := signatureOf(c, r, arg, handler)
	if err != nil {
		return nil, err
	}
	var places []param
	for _, p := range s.params {
		if !p.private() {
			places = append(places, p)
		}
	}
	switch n := len(places); {
	case n == args && (n == 0 || places[0].name != ctxName):
		return &positionalHandler{s, false, args}, nil
	case n == args+1 && s.takesContextFirst(places):
		return &positionalHandler{s, true, args}, nil
	}
	want := []string{"() or (ctx)", "(arg) or (ctx, arg)"}[args]
	return nil, c.Fail("E0307", "%s: %s has the parameters (%s), want %s", arg, s.fn.Name(), strings.Join(paramList(places), ", "), want).
		Way("a parameter that is only for a default begins with _")
}

// takesContextFirst reports whether the first of the parameters takes ctx: the one before
// an argument, or the only one if it is called so.
func (s *signature) takesContextFirst(places []param) bool {
	first, last := places[0], places[len(places)-1]
	return s.fn.NumKwonlyParams() == 0 && first.value == nil && (first.name == ctxName || len(places) > 1 && last.value == nil)
}

// call calls the handler for a turn. Of arg there is none if it takes none.
func (p *positionalHandler) call(ctx context.Context, r *Recorder, t *starhost.Turn, arg string) (starlark.Value, error) {
	h := r.begin(ctx, t)
	args := h.argBuffer[:0]
	if p.ctx {
		args = append(args, h.ctx())
	}
	if p.args > 0 {
		args = append(args, starlark.String(arg))
	}
	return h.run(p.signature, args, nil)
}
