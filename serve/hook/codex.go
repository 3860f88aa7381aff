package hook

import (
	"path"
	"strings"

	"github.com/starhost/starhost/agents"
)

// codex is OpenAI's agent for the terminal. It has Claude Code's events. In an answer about a tool, it
// ignores continue, accepts new arguments only from a hook that allows the call, and replaces a result by the
// reason of a block.
var codex = &Agent{
	Agent: agents.Find("codex"), retainsContext: true, showsMessages: true,
	nameOf: claudeForm.nameIn, toolEvent: "PreToolUse", members: claudeMembers,
	read: readClaude, write: writeCodex,
	config: nestedSettings{
		guards: "UserPromptSubmit PreToolUse PermissionRequest", others: "PostToolUse PostCompact Stop SessionEnd",
	}.format,
	intro: "~/.codex/hooks.json, or .codex/hooks.json of a project; then trust the hooks in Codex by /hooks",
	more: func(s Settings) []Piece {
		if !s.Managed {
			return nil
		}
		return []Piece{{Name: "requirements.toml", Text: "allow_managed_hooks_only = true\n\n[features]\nhooks = true\n"}}
	},
}

// writeCodex writes only members of Codex's schemas, because Codex refuses an answer with any other member.
func writeCodex(e *Event, v *verdict) (Answer, error) {
	if e.kind == kindResult && v.result != nil {
		return jsonAnswer(map[string]any{"decision": "block", "reason": *v.result}), nil
	}
	v.stop = false
	if e.kind == kindTool && v.args != nil && !v.block {
		v.allow = true // without this, Codex runs the old arguments
	}
	return writeClaude(e, v)
}

// interpreters are programs that run what is typed, if they get no other text.
const interpreters = " ash bash bun csh dash deno fish irb ipython ipython3 julia ksh lua node perl php " +
	"powershell pwsh python python2 python3 r ruby sh sqlite3 su tcsh zsh "

// starters run the program that follows them on the line. interactive are flags that make an interpreter read
// what is typed although it has a text.
const (
	starters    = " builtin command env exec nice nohup script sudo time "
	interactive = " - -- -i -il -l -li -q -s -u --interactive --login --noprofile --norc "
)

// isTyped reports whether the last command of a line is an interpreter that will read what is typed. It knows
// common names only: any program may run what it reads.
func isTyped(line string) bool {
	last := strings.TrimRight(line, "; \n")
	last = last[strings.LastIndexAny(last, ";&\n(")+1:]
	if strings.ContainsAny(last, "<|") {
		return false
	}
	isName := func(names, word string) bool { return strings.Contains(names, " "+word+" ") }
	found := false
	for _, word := range strings.Fields(last) {
		word = strings.Trim(word, `"'\`)
		switch {
		case found && !isName(interactive, word):
			return false
		case found, strings.HasPrefix(word, "-"), strings.Contains(word, "="), isName(starters, path.Base(word)):
		case word == "$SHELL", isName(interpreters, strings.ToLower(path.Base(word))):
			found = true
		default:
			return false
		}
	}
	return found
}
