package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// The names of the warnings about decisions.
const (
	LostDecision    = "lost-decision"    // the handler fails whenever it returns this
	OtherRefusal    = "other-refusal"    // the host takes the refusal that the event has
	refusingActions = " deny ask abort " // as functions of plugins
)

// checkDecisions reports decisions that the event of a handler does not have, if the handler's text
// returns them by name.
func (m *misuses) checkDecisions(x *build.CallExpr) {
	if pathOf(x.X) != "register_hook" || m.own["register_hook"] {
		return
	}
	var event, handler build.Expr
	for i, arg := range x.List {
		switch name, value := keyword(arg); {
		case name == "event" || name == "" && i == 0:
			event = value
		case name == "handler" || name == "" && i == 1:
			handler = value
		}
	}
	name, ok := event.(*build.StringExpr)
	if !ok || m.words.Decisions[name.Value] == nil {
		return
	}
	for _, made := range m.decisionsOf(handler) {
		m.checkDecision(name.Value, made)
	}
}

func (m *misuses) checkDecision(event string, made *build.CallExpr) {
	action, has := pathOf(made.X), m.words.Decisions[event]
	if slices.Contains(has, action) || m.own[action] || !slices.Contains(m.words.Decisions[""], action) {
		return
	}
	refusal := slices.IndexFunc(has, func(a string) bool { return a == "abort" || a == "deny" })
	if refusal >= 0 && strings.Contains(refusingActions, " "+action+" ") {
		m.report(OtherRefusal, made, "%s has no %s, which counts as %s there: return %[3]s(...)", event, action, has[refusal])
		return
	}
	m.report(LostDecision, made, "%s has no %s, so the handler fails whenever it returns this: it has %s", event, action, cmp.Or(strings.Join(has, ", "), "nothing"))
}

// decisionsOf returns the calls whose results a handler returns.
func (m *misuses) decisionsOf(handler build.Expr) []*build.CallExpr {
	var made []*build.CallExpr
	var add func(x build.Expr)
	add = func(x build.Expr) {
		switch x := x.(type) {
		case *build.CallExpr:
			made = append(made, x)
		case *build.ConditionalExpr:
			add(x.Then)
			add(x.Else)
		case *build.ParenExpr:
			add(x.X)
		}
	}
	switch h := handler.(type) {
	case *build.LambdaExpr:
		for _, x := range h.Body {
			add(x)
		}
	case *build.Ident:
		for _, stmt := range m.Stmt {
			def, ok := stmt.(*build.DefStmt)
			if !ok || def.Name != h.Name {
				continue
			}
			for _, ret := range returns(def.Body) {
				add(ret.Result)
			}
		}
	}
	return made
}
