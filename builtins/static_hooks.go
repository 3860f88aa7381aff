package builtins

import (
	"slices"

	"go.starlark.net/syntax"
)

// Hooks describes the hooks that a file registers, as far as its syntax tree shows them.
type Hooks struct {
	// Events are the events whose names the file writes as literals, sorted.
	Events []string
	// Unclear is true if the file also registers hooks for events whose names are no literals.
	Unclear bool
	// Decides is what the functions of the file can decide, as in [starhost.Plugin.Decides].
	Decides []string
	// Loads are the labels of the files that the file loads. These may register hooks, too.
	Loads []string
}

// ReadHooks returns the hooks that a file registers, without running it.
func ReadHooks(f *syntax.File) Hooks {
	var h Hooks
	called := map[*syntax.Ident]bool{} // names in call position that were read already
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LoadStmt:
			h.Loads = append(h.Loads, n.ModuleName())
		case *syntax.CallExpr:
			switch id, _ := n.Fn.(*syntax.Ident); {
			case id == nil:
			case id.Name == "register_hook":
				called[id] = true
				h.add(eventOf(n))
			case id.Name == "register_guard":
				called[id] = true
				h.add("pre_tool_call", true)
			}
		case *syntax.Ident:
			h.Unclear = h.Unclear || (n.Name == "register_hook" || n.Name == "register_guard") && !called[n]
		}
		return true
	})
	slices.Sort(h.Events)
	h.Events, h.Decides = slices.Compact(h.Events), decidesOf(f)
	return h
}

// add adds the event that one call of register_hook names.
func (h *Hooks) add(event string, spelt bool) {
	if !spelt {
		h.Unclear = true
		return
	}
	h.Events = append(h.Events, event)
}

// eventOf returns the event that a call of register_hook names, if the name is a literal.
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
