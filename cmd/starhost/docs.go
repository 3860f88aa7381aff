package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

func (a *app) docsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "docs [NAME|CODE|WORD]",
		Short: "Explain a builtin, an event, a permission, a config key or an error code",
		Long: `Explain a builtin, an event, a module, a kind of permission, a config key, an error
code, golden cases (docs golden, docs effects.jsonl), or a word as docs trust, docs image,
docs uninstall; without a name, list them all.
--format is pretty, json, md (the pages of the reference) or pyi (stubs for editors:
write them to __builtins__.pyi).`,
		Example: `  starhost docs register_tool
  starhost docs pre_tool_call
  starhost docs text
  starhost docs prompt.dedup
  starhost docs E0203
  starhost docs golden
  starhost docs trust
  starhost docs --format pyi -o __builtins__.pyi`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("docs: got %d names, want one", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.chooseFormat("docs"); err != nil {
				return err
			}
			r := wholeReference()
			if len(args) == 1 {
				if r = r.part(args[0]); r.isEmpty() {
					return unknownTopic(args[0])
				}
			}
			return a.printResult(r)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topics(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// A reference is everything that docs can explain, or the part that has one name. It comes from
// the tables that the code itself uses.
type reference struct {
	name        string       // the name that the user asked for, "" for all
	topics      []call.Topic // the last one has the steps of golden cases
	cases       []call.Topic // the sections of golden cases, and the flags that run them
	events      []starhost.EventSpec
	permissions []effects.PermissionKind
	keys        []loader.Key
	codes       []starlark.Code
	subjects    []subject
}

// casesName is the name for everything about golden cases.
const casesName = "golden"

// stepsTopic is the name of the topic with the steps of golden cases.
const stepsTopic = "Steps"

func wholeReference() reference {
	steps := call.Topic{
		Name:    stepsTopic,
		Doc:     "Functions for case.star of a golden case. It can also use the modules and functions of plugins, but not ctx, config, load and registrations.",
		Entries: builtins.CaseTable(nil, nil),
	}
	return reference{
		topics:      append(builtins.Topics(nil), steps),
		cases:       append(golden.Format(), testTopics()...),
		events:      starhost.Events(),
		permissions: effects.PermissionKinds(),
		keys:        loader.Keys(),
		codes:       allCodes(),
		subjects:    subjects(),
	}
}

// allCodes returns the error codes of all packages, sorted.
func allCodes() []starlark.Code {
	all := slices.Concat(starlark.Codes(), builtins.Codes(), effects.Codes(), loader.Codes(), codes)
	slices.SortFunc(all, func(x, y starlark.Code) int { return strings.Compare(x.Code, y.Code) })
	return all
}

// part returns everything that has a name: a builtin with its members, an event, a kind of
// permission, a config key or all keys of a table, an error code, a part of golden cases, or a
// subject.
func (r reference) part(name string) reference {
	part := reference{name: name}
	for _, t := range r.topics {
		t.Entries = filter(t.Entries, func(e call.Entry) bool {
			return e.Name == name || strings.HasPrefix(e.Name, name+".")
		})
		if len(t.Entries) > 0 {
			part.topics = append(part.topics, t)
		}
	}
	for _, t := range r.cases {
		if name != casesName && !strings.EqualFold(t.Name, name) {
			t.Entries = filter(t.Entries, func(e call.Entry) bool {
				return e.Name == name || strings.HasPrefix(e.Name, name+".") || caseName(e) == name
			})
		}
		if len(t.Entries) > 0 {
			part.cases = append(part.cases, t)
		}
	}
	if name == casesName {
		part.topics = r.topics[len(r.topics)-1:]
	}
	part.events = filter(r.events, func(e starhost.EventSpec) bool { return e.Name == name })
	part.permissions = filter(r.permissions, func(k effects.PermissionKind) bool { return k.Name == name })
	table := strings.Trim(name, "[]") + "."
	part.keys = filter(r.keys, func(k loader.Key) bool { return k.Name == name || strings.HasPrefix(k.Name, table) })
	part.codes = filter(r.codes, func(c starlark.Code) bool { return strings.EqualFold(c.Code, name) })
	part.subjects = filter(r.subjects, func(s subject) bool { return s.has(name) })
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

func (r reference) isEmpty() bool {
	return len(r.topics)+len(r.cases)+len(r.events)+len(r.permissions)+len(r.keys)+len(r.codes)+len(r.subjects) == 0
}

// entries returns the builtins of all topics.
func (r reference) entries() []call.Entry {
	var all []call.Entry
	for _, t := range r.topics {
		all = append(all, t.Entries...)
	}
	return all
}

// names returns everything that a user can ask for.
func (r reference) names() []string {
	var names []string
	for _, e := range r.entries() {
		names = append(names, e.Name)
		for i, c := range e.Name {
			if c == '.' {
				names = append(names, e.Name[:i])
			}
		}
	}
	for _, t := range r.cases {
		names = append(names, casesName, strings.ToLower(t.Name))
		for _, e := range t.Entries {
			names = append(names, caseName(e))
		}
	}
	for _, e := range r.events {
		names = append(names, e.Name)
	}
	for _, k := range r.permissions {
		names = append(names, k.Name)
	}
	for _, k := range r.keys {
		table, _, _ := strings.Cut(k.Name, ".")
		names = append(names, table, k.Name)
	}
	for _, c := range r.codes {
		names = append(names, c.Code)
	}
	for _, s := range r.subjects {
		names = append(names, s.Words()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// topics returns everything that docs can explain.
func topics() []string { return wholeReference().names() }

// isCode reports whether a name is spelt as the code of an error.
func isCode(name string) bool {
	return len(name) > 1 && (name[0] == 'E' || name[0] == 'e') && strings.Trim(name[1:], "0123456789") == ""
}

func unknownTopic(name string) error {
	if isCode(name) {
		all := allCodes()
		return &usageError{msg: "docs: no error has the code " + strings.ToUpper(name), help: "codes are " + all[0].Code + " to " +
			all[len(all)-1].Code + ", with gaps: starhost docs lists all names"}
	}
	names := topics()
	hint := near.DidYouMean(name, names)
	// The last part of a name is enough for a suggestion: dedent suggests text.dedent.
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, "."+name) }); i >= 0 {
		hint = near.Hint(names[i])
	}
	if ours := agents.EventHint(name); ours != "" {
		hint = " (" + ours + ")"
	}
	return &usageError{msg: "docs: nothing is named " + quote(name) + hint, help: "starhost docs lists all names"}
}

// signature returns the call of a builtin, or its name if it is a value.
func signature(e call.Entry) string {
	if e.Signature == "" {
		return e.Name
	}
	return e.Signature
}

// permissionForm returns the syntax of a kind of permission.
func permissionForm(k effects.PermissionKind) string {
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
