package builtins

// moduleTopics returns the rows of all modules, a topic for each. rt may be nil when
// only the descriptions are wanted.
func moduleTopics(rt Runtime) []Topic {
	return []Topic{
		{"json", "JSON text.", true, jsonModule()},
		{"math", "Numbers: functions and constants.", true, mathModule(rt)},
		{"time", "Times, durations and time zones; the time of the event is ctx.now.", true, timeModule(rt)},
		{"re", "Regular expressions, as RE2 has them.", true, reModule(rt)},
		{"text", "Text for people and models: layout, tables, Markdown.", true, textModule(rt)},
		{"yaml", "YAML text.", true, yamlModule(rt)},
		{"toml", "TOML text.", true, tomlModule(rt)},
		{"csv", "Comma-separated values.", true, csvModule(rt)},
		{"base64", "Data as text.", true, base64Module(rt)},
		{"hash", "Digests.", true, hashModule(rt)},
		{"Records", "Values with fields.", false, structModule(rt)},
	}
}
