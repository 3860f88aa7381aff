//go:build unix

package agents

import "path/filepath"

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
	// needsLogin reports whether the output says that the agent wants a login.
	needsLogin func(output string) bool
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
		want:  map[string]string{"missing": "not run", "late": "not run", "missing at a prompt": "not sent"},
	},
	{
		name: "cline", pkg: "cline", program: "cline",
		settings: "Documents/Cline/Hooks/PreToolUse",
		setup: func(s *stage) {
			s.command(s.program, "auth", "openai-compatible", "-k", "fake", "-m", "fake", "-b", s.base+"/v1")
		},
		env: func(*stage) []string { return []string{"CLINE_SESSION_BACKEND_MODE=local"} },
		args: func(_ *stage, prompt string, resume bool) []string { // it resumes in a terminal only
			return append(flagIf(resume, "--id", "last"), "--auto-approve", "true", "-P", "openai-compatible", "-m", "fake", prompt)
		},
		shell: func(command string) call { return call{"run_commands", dict{"commands": []any{command}}} },
		want: map[string]string{
			"context": "none", "resume": "1 requests", "prompt": "sent", "deny": "turn ends", "eight": "turn ends", "ask": "turn ends",
			"redact": "not changed", "broken": "turn ends", "missing": "turn ends", "late": "turn ends",
		},
	},
	{
		name: "codex", pkg: "@openai/codex", program: "codex",
		settings: ".codex/hooks.json",
		setup: func(s *stage) {
			s.write(".codex/config.toml", "model = \"gpt-5\"\nmodel_provider = \"fake\"\n"+
				"[model_providers.fake]\nname = \"fake\"\nbase_url = \""+s.base+"/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n")
		},
		env: func(*stage) []string { return []string{"FAKE_KEY=fake"} },
		args: func(_ *stage, prompt string, resume bool) []string {
			flags := []string{"--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"}
			if resume {
				return append(append([]string{"exec"}, flags...), "resume", "--last", prompt)
			}
			return append(append([]string{"exec"}, flags...), prompt)
		},
		shell: func(command string) call { return call{"exec_command", dict{"cmd": command}} },
		want:  map[string]string{"abort": "not run"},
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
		want:  map[string]string{"abort": "not run", "missing": "not run"},
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
		want: map[string]string{"modify": "not run", "redact": "not changed", "abort": "not run"},
	},
	{
		name: "opencode", pkg: "opencode-ai", program: "opencode",
		settings: ".config/opencode/plugin/starhost.js",
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
		want:  map[string]string{"prompt": "reason sent", "abort": "not run", "missing": "not run", "late": "not run"},
	},
}

// flagIf returns flags if on is true.
func flagIf(on bool, flags ...string) []string {
	if on {
		return flags
	}
	return nil
}
