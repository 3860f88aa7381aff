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
	// Lines is true if the agent starts one process and sends it a line for each event: see [Desk.Serve].
	Lines bool
	// HTTP is true if the agent can send its events to a server in place of a process. It then reads the body
	// of an answer with status 200 as the process's standard output.
	HTTP bool

	// retainsContext is true if the agent stores added context in its conversation, so that starhost sends
	// each text only once.
	retainsContext bool
	// mergesArgs is true if the agent merges new arguments into the old ones, so that no plugin can remove an
	// argument.
	mergesArgs bool
	// showsMessages is true if the agent shows its user a hook's message.
	showsMessages bool
	// nameOf returns the name of an event. If it finds none, starhost answers as if the name were toolEvent,
	// the agent's event before a tool call.
	nameOf    func(all object) string
	toolEvent string
	// read decodes an event.
	read func(a *Agent, payload []byte) (*Event, error)
	// write encodes a verdict in the agent's format.
	write func(e *Event, v *verdict) (Answer, error)
	// members lists the members that the agent's events before a call always have: see [Event.CheckForm].
	members []memberForm
	// config returns the settings by which the agent runs a command line.
	config func(Settings) string
	// intro says in which file the settings belong.
	intro string
	// more returns the files that the agent needs in addition to its settings. It may be nil.
	more func(Settings) []Piece
}

// Agents are the adapters sorted by name: TestListed of package agents writes the list.
var Agents = []*Agent{
	claudeCode, cline, codex, copilot, cursor, dockerMCP, droid, gemini, goose, gptme, hermes, kiro,
	opencode, openhands, picoclaw, qwen, vscode, windsurf,
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
	// FailOpen leaves out the agent's own field that blocks an event whose hook fails.
	FailOpen bool
	// Project is true for the settings of a project, and Managed for those of all users.
	Project, Managed bool
	// URL replaces Command for an agent with [Agent.HTTP]. TokenEnv is the environment variable
	// with the server's token.
	URL, TokenEnv string
}

// entry returns the agent's setting for one hook. The timeout is in seconds, or in milliseconds if inMillis
// is true.
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

// Config returns the settings by which the agent runs a command, and says in which file they belong.
func (a *Agent) Config(s Settings) (text, where string) { return a.config(s), a.intro }

// A Piece is one of the files that an agent needs to run starhost.
type Piece struct {
	// Name is the path of the file, from the folder of the first piece. It is "" for the first piece.
	Name string
	// Text is what the file must contain.
	Text string
	// Whole is true if nothing else may be in the file.
	Whole bool
}

// Pieces returns the files that an agent needs to run a command. The first one has the settings.
func (a *Agent) Pieces(s Settings) []Piece {
	pieces := []Piece{{Text: a.config(s)}}
	if a.more != nil {
		pieces = append(pieces, a.more(s)...)
	}
	return pieces
}

// A kind says what an event is about. It decides which plugin events the event fires.
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

// kindOf returns the kind of an event with a name. It returns kindNone for an event that plugins do not see.
// ok is false if the agent's documentation does not list the event.
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

// AsksAt reports whether the agent's event with a name asks guards about calls.
func (a *Agent) AsksAt(event string) bool {
	k, _ := a.kindOf(event)
	return k == kindTool
}

// firstEvents are the plugin events that each kind fires first. It is an array, because making a map costs
// time at each start.
var firstEvents = [...]string{
	kindPrompt: "turn_start", kindTool: "pre_tool_call", kindApprove: "approve_tool_call", kindResult: "post_tool_call",
	kindReply: "post_llm_call", kindStop: "turn_end", kindReset: "session_reset", kindEnd: "session_end",
}

// kindOfEvent returns the kind whose first plugin event has a name.
func kindOfEvent(event string) kind { return kind(max(0, slices.Index(firstEvents[:], event))) }

// An Event is one event of an agent that starts a process for each event.
type Event struct {
	agent   *Agent
	kind    kind
	name    string // the name that the agent gives the event
	session string

	prompt  string
	model   string
	history []starhost.Message // the earlier messages; nil if the agent does not send them

	workspace string // the folder that the agent works in; "" if the agent does not send it

	tool     string // the name that the agent gives the tool
	called   calledTool
	callID   string
	args     json.RawMessage
	result   string
	isError  bool
	duration int // milliseconds

	response string
	clear    bool // true if the agent itself has dropped the session
	unread   bool // true if starhost cannot read the event

	raw map[string]json.RawMessage // all members of the event
}

// byteOrderMark is how texts begin that PowerShell and programs of Windows write.
var byteOrderMark = []byte("\ufeff")

// Read decodes an event. A byte order mark may precede it. The agent must not have [Agent.Lines].
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

// Name returns the name that the agent gives the event, or "" if the event has none.
func (e *Event) Name() string { return e.name }

// AgentName returns the name of the agent that sent the event.
func (e *Event) AgentName() string { return e.agent.Name }

// IsDocumented reports whether the agent's documentation lists the event's name.
func (e *Event) IsDocumented() bool {
	_, ok := e.agent.kindOf(e.name)
	return ok
}

// Refuse returns the agent's refusal of a payload that starhost cannot read, or of an event that
// [Event.CheckForm] refuses. If the payload names an event that guards cannot refuse, the answer lets the
// event pass.
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

// Workspace returns the folder that the agent works in, or "" if the event names none.
func (e *Event) Workspace() string { return e.workspace }

// ReachesPlugins reports whether the event fires any plugin event.
func (e *Event) ReachesPlugins() bool { return e.kind != kindNone }

// pluginToolName returns the name that plugins see of a tool: the agent's name without the prefix of
// starhost's MCP server.
func (a *Agent) pluginToolName(tool string) string { return strings.TrimPrefix(tool, a.ToolPrefix) }

// renameTools replaces the agent's names of tools in messages by the names that plugins see.
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
	// Refused says why starhost did not ask plugins, and refused the event, or let it pass because guards
	// cannot refuse it. It is "" if plugins answered.
	Refused string
	// Action says for the decision log what the answer does: abort, deny, respond, ask, modify, approve,
	// context or none. If it does several things, Action is the first of these.
	Action string
	// Args are the arguments that the answer puts in the place of the call's, nil for none.
	Args json.RawMessage
	// Dropped are the decisions of plugins that the agent ignores, for the decision log.
	Dropped []string
	// Binding is true if the agent would do something else without Out: it would use a call, a result or
	// words that plugins refuse, ask about or change. If the caller cannot write Out, the process must
	// therefore end with [ExitBlock].
	Binding bool
}

// Deadline is the default time from the arrival of an event to its answer. All agents wait for at least 5 s.
const Deadline = 4500 * time.Millisecond

// Late returns the reason for refusing an event about which plugins did not decide in time.
func Late(deadline time.Duration) string {
	return fmt.Sprintf("the plugins gave no answer within %v", deadline)
}

// ExitBlock is an exit code that blocks a call in every agent.
const ExitBlock = 2

// A verdict combines the decisions of all plugins about one event.
type verdict struct {
	// context is text for the model in addition to the user's words. If hasWords is true, words replace the
	// user's words.
	context  string
	words    string
	hasWords bool
	// block refuses the prompt or the tool call. stop also ends the turn.
	block, stop bool
	// ask means that a person must decide; allow means that no person needs to.
	ask, allow bool
	// reason says why block, stop, ask or allow is set.
	reason string
	// args replace the arguments of the call, and result replaces the result of the tool. answer is the
	// result that a plugin gives for a call that block stops.
	args   json.RawMessage
	result *string
	answer *starhost.Result
	// notice is a message for the user, or "".
	notice string
	// unsupported lists decisions for which the agent has no form, for standard error.
	unsupported []string
}

// changesWords reports whether plugins changed the user's words.
func (v *verdict) changesWords(e *Event) bool {
	return e.kind == kindPrompt && v.hasWords && v.words != e.prompt
}

// addUnsupported adds a decision for which the agent has no form.
func (v *verdict) addUnsupported(format string, args ...any) {
	v.unsupported = append(v.unsupported, fmt.Sprintf(format, args...))
}

// Refusing returns a host without plugins that refuses whatever guards could refuse, for a program that
// cannot load its plugins. observe receives the refusals: see [host.Options].
func Refusing(err error, open bool, observe func(starhost.Event, host.Outcome) error) *host.Host {
	h := host.New(host.Options{Observe: observe})
	h.Lose(host.Guard{Err: err, Open: open})
	return h
}

// lossNotice returns a message to the user about an event that passes although guards are not loaded, or "".
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

// Block returns the answer that refuses an event because plugins did not answer. It withholds a result,
// because plugins could have changed it. If guards cannot refuse the event, the answer lets the event pass.
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

// FailureCode returns the exit code of a process that failed without an answer. If guards cannot refuse the
// event, or open is true (--fail-open), it is the agent's FailCode, which blocks nothing. Otherwise the code
// is 0.
func (e *Event) FailureCode(open bool) int {
	if e.IsRefusable() && !open {
		return 0
	}
	return e.agent.FailCode
}

// answer encodes a verdict for the agent. Before, it replaces decisions for which the agent has no form.
func (e *Event) answer(v *verdict) (Answer, error) {
	e.fit(v)
	a, err := e.agent.write(e, v)
	a.Dropped = slices.Clone(v.unsupported)
	if v.notice != "" && (!e.agent.showsMessages || v.block) {
		v.addUnsupported("%s", v.notice)
	}
	a.Blocks, a.Action, a.Args = v.block, v.action(e), v.args
	a.Binding = v.block || v.ask || v.args != nil || v.result != nil || v.changesWords(e)
	for _, text := range v.unsupported {
		a.Err += text + "\n"
	}
	return a, err
}

// permission returns the decision about a call in the word of several agents, "" for none.
func (v *verdict) permission() string {
	switch {
	case v.block:
		return "deny"
	case v.ask:
		return "ask"
	case v.allow:
		return "allow"
	}
	return ""
}

// action returns what the answer does, for the decision log. If the verdict has several parts, the strongest
// one counts.
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

// fit replaces decisions that the agent would ignore by the strongest decisions that it follows.
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

// isOneOf reports whether names contain the name of the event, or are "*". The names have spaces between
// them.
func (e *Event) isOneOf(names string) bool {
	return names == "*" || slices.Contains(strings.Fields(names), e.name)
}

// Options control how [Event.Answer] answers. The zero value works.
type Options struct {
	// States stores the state of sessions between two processes. Nil stores nothing.
	States *States
	// Pin is what [States.Pin] returned for the event; nil if the caller has not called it. Root is the
	// folder whose config the host has, for a session without a pin. FailOpen lets events pass although
	// guards are gone that the session had.
	Pin      *Pin
	Root     string
	FailOpen bool
	// Notice is a message for the user, who sees it with the next prompt; or "".
	Notice string
	// Report receives failures that change no answer. Nil drops them.
	Report func(error)
}

// Answer asks the host's plugins about an event. A nil host has no plugins. The caller first writes the
// answer, and then calls store, which stores the state of the session. If store fails, the error goes to
// Options.Report, and the answer stays.
func (e *Event) Answer(ctx context.Context, h *host.Host, o Options) (a Answer, store func(), err error) {
	flow := flows[e.kind]
	v, storeState := &verdict{}, func() {}
	p, release := o.hold(ctx, e)
	h, remember, unknown := o.guarded(h, e, p)
	if h != nil {
		e.called = e.agent.findTool(e.tool, h)
	}
	if h != nil && flow.run != nil && flow.isNeeded(e, h) {
		s := o.session(ctx, h, e, flow)
		if s.Session != nil {
			v, err = flow.run(ctx, s.Session, e)
		}
		storeState = s.end(ctx, v, err)
	}
	v.closeFor(e, unknown)
	if err == nil {
		if v.notice = lossNotice(h, e.kind); v.notice == "" && e.kind == kindPrompt {
			v.notice = o.Notice
		}
		if h != nil && p != nil && o.States != nil && e.kind == kindResult {
			v.notice = cmp.Or(o.checkRan(h, e, p), v.notice)
		}
		a, err = e.answer(v)
	}
	if h != nil && p != nil && o.States != nil && e.kind == kindTool && err == nil && isGuarded(h) {
		o.report(o.States.addCall(p, e.newJudgedCall(v, a.Blocks)))
	}
	return a, func() { storeState(); remember(); release() }, err
}
