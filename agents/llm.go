package agents

// llm is the program of that name: https://llm.datasette.io.
var llm = &Agent{
	Title: "LLM",
	Events: []Event{
		{Name: "before_call", Ours: "pre_tool_call"},
		{Name: "after_call", Ours: "post_tool_call"},
	},
}
