package builtins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/near"
)

// ctxName is the parameter that receives the context, at any position.
const ctxName = "ctx"

// A param is one parameter of a handler; *args and **kwargs are none.
type param struct {
	name  string
	value starlark.Value // the default, or nil
}

// private reports whether the parameter never receives an argument.
func (p param) private() bool { return strings.HasPrefix(p.name, "_") }

// A signature describes the parameters that a handler's def or lambda lists.
type signature struct {
	arg    string // the argument of the registration that the handler is: "handler", "complete"
	fn     *starlark.Function
	params []param // the parameters in their order, with the private ones
	rest   bool    // the handler has **kwargs
}

// signatureOf reads the parameters of a handler. It refuses a builtin, because its parameters cannot be read;
// *args, because arguments come by name; and a private parameter without a default, because it would stay
// empty.
func signatureOf(c call.Call, r *Recorder, arg string, handler starlark.Callable) (*signature, error) {
	fn, ok := handler.(*starlark.Function)
	if !ok {
		return nil, c.Fail("E0307", "%s: got the builtin %s, want a def or a lambda: lambda x: %s(x)", arg, handler.Name(), handler.Name())
	}
	if trap, ok := r.captures[posOf(fn.Position())]; ok {
		return nil, c.Fail("E0309", "%s: %s uses %s, which the loop at %s binds: called later, each of them sees the last value", arg, fn.Name(), trap.Name, trap.Loop).
			Way(fmt.Sprintf("a default stores the current value: write _%s = %s among the parameters, and _%s in the body", trap.Name, trap.Name, trap.Name))
	}
	if fn.HasVarargs() {
		return nil, c.Fail("E0307", "%s: %s has *args, but arguments arrive by name: use **kwargs", arg, fn.Name())
	}
	if n := len(fn.Doc()); n > 0 { // registrations make a description and a schema of the docstring
		if err := c.Pay(n/4, 6*n); err != nil {
			return nil, err
		}
	}
	r.handlers = append(r.handlers, fn)
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

// namedParams returns the parameters that receive an argument by name: all except ctx and the private ones.
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

// takesArgument reports whether a parameter of that name receives an argument.
func (s *signature) takesArgument(name string) bool {
	return slices.ContainsFunc(s.params, func(p param) bool { return p.name == name && !p.private() })
}

// checkNames returns an error if a parameter has a name that no offered argument has.
func checkNames(c call.Call, s *signature, what string, offered []string) error {
	for _, p := range s.namedParams() {
		if !slices.Contains(offered, p.name) {
			hint := near.DidYouMean(p.name, append(slices.Clone(offered), ctxName))
			return c.Fail("E0307", "%s: %s offers no %q%s; it offers ctx, %s",
				s.arg, what, p.name, hint, strings.Join(offered, ", ")).
				Way("a parameter that is only for a default begins with _")
		}
	}
	return nil
}

// keywordArguments returns the keyword arguments for a call, in the order of names: ctx, the arguments that
// parameters name and, with **kwargs, all other names, too.
func (s *signature) keywordArguments(
	h *handlerCall, names []string, get func(name string) (starlark.Value, error),
) ([]starlark.Tuple, error) {
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

// eventArguments is a function that makes the arguments for a hook's call from an event.
type eventArguments func(*handlerCall, *starhost.Event) (args starlark.Tuple, kwargs []starlark.Tuple, err error)

// arranger returns the function that makes the arguments for hooks on an event.
func (s *signature) arranger(spec *starhost.EventSpec) eventArguments {
	if names, ok := s.positionalNames(); ok {
		return func(h *handlerCall, e *starhost.Event) (starlark.Tuple, []starlark.Tuple, error) {
			args, err := positionalArguments(h, e, names)
			return args, nil, err
		}
	}
	return func(h *handlerCall, e *starhost.Event) (starlark.Tuple, []starlark.Tuple, error) {
		get := func(name string) (starlark.Value, error) { return eventValue(e, name) }
		kwargs, err := s.keywordArguments(h, spec.Args, get)
		return nil, kwargs, err
	}
}

// positionalNames returns the names of the arguments, with ctx, if they can be passed by position. ok is
// false if some can only come by name: keyword-only parameters, and those after a private parameter.
func (s *signature) positionalNames() (names []string, ok bool) {
	public := func(p param) bool { return !p.private() }
	first := slices.IndexFunc(s.params, param.private)
	if first < 0 {
		first = len(s.params)
	}
	return paramList(s.params[:first]),
		!s.rest && s.fn.NumKwonlyParams() == 0 && !slices.ContainsFunc(s.params[first:], public)
}

// positionalArguments returns the arguments for a call by position. Arguments by name would have the same
// effect, but take more allocations.
func positionalArguments(h *handlerCall, e *starhost.Event, names []string) (starlark.Tuple, error) {
	args := h.argBuffer[:0]
	for _, name := range names {
		if name == ctxName {
			args = append(args, h.ctx())
			continue
		}
		v, err := eventValue(e, name)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return args, nil
}

// A positionalHandler receives its arguments by position: (arg) or (ctx, arg).
type positionalHandler struct {
	*signature
	ctx  bool // the first parameter receives ctx
	args int  // how many parameters there are besides ctx: 1 or 0
}

// readPositionalHandler reads the parameters of a handler that takes args arguments (1 or 0) by position, and
// perhaps ctx before them.
func readPositionalHandler(
	c call.Call, r *Recorder, arg string, handler starlark.Callable, args int,
) (*positionalHandler, error) {
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

// takesContextFirst reports whether the first parameter receives ctx. It does if its name is ctx, or if
// another parameter without a default follows.
func (s *signature) takesContextFirst(places []param) bool {
	first, last := places[0], places[len(places)-1]
	if s.fn.NumKwonlyParams() > 0 || first.value != nil {
		return false
	}
	return first.name == ctxName || len(places) > 1 && last.value == nil
}

// positionalCall returns the Go function that calls a handler. A handler without parameters does not get arg.
func positionalCall[T any](
	r *Recorder, p *positionalHandler, convert func(starlark.Value) (T, error),
) func(ctx context.Context, arg string) (T, error) {
	return func(ctx context.Context, arg string) (got T, err error) {
		h := r.beginCall(ctx)
		args := h.argBuffer[:0]
		if p.ctx {
			args = append(args, h.ctx())
		}
		if p.args > 0 {
			args = append(args, starlark.String(arg))
		}
		v, err := h.call(p.fn, args, nil)
		if err != nil {
			return got, err
		}
		got, err = convert(v)
		return got, r.explainReturn(p.fn, err)
	}
}
