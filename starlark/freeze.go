package starlark

import (
	"fmt"
	"iter"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// A Container is a host's value that contains other values. The freeze check follows them. Any other value of
// the host counts as one value without parts.
type Container interface {
	starlark.Value
	// Parts returns the values that Freeze reaches directly.
	Parts() []starlark.Value
}

// A TextValue is a host's value that contains texts and no other values. The freeze check and the
// text walk ask for its length instead of following its parts.
type TextValue interface {
	starlark.Value
	// TextBytes returns the length of all its texts together.
	TextBytes() int
}

// freeze freezes the globals of a file and the extra values. Before, it checks that Freeze will end soon.
func freeze(file string, globals starlark.StringDict, extra []starlark.Value) error {
	c := freezeCheck{pos: Pos{File: file}}
	for _, name := range globals.Keys() {
		if err := c.walk(globals[name], 1); err != nil {
			return err
		}
	}
	for _, v := range extra {
		if err := c.walk(v, 1); err != nil {
			return err
		}
	}
	globals.Freeze()
	for _, v := range extra {
		v.Freeze()
	}
	return nil
}

// checkResult checks that starhost can freeze, store and convert the result of a function.
func (w *worker) checkResult(v starlark.Value) error {
	if isAtom(v) {
		return nil
	}
	c := freezeCheck{pos: w.calledFuncPos()}
	return c.walk(v, 1)
}

// A freezeCheck visits values as Freeze does. Freeze visits lists, dicts and sets once, because
// they store whether they are frozen. It visits tuples, functions, structs and bound methods once
// for each path to them, which can take exponential time, and it never ends on a function that
// captures itself.
type freezeCheck struct {
	pos         Pos // the position that errors report
	nodes       int
	firstValue  starlark.Value // the first visited value; most results are one list, which needs no map
	seenValues  map[starlark.Value]bool
	activeFuncs map[*starlark.Function]bool
}

func (c *freezeCheck) walk(v starlark.Value, depth int) error {
	if c.nodes++; c.nodes > freezeNodes {
		return &LimitError{Limit: "freeze", Op: "number of values", Need: uint64(c.nodes), Max: freezeNodes, Pos: c.pos}
	}
	if depth > freezeDepth {
		return &LimitError{Limit: "freeze", Op: "nesting of values", Need: uint64(depth), Max: freezeDepth, Pos: c.pos}
	}
	switch v := v.(type) {
	case *starlark.List:
		return c.walkOnce(v, func() error { return walkElements(v.Elements(), c, depth) })
	case *starlark.Dict:
		return c.walkOnce(v, func() error { return c.walkEntries(v, depth) })
	case *starlark.Set:
		return c.walkOnce(v, func() error { return walkElements(v.Elements(), c, depth) })
	case starlark.Tuple:
		return walkElements(v.Elements(), c, depth)
	case *starlark.Function:
		return c.walkFunction(v, depth)
	case *starlark.Builtin:
		if r := v.Receiver(); r != nil {
			return c.walk(r, depth+1)
		}
	case *starlarkstruct.Struct:
		for _, x := range v.Entries() {
			if err := c.walk(x, depth+1); err != nil {
				return err
			}
		}
	case Container:
		for _, x := range v.Parts() {
			if err := c.walk(x, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// walkOnce visits the parts of a list, dict or set, unless they were visited before.
func (c *freezeCheck) walkOnce(v starlark.Value, parts func() error) error {
	switch {
	case c.firstValue == nil:
		c.firstValue = v
		return parts()
	case c.firstValue == v, c.seenValues[v]:
		return nil
	case c.seenValues == nil:
		c.seenValues = map[starlark.Value]bool{}
	}
	c.seenValues[v] = true
	return parts()
}

func walkElements(values iter.Seq[starlark.Value], c *freezeCheck, depth int) error {
	for x := range values {
		if err := c.walk(x, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *freezeCheck) walkEntries(d *starlark.Dict, depth int) error {
	for k, x := range d.Entries() {
		if err := c.walk(k, depth+1); err != nil {
			return err
		}
		if err := c.walk(x, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// walkFunction visits the defaults and the captured variables of fn.
func (c *freezeCheck) walkFunction(fn *starlark.Function, depth int) error {
	if c.activeFuncs[fn] {
		return &freezeError{fn}
	}
	if c.activeFuncs == nil {
		c.activeFuncs = map[*starlark.Function]bool{}
	}
	c.activeFuncs[fn] = true
	defer delete(c.activeFuncs, fn)
	for i := range fn.NumParams() {
		if x := fn.ParamDefault(i); x != nil {
			if err := c.walk(x, depth+1); err != nil {
				return err
			}
		}
	}
	for i := range fn.NumFreeVars() {
		if _, x := fn.FreeVar(i); x != nil {
			if err := c.walk(x, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// A freezeError reports a function that captures itself.
type freezeError struct{ fn *starlark.Function }

func (e *freezeError) Error() string {
	return fmt.Sprintf("function %s captures itself; it cannot be frozen", e.fn.Name())
}

// Place returns the position of the function's definition.
func (e *freezeError) Place() syntax.Position { return e.fn.Position() }

func (e *freezeError) Code() string { return limitKinds["freeze"].code }

func (e *freezeError) Help() string {
	return "define the function at the top level, where it sees itself as a global"
}
