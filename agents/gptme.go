package agents

import "time"

// gptme spells its events in two ways: as constants of Python, and as their values. The tools are
// those of gptme/tools at its commit d27f98d3a of 2026-08-22.
var gptme = &Agent{
	Title:  "gptme",
	Name:   "gptme",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"hook_event_name", "hookEventName", "session_id", "sessionId", "tool_name", "toolName"},
	Missing:       "refuses", Seen: "source at d27f98d3a",
	// gptme.org/docs/plugins.html and gptme/plugins/__init__.py.
	Files: Files{
		Program: "gptme", Folder: "~/.config/gptme", User: "plugins/starhost/hooks/starhost_hook.py",
		Project: ".gptme/plugins/starhost/hooks/starhost_hook.py",
	},
	AllEvents: true,
	Events: []Event{
		{Name: "SESSION_START", Ours: "session_start"},
		{Name: "SESSION_END", Ours: "session_end"},
		{Name: "TURN_PRE", Ours: "turn_start"},
		{Name: "TURN_POST", Ours: "turn_end"},
		{Name: "STEP_PRE", Ours: "pre_llm_call"},
		{Name: "STEP_POST", Ours: "post_llm_call"},
		{Name: "GENERATION_PRE", Ours: "pre_llm_call"},
		{Name: "GENERATION_POST", Ours: "post_llm_call"},
		{Name: "MESSAGE_PRE_PROCESS", Ours: "turn_start"},
		{Name: "MESSAGE_POST_PROCESS", Ours: "turn_end"},
		{Name: "TOOL_PRE_EXECUTE", Ours: "pre_tool_call"},
		{Name: "TOOL_EXECUTE_PRE", Ours: "pre_tool_call"},
		{Name: "TOOL_CONFIRM", Ours: "approve_tool_call"},
		{Name: "TOOL_POST_EXECUTE", Ours: "post_tool_call"},
		{Name: "TOOL_EXECUTE_POST", Ours: "post_tool_call"},
		{Name: "FILE_PRE_SAVE", Ours: "pre_file_save"},
		{Name: "FILE_SAVE_PRE", Ours: "pre_file_save"},
		{Name: "FILE_POST_SAVE", Ours: "post_file_save"},
		{Name: "FILE_SAVE_POST", Ours: "post_file_save"},
		{Name: "FILE_PRE_PATCH", Ours: "pre_file_save"},
		{Name: "FILE_POST_PATCH", Ours: "post_file_save"},
		{Name: "LOOP_CONTINUE", Ours: "turn_end"},
		{Name: "session.start", Ours: "session_start"},
		{Name: "session.end", Ours: "session_end"},
		{Name: "turn.pre", Ours: "turn_start"},
		{Name: "turn.post", Ours: "turn_end"},
		{Name: "step.pre", Ours: "pre_llm_call"},
		{Name: "step.post", Ours: "post_llm_call"},
		{Name: "tool.execute.pre", Ours: "pre_tool_call"},
		{Name: "tool.execute.post", Ours: "post_tool_call"},
		{Name: "tool.confirm", Ours: "pre_tool_call", Served: true},
		{Name: "file.save.pre", Ours: "pre_file_save"},
		{Name: "file.save.post", Ours: "post_file_save"},
	},
	Tools: []Tool{
		{Names: "shell tmux", Kind: "shell", Command: "command", CWD: "?"},
		{Names: "ipython", Kind: "shell", Command: "code", CWD: "?"},
		{Names: "read", Kind: "read", Paths: "path"},
		{Names: "save append", Kind: "write", Paths: "path", Content: "content"},
		{Names: "patch", Kind: "write", Paths: "path", Content: "patch"},
		{Names: "patch_many", Kind: "write", Content: "patches"},
		{Names: "morph", Kind: "write", Paths: "path", Content: "edit"},
	},
	Canary: `{"event":"tool.confirm","tool":@TOOL@,"args":@ARGS@,"cwd":@FOLDER@}`,
	lifts: []lift{
		{By: "`[plugins] enabled` without starhost in a project's `gptme.toml`", Ours: doctorSaysIt, Read: "the source of commit d27f98d3a"},
		{By: "the hook of another plugin with a higher priority", Ours: doctorBlind, Read: "the source of commit d27f98d3a"},
	},
}
