package builtins

import (
	"slices"

	"go.starlark.net/syntax"
)

// Hooks are what the syntax tree of a file shows of the hooks that it registers.
type Hooks struct {
	// Events are the events that it spells out, sorted.
	Events []string
	// Unclear is true if it registers hooks for events that it does not spell out.
	Unclear bool
	// Loads are the labels of the files that it loads, which may register hooks as well.
	Loads []string
}

// ReadHooks returns the hooks that a file shows. No line of the file runs.
func ReadHooks(f *syntax.File) Hooks {
	var h Hooks
	called := map[*syntax.Ident]bool{} // names of functions whose call was read
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LoadStmt:
			h.Loads = append(h.Loads, n.ModuleName())
		case *syntax.CallExpr:
			if id, ok := n.Fn.(*syntax.Ident); ok && id.Name == "register_hook" {
				called[id] = true
				h.add(eventOf(n))
			}
		case *syntax.Ident:
			h.Unclear = h.Unclear || n.Name == "register_hook" && !called[n]
		}
		return true
	})
	slices.Sort(h.Events)
	h.Events = slices.Compact(h.Events)
	return h
}

// add adds the event of one call.
func (h *Hooks) add(event string, spelt bool) {
	if !spelt {
		h.Unclear = true
		return
	}
	h.Events = append(h.Events, event)
}

// eventOf returns the event that a call of register_hook names, if it is a literal.
func eventOf(call *syntax.CallExpr) (event string, spelt bool) {
	for i, arg := range call.Args {
		if bin, ok := arg.(*syntax.BinaryExpr); ok && bin.Op == syntax.EQ {
			if !isName(bin.X, "event") {
				continue
			}
			arg = bin.Y
		} else if i > 0 {
			continue
		}
		if text, ok := arg.(*syntax.Literal); ok && text.Token == syntax.STRING {
			return text.Value.(string), true
		}
	}
	return "", false
}
