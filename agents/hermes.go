package agents

import "time"

// hermes has the events that start a program. At exit code 2 it blocks a tool call, with the
// message of the JSON; it takes any other code for a failure. Plugins of starhost do not
// take part in on_session_end, because Hermes fires it after each turn.
var hermes = &Agent{
	Name: "hermes", Title: "Hermes", ToolPrefix: "mcp_starhost_",
	Timeout: time.Minute, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"turn_id", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_response", "transcript_path"},
	Served:        true, MCPPrefix: "mcp_", MCPSeparator: "_",
	Rewrites: "*", TellsModel: true, TakesContext: true,
	Missing: "refuses (`fail_closed: true` of `pre_tool_call`)", Seen: "docs of 2026-11",
	// hermes-agent.nousresearch.com/docs/user-guide/features/hooks.
	Files: Files{
		Program: "hermes", Env: "HERMES_HOME", Folder: "~/.hermes", User: "config.yaml",
		Next: "Hermes asks you once for each line whether it may run",
	},
	Events: []Event{
		{Name: "on_session_start", Ours: "session_start"},
		{Name: "on_session_end", Ours: "session_end"},
		{Name: "on_session_finalize", Ours: "session_end", Served: true},
		{Name: "on_session_reset", Ours: "session_reset", Served: true},
		{Name: "pre_llm_call", Ours: "turn_start", Served: true},
		{Name: "post_llm_call", Ours: "post_llm_call", Served: true},
		{Name: "pre_tool_call", Ours: "pre_tool_call", Served: true},
		{Name: "post_tool_call", Ours: "post_tool_call", Served: true},
		{Name: "transform_tool_result", Ours: "post_tool_call"},
		{Name: "transform_llm_output", Ours: "post_llm_call"},
		{Name: "pre_api_request", Ours: "pre_send"},
		{Name: "post_api_request", Ours: "post_llm_call"},
		{Name: "pre_approval_request", Ours: "approve_tool_call"},
		{Name: "pre_gateway_dispatch", Ours: "turn_start"},
		{Name: "transform_terminal_output", Ours: "post_tool_call"},
		{Name: "subagent_start"}, {Name: "subagent_stop"}, {Name: "api_request_error"},
		{Name: "post_approval_response"},
	},
	Tools: []Tool{
		{Names: "terminal", Kind: "shell", Command: "command", CWD: "workdir ?"},
		{Names: "execute_code", Kind: "shell", Command: "code"},
		{Names: "process", Kind: "shell", Command: "data", CWD: "?"},
		{Names: "read_file", Kind: "read", Paths: "path"},
		{Names: "write_file", Kind: "write", Paths: "path", Content: "content"},
		{Names: "patch", Kind: "write", Paths: "path", Patch: "patch", Content: "new_string"},
		{Names: "search_files", Kind: "search", Query: "pattern", Paths: "path"},
		{Names: "web_search", Kind: "search", Query: "query"},
		{Names: "web_extract", Kind: "fetch", URL: "urls"},
		{Names: "delegate_task", Kind: "agent", Prompt: "goal tasks.goal"},
	},
	Canary: `{"hook_event_name":"pre_tool_call","tool_name":@TOOL@,"tool_input":@ARGS@,` +
		`"session_id":@SESSION@,"cwd":@FOLDER@,"extra":{}}`,
	lifts: []lift{
		{By: "a line without consent in `shell-hooks-allowlist.json`", Ours: doctorSaysIt, Read: "the source of commit 00067189d"},
		{By: "`HERMES_HOME` or `HERMES_SAFE_MODE`", Ours: doctorBlind, Read: "the source of commit 00067189d"},
	},
}

// hermesGateway has the events that only Hermes's own Python code gets.
var hermesGateway = &Agent{
	Title: "Hermes",
	Events: []Event{
		{Name: "session:start", Ours: "session_start"},
		{Name: "session:end", Ours: "session_end"},
		{Name: "session:reset", Ours: "session_reset"},
		{Name: "agent:start", Ours: "turn_start"},
		{Name: "agent:step", Ours: "pre_llm_call"},
		{Name: "agent:end", Ours: "turn_end"},
		{Name: "command:*", Ours: "pre_command"},
	},
}
