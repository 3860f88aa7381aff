package builtins

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// Topics returns the table of everything that a plugin's file can say. Entries
// without a Value are the language's own, or reached through a parameter. rt may
// be nil when only the descriptions are wanted.
func Topics(rt Runtime) []Topic {
	topics := []Topic{
		{"Registrations", "What a plugin says of itself and offers.", false, entriesOf(rt, registrations)},
		{"Values", "What handlers return beside text.", false, entriesOf(rt, values)},
		{"Decisions", "What hooks return to decide. Which of them an event accepts is listed with the event.", false, entriesOf(rt, decisions)},
		{"Settings", "What the operator can set.", false, []Entry{configEntry}},
		{"ctx", "Everything that crosses the wall. A handler that wants it has a parameter of that name.", false, ctxEntries()},
		{"Arguments", "Arguments of events that are more than plain values.", false, viewEntries},
		{"files", "The files of the plugin's own folder, also while it is loaded.", true, filesModule(rt)},
	}
	topics = append(topics, moduleTopics(rt)...)
	return append(topics, Topic{"Language", "What Starlark itself has.", false, languageEntries(rt)})
}

// Table returns the entries of all topics, in their order.
func Table(rt Runtime) []Entry {
	var lists [][]Entry
	for _, t := range Topics(rt) {
		lists = append(lists, t.Entries)
	}
	return slices.Concat(lists...)
}

// entriesOf describes members that belong to no module.
func entriesOf(rt Runtime, members []Member) []Entry {
	entries := make([]Entry, len(members))
	for i, m := range members {
		entries[i] = m.Entry(rt, m.Name)
	}
	return entries
}

// Modules returns the values of entries as a file sees them: members such as
// "text.wrap" are grouped into a frozen module. Entries without a Value are left
// out.
func Modules(entries []Entry) starlark.StringDict {
	env := starlark.StringDict{}
	for _, e := range entries {
		module, member, dotted := strings.Cut(e.Name, ".")
		switch {
		case e.Value == nil:
		case !dotted:
			env[e.Name] = e.Value
		case env[module] == nil:
			env[module] = &starlarkstruct.Module{Name: module, Members: starlark.StringDict{member: e.Value}}
		default:
			env[module].(*starlarkstruct.Module).Members[member] = e.Value
		}
	}
	env.Freeze()
	return env
}
