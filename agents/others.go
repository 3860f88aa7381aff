package agents

var neko = &Agent{
	Title: "N.E.K.O",
	Events: []Event{
		{Name: "startup", Ours: "session_start"},
		{Name: "shutdown", Ours: "session_end"},
	},
}

// llm is the program of that name: https://llm.datasette.io.
var llm = &Agent{
	Title: "LLM",
	Events: []Event{
		{Name: "before_call", Ours: "pre_tool_call"},
		{Name: "after_call", Ours: "post_tool_call"},
	},
}
