// Package hook connects plugins to agents that run a program at certain points of their work.
// Claude Code, Copilot CLI and Hermes start a process for each event; PicoClaw starts one process
// and keeps it running.
//
// Its central idea is one table, [Agents]. A row says how starhost reads an agent's events and how
// it writes a decision in the agent's format. The questions to the plugins are the same for all
// agents: a prompt begins a turn and gathers context; a tool call passes the guards and, if a
// person must agree, the approvals.
//
// If an agent starts a process for each event, [States] stores the state of its sessions between
// two processes.
//
// If an agent cannot express a decision, starhost blocks the call when the decision was a denial;
// otherwise it logs the decision to standard error. The package itself prints nothing and never
// ends the program.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/host"
)

// An Agent describes one agent program: how starhost reads its events and writes its answers.
type Agent struct {
	*agents.Agent // the agent's names
	// Lines is true if the agent starts one process and sends it a line for each event: see
	// [Serve].
	Lines bool
	// HTTP is true if the agent can send its events to a server in place of a process: it reads the
	// answer's standard output at status 200.
	HTTP bool

	// retainsContext is true if the agent stores added context in its conversation, so that
	// starhost sends each text once.
	retainsContext bool
	// mergesArgs is true if the agent merges new arguments into the old ones, so that no plugin can
	// remove one.
	mergesArgs bool
	// showsMessages is true if the agent shows its user a hook's message.
	showsMessages bool
	// nameOf returns the name of an event. If starhost cannot read an event's name, it answers as
	// if the name were toolEvent, the agent's event before a tool call.
	nameOf    func(all object) string
	toolEvent string
	// read decodes an event.
	read func(a *Agent, payload []byte) (*Event, error)
	// write encodes a verdict in the agent's format.
	write func(e *Event, v *verdict) (Answer, error)
	// members lists the members that the agent's guard events always have: see [Event.CheckForm].
	members []memberForm
	// config returns the agent's settings that run a command line.
	config func(Settings) string
	// intro names the file that the settings belong into.
	intro string
	// more returns the files that the agent needs beside its settings; nil for none.
	more func(Settings) []Piece
}

// Agents has a row for each supported agent, sorted by name.
var Agents = []*Agent{
	claudeCode, cline, codex, copilot, cursor, dockerMCP, droid, gemini, goose, gptme, hermes, kiro, opencode,
	openhands, picoclaw, qwen, vscode, windsurf,
}

// AgentOf returns the agent with a name, or nil.
func AgentOf(name string) *Agent {
	i := slices.IndexFunc(Agents, func(a *Agent) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return Agents[i]
}

// Settings say how an agent runs starhost.
type Settings struct {
	// Command is the command line.
	Command []string
	// Timeout is the time that the agent waits for an answer, in whole seconds.
	Timeout time.Duration
	// FailOpen omits the agent's own field that blocks an event whose hook fails.
	FailOpen bool
	// Project is true for settings that belong to a project, Managed for those of all users.
	Project, Managed bool
	// URL replaces Command for an agent with [Agent.HTTP]. TokenEnv is the environment variable
	// with the server's token.
	URL, TokenEnv string
}

// entry returns the agent's setting for one hook: the timeout is in seconds, or in milliseconds if
// the agent counts a command's time so.
func (s *Settings) entry(inMillis bool) map[string]any {
	if s.URL != "" {
		return map[string]any{
			"type": "http", "url": s.URL, "timeout": s.seconds(),
			"headers": map[string]any{"Authorization": "Bearer $" + s.TokenEnv}, "allowedEnvVars": []any{s.TokenEnv},
		}
	}
	timeout := s.seconds()
	if inMillis {
		timeout *= 1000
	}
	return map[string]any{"type": "command", "command": quoteCommand(s.Command), "timeout": timeout}
}

// seconds returns the timeout in seconds.
func (s *Settings) seconds() int { return int(s.Timeout / time.Second) }

// Config returns the agent's settings that run a command, and the name of the file that they belong
// into.
func (a *Agent) Config(s Settings) (text, where string) { return a.config(s), a.intro }

// A Piece is one of the files that make an agent run starhost.
type Piece struct {
	// Name is the file's path from the folder of the first piece, or "" for the first piece.
	Name string
	// Text is what the file must have.
	Text string
	// Whole is true if nothing else may be in the file.
	Whole bool
}

// Pieces returns the files that make the agent run a command. The first one has the settings.
func (a *Agent) Pieces(s Settings) []Piece {
	pieces := []Piece{{Text: a.config(s)}}
	if a.more != nil {
		pieces = append(pieces, a.more(s)...)
	}
	return pieces
}

// A kind is the subject of an event. It decides which plugin events the event fires.
type kind int

const (
	kindNone    kind = iota // plugins do not see the event
	kindPrompt              // the user sent a message: fires turn_start and pre_llm_call
	kindTool                // fires pre_tool_call, and approve_tool_call if a person must agree
	kindApprove             // fires approve_tool_call
	kindResult              // fires post_tool_call
	kindReply               // fires post_llm_call and turn_end
	kindStop                // fires turn_end
	kindReset               // fires session_reset
	kindCompact             // the agent shortened its conversation, so earlier context may be gone
	kindEnd                 // fires session_end
	kindBranch              // a subagent begins, which gets the context of the session
)

// kindOf returns the kind of an event by its name: kindNone for an event that plugins do not take
// part in. ok is false if the agent's documentation does not list the event.
func (a *Agent) kindOf(event string) (k kind, ok bool) {
	i := slices.IndexFunc(a.Events, func(e agents.Event) bool { return e.Name == event })
	switch {
	case i < 0:
		return kindNone, false
	case !a.Events[i].Served:
		return kindNone, true
	case a.Events[i].Compacts:
		return kindCompact, true
	case a.Events[i].Branches:
		return kindBranch, true
	}
	return kindOfEvent(a.Events[i].Ours), true
}

// AsksAt reports whether the agent asks guards about calls at an event.
func (a *Agent) AsksAt(event string) bool {
	k, _ := a.kindOf(event)
	return k == kindTool
}

// firstEvents are the first plugin events that the kinds fire. It is an array, because a map costs
// each start.
var firstEvents = [...]string{
	kindPrompt: "turn_start", kindTool: "pre_tool_call", kindApprove: "approve_tool_call", kindResult: "post_tool_call",
	kindReply: "post_llm_call", kindStop: "turn_end", kindReset: "session_reset", kindEnd: "session_end",
}

// kindOfEvent returns the kind that fires a plugin event first.
func kindOfEvent(event string) kind { return kind(max(0, slices.Index(firstEvents[:], event))) }

// An Event is one event of an agent that starts a process for each event.
type Event struct {
	agent   *Agent
	kind    kind
	name    string // in the agent's spelling
	session string

	prompt  string
	model   string
	history []starhost.Message // nil if the agent does not send it

	workspace string // the agent's folder, "" if the agent does not send it

	tool     string // in the agent's spelling
	called   calledTool
	callID   string
	args     json.RawMessage
	result   string
	isError  bool
	duration int // in milliseconds

	response string
	clear    bool // the agent itself dropped the session
	unread   bool // starhost cannot read the event

	raw map[string]json.RawMessage // all members of the event
}

// byteOrderMark begins texts that PowerShell and programs of Windows write.
var byteOrderMark = []byte("\ufeff")

// Read decodes an event, which a byte order mark may begin. The agent must not have [Agent.Lines].
func (a *Agent) Read(payload []byte) (*Event, error) {
	payload = bytes.TrimPrefix(payload, byteOrderMark)
	e, err := a.read(a, payload)
	if err != nil || !a.owns(e.raw) {
		if from := a.sender(skimObject(string(payload))); from != a {
			a = from
			e, err = a.read(a, payload)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	e.agent = a
	e.workspace = cmp.Or(e.workspace, object(e.raw).textField("cwd"))
	a.renameTools(e.history)
	return e, nil
}

// Name returns the event's name in the agent's spelling, "" if the event has none.
func (e *Event) Name() string { return e.name }

// AgentName returns the name of the agent whose event it is.
func (e *Event) AgentName() string { return e.agent.Name }

// IsDocumented reports whether the agent's documentation lists the event's name.
func (e *Event) IsDocumented() bool {
	_, ok := e.agent.kindOf(e.name)
	return ok
}

// Refuse returns the agent's refusal for a payload that starhost cannot read, or for an event that
// [Event.CheckForm] refuses. If the payload names an event that guards cannot refuse, the answer
// lets it pass.
func (a *Agent) Refuse(payload []byte, reason string) (*Event, Answer, error) {
	payload = bytes.TrimPrefix(payload, byteOrderMark)
	all := skimObject(string(payload))
	a = a.sender(all)
	e := &Event{agent: a, name: a.nameOf(all), session: all.textField("session_id"), raw: all, unread: true}
	near := a.nearName(e.name)
	if k, ok := a.kindOf(near); ok {
		e.kind, e.name = k, near
	} else {
		e.kind, e.name = kindTool, a.toolEvent
	}
	answer, err := e.Block(reason)
	return e, answer, err
}

// IsRefusable reports whether guards can refuse the event.
func (e *Event) IsRefusable() bool {
	return e.kind == kindPrompt && (e.agent.RefusesPrompts || e.agent.TellsModel) || e.kind == kindTool ||
		e.kind == kindApprove
}

// hookEventName returns the member hook_event_name, which names the event in most agents.
func hookEventName(all object) string { return all.textField("hook_event_name") }

// Workspace returns the folder that the agent works in, or "" if the event names none.
func (e *Event) Workspace() string { return e.workspace }

// ReachesPlugins reports whether any plugin event belongs to the event.
func (e *Event) ReachesPlugins() bool { return e.kind != kindNone }

// pluginToolName returns the plugins' name for a tool: the agent's name without the prefix of
// starhost's MCP server.
func (a *Agent) pluginToolName(tool string) string { return strings.TrimPrefix(tool, a.ToolPrefix) }

// renameTools changes the agent's tool names in messages to the plugins' names.
func (a *Agent) renameTools(messages []starhost.Message) {
	for i := range messages {
		m := &messages[i]
		m.ToolName = a.pluginToolName(m.ToolName)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Name = a.pluginToolName(m.ToolCalls[j].Name)
		}
	}
}

// An Answer is the output of the process that answers one event.
type Answer struct {
	// Out is for standard output, Err for standard error.
	Out, Err string
	// Code is the exit code: 0, or the agent's BlockCode for a block.
	Code int
	// Blocks is true if the answer refuses the event.
	Blocks bool
	// Refused says why starhost refused the event, or let it pass if guards cannot refuse it,
	// without asking plugins. It is "" if plugins answered.
	Refused string
	// Action is the strongest part of the answer, for the decision log: abort, deny, respond, ask,
	// modify, approve, context or none.
	Action string
	// Dropped are decisions of plugins that the agent does not take, for the decision log.
	Dropped []string
	// Binding is true if the agent would do something else without Out: it would use a call, a
	// result or words that plugins refuse, ask about or change. If the caller cannot write Out, the
	// process must end with [ExitBlock].
	Binding bool
}

// Deadline is the default time from the arrival of an event to its answer. Agents wait for 5 s at
// least.
const Deadline = 4500 * time.Millisecond

// Late returns the reason for refusing an event that the plugins did not decide in time.
func Late(deadline time.Duration) string {
	return fmt.Sprintf("the plugins gave no answer within %v", deadline)
}

// ExitBlock is the exit code that blocks a call in every agent.
const ExitBlock = 2

// A verdict is the sum of the plugins' decisions about one event.
type verdict struct {
	// context is text for the model beside the user's words. words replace the user's words if
	// hasWords is true.
	context  string
	words    string
	hasWords bool
	// block refuses the prompt or the tool call. stop also ends the turn.
	block, stop bool
	// ask means that a person must decide; allow means that no person needs to.
	ask, allow bool
	// reason explains block, stop, ask or allow.
	reason string
	// args replace the call's arguments, and result replaces the tool's result. answer is a
	// plugin's result for a call that block stops.
	args   json.RawMessage
	result *string
	answer *starhost.Result
	// notice is a message for the user, "" for none.
	notice string
	// unsupported lists decisions that the agent cannot express, for standard error.
	unsupported []string
}

// changesWords reports whether plugins changed the user's words.
func (v *verdict) changesWords(e *Event) bool {
	return e.kind == kindPrompt && v.hasWords && v.words != e.prompt
}

// addUnsupported records a decision that the agent cannot express.
func (v *verdict) addUnsupported(format string, args ...any) {
	v.unsupported = append(v.unsupported, fmt.Sprintf(format, args...))
}

// Refusing returns a host without plugins that refuses what guards could, for a program whose
// plugins cannot be loaded. observe receives the refusals: see [host.Options].
func Refusing(err error, open bool, observe func(starhost.Event, host.Outcome) error) *host.Host {
	h := host.New(host.Options{Observe: observe})
	h.Lose(host.Guard{Err: err, Open: open})
	return h
}

// lossNotice returns the message to the user about an event that passes while guards are not
// loaded, "" for none.
func lossNotice(h *host.Host, k kind) string {
	if h == nil {
		return ""
	}
	for _, g := range h.LostGuards() {
		if _, ok := errors.AsType[*errRan](g.Err); g.Open && ok {
			return "starhost: --fail-open lets calls pass: " + g.Err.Error()
		}
		if g.Open {
			return "starhost: a guard is not loaded, and --fail-open lets everything pass: " + g.Err.Error()
		}
	}
	if why := h.Refuses("pre_tool_call"); why != nil && k == kindPrompt && h.Refuses("turn_start") == nil {
		_, ran := errors.AsType[*errRan](why)
		if _, halted := errors.AsType[*host.HaltError](why); ran || halted {
			return "starhost refuses all calls of tools: " + why.Error()
		}
		return "starhost: a guard is not loaded, so starhost refuses all calls of tools: " + why.Error()
	}
	return ""
}

// Block returns the answer that refuses an event in place of plugins that did not answer. It
// withholds a result, which plugins could have changed. If guards cannot refuse the event, the
// answer lets it pass.
func (e *Event) Block(reason string) (Answer, error) {
	v := &verdict{reason: reason, block: e.IsRefusable()}
	if e.kind == kindResult && !e.unread {
		text := "[starhost withholds this result: " + strings.TrimPrefix(reason, "starhost: ") + "]"
		v.result = &text
	}
	a, err := e.answer(v)
	a.Refused = reason
	return a, err
}

// FailureCode returns the exit code of a process that failed without an answer. It is the agent's
// FailCode, which blocks nothing, if guards cannot refuse the event or if open is true
// (--fail-open). Otherwise the code is 0.
func (e *Event) FailureCode(open bool) int {
	if e.IsRefusable() && !open {
		return 0
	}
	return e.agent.FailCode
}

// answer encodes a verdict for the agent. It first replaces decisions that the agent cannot
// express.
func (e *Event) answer(v *verdict) (Answer, error) {
	e.fit(v)
	a, err := e.agent.write(e, v)
	a.Dropped = slices.Clone(v.unsupported)
	if v.notice != "" && (!e.agent.showsMessages || v.block) {
		v.addUnsupported("%s", v.notice)
	}
	a.Blocks, a.Action = v.block, v.action(e)
	a.Binding = v.block || v.ask || v.args != nil || v.result != nil || v.changesWords(e)
	for _, text := range v.unsupported {
		a.Err += text + "\n"
	}
	return a, err
}

// action returns the strongest part of a verdict.
func (v *verdict) action(e *Event) string {
	switch {
	case v.block && v.answer != nil:
		return string(starhost.ActionRespond)
	case v.block && v.stop:
		return string(starhost.ActionAbort)
	case v.block:
		return string(starhost.ActionDeny)
	case v.ask:
		return string(starhost.ActionAsk)
	case v.args != nil || v.result != nil || v.changesWords(e):
		return string(starhost.ActionModify)
	case v.allow:
		return string(starhost.ActionApprove)
	case v.context != "":
		return string(starhost.ActionContext)
	}
	return "none"
}

// fit replaces decisions that the agent would ignore by the strongest ones that it honours.
func (e *Event) fit(v *verdict) {
	a := e.agent
	if v.args != nil && !v.block && !e.isOneOf(a.Rewrites) {
		v.block, v.ask, v.allow = true, false, false
		v.reason = "a plugin changed the arguments, which " + a.Title + " does not let it"
	}
	if v.args != nil && !v.block && a.mergesArgs && dropsMember(e.args, v.args) {
		v.block, v.ask, v.allow = true, false, false
		v.reason = "a plugin removed an argument, which " + a.Title + " does not let it"
	}
	if v.ask && !e.isOneOf(a.Asks) {
		v.ask, v.block, v.reason = false, true, describeMissingPerson(v.reason)
	}
	if v.block && e.kind == kindPrompt && !a.RefusesPrompts && !a.TellsModel {
		v.addUnsupported("%s: a plugin refused the prompt, which %s does not let it: %s", e.name, a.Title, v.reason)
		v.block, v.stop = false, false
	}
	if v.context != "" && !a.TakesContext {
		v.addUnsupported("%s: %s takes no context: %d bytes are left out", e.name, a.Title, len(v.context))
		v.context = ""
	}
	if v.result != nil && !e.isOneOf(a.Redacts) {
		v.addUnsupported("%s: a plugin changed the result of %s, which %s does not let it", e.name, e.tool, a.Title)
		v.result = nil
	}
}

// isOneOf reports whether names, with spaces between them, have the event's name or "*".
func (e *Event) isOneOf(names string) bool {
	return names == "*" || slices.Contains(strings.Fields(names), e.name)
}

// Options control how [Event.Answer] answers. The zero value works.
type Options struct {
	// States stores the state of sessions between two processes. Nil stores nothing.
	States *States
	// Resume returns the event's session, for a caller that keeps sessions in memory instead of
	// States: a new session begins with the saved state. Nil means [host.Host.Resume].
	Resume func(host.SessionConfig, host.SavedSession) *host.Session
	// Pin is what [States.Pin] returned for the event; nil if the caller has not called it. Root is
	// the folder whose config the host has, for a session without a pin. FailOpen lets events pass
	// without the guards that the session had.
	Pin      *Pin
	Root     string
	FailOpen bool
	// Notice is a message that the user sees with the next prompt, "" for none.
	Notice string
	// Report receives failures that do not change an answer. Nil drops them.
	Report func(error)
}

// Answer asks the host's plugins about an event. A nil host has no plugins. The caller writes the
// answer first and then calls store, which stores the session's state. A failure of store goes to
// Options.Report and never changes the answer.
func (e *Event) Answer(ctx context.Context, h *host.Host, o Options) (a Answer, store func(), err error) {
	flow := flows[e.kind]
	v, storeState := &verdict{}, func() {}
	p := o.pinOf(e)
	h, remember, unknown := o.guarded(h, e, p)
	if h != nil {
		e.called = e.agent.findTool(e.tool, h)
	}
	if h != nil && flow.run != nil && flow.isNeeded(e, h) {
		v, storeState, err = o.inSession(ctx, h, e, flow)
	}
	v.closeFor(e, unknown)
	if err == nil {
		if v.notice = lossNotice(h, e.kind); v.notice == "" && e.kind == kindPrompt {
			v.notice = o.Notice
		}
		if h != nil && p != nil && e.kind == kindResult {
			v.notice = cmp.Or(o.checkRan(h, e, p), v.notice)
		}
		a, err = e.answer(v)
	}
	if h != nil && p != nil && e.kind == kindTool && err == nil && isGuarded(h) {
		o.report(o.States.addCall(p, e.newJudgedCall(v, a.Blocks)))
	}
	return a, func() { storeState(); remember() }, err
}
