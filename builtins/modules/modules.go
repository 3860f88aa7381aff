package modules

import "github.com/starhost/starhost/builtins/call"

// Topics returns the topics of all modules. rt may be nil if the caller needs only the
// descriptions.
func Topics(rt call.Runtime) []call.Topic {
	module := func(name, doc string, members []call.Member) call.Topic {
		return call.Topic{Name: name, Doc: doc, Module: true, Entries: call.Entries(rt, name, members)}
	}
	return []call.Topic{
		module("json", "JSON text.", jsonMembers),
		{Name: "math", Doc: "Numbers: functions and constants.", Module: true, Entries: mathModule(rt)},
		{Name: "time", Doc: "Times, durations and time zones; the time of the event is ctx.now.", Module: true, Entries: timeModule(rt)},
		module("re", "Regular expressions, as RE2 has them.", reMembers),
		module("text", "Text for people and models: layout, tables, Markdown.", textMembers),
		module("yaml", "YAML text.", yamlMembers),
		module("toml", "TOML text.", tomlMembers),
		module("csv", "Comma-separated values.", csvMembers),
		module("base64", "Data as text.", base64Members),
		module("hash", "Digests.", hashMembers),
		module("shell", "Command lines of shells: the programs that they would run.", shellMembers),
		{Name: "Records", Doc: "Values with fields.", Entries: structModule(rt)},
	}
}
