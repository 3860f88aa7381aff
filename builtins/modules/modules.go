package modules

import "github.com/starhost/starhost/builtins/call"

// Topics returns the topics of all modules. rt may be nil if the caller needs only the
// descriptions.
func Topics(rt call.Runtime) []call.Topic {
	return []call.Topic{
		{Name: "json", Doc: "JSON text.", Module: true, Entries: jsonModule()},
		{Name: "math", Doc: "Numbers: functions and constants.", Module: true, Entries: mathModule(rt)},
		{Name: "time", Doc: "Times, durations and time zones; the time of the event is ctx.now.", Module: true, Entries: timeModule(rt)},
		{Name: "re", Doc: "Regular expressions, as RE2 has them.", Module: true, Entries: reModule(rt)},
		{Name: "text", Doc: "Text for people and models: layout, tables, Markdown.", Module: true, Entries: textModule(rt)},
		{Name: "yaml", Doc: "YAML text.", Module: true, Entries: yamlModule(rt)},
		{Name: "toml", Doc: "TOML text.", Module: true, Entries: tomlModule(rt)},
		{Name: "csv", Doc: "Comma-separated values.", Module: true, Entries: csvModule(rt)},
		{Name: "base64", Doc: "Data as text.", Module: true, Entries: base64Module(rt)},
		{Name: "hash", Doc: "Digests.", Module: true, Entries: hashModule(rt)},
		{Name: "shell", Doc: "Command lines of shells: the programs that they would run.", Module: true, Entries: shellModule(rt)},
		{Name: "Records", Doc: "Values with fields.", Entries: structModule(rt)},
	}
}
