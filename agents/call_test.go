package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/host"
)

// TestDescribe checks the kinds and fields of calls.
func TestDescribe(t *testing.T) {
	patch := "*** Begin Patch\n*** Update File: src/a.go\n*** Move to: src/b.go\n*** Add File: /etc/passwd\n*** End Patch\n"
	var many []string
	for i := range 70 {
		many = append(many, fmt.Sprintf(`"k%02d":{"path":"a"}`, i))
	}
	manyPlaces := "{" + strings.Join(many, ",") + "}"
	tests := []struct {
		name, agent, tool, args string
		want                    agents.Call
	}{
		{"a shell command", "claude-code", "Bash", `{"command":"rm -rf x"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm -rf x", CWD: "/w"}},
		{"arguments that are a patch", "copilot", "apply_patch", string(mustMarshal(patch)),
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/src/a.go", "/w/src/b.go", "/etc/passwd"}, Content: patch, CWD: "/w"}},
		{"arguments that are a command", "copilot", "bash", `"rm -rf x"`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm -rf x"}},
		{"arguments that are half an object", "copilot", "bash", `"{\"command\":\"rm"`,
			agents.Call{Kinds: []string{"shell"}, Command: `{"command":"rm`}},
		{"arguments that are an address", "copilot", "web_fetch", `"https://a"`,
			agents.Call{Kinds: []string{"fetch"}, URL: "https://a", CWD: "/w"}},
		{"a text at a deep place", "vscode", "create_and_run_task", `"rm x"`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x", CWD: "/w"}},
		{"a text for an unknown tool", "copilot", "new_tool", `"rm x"`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x", CWD: "/w"}},
		{"a patch for an unknown tool", "copilot", "new_tool", string(mustMarshal(patch)),
			agents.Call{Kinds: []string{"shell", "write"}, Command: patch, CWD: "/w", Content: patch,
				Paths: []string{"/w/src/a.go", "/w/src/b.go", "/etc/passwd"}}},
		{"a text for another server", "copilot", "wiki-get", `"rm x"`,
			agents.Call{Kinds: []string{"shell", "mcp"}, Command: "rm x", CWD: "/w", Server: "wiki", ServerTool: "get"}},
		{"Cursor's folder", "cursor", "Shell", `{"command":"ls","working_directory":"/srv"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "ls", CWD: "/srv"}},
		{"an empty folder", "cursor", "Shell", `{"command":"ls","cwd":""}`,
			agents.Call{Kinds: []string{"shell"}, Command: "ls", CWD: "/w"}},
		{"in another folder", "codex", "exec_command", `{"cmd":"ls","workdir":"../b"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "ls", CWD: "/b"}},
		{"a list of arguments", "codex", "shell", `{"command":["bash","-lc","rm 'a b'"]}`,
			agents.Call{Kinds: []string{"shell"}, Command: `bash -lc 'rm '\''a b'\'''`, CWD: "/w"}},
		{"paths are clean", "claude-code", "Read", `{"file_path":"a/../../etc/./x"}`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"/etc/x"}, CWD: "/w"}},
		{"a name with a dash", "claude-code", "read_doc", `{"file-path":"a"}`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"/w/a"}, CWD: "/w"}},
		{"no drive", "claude-code", "Read", `{"file_path":"ab/c"}`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"/w/ab/c"}, CWD: "/w"}},
		{"half an escape", "claude-code", "Read", `{"file_path":"file:/a%4"}`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"/a%4"}, CWD: "/w"}},
		{"digits need no quotes", "codex", "shell", `{"command":["echo","90","a b"]}`,
			agents.Call{Kinds: []string{"shell"}, Command: `echo 90 'a b'`, CWD: "/w"}},
		{"lines that Python ends", "codex", "apply_patch", `{"input":"*** Begin Patch\u001e*** Add File: a\u001e*** End Patch"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a"}, CWD: "/w",
				Content: "*** Begin Patch\x1e*** Add File: a\x1e*** End Patch"}},
		{"home stays", "kiro", "fs_read", `{"operations":[{"path":"~/.ssh/../.netrc"},{"path":"b"}]}`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"~/.netrc", "/w/b"}, CWD: "/w"}},
		{"several edits", "claude-code", "MultiEdit", `{"file_path":"/a","edits":[{"new_string":"x"},{"new_string":"y"}]}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/a"}, Content: "x\ny", CWD: "/w"}},
		{"a patch", "codex", "apply_patch", string(mustMarshal(map[string]string{"input": patch})),
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/src/a.go", "/w/src/b.go", "/etc/passwd"}, Content: patch, CWD: "/w"}},
		{"a patch in a shell", "codex", "Bash", string(mustMarshal(map[string]string{"command": "apply_patch <<E\n" + patch + "E"})),
			agents.Call{Kinds: []string{"shell", "write"}, Command: "apply_patch <<E\n" + patch + "E", Content: "apply_patch <<E\n" + patch + "E",
				Paths: []string{"/w/src/a.go", "src/a.go", "/w/src/b.go", "src/b.go", "/etc/passwd"}}},
		{"the table wins over the arguments", "kiro", "fs_write", `{"command":"create","path":"a","file_text":"x"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a"}, Content: "x", CWD: "/w"}},
		{"a row with a condition", "openhands", "file_editor", `{"command":"view","path":"a"}`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"/w/a"}, CWD: "/w"}},
		{"its other row", "openhands", "file_editor", `{"command":"create","path":"a","file_text":"x"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a"}, Content: "x", CWD: "/w"}},
		{"a request", "claude-code", "WebFetch", `{"url":"https://a"}`,
			agents.Call{Kinds: []string{"fetch"}, URL: "https://a", CWD: "/w"}},
		{"a search", "claude-code", "Grep", `{"pattern":"key","path":"src"}`,
			agents.Call{Kinds: []string{"search"}, Query: "key", Paths: []string{"/w/src"}, CWD: "/w"}},
		{"a subagent", "claude-code", "Task", `{"prompt":"do it"}`,
			agents.Call{Kinds: []string{"agent"}, Prompt: "do it", CWD: "/w"}},
		{"another server", "claude-code", "mcp__wiki__get", `{"id":1}`,
			agents.Call{Kinds: []string{"mcp"}, Server: "wiki", ServerTool: "get", CWD: "/w"}},
		{"its command", "gemini", "mcp_desktop_run_it", `{"cmd":"rm x"}`,
			agents.Call{Kinds: []string{"shell", "mcp"}, Server: "desktop", ServerTool: "run_it", Command: "rm x", CWD: "/w"}},
		{"copilot's servers", "copilot", "github-mcp-server-list_issues", `{}`,
			agents.Call{Kinds: []string{"mcp"}, Server: "github-mcp-server", ServerTool: "list_issues", CWD: "/w"}},
		{"windsurf's servers", "windsurf", "mcp_tool_use", `{"mcp_server_name":"d","mcp_tool_name":"run","mcp_tool_arguments":{"script":"rm x"}}`,
			agents.Call{Kinds: []string{"shell", "mcp"}, Server: "d", ServerTool: "run", Command: "rm x", CWD: "/w"}},
		{"an unlisted tool with a command", "claude-code", "NewBash", `{"script":"rm x"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x", CWD: "/w"}},
		{"an unlisted tool that writes", "claude-code", "NewEdit", `{"file_path":"a","new_string":"x"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a"}, Content: "x", CWD: "/w"}},
		{"another agent's tool", "claude-code", "create_file", `{"filePath":"a","content":"x"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a"}, Content: "x", CWD: "/w"}},
		{"another agent's name with a command", "claude-code", "view", `{"path":"a","command":"rm x"}`,
			agents.Call{Kinds: []string{"shell", "read"}, Paths: []string{"/w/a"}, Command: "rm x", CWD: "/w"}},
		{"no agent", "", "anything", `{"x":1}`, agents.Call{Kinds: []string{"other"}, CWD: "/w"}},
		{"a command that is no text", "", "anything", `{"command":{"a":1}}`, agents.Call{Kinds: []string{"other"}, CWD: "/w"}},
		{"a mapped tool", "claude-code", "mcp__desktop__go", `{"go":{"line":"rm x"}}`,
			agents.Call{Kinds: []string{"shell", "mcp"}, Server: "desktop", ServerTool: "go", Command: "rm x", CWD: "/w"}},
		{"the table wins over mapped tools", "claude-code", "Write", `{"file_path":"a","content":"x"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a"}, Content: "x", CWD: "/w"}},
		{"a folder that the tool does not have", "claude-code", "Bash", `{"command":"ls","cwd":"/tmp"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "ls", CWD: "/w"}},
		{"one place in two rows", "claude-code", "write_to_file", `{"path":"a","content":"x"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a"}, Content: "x", CWD: "/w"}},
		{"words and numbers", "codex", "shell", `{"command":["kubectl",5,"delete"]}`,
			agents.Call{Kinds: []string{"shell"}, Command: "kubectl 5 delete", CWD: "/w"}},
		{"words and other values", "codex", "shell", `{"command":["kubectl",null,"delete"]}`,
			agents.Call{Kinds: []string{"shell"}, Command: `["kubectl",null,"delete"]`, CWD: "/w"}},
		{"lists of words", "codex", "shell", `{"command":[["kubectl","delete"]]}`,
			agents.Call{Kinds: []string{"shell"}, Command: `[["kubectl","delete"]]`, CWD: "/w"}},
		{"a text in a list", "codex", "shell", `{"command":["rm -rf x"]}`,
			agents.Call{Kinds: []string{"shell"}, Command: `["rm -rf x"]`, CWD: "/w"}},
		{"a command in an object", "claude-code", "Bash", `{"command":{"text":"rm x"}}`,
			agents.Call{Kinds: []string{"shell"}, Command: `{"text":"rm x"}`, CWD: "/w"}},
		{"a renamed argument", "claude-code", "Bash", `{"commandLine":"rm x"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x", CWD: "/w"}},
		{"a renamed path", "claude-code", "Read", `{"filePath":"a"}`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"/w/a"}, CWD: "/w"}},
		{"a program with arguments", "claude-code", "mcp__d__run", `{"command":"rm","args":["-rf","a b",1]}`,
			agents.Call{Kinds: []string{"shell", "mcp"}, Server: "d", ServerTool: "run", Command: "rm -rf 'a b' 1", CWD: "/w"}},
		{"several calls", "codex", "multi_tool_use.parallel", `{"tool_uses":[{"parameters":{"cmd":["rm","x"]}},{"parameters":{"cmd":"ls"}}]}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x\nls", CWD: "/w"}},
		{"several commands", "claude-code", "mcp__d__run", `{"commands":["ls","rm x"]}`,
			agents.Call{Kinds: []string{"shell", "mcp"}, Server: "d", ServerTool: "run", Command: "ls 'rm x'\nls\nrm x", CWD: "/w"}},
		{"input of a terminal", "codex", "write_stdin", `{"session_id":1,"chars":"rm x\n"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x\n"}},
		{"a server's file", "claude-code", "mcp__fs__read", `{"uri":"FILE:///a/%2eenv"}`,
			agents.Call{Kinds: []string{"read", "mcp"}, Server: "fs", ServerTool: "read", Paths: []string{"/a/.env"}, CWD: "/w"}},
		{"a server's edit", "claude-code", "mcp__fs__edit", `{"path":"a","edits":[{"newText":"x"}]}`,
			agents.Call{Kinds: []string{"write", "mcp"}, Server: "fs", ServerTool: "edit", Paths: []string{"/w/a"}, Content: "x", CWD: "/w"}},
		{"a server's move", "claude-code", "mcp__fs__move", `{"source":"a","destination":"b"}`,
			agents.Call{Kinds: []string{"write", "mcp"}, Server: "fs", ServerTool: "move", Paths: []string{"/w/a", "/w/b"}, CWD: "/w"}},
		{"a server's request", "claude-code", "mcp__web__get", `{"urls":["https://a","https://b"]}`,
			agents.Call{Kinds: []string{"fetch", "mcp"}, Server: "web", ServerTool: "get", URL: "https://a\nhttps://b", CWD: "/w"}},
		{"Cline's commands", "cline", "run_commands", `{"commands":["ls","rm 'a b'",{"command":"rm","args":["-rf","x y"]}]}`,
			agents.Call{Kinds: []string{"shell"}, Command: "ls\nrm 'a b'\nrm -rf 'x y'", CWD: "/w"}},
		{"one command of Cline", "cline", "run_commands", `{"commands":"rm x"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x", CWD: "/w"}},
		{"a command of Cline in an object", "cline", "run_commands", `{"commands":{"command":"rm","args":["x"]}}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x", CWD: "/w"}},
		{"commands in place of an object", "cline", "run_commands", `["ls","rm x"]`,
			agents.Call{Kinds: []string{"shell"}, Command: "ls\nrm x", CWD: "/w"}},
		{"a command in place of an object", "cline", "run_commands", `"rm x"`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x", CWD: "/w"}},
		{"programs in place of an object", "cline", "run_commands", `[{"command":"rm","args":["x"]},{"command":"ls"}]`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x\nls", CWD: "/w"}},
		{"Cline's files", "cline", "read_files", `{"files":[{"path":"a"},{"path":"/b"}]}`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"/w/a", "/b"}, CWD: "/w"}},
		{"paths in place of an object", "cline", "read_files", `["a","/b"]`,
			agents.Call{Kinds: []string{"read"}, Paths: []string{"/w/a", "/b"}, CWD: "/w"}},
		{"Cline's edit", "cline", "editor", `{"path":"a","old_text":"x","new_text":"y"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a"}, Content: "y", CWD: "/w"}},
		{"Cline's servers", "cline", "lab__touch", `{"file":"a"}`,
			agents.Call{Kinds: []string{"write", "mcp"}, Server: "lab", ServerTool: "touch", Paths: []string{"/w/a"}, CWD: "/w"}},
		{"a server's arguments in a text", "cline", "use_mcp_tool", `{"server_name":"lab","tool_name":"run","arguments":"{\"command\":\"rm x\"}"}`,
			agents.Call{Kinds: []string{"shell", "mcp"}, Server: "lab", ServerTool: "run", Command: "rm x", CWD: "/w"}},
		{"a server's broken arguments", "cline", "use_mcp_tool", `{"server_name":"lab","tool_name":"run","arguments":"{\"command\""}`,
			agents.Call{Kinds: []string{"shell", "write", "mcp"}, Server: "lab", ServerTool: "run", Command: `{"command"`, CWD: "/w"}},
		{"a patch in another folder", "codex", "exec_command", string(mustMarshal(map[string]string{"cmd": "cd sub && apply_patch <<E\n" + patch + "E"})),
			agents.Call{Kinds: []string{"shell", "write"}, Command: "cd sub && apply_patch <<E\n" + patch + "E", Content: "cd sub && apply_patch <<E\n" + patch + "E",
				Paths: []string{"/w/sub/src/a.go", "/w/sub/src/b.go", "/etc/passwd"}, CWD: "/w"}},
		{"a patch in two folders", "codex", "exec_command", string(mustMarshal(map[string]string{"workdir": "/x", "cmd": "cd 'a b' && cd -- ../c && apply_patch <<E\n" + patch + "E"})),
			agents.Call{Kinds: []string{"shell", "write"}, Command: "cd 'a b' && cd -- ../c && apply_patch <<E\n" + patch + "E", Content: "cd 'a b' && cd -- ../c && apply_patch <<E\n" + patch + "E",
				Paths: []string{"/x/c/src/a.go", "/x/c/src/b.go", "/etc/passwd"}, CWD: "/x"}},
		{"a patch somewhere", "codex", "exec_command", string(mustMarshal(map[string]string{"cmd": "cd $X; apply_patch <<E\n*** Begin Patch\n*** Add File: a\nE"})),
			agents.Call{Kinds: []string{"shell", "write"}, Command: "cd $X; apply_patch <<E\n*** Begin Patch\n*** Add File: a\nE", Content: "cd $X; apply_patch <<E\n*** Begin Patch\n*** Add File: a\nE",
				Paths: []string{"/w/a", "a"}, CWD: "/w"}},
		{"a patch of a shell", "codex", "shell", string(mustMarshal(map[string]any{"command": []string{"bash", "-lc", "cd sub && apply_patch <<E\n*** Begin Patch\n*** Add File: a\nE"}})),
			agents.Call{Kinds: []string{"shell", "write"}, Command: "bash -lc 'cd sub && apply_patch <<E\n*** Begin Patch\n*** Add File: a\nE'", Content: "bash -lc 'cd sub && apply_patch <<E\n*** Begin Patch\n*** Add File: a\nE'",
				Paths: []string{"/w/sub/a"}, CWD: "/w"}},
		{"input of a terminal somewhere", "copilot", "write_bash", `{"input":"rm x"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x"}},
		{"a folder that a terminal keeps", "openhands", "terminal", `{"command":"rm x"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x"}},
		{"a folder that Hermes names", "hermes", "terminal", `{"command":"rm x","workdir":"a"}`,
			agents.Call{Kinds: []string{"shell"}, Command: "rm x", CWD: "/w/a"}},
		{"files by a glob", "claude-code", "Glob", `{"pattern":"/etc/**"}`,
			agents.Call{Kinds: []string{"search"}, Query: "/etc/**", Paths: []string{"/etc/**"}, CWD: "/w"}},
		{"files by a glob in a folder", "opencode", "glob", `{"pattern":"*.env","path":"sub"}`,
			agents.Call{Kinds: []string{"search"}, Query: "*.env", Paths: []string{"/w/sub", "/w/sub/*.env"}, CWD: "/w"}},
		{"opencode's servers", "opencode", "mcp__lab__touch", `{"id":1}`,
			agents.Call{Kinds: []string{"mcp"}, Server: "lab", ServerTool: "touch", CWD: "/w"}},
		{"Hermes's servers", "hermes", "mcp__my_lab__touch_it", `{"id":1}`,
			agents.Call{Kinds: []string{"mcp"}, Server: "my_lab", ServerTool: "touch_it", CWD: "/w"}},
		{"a search in some files", "claude-code", "Grep", `{"pattern":"x","glob":"**/.env"}`,
			agents.Call{Kinds: []string{"search"}, Query: "x", Paths: []string{"/w/**/.env"}, CWD: "/w"}},
		{"too many places", "", "anything", manyPlaces,
			agents.Call{Kinds: []string{"shell", "write"}, Command: manyPlaces, CWD: "/w"}},
		{"a patch with spaces", "codex", "apply_patch", `{"input":"*** Begin Patch\n  *** add file:.env\n+x\n"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/.env"}, Content: "*** Begin Patch\n  *** add file:.env\n+x\n", CWD: "/w"}},
		{"a patch with other lines", "codex", "apply_patch", `{"input":"*** Begin Patch\u2028*** Add File: .env\r+x"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/.env"}, Content: "*** Begin Patch\u2028*** Add File: .env\r+x", CWD: "/w"}},
		{"a patch of diff", "codex", "apply_patch", `{"input":"--- a.go\t2026\n+++ .env\t2026\n"}`,
			agents.Call{Kinds: []string{"write"}, Paths: []string{"/w/a.go", "/w/.env"}, Content: "--- a.go\t2026\n+++ .env\t2026\n", CWD: "/w"}},
		{"broken arguments", "claude-code", "Bash", `[`, agents.Call{Kinds: []string{"shell"}, CWD: "/w"}},
		{"broken arguments of an unlisted tool", "claude-code", "New", `[`, agents.Call{Kinds: []string{"shell", "write"}, CWD: "/w"}},
	}
	mapped := map[string]agents.Tool{"mcp__desktop__go": {Kind: "shell", Command: "go.line"}, "Write": {Kind: "other"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := agents.Call{Agent: tt.agent, Tool: tt.tool, Arguments: json.RawMessage(tt.args), Workspace: "/w"}
			got.Describe(mapped)
			ignore := cmpopts.IgnoreFields(agents.Call{}, "Agent", "Tool", "Arguments", "Workspace")
			if diff := cmp.Diff(tt.want, got, ignore, cmpopts.IgnoreUnexported(agents.Call{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDescribeOwn checks that calls of plugins' tools have only the kinds that their plugins register.
func TestDescribeOwn(t *testing.T) {
	tests := []struct {
		kinds []string
		args  string
		want  []string
	}{
		{nil, `{"command":"rm"}`, []string{"other"}},
		{[]string{"shell"}, `{"cmd":"rm"}`, []string{"shell"}},
		{[]string{"read", "write", "read"}, `{"path":"a"}`, []string{"write", "read"}},
		{[]string{"mcp"}, `{"command":"rm"}`, []string{"shell", "mcp"}}, // a tool of a mounted server
	}
	for _, tt := range tests {
		c := agents.Call{Tool: "x", Arguments: json.RawMessage(tt.args), Own: true, OwnKinds: tt.kinds}
		if c.Describe(nil); !slices.Equal(c.Kinds, tt.want) {
			t.Errorf("%v with %s: got %v, want %v", tt.kinds, tt.args, c.Kinds, tt.want)
		}
	}
}

// TestDescribeLarge describes calls with many texts. Their description must take time that grows with the
// size of the texts and not with its square, or the test would not end.
func TestDescribeLarge(t *testing.T) {
	const n = 100_000
	var patch strings.Builder
	edits := make([]map[string]string, n)
	for i := range n {
		edits[i] = map[string]string{"new_string": "x"}
		fmt.Fprintf(&patch, "*** Add File: %d\n", i)
	}
	c := agents.Call{Agent: "claude-code", Tool: "MultiEdit", Arguments: mustMarshal(map[string]any{"edits": edits})}
	if c.Describe(nil); len(c.Content) != 2*n-1 {
		t.Errorf("got %d bytes of content", len(c.Content))
	}
	c = agents.Call{Agent: "codex", Tool: "apply_patch", Arguments: mustMarshal(map[string]any{"input": patch.String()})}
	if c.Describe(nil); len(c.Paths) != n {
		t.Errorf("got %d paths", len(c.Paths))
	}
}

// TestRewrite checks that starhost can put a new command and new paths into arguments of the agent's form.
func TestRewrite(t *testing.T) {
	tests := []struct {
		agent, tool, args, field string
		values                   []string
		want                     string // the new arguments, or the error
	}{
		{"claude-code", "Bash", `{"command":"rm x","timeout":10000000000000001}`, "command", []string{"ls <x>"}, `{"command":"ls <x>","timeout":10000000000000001}`},
		{"windsurf", "run_command", `{"command_line":"rm x"}`, "command", []string{"ls"}, `{"command_line":"ls"}`},
		{"vscode", "create_and_run_task", `{"task":{"command":"rm x","label":"l"}}`, "command", []string{"ls"}, `{"task":{"command":"ls","label":"l"}}`},
		{"claude-code", "run_all", `{"steps":[{"command":"rm x"}]}`, "command", []string{"ls"}, `{"steps":[{"command":"ls"}]}`},
		{"copilot", "bash", `"rm x"`, "command", []string{"ls <x>"}, `"ls <x>"`},
		{"vscode", "create_and_run_task", `"rm x"`, "command", []string{"ls"}, `"ls"`},
		{"codex", "shell", `{"command":["rm","x"]}`, "command", []string{"ls"}, "the command is not one text in the arguments: change arguments"},
		{"claude-code", "NewBash", `{"command":"rm x","cmd":"rm y"}`, "command", []string{"ls"}, "the command is not one text in the arguments: change arguments"},
		{"claude-code", "Read", `{"file_path":"a"}`, "command", []string{"ls"}, "the call has no command"},
		{"claude-code", "Read", `{"file_path":"a"}`, "paths", []string{"/w/b"}, `{"file_path":"/w/b"}`},
		{"kiro", "fs_read", `{"operations":[{"path":"./a"},{"path":"b"}]}`, "paths", []string{"/w/a", "/w/c"}, `{"operations":[{"path":"./a"},{"path":"/w/c"}]}`},
		{"kiro", "fs_read", `{"operations":[{"path":"./a"},{"path":"b"}]}`, "paths", []string{"/w/a"}, "got 1, and the call has 2"},
		{"copilot", "apply_patch", `{"patch":"*** Begin Patch\n*** Add File: a\n"}`, "paths", []string{"/w/b"}, "the paths are in the text of a patch: change arguments"},
	}
	for _, tt := range tests {
		c := agents.Call{Agent: tt.agent, Tool: tt.tool, Arguments: json.RawMessage(tt.args), Workspace: "/w"}
		c.Describe(nil)
		got, err := c.Rewrite(tt.field, tt.values)
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("%s %s %v in %s:\n got %s\nwant %s", tt.tool, tt.field, tt.values, tt.args, text, tt.want)
		}
	}
}

// TestTable checks that each row of the table is well formed.
func TestTable(t *testing.T) {
	for _, a := range agents.All {
		if (a.Name == "") != (len(a.Tools) == 0) && a.Name != "docker-mcp" { // its tools are those of MCP servers
			t.Errorf("%s: %d tools under the name %q", a.Title, len(a.Tools), a.Name)
		}
		seen := map[string]bool{}
		for _, row := range a.Tools {
			if !slices.Contains(agents.Kinds, row.Kind) {
				t.Errorf("%s: %s: kind %q", a.Name, row.Names, row.Kind)
			}
			if row.Command+row.Paths+row.Patch+row.Content+row.URL+row.Query+row.Prompt+row.Server == "" {
				t.Errorf("%s: %s: no field", a.Name, row.Names)
			}
			for name := range strings.FieldsSeq(row.Names) {
				if seen[name] {
					t.Errorf("%s: %s has an earlier row without a condition", a.Name, name)
				}
				seen[name] = row.If == ""
				if !a.Matches(name) || a.Matches(name+"_x") {
					t.Errorf("%s: Matches does not find %s, or finds more", a.Name, name)
				}
			}
		}
	}
}

// TestKinds checks that hooks accept the kinds of calls, and no other words.
func TestKinds(t *testing.T) {
	call := func(context.Context, *starhost.Event) (d starhost.Decision, err error) { return d, nil }
	hook := func(kind string) error {
		return host.New(host.Options{}).Add(starhost.Plugin{Name: "p", Hooks: []starhost.Hook{
			{Event: "pre_tool_call", Kind: []string{kind}, Call: call},
		}})
	}
	for _, kind := range agents.Kinds {
		if err := hook(kind); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	err := hook("shel")
	if err == nil || !strings.Contains(err.Error(), strings.Join(agents.Kinds[:7], ", ")) {
		t.Errorf("got %v, want all of %v", err, agents.Kinds)
	}
}

func mustMarshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// FuzzDescribe checks laws of all calls: the kinds are those of the table, in its order, the paths
// are absolute and clean, and a call with a new command describes that command.
func FuzzDescribe(f *testing.F) {
	f.Add(0, "Bash", `{"command":"rm x"}`)
	f.Add(4, "shell", `{"command":["bash","-lc","rm x"]}`)
	f.Add(12, "fs_read", `{"operations":[{"path":"./a"},{"path":"~/b"}]}`)
	f.Add(8, "apply_patch", `{"input":"*** Begin Patch\n*** Add File: a\n"}`)
	f.Add(3, "mcp_tool_use", `{"mcp_server_name":"d","mcp_tool_arguments":{"script":"rm x"}}`)
	f.Add(1, "other", `{"path":"a","content":"x","command":"y","command":"z"}`)
	f.Add(2, "run", `{"cmd":`)
	f.Fuzz(func(t *testing.T, agent int, tool, args string) {
		name := agents.All[uint(agent)%uint(len(agents.All))].Name
		describe := func(args json.RawMessage) *agents.Call {
			c := &agents.Call{Agent: name, Tool: tool, Arguments: args, Workspace: "/w"}
			c.Describe(nil)
			return c
		}
		c := describe(json.RawMessage(args))
		if diff := cmp.Diff(c, describe(json.RawMessage(args)), cmpopts.IgnoreUnexported(agents.Call{})); diff != "" {
			t.Fatalf("two descriptions of one call differ:\n%s", diff)
		}
		last := -1
		for _, kind := range c.Kinds {
			i := slices.Index(agents.Kinds, kind)
			if i <= last {
				t.Fatalf("got kinds %q", c.Kinds)
			}
			last = i
		}
		for _, p := range c.Paths {
			home := strings.HasPrefix(p, "~")
			isAdrift := c.CWD == "" || strings.Contains(c.Command, "*** Begin Patch")
			if path.Clean(p) != p || !path.IsAbs(p) && !home && !isAdrift {
				t.Fatalf("got path %q", p)
			}
		}
		changed, err := c.Rewrite("command", []string{"echo new"})
		if err != nil {
			return
		}
		if got := describe(changed); got.Command != "echo new" {
			t.Fatalf("%s %s: got command %q in %s", name, tool, got.Command, changed)
		}
	})
}

// misread has the calls of testdata/servers.txt for which starhost finds wrong kinds or paths, by server and
// tool, and says why.
var misread = map[string]string{
	"modelcontextprotocol/servers git_diff":            "its target is a commit: a guard sees one path too many, and a write",
	"microsoft/playwright-mcp browser_take_screenshot": "its target is an element of the page: one path too many",
	"redis/mcp-redis json_set":                         "its path is a place in a document: a path, and a write, too many",
}

// TestServers describes calls of public MCP servers, which no table lists, by the names of their
// tools and arguments.
func TestServers(t *testing.T) {
	text, err := os.ReadFile("testdata/servers.txt")
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]bool{}
	all, right, wrong := 0, 0, map[string]bool{}
	server := ""
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
			continue
		case len(fields) == 1:
			server, _, _ = strings.Cut(fields[0], " ")
			servers[server] = true
			continue
		}
		tool, args := fields[0], fields[1]
		kinds, paths := strings.Fields(strings.Trim(fields[2], "-")), strings.Fields(strings.Trim(fields[3], "-"))
		c := agents.Call{Agent: "claude-code", Tool: "mcp__s__" + tool, Arguments: json.RawMessage(args), Workspace: "/w"}
		c.Describe(nil)
		want := append(kinds, "mcp")
		slices.SortFunc(want, func(a, b string) int {
			return slices.Index(agents.Kinds, a) - slices.Index(agents.Kinds, b)
		})
		all++
		if slices.Equal(c.Kinds, want) && slices.Equal(c.Paths, paths) {
			right++
			continue
		}
		if name := server + " " + tool; misread[name] == "" {
			t.Errorf("%s %s %s:\n got %v %v\nwant %v %v", server, tool, args, c.Kinds, c.Paths, want, paths)
		} else {
			wrong[name] = true
		}
	}
	for name := range misread {
		if !wrong[name] {
			t.Errorf("%s is right now: take it out of misread", name)
		}
	}
	t.Logf("%d of %d calls of %d servers are right", right, all, len(servers))
	if len(servers) < 60 || all < 107 || right < 100 {
		t.Errorf("got %d of %d calls of %d servers, want at least 100 of 107 of 60", right, all, len(servers))
	}
}

// TestNewestTools describes calls of tools that programs have only in their newest versions. An earlier
// version of starhost misread each of them: as a write that no guard saw, or with a path that was none.
func TestNewestTools(t *testing.T) {
	tests := []struct{ agent, tool, args, kinds, rest string }{
		{"claude-code", "Skill", `{"skill":"deploy","args":"prod"}`, "agent", ""},
		{"claude-code", "CronCreate", `{"cron":"* * * * *","prompt":"go on"}`, "agent", ""},
		{"claude-code", "ScheduleWakeup", `{"prompt":"go on","delay":1}`, "agent", ""},
		{"claude-code", "SendMessage", `{"to":"a","message":"b"}`, "agent", ""},
		{"codex", "spawn_agent", `{"message":"a"}`, "agent", ""},
		{"codex", "send_input", `{"target":"a1","message":"b"}`, "agent", ""},
		{"codex", "close_agent", `{"target":"a1"}`, "agent", ""},
		{"codex", "write_stdin", `{"session_id":1,"chars":"rm x\n"}`, "shell", "rm x\n"},
		{"copilot", "grep", `{"pattern":"k","paths":["a","b"]}`, "search", "/w/a /w/b"},
		{"copilot", "glob", `{"pattern":"*.env","paths":"a"}`, "search", "/w/a /w/a/*.env"},
		{"droid", "Loop", `{"prompt":"go on"}`, "agent", ""},
		{"droid", "lab___touch", `{"id":1}`, "mcp", "lab touch"},
		{"gemini", "invoke_agent", `{"agent_name":"a","prompt":"b"}`, "agent", ""},
		{"hermes", "execute_code", `{"code":"import os"}`, "shell", "import os"},
		{"hermes", "process", `{"action":"write","data":"rm x"}`, "shell", "rm x"},
		{"hermes", "delegate_task", `{"goal":"a"}`, "agent", ""},
		{"hermes", "mcp__lab__touch", `{"id":1}`, "mcp", "lab touch"},
		{"opencode", "mcp__lab__touch", `{"id":1}`, "mcp", "lab touch"},
		{"qwen", "notebook_edit", `{"notebook_path":"a.ipynb","new_source":"x"}`, "write", "/w/a.ipynb x"},
		{"cline", "run_commands", `{"commands":["ls","rm x"]}`, "shell", "ls\nrm x"},
		{"cline", "editor", `{"path":"a","old_text":"x","new_text":"y"}`, "write", "/w/a y"},
		{"cline", "lab__touch", `{"id":1}`, "mcp", "lab touch"},
		{"gptme", "ipython", `{"code":"import os"}`, "shell", "import os"},
		{"cursor", "Shell", `{"command":"ls","working_directory":"/srv"}`, "shell", "ls /srv"},
	}
	for _, tt := range tests {
		c := agents.Call{Agent: tt.agent, Tool: tt.tool, Arguments: json.RawMessage(tt.args), Workspace: "/w"}
		c.Describe(nil)
		cwd := c.CWD
		if cwd == "/w" {
			cwd = ""
		}
		rest := strings.Join(slices.DeleteFunc(slices.Concat(
			[]string{c.Command, cwd, c.Server, c.ServerTool}, c.Paths, []string{c.Content},
		), func(s string) bool { return s == "" }), " ")
		if kinds := strings.Join(c.Kinds, " "); kinds != tt.kinds || rest != tt.rest {
			t.Errorf("%s %s %s: got %s %q, want %s %q", tt.agent, tt.tool, tt.args, kinds, rest, tt.kinds, tt.rest)
		}
	}
}
