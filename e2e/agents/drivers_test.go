//go:build unix

package agents

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An agent is one program that the tests run.
type agent struct {
	name         string // in starhost
	pkg, program string // npm's package, and its program
	// settings is the file below the home into which hook install writes.
	settings string
	// setup writes other settings, such as the address of the fake model. Nil writes none.
	setup func(s *stage)
	env   func(s *stage) []string
	args  func(s *stage, prompt string, resume bool) []string
	// shell returns a call of the agent's own tool for commands.
	shell func(command string) call
	// write returns a call that writes a file, and mcp one of the tool touch of the server lab,
	// which lab adds to the settings.
	write func(path, content string) call
	read  func(path string) call
	mcp   func(path string) call
	lab   func(s *stage)
	// subagent, background and interactive return calls that begin a subagent, run a command in the
	// background, and write a command into a shell that runs. Nil is for an agent that has no such
	// tool.
	subagent, background func(text string) call
	interactive          func(command string) []call
	// trust does what the user must do before the agent runs new hooks. Nil does nothing.
	trust func(s *stage)
	// noResume is true for an agent whose sessions no run without a terminal or a network goes on with.
	noResume bool
	// needsLogin reports whether the output says that the agent wants a login.
	needsLogin func(output string) bool
	// offered are the tools that a run offered to the model, with the names of their arguments.
	offered map[string]string
	// want has the outcomes of checks that differ from the usual one.
	want map[string]string
}

var agents = []*agent{
	{
		name: "claude-code", pkg: "@anthropic-ai/claude-code", program: "claude",
		settings: ".claude/settings.json",
		env: func(s *stage) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + s.base, "ANTHROPIC_API_KEY=fake", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				"DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1",
			}
		},
		args: func(_ *stage, prompt string, resume bool) []string {
			return append(flagIf(resume, "--continue"), "-p", prompt, "--allowedTools", "Bash,Read,Write")
		},
		shell: func(command string) call { return call{"Bash", dict{"command": command, "description": "a test"}} },
		write: func(path, content string) call { return call{"Write", dict{"file_path": path, "content": content}} },
		read:  func(path string) call { return call{"Read", dict{"file_path": path}} },
		mcp:   func(path string) call { return call{"mcp__lab__touch", dict{"path": path}} },
		lab: func(s *stage) {
			s.write("lab.json", jsonText(dict{"mcpServers": dict{"lab": dict{"command": "node", "args": []string{filepath.Join(s.home, "lab.mjs")}}}}))
			s.moreArgs = []string{"--mcp-config", filepath.Join(s.home, "lab.json"), "--allowedTools", "mcp__lab__touch"}
		},
		subagent: func(text string) call {
			return call{"Agent", dict{"description": "d", "prompt": text, "subagent_type": "general-purpose", "run_in_background": false}}
		},
		background: func(text string) call {
			return call{"Bash", dict{"command": text, "description": "a test", "run_in_background": true}}
		},
		want: map[string]string{"missing": "not run", "late": "not run", "missing at a prompt": "not sent"},
	},
	{
		name: "cline", pkg: "cline", program: "cline",
		settings: "Documents/Cline/Hooks/PreToolUse",
		setup: func(s *stage) {
			s.command(s.program, "auth", "openai-compatible", "-k", "fake", "-m", "fake", "-b", s.base+"/v1")
		},
		env: func(*stage) []string { return []string{"CLINE_SESSION_BACKEND_MODE=local"} },
		args: func(_ *stage, prompt string, _ bool) []string {
			return []string{"--auto-approve", "true", "-P", "openai-compatible", "-m", "fake", prompt}
		},
		noResume: true,
		shell:    func(command string) call { return call{"run_commands", dict{"commands": []any{command}}} },
		read:     func(path string) call { return call{"read_files", dict{"files": []dict{{"path": path}}}} },
		want: map[string]string{
			"context": "none", "prompt": "sent", "deny": "turn ends", "eight": "turn ends", "ask": "turn ends",
			"redact": "not changed", "broken": "turn ends", "missing": "turn ends", "late": "turn ends",
		},
	},
	{
		name: "codex", pkg: "@openai/codex", program: "codex",
		settings: ".codex/hooks.json",
		setup:    codexSetup,
		trust:    codexTrust,
		env:      func(*stage) []string { return []string{"FAKE_KEY=fake"} },
		args: func(_ *stage, prompt string, resume bool) []string {
			flags := []string{"--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"}
			if resume {
				return append(append([]string{"exec"}, flags...), "resume", "--last", prompt)
			}
			return append(append([]string{"exec"}, flags...), prompt)
		},
		shell: func(command string) call { return call{"exec_command", dict{"cmd": command}} },
		write: func(path, content string) call {
			return call{"exec_command", dict{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: " + path + "\n+" + content + "\n*** End Patch\nEOF\n"}}
		},
		mcp: func(path string) call { return call{"mcp__lab/touch", dict{"path": path}} },
		lab: func(s *stage) {
			s.add(".codex/config.toml", "\n[mcp_servers.lab]\ncommand = \"node\"\nargs = [\""+filepath.Join(s.home, "lab.mjs")+"\"]\n")
		},
		subagent: func(text string) call { return call{"multi_agent_v1/spawn_agent", dict{"message": text}} },
		background: func(text string) call {
			return call{"exec_command", dict{"cmd": text, "yield_time_ms": 250}}
		},
		interactive: func(command string) []call {
			return []call{
				{"exec_command", dict{"cmd": "sh", "tty": true, "yield_time_ms": 250}},
				{"write_stdin", dict{"session_id": 1, "chars": command + "\n", "yield_time_ms": 500}},
			}
		},
		want: map[string]string{"abort": "not run"},
	},
	{
		name: "copilot", pkg: "@github/copilot", program: "copilot",
		settings: ".copilot/hooks/starhost.json",
		env: func(s *stage) []string {
			return []string{
				"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + s.base + "/v1", "COPILOT_PROVIDER_API_KEY=fake",
				"COPILOT_MODEL=gpt-5", "COPILOT_AUTO_UPDATE=false",
			}
		},
		args: func(_ *stage, prompt string, resume bool) []string {
			return append(flagIf(resume, "--continue"), "-p", prompt, "--allow-all-tools")
		},
		shell: func(command string) call { return call{"bash", dict{"command": command, "description": "a test"}} },
		write: func(path, content string) call { return call{"create", dict{"path": path, "file_text": content}} },
		read:  func(path string) call { return call{"view", dict{"path": path}} },
		mcp:   func(path string) call { return call{"lab-touch", dict{"path": path}} },
		lab: func(s *stage) {
			s.write(".copilot/mcp-config.json", jsonText(dict{"mcpServers": dict{"lab": dict{
				"type": "local", "command": "node", "args": []string{filepath.Join(s.home, "lab.mjs")}, "tools": []string{"*"},
			}}}))
		},
		subagent: func(text string) call {
			return call{"task", dict{"agent_type": "general-purpose", "name": "e2e", "description": "d", "prompt": text}}
		},
		background: func(text string) call {
			return call{"bash", dict{"command": text, "description": "a test", "mode": "async", "sessionId": "e2e"}}
		},
		interactive: func(command string) []call {
			return []call{
				{"bash", dict{"command": "sh", "description": "a test", "mode": "async", "sessionId": "e2e"}},
				{"write_bash", dict{"sessionId": "e2e", "input": command + "{enter}", "delay": 1}},
			}
		},
		want: map[string]string{"abort": "not run", "missing": "not run"},
	},
	{
		// The package has the program alone: @factory/cli fetches it when it is installed.
		name: "droid", pkg: "@factory/cli-linux-x64", program: "../@factory/cli-linux-x64/bin/droid",
		settings: ".factory/settings.json",
		setup: func(s *stage) {
			s.write(".factory/settings.json", jsonText(dict{"customModels": []dict{{
				"model": "fake", "displayName": "fake", "baseUrl": s.base + "/v1", "apiKey": "fake", "provider": "generic-chat-completion-api",
				"maxOutputTokens": 10000,
			}}}))
		},
		env: func(*stage) []string { return []string{"FACTORY_AIRGAP_ENABLED=1"} }, // it needs no account
		args: func(_ *stage, prompt string, _ bool) []string {
			return []string{"exec", "--skip-permissions-unsafe", "-m", "custom:fake", prompt}
		},
		noResume: true,
		shell:    func(command string) call { return call{"Execute", dict{"command": command, "summary": "a test"}} },
		write:    func(path, content string) call { return call{"Create", dict{"file_path": path, "content": content}} },
		mcp:      func(path string) call { return call{"lab___touch", dict{"path": path}} },
		lab: func(s *stage) {
			s.write(".factory/mcp.json", jsonText(dict{"mcpServers": dict{"lab": dict{
				"type": "stdio", "command": "node", "args": []string{filepath.Join(s.home, "lab.mjs")}, "disabled": false,
			}}}))
		},
		subagent: func(text string) call {
			return call{"Task", dict{"subagent_type": "worker", "description": "d", "prompt": text}}
		},
		background: func(text string) call {
			return call{"Execute", dict{"command": text, "summary": "a test", "fireAndForget": true}}
		},
		// Its exec runs no hook for a prompt.
		want: map[string]string{
			"context": "none", "prompt": "sent", "missing at a prompt": "sent", "redact": "not changed",
		},
	},
	{
		name: "gemini", pkg: "@google/gemini-cli", program: "gemini",
		settings: ".gemini/settings.json",
		setup: func(s *stage) {
			s.write(".gemini/settings.json", jsonText(dict{
				"security":  dict{"auth": dict{"selectedType": "gemini-api-key"}},
				"general":   dict{"enableAutoUpdate": false},
				"telemetry": dict{"enabled": false},
			}))
			s.write(".gemini/trustedFolders.json", jsonText(dict{s.work: "TRUST_FOLDER"}))
		},
		env: func(s *stage) []string {
			return []string{"GEMINI_API_KEY=fake", "GOOGLE_GEMINI_BASE_URL=" + s.base, "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
		args: func(_ *stage, prompt string, resume bool) []string {
			return append(flagIf(resume, "--resume", "latest"), "--yolo", "-m", "gemini-2.5-flash", "-p", prompt)
		},
		shell: func(command string) call {
			return call{"run_shell_command", dict{"command": command, "description": "a test"}}
		},
		write: func(path, content string) call {
			return call{"write_file", dict{"file_path": path, "content": content}}
		},
		read: func(path string) call { return call{"read_file", dict{"file_path": path}} },
		mcp:  func(path string) call { return call{"mcp_lab_touch", dict{"path": path}} },
		lab:  func(s *stage) { s.addServer(".gemini/settings.json") },
		subagent: func(text string) call {
			return call{"invoke_agent", dict{"agent_name": "generalist", "prompt": text}}
		},
		background: func(text string) call {
			return call{"run_shell_command", dict{"command": text, "description": "a test", "is_background": true}}
		},
		want: map[string]string{"missing": "not run", "missing at a prompt": "not sent"},
	},
	{
		name: "qwen", pkg: "@qwen-code/qwen-code", program: "qwen",
		settings: ".qwen/settings.json",
		setup: func(s *stage) {
			s.write(".qwen/settings.json", jsonText(dict{
				"security":  dict{"auth": dict{"selectedType": "openai"}},
				"general":   dict{"enableAutoUpdate": false},
				"memory":    dict{"enableManagedAutoMemory": false}, // it asks the model after each turn
				"telemetry": dict{"enabled": false},
			}))
		},
		env: func(s *stage) []string {
			return []string{"OPENAI_API_KEY=fake", "OPENAI_BASE_URL=" + s.base + "/v1", "OPENAI_MODEL=fake"}
		},
		args: func(_ *stage, prompt string, resume bool) []string {
			return append(flagIf(resume, "--continue"), "--yolo", "-p", prompt)
		},
		shell: func(command string) call {
			return call{"run_shell_command", dict{"command": command, "description": "a test", "is_background": false}}
		},
		write: func(path, content string) call {
			return call{"write_file", dict{"file_path": path, "content": content}}
		},
		read: func(path string) call { return call{"read_file", dict{"file_path": path}} },
		mcp:  func(path string) call { return call{"mcp__lab__touch", dict{"path": path}} },
		lab:  func(s *stage) { s.addServer(".qwen/settings.json") },
		subagent: func(text string) call {
			return call{"agent", dict{"description": "d", "prompt": text, "subagent_type": "general-purpose"}}
		},
		background: func(text string) call {
			return call{"run_shell_command", dict{"command": text, "description": "a test", "is_background": true}}
		},
		want: map[string]string{"modify": "not run", "redact": "not changed", "abort": "not run"},
	},
	{
		name: "opencode", pkg: "opencode-ai", program: "opencode",
		settings: ".config/opencode/plugins/starhost.js",
		setup: func(s *stage) {
			s.write(".config/opencode/opencode.json", jsonText(dict{
				"autoupdate": false, "share": "disabled",
				"provider": dict{"fake": dict{
					"npm": "@ai-sdk/openai-compatible", "name": "fake",
					"options": dict{"baseURL": s.base + "/v1", "apiKey": "fake"},
					"models":  dict{"fake": dict{"name": "fake", "tool_call": true, "limit": dict{"context": 100000, "output": 10000}}},
				}},
			}))
		},
		env: func(s *stage) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "XDG_DATA_HOME=" + filepath.Join(s.home, "data")}
		},
		args: func(_ *stage, prompt string, resume bool) []string {
			return append(append([]string{"run"}, flagIf(resume, "--continue")...), "-m", "fake/fake", prompt)
		},
		shell: func(command string) call { return call{"bash", dict{"command": command, "description": "a test"}} },
		write: func(path, content string) call { return call{"write", dict{"filePath": path, "content": content}} },
		read:  func(path string) call { return call{"read", dict{"filePath": path}} },
		mcp:   func(path string) call { return call{"lab_touch", dict{"path": path}} },
		lab: func(s *stage) {
			s.change(".config/opencode/opencode.json", func(all dict) {
				all["mcp"] = dict{"lab": dict{"type": "local", "command": []string{"node", filepath.Join(s.home, "lab.mjs")}, "enabled": true}}
			})
		},
		subagent: func(text string) call {
			return call{"task", dict{"description": "d", "prompt": text, "subagent_type": "general"}}
		},
		want: map[string]string{"prompt": "reason sent", "abort": "not run", "missing": "not run", "late": "not run"},
	},
}

// flagIf returns flags if on is true.
func flagIf(on bool, flags ...string) []string {
	if on {
		return flags
	}
	return nil
}

// labServer is an MCP server whose tool touch makes a file.
const labServer = `import fs from "node:fs"
import readline from "node:readline"
const send = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n")
const tools = [{ name: "touch", description: "Make a file.", inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] } }]
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line)
  if (m.method === "initialize") send(m.id, { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1" } })
  else if (m.method === "tools/list") send(m.id, { tools })
  else if (m.method === "tools/call") {
    fs.writeFileSync(m.params.arguments.path, "x")
    send(m.id, { content: [{ type: "text", text: "made" }] })
  } else if (m.id !== undefined) send(m.id, {})
})
`

// change changes a file of JSON below the home.
func (s *stage) change(name string, change func(all dict)) {
	s.t.Helper()
	all := dict{}
	text, err := os.ReadFile(filepath.Join(s.home, name))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	change(all)
	s.write(name, jsonText(all))
}

// addServer adds the server lab to settings that list servers as Gemini CLI does.
func (s *stage) addServer(name string) {
	s.t.Helper()
	s.change(name, func(all dict) {
		all["mcpServers"] = dict{"lab": dict{"command": "node", "args": []string{filepath.Join(s.home, "lab.mjs")}, "trust": true}}
	})
}

func codexSetup(s *stage) {
	s.write(".codex/config.toml", "model = \"gpt-5\"\nmodel_provider = \"fake\"\n"+
		"[model_providers.fake]\nname = \"fake\"\nbase_url = \""+s.base+"/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n"+
		"[projects."+strconv.Quote(s.work)+"]\ntrust_level = \"trusted\"\n")
}

// codexTrust trusts the hooks as /hooks does: Codex itself says which hashes they have.
func codexTrust(s *stage) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.program, "app-server")
	cmd.Env, cmd.Dir = slices.Concat(s.environment(), s.agent.env(s)), s.work
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	fmt.Fprintf(stdin, "%s\n%s\n%s\n",
		`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"e2e","version":"1"}}}`, `{"method":"initialized"}`,
		jsonText(dict{"id": 2, "method": "hooks/list", "params": dict{"cwds": []string{s.work}}}))
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     int
			Result struct {
				Data []struct {
					Hooks []struct{ Key, CurrentHash string }
				}
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID != 2 {
			continue
		}
		n := 0
		for _, d := range m.Result.Data {
			for _, h := range d.Hooks {
				n++
				if text, _ := os.ReadFile(filepath.Join(s.home, ".codex/config.toml")); strings.Contains(string(text), strconv.Quote(h.Key)) {
					continue // it is trusted
				}
				s.add(".codex/config.toml", fmt.Sprintf("\n[hooks.state.%q]\ntrusted_hash = %q\n", h.Key, h.CurrentHash))
			}
		}
		if n == 0 {
			s.t.Fatalf("Codex lists no hooks: %s", lines.Text())
		}
		return
	}
	s.t.Fatalf("Codex lists no hooks: %v", lines.Err())
}
