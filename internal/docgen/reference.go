// Package docgen writes the reference: what docs explains, as text, JSON, Markdown pages and stubs for
// editors. It comes from the tables that the code itself uses, so that no page says anything else.
package docgen

import (
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/guard"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// A Reference is everything that docs can explain, or the part that has one name. It comes from
// the tables that the code itself uses.
type Reference struct {
	Name        string       // the name that the user asked for, "" for all
	Topics      []call.Topic // the last one has the steps of golden cases
	Cases       []call.Topic // the sections of golden cases, and the flags that run them
	Events      []starhost.EventSpec
	Permissions []effects.PermissionKind
	Keys        []loader.Key
	Codes       []starlark.Code
	Subjects    []subject
	Packs       []guard.Pack
	Exit        func(code string) int // of an error code
}

// casesName is the name for everything about golden cases.
const casesName = "golden"

// stepsTopic is the name of the topic with the steps of golden cases.
const stepsTopic = "Steps"

// New returns everything that docs explains: the codes of errors with their exit codes,
// and the flags of test, with their usage.
func New(codes []starlark.Code, exit func(code string) int, usage func(flag string) string) Reference {
	steps := call.Topic{
		Name:    stepsTopic,
		Doc:     "Functions for case.star of a golden case. It can also use the modules and functions of plugins, but not ctx, config, load and registrations.",
		Entries: builtins.CaseTable(nil, nil),
	}
	return Reference{
		Topics:      append(builtins.Topics(nil), steps),
		Cases:       append(golden.Format(), testTopics(usage)...),
		Events:      starhost.Events(),
		Permissions: effects.PermissionKinds(),
		Keys:        loader.Keys(),
		Codes:       codes,
		Exit:        exit,
		Subjects:    Subjects(),
		Packs:       packs(),
	}
}

// Part returns everything that has a name: a builtin with its members, an event, a kind of
// permission, a config key or all keys of a table, an error code, a part of golden cases, or a
// subject.
func (r Reference) Part(name string) Reference {
	part := Reference{Name: name, Exit: r.Exit}
	for _, t := range r.Topics {
		t.Entries = filter(t.Entries, func(e call.Entry) bool {
			return e.Name == name || strings.HasPrefix(e.Name, name+".")
		})
		if len(t.Entries) > 0 {
			part.Topics = append(part.Topics, t)
		}
	}
	for _, t := range r.Cases {
		if name != casesName && !strings.EqualFold(t.Name, name) {
			t.Entries = filter(t.Entries, func(e call.Entry) bool {
				return e.Name == name || strings.HasPrefix(e.Name, name+".") || caseName(e) == name
			})
		}
		if len(t.Entries) > 0 {
			part.Cases = append(part.Cases, t)
		}
	}
	if name == casesName {
		part.Topics = r.Topics[len(r.Topics)-1:]
	}
	part.Events = filter(r.Events, func(e starhost.EventSpec) bool { return e.Name == name })
	part.Permissions = filter(r.Permissions, func(k effects.PermissionKind) bool { return k.Name == name })
	table := strings.Trim(name, "[]") + "."
	part.Keys = filter(r.Keys, func(k loader.Key) bool { return k.Name == name || strings.HasPrefix(k.Name, table) })
	part.Codes = filter(r.Codes, func(c starlark.Code) bool { return strings.EqualFold(c.Code, name) })
	part.Packs = filter(r.Packs, func(p guard.Pack) bool { return name == packsName || name == packsName+"."+p.Name })
	part.Subjects = filter(r.Subjects, func(s subject) bool { return s.has(name) })
	return part
}

// filter returns the items that fit, in order.
func filter[T any](items []T, fits func(T) bool) []T {
	var fitting []T
	for _, item := range items {
		if fits(item) {
			fitting = append(fitting, item)
		}
	}
	return fitting
}

// IsEmpty reports whether the reference has nothing.
func (r Reference) IsEmpty() bool {
	return len(r.Topics)+len(r.Cases)+len(r.Events)+len(r.Permissions)+len(r.Keys)+len(r.Codes)+len(r.Subjects)+len(r.Packs) == 0
}

// Entries returns the builtins of all topics.
func (r Reference) Entries() []call.Entry {
	var all []call.Entry
	for _, t := range r.Topics {
		all = append(all, t.Entries...)
	}
	return all
}

// Names returns everything that a user can ask for.
func (r Reference) Names() []string {
	var names []string
	for _, e := range r.Entries() {
		names = append(names, e.Name)
		for i, c := range e.Name {
			if c == '.' {
				names = append(names, e.Name[:i])
			}
		}
	}
	for _, t := range r.Cases {
		names = append(names, casesName, strings.ToLower(t.Name))
		for _, e := range t.Entries {
			names = append(names, caseName(e))
		}
	}
	for _, e := range r.Events {
		names = append(names, e.Name)
	}
	for _, k := range r.Permissions {
		names = append(names, k.Name)
	}
	for _, k := range r.Keys {
		table, _, _ := strings.Cut(k.Name, ".")
		names = append(names, table, k.Name)
	}
	for _, c := range r.Codes {
		names = append(names, c.Code)
	}
	for _, p := range r.Packs {
		names = append(names, packsName, packsName+"."+p.Name)
	}
	for _, s := range r.Subjects {
		names = append(names, s.Words()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// IsCode reports whether a name is spelt as the code of an error.
func IsCode(name string) bool {
	return len(name) > 1 && (name[0] == 'E' || name[0] == 'e') && strings.Trim(name[1:], "0123456789") == ""
}

// Signature returns the call of a builtin, or its name if it is a value.
func Signature(e call.Entry) string {
	if e.Signature == "" {
		return e.Name
	}
	return e.Signature
}

// PermissionForm returns the syntax of a kind of permission.
func PermissionForm(k effects.PermissionKind) string {
	if k.Form == "" {
		return k.Name
	}
	return k.Name + ":" + k.Form
}

// allowedReturns returns the results that handlers of an event may return.
func allowedReturns(e starhost.EventSpec) []string {
	var actions []string
	for _, act := range e.Actions {
		switch act {
		case starhost.ActionContext:
			actions = append(actions, "context")
		case starhost.ActionModify:
			actions = append(actions, "modify("+strings.Join(e.Modify, "=, ")+"=)")
		default:
			actions = append(actions, string(act))
		}
	}
	return actions
}

// argsOf returns the descriptions of an event's arguments.
func argsOf(e starhost.EventSpec) []builtins.Arg {
	all := builtins.Args()
	args := make([]builtins.Arg, len(e.Args))
	for i, name := range e.Args {
		args[i] = all[slices.IndexFunc(all, func(a builtins.Arg) bool { return a.Name == name })]
	}
	return args
}

// matchDoc describes the match parameter of an event's hooks, "" if they have none.
func matchDoc(e starhost.EventSpec) string {
	switch {
	case e.Tool:
		return "globs on the tool's name, and kind the kinds of its calls"
	case e.Command:
		return "globs on the command's name"
	}
	return ""
}

// failureDoc describes the effect of a failing handler.
func failureDoc(e starhost.EventSpec) string {
	switch {
	case e.Guard:
		return "denies, unless on_error says otherwise"
	case e.CanRefuse() && e.FailsClosed([]string{"abort", "modify *"}):
		return "aborts if the plugin's files contain the event's abort or modify, else it is logged and skipped, unless on_error says otherwise"
	case e.FailsClosed([]string{"modify *"}):
		return "withholds the result if the plugin's files contain modify(result=), else it is logged and skipped; on_error takes \"skip\" alone, because what it is about has run"
	}
	return "is logged and skipped, unless on_error says otherwise"
}

// printableExample returns an example with visible signs for NUL bytes.
func printableExample(example string) string {
	return strings.ReplaceAll(strings.Trim(example, "\n"), "\x00", "␀")
}
