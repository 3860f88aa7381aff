package docgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/markdown"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
)

// A subject answers a word that a user types and that is no name of the reference.
type subject struct {
	words string // with spaces between them; the first one is its title
	text  string
	page  string // below docs, with an anchor
	see   string // names that docs explains, with spaces between them
}

// Words returns the words, in lower case.
func (s subject) Words() []string { return strings.Fields(s.words) }

// See returns the names that say more.
func (s subject) See() []string { return strings.Fields(s.see) }

// Subjects are the words of users, sorted by the first one. Agents follow by their names.
func Subjects() []subject {
	list := slices.Clone(plainSubjects)
	for _, a := range hook.Agents {
		list = append(list, subject{
			words: a.Name,
			text:  fmt.Sprintf("%s: what it takes, its tools and its settings. starhost hook install %s connects it.", a.Title, a.Name),
			page:  "agents/" + a.Name + ".md",
			see:   "kind",
		})
	}
	return list
}

var plainSubjects = []subject{
	{"agent agents install claude setup", "starhost hook install AGENT writes the lines that an agent needs into its settings; starhost hook doctor checks them.", "agents.md#install-and-check", "pre_tool_call kind"},
	{"answers confirm yes", "A case answers questions and approvals of command, turn and call_tool by answers = [True, False], in their order.", "testing.md", "command approval"},
	{"approval approvals person human", `A tool asks a person by approval = "ask", a hook by ask(reason). approve_tool_call hooks may answer instead.`, "events.md#approve_tool_call", "ask approve approve_tool_call register_tool"},
	{"attachment attachments file", "A plugin adds data other than text by attachment(content=, path= or url=); users add it by -a.", "prompts.md#attachments", "attachment prompt.max_attachments"},
	{"block refuse guard guards policy", "A hook on pre_tool_call that returns deny(reason) refuses the call. starhost new guard writes one without code, from packs of rules.", "guards.md", "deny ask pre_tool_call register_hook register_guard packs"},
	{"budget size tokens truncate", "A prompt has at most prompt.max_bytes of fragments. If there is more, starhost drops the fragments with the highest priority number first.", "prompts.md#budgets", "prompt.max_bytes prompt.max_tokens fragment"},
	{"cache caching", "Content that stays the same keeps its place in a prompt. starhost eval --against shows where a provider's cache would break.", "prompts.md#the-order-of-the-blocks", "prompt.dedup"},
	{"cost latency overhead slow speed", "starhost bench measures what plugins cost, on your machine and with your plugins.", "team.md#cost-of-a-call", "limits limits.timeout"},
	{"coverage", "starhost test --coverage names the lines and branches that no case runs.", "testing.md#coverage", "--coverage --fail-under"},
	{"ci github junit pipeline pre-commit", "starhost check and starhost test run in CI; -F junit and -F github print what CI reads.", "team.md#ci", "action.yml .pre-commit-config.yaml --format"},
	{"date day now weekday timezone calendar", "ctx.now is the time of the event; the module time takes it apart. A case sets the clock.", "modules/time.md", "time ctx.now set_now"},
	{"transcript transcripts bypass", "starhost replay --transcripts tries a guard on the calls of the agents' own transcripts; hook doctor --calls names calls that no guard was asked about.", "traces.md", ""},
	{"debug explain why trace", "starhost eval --explain shows who added, changed and dropped what; starhost log shows past decisions.", "replay.md", "print ctx.log"},
	{"dedup deduplicate duplicate merge identical same", "Two fragments with the same bytes are one. starhost sends it once in a session, or once in each prompt.", "prompts.md#equal-contents", "prompt.dedup fragment hash.sha256"},
	{"editor lsp vim neovim completion", "starhost lsp is a language server for plugins and cases.", "editors.md", ""},
	{"embed embedding go library-api", "A Go program can load plugins and ask them itself.", "embedding.md", "golden.Run"},
	{"enum choice choices literal oneof", `A docstring line severity ("low", "high"): text gives an argument a fixed set of values.`, "builtins.md#register_tool", "register_tool E0308"},
	{"environment variable variables", "A plugin reads an environment variable by ctx.env, with the permission env:NAME; requires_env names those without which it does not load.", "permissions.md", "env ctx.env plugin"},
	{"exit code codes status", "The first error of a run gives the exit code.", "errors.md", "E0701"},
	{"fetch request requests url network", "ctx.http sends requests to the hosts that the operator grants.", "permissions.md", "http ctx.http"},
	{"golden test tests testing case cases snapshot", "A golden case has the steps and the output that they must have; starhost test runs it, --update writes it.", "testing.md", "case.star want"},
	{"hook hooks event", "register_hook calls a function when an event fires; each event lists its arguments and what a handler may return.", "events.md", "register_hook pre_tool_call"},
	{"image images picture pictures png screenshot", `A loader returns attachment(path = "dash.png"), and starhost puts the picture into the prompt.`, "prompts.md#attachments", "attachment prompt.max_pixels"},
	{"kind kinds", `A hook with kind = "shell" sees the calls of every agent that run shell commands, whatever the tool's name is.`, "agents.md#kinds-of-calls", "call register_hook kinds"},
	{"limit limits bounds memory steps timeout", "Each call of a handler has a most number of steps and bytes, and a most time; the error names the key that raises it.", "sandbox.md", "limits.steps limits.memory limits.timeout"},
	{"load library libraries import share lib", `load("lib.star", "f") loads another file of the plugin; load("//lib/x.star", "f") one of the project, and load("@NAME//x.star", "f") one of a library that the config names.`, "libraries.md", "libraries.NAME"},
	{"loader loaders reference references", "register_fragment_loader resolves references such as runbook:checkout; users name them by -f.", "prompts.md#references", "register_fragment_loader fragment ctx.fragments.get"},
	{"bundle bundles fleet sync signature", "starhost bundle makes one signed file of a policy, and starhost sync brings it to the machines whose managed config names it.", "fleet.md", "bundles.NAME.url E1005"},
	{"managed administrator policy.d mdm", "A managed file on the machine brings plugins that no user and no project can switch off.", "config.md", "plugins.required"},
	{"mask masked redact redaction privacy pii", "A pre_send hook changes a prompt before it is sent, and a post_tool_call hook a result. Most agents let no hook replace the user's words: a guard refuses such a prompt, or the proxy cleans it. redact.patterns removes texts from the log and from what plugins say.", "guards.md#redaction", "pre_send post_tool_call redact.patterns log.mask modify"},
	{"permission permissions grant sandbox capability", "A plugin declares the permissions that it needs, and the operator grants them. Without both there is no effect.", "permissions.md", "plugin grants.NAME"},
	{"priority order", "A hook or a fragment with a lower priority comes first.", "prompts.md#the-order-of-the-blocks", "fragment register_hook"},
	{"project team rollout repository share-plugins", "A repository has the plugins, their cases and a config; CI tests them, and machines trust it.", "team.md", "plugins.paths"},
	{"schema parameters docstring args", "starhost makes a tool's JSON Schema of the function's parameters and its docstring.", "builtins.md#register_tool", "register_tool"},
	{"secret secrets token password apikey credential", "A plugin sends a secret without reading it: ctx.secret, with the permission secret:NAME.", "permissions.md", "ctx.secret secrets.NAME.file"},
	{"session sessions conversation", "A session is a conversation. starhost keeps its turns and the plugins' ctx.state.", "run.md", "ctx.session session_start session_end"},
	{"setting settings option", "A plugin declares settings in plugin(config = {...}); the operator sets them below [plugin.NAME].", "config.md#set-up-a-plugin", "config plugin.NAME.KEY"},
	{"state counter remember variable-global", "A plugin keeps values of a session in ctx.state, and of all sessions in ctx.store. Its globals are frozen.", "store.md", "ctx.state ctx.store"},
	{"system target", `fragment(text, target = "system") goes into the system text.`, "prompts.md#the-order-of-the-blocks", "fragment"},
	{"template templates", "register_template_loader offers the start of a request, with parameters.", "prompts.md#references", "register_template_loader template"},
	{"trust trusted untrusted", "Until you trust a project, its config grants nothing. starhost trust shows what the config wants, and lets it.", "team.md#trust", "grants.NAME plugins.paths"},
	{"uninstall undo remove disable off", "starhost hook uninstall AGENT removes the lines from the agent's settings. plugins.disabled leaves a plugin out.", "team.md#undo-an-installation", "plugins.disabled"},
	{"update upgrade version api", "plugin(version = ...) names the version of a plugin; starhost version that of starhost.", "team.md#updates", "plugin"},
	{"warn dry-run monitor audit try", `plugin.NAME.mode = "warn" logs decisions as "would deny" and does not enforce them.`, "team.md#warn-first", "plugin.NAME.mode"},
}

// has reports whether a user means the subject by a word.
func (s subject) has(word string) bool { return slices.Contains(s.Words(), strings.ToLower(word)) }

// printSubject explains a subject.
func printSubject(p *page.Page, s subject) {
	fmt.Fprintf(p, "%s\n\n%s\n\n", strings.Join(s.Words(), ", "), s.text)
	report.WriteLine(p, "page", "docs/"+s.page)
	var see []string
	for _, name := range s.See() {
		see = append(see, "starhost docs "+name)
	}
	report.WriteLine(p, "see also", strings.Join(see, ", "))
}

// subjectsBody returns the table of subjects.
func subjectsBody(r Reference) string {
	if len(r.Subjects) == 0 {
		return ""
	}
	rows := [][]string{{"you look for", "in short", "page", "names"}}
	for _, s := range r.Subjects {
		page, _, _ := strings.Cut(strings.TrimSuffix(s.page, ".md"), ".md#")
		rows = append(rows, []string{
			markdown.Cell(strings.Join(s.Words(), ", ")), markdown.Cell(s.text), "[" + page + "](" + s.page + ")", markdown.Code(s.See()...),
		})
	}
	return "\n" + markdown.Table(rows)
}
