package builtins

import (
	"slices"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/builtins/modules"
)

// Topics returns the table of all names that a plugin's file can use. If an entry has no Value, the name
// belongs to the language, or handlers receive its value as an argument. rt may be nil if the caller needs
// only the descriptions.
func Topics(rt call.Runtime) []call.Topic {
	topics := []call.Topic{
		{Name: "Registrations", Doc: "Functions that describe the plugin and register its handlers.", Entries: entriesOf(rt, registrations)},
		{Name: "Values", Doc: "Values that handlers return, besides text.", Entries: entriesOf(rt, values)},
		{Name: "Decisions", Doc: "Values that hooks return to decide. The reference of each event lists those that it accepts.", Entries: entriesOf(rt, decisions)},
		{Name: "Settings", Doc: "Values that the operator sets.", Entries: []call.Entry{configEntry}},
		{Name: "ctx", Doc: "Effects outside the plugin. A handler that needs them has a parameter ctx.", Entries: ctxEntries()},
		{Name: "Arguments", Doc: "Arguments of events that are views of the request's parts.", Entries: viewEntries},
		{Name: "files", Doc: "The files of the plugin's own folder, also while it is loaded.", Module: true, Entries: call.Entries(rt, "files", filesMembers)},
	}
	topics = append(topics, modules.Topics(rt)...)
	return append(topics, call.Topic{Name: "Language", Doc: "Names of Starlark itself.", Entries: languageEntries(rt)})
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

// DefineAll defines entries in a sandbox. It leaves out those without a Value, which are a part of the language.
func DefineAll[Cost ~struct{ Steps, BytesPerArgByte uint64 }](
	box interface {
		Define(name string, value starlark.Value, cost Cost) error
	}, entries []call.Entry,
) error {
	for i := range entries {
		e := &entries[i]
		if e.Value == nil {
			continue
		}
		if err := box.Define(e.Name, e.Value, Cost(e.Cost)); err != nil {
			return err
		}
	}
	return nil
}
