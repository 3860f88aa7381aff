package builtins

import (
	"slices"
	"strings"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/builtins/modules"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// Topics returns the table of all names that a plugin's file can use. An entry without a Value
// belongs to the language, or handlers receive its value as an argument. rt may be nil if the
// caller needs only the descriptions.
func Topics(rt call.Runtime) []call.Topic {
	topics := []call.Topic{
		{Name: "Registrations", Doc: "What a plugin says of itself and offers.", Entries: entriesOf(rt, registrations)},
		{Name: "Values", Doc: "What handlers return beside text.", Entries: entriesOf(rt, values)},
		{Name: "Decisions", Doc: "What hooks return to decide. Which of them an event accepts is listed with the event.", Entries: entriesOf(rt, decisions)},
		{Name: "Settings", Doc: "What the operator can set.", Entries: []call.Entry{configEntry}},
		{Name: "ctx", Doc: "Everything that crosses the wall. A handler that wants it has a parameter of that name.", Entries: ctxEntries()},
		{Name: "Arguments", Doc: "Arguments of events that are more than plain values.", Entries: viewEntries},
		{Name: "files", Doc: "The files of the plugin's own folder, also while it is loaded.", Module: true, Entries: filesModule(rt)},
	}
	topics = append(topics, modules.Topics(rt)...)
	return append(topics, call.Topic{Name: "Language", Doc: "What Starlark itself has.", Entries: languageEntries(rt)})
}

// Table returns the entries of all topics, in their order.
func Table(rt call.Runtime) []call.Entry {
	var lists [][]call.Entry
	for _, t := range Topics(rt) {
		lists = append(lists, t.Entries)
	}
	return slices.Concat(lists...)
}

// entriesOf returns the entries of members that belong to no module.
func entriesOf(rt call.Runtime, members []call.Member) []call.Entry {
	entries := make([]call.Entry, len(members))
	for i, m := range members {
		entries[i] = m.Entry(rt, m.Name)
	}
	return entries
}

// Modules returns the values of entries by their names in a file. It groups members such as
// "text.wrap" into frozen modules and omits entries without a Value.
func Modules(entries []call.Entry) starlark.StringDict {
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
