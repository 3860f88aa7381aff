package agents

import "time"

// goose has only tools of extensions, which are MCP servers. The events and the developer's tools
// are those of docs/guides/context-engineering/hooks.md in documentation/ of block/goose at
// 0825b570490d.
var goose = &Agent{
	Name: "goose", Title: "goose", ToolPrefix: "starhost__", MCPSeparator: "__",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"hook_event_name", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_result", "permission_mode"},
	Missing:       "refuses (`on_failure: \"block\"` of `PreToolUse`)", Seen: "docs at 0825b570490d",
	Files: Files{
		Program: "goose", Folder: "~/.agents", User: "plugins/starhost/hooks/hooks.json",
		Project: ".agents/plugins/starhost/hooks/hooks.json",
	},
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "PreToolUseResult"}, {Name: "PostToolUse"}, {Name: "PostToolUseFailure"}, {Name: "BeforeReadFile"},
		{Name: "AfterFileEdit"}, {Name: "BeforeShellExecution"}, {Name: "AfterShellExecution"},
	},
	Tools: []Tool{
		{Names: "developer__shell", Kind: "shell", Command: "command"},
		{Names: "developer__write", Kind: "write", Paths: "path", Content: "content"},
		{Names: "developer__edit", Kind: "write", Paths: "path", Content: "after"},
		{Names: "developer__tree", Kind: "read", Paths: "path"},
		{Names: "developer__read_image", Kind: "read", Paths: "source"},
		{Names: "developer__text_editor", If: "command=view", Kind: "read", Paths: "path"},
		{Names: "developer__text_editor", Kind: "write", Paths: "path", Content: "file_text new_str"},
	},
	Canary: `{"event":"PreToolUse","session_id":@SESSION@,"tool_name":@TOOL@,"tool_input":@ARGS@,` +
		`"working_dir":@FOLDER@}`,
}
