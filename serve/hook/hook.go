// Package hook lets plugins take part in agents that run programs at certain
// points of their work: Claude Code, Copilot CLI and Hermes start one for each of
// their events, PicoClaw keeps one running.
//
// The idea is one table, [Agents]: for each agent how its events are read, and how
// it is told what the plugins decided. What the plugins are asked is the same for
// all: a prompt begins a turn and gathers context, a tool call passes the guards
// and, where a person is wanted, the approvals.
//
// An agent that starts a process for each event has what its sessions know between
// two of them in [States].
//
// What an agent has no word for is refused where it was a refusal, and told on
// standard error where it was not. The package prints nothing and exits nowhere.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
)

// An Agent is one program that plugins can take part in.
type Agent struct {
	// Name is what users call it: "claude-code".
	Name string
	// Lines is true for an agent that keeps the process running: see [Serve].
	Lines bool

	// title is what messages call it.
	title string
	// toolPrefix is what the agent puts in front of the name of a tool that it has
	// from our MCP server.
	toolPrefix string
	// keeps is true if the agent keeps the context that it is given in its
	// conversation, so that it need not be given again.
	retainsContext bool
	// asks is true if the agent can ask a person about a tool call.
	canAsk bool
	// words is true if the agent can replace the user's words.
	canReplaceWords bool
	// notes is true if the agent shows its user a message of a hook.
	showsMessages bool
	// strict is true if the agent refuses a tool call whose hook ends with any code
	// but 0.
	deniesOnAnyCode bool
	// kinds are the events that the agent has, by name: kindNone for one that plugins do not hear.
	kinds map[string]kind
	// nameOf returns the name of an event. toolEvent is the one before a tool call: starhost
	// answers input that it cannot read as if it were this.
	nameOf    func(all object) string
	toolEvent string
	// read reads an event.
	read func(payload []byte) (*Event, error)
	// write says in the agent's words what is to be done about an event.
	write func(e *Event, v *verdict) (Answer, error)
	// config returns what to paste into the agent's settings, for a command line.
	config func(argv []string) string
	// intro says where to paste it.
	intro string
}

// Agents are all that are known, by name.
var Agents = []*Agent{claudeCode, copilot, hermes, picoclaw}

// AgentOf returns the agent of a name, or nil.
func AgentOf(name string) *Agent {
	i := slices.IndexFunc(Agents, func(a *Agent) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return Agents[i]
}

// Config returns what to paste into the agent's settings so that it runs a command,
// and in words where.
func (a *Agent) Config(argv []string) (text, where string) { return a.config(argv), a.intro }

// kind says what an event is about.
type kind int

const (
	kindNone    kind = iota // nothing that plugins hear of
	kindPrompt              // the user said something: turn_start and pre_llm_call
	kindTool                // pre_tool_call, and the approval where one is wanted
	kindApprove             // approve_tool_call
	kindResult              // post_tool_call
	kindReply               // post_llm_call and turn_end
	kindStop                // turn_end
	kindReset               // session_reset
	kindCompact             // the agent shortened the conversation
	kindEnd                 // session_end
)

// An Event is one event of an agent that starts a process for each.
type Event struct {
	agent   *Agent
	kind    kind
	name    string // as the agent calls it
	session string

	prompt  string
	model   string
	history []starhost.Message // nil unless the agent tells it

	tool     string // as the agent calls it
	callID   string
	args     json.RawMessage
	result   string
	isError  bool
	duration int // milliseconds

	response string
	clear    bool // the agent dropped the session itself

	raw map[string]json.RawMessage // all of it
}

// Read reads an event of an agent that is not one of [Agent.Lines].
func (a *Agent) Read(payload []byte) (*Event, error) {
	e, err := a.read(payload)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	e.agent = a
	a.renameTools(e.history)
	return e, nil
}

// Name returns the event's name as the agent has it, "" if it has none.
func (e *Event) Name() string { return e.name }

// IsDocumented reports whether the agent documents an event of that name.
func (e *Event) IsDocumented() bool {
	_, ok := e.agent.kinds[e.name]
	return ok
}

// Refuse returns the answer to a payload that nobody can read, or of an event that is not [Event.Documented]:
// the agent's refusal, unless the payload has the name of an event that guards cannot refuse. An
// agent that refuses a call at any exit code gets the refusal with 0.
func (a *Agent) Refuse(payload []byte, reason string) (*Event, Answer, error) {
	d := &document{text: payload}
	all := d.skimObject()
	e := &Event{agent: a, name: a.nameOf(all), session: all.textField("session_id"), raw: all}
	if k, ok := a.kinds[e.name]; ok {
		e.kind = k
	} else {
		e.kind, e.name = kindTool, a.toolEvent
	}
	answer, err := e.Block(reason)
	if a.deniesOnAnyCode && e.kind == kindTool {
		answer.Code = 0
	}
	return e, answer, err
}

// IsRefusable reports whether guards can refuse the event.
func (e *Event) IsRefusable() bool {
	return e.kind == kindPrompt || e.kind == kindTool || e.kind == kindApprove
}

// hookEventName is the name of an event for the agents that say it.
func hookEventName(all object) string { return all.textField("hook_event_name") }

// ReachesPlugins reports whether plugins can hear of the event at all.
func (e *Event) ReachesPlugins() bool { return e.kind != kindNone }

// pluginToolName returns the name by which plugins know a tool.
func (a *Agent) pluginToolName(tool string) string { return strings.TrimPrefix(tool, a.toolPrefix) }

// renameTools gives the tools that an agent's messages name the names that plugins know.
func (a *Agent) renameTools(messages []starhost.Message) {
	for i := range messages {
		m := &messages[i]
		m.ToolName = a.pluginToolName(m.ToolName)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Name = a.pluginToolName(m.ToolCalls[j].Name)
		}
	}
}

// An Answer is what the process of one event says to its agent.
type Answer struct {
	// Out goes to standard output, Err to standard error.
	Out, Err string
	// Code is the exit code: 0, or 2 for a block.
	Code int
	// Binding says that the agent would do something else without Out: run a call that plugins
	// refuse, ask about or change. If Out cannot be written, the process must end with [ExitBlock].
	Binding bool
}

// Deadline is how long after the arrival of an event the agent gets an answer, whatever plugins do.
const Deadline = 4500 * time.Millisecond

// Late says why starhost refuses an event whose plugins gave no answer in time.
func Late(deadline time.Duration) string {
	return fmt.Sprintf("the plugins gave no answer within %v", deadline)
}

// ExitBlock is the exit code that blocks in all agents.
const ExitBlock = 2

// A verdict is what plugins want done about an event.
type verdict struct {
	// context goes to the model, beside the user's words; words replace these.
	context string
	words   string
	// block refuses: the prompt or the tool call. stop ends the turn as well.
	block, stop bool
	// ask wants a person, allow none.
	ask, allow bool
	// reason says why, for each of these.
	reason string
	// args replace the call's arguments, result the tool's result; answer is what a
	// plugin answers in the tool's stead, which block then keeps from running.
	args   json.RawMessage
	result *string
	answer *starhost.Result
	// notice is a message to the user, "" for none.
	notice string
	// lost are things that the plugins wanted and the agent cannot do.
	unsupported []string
}

// addUnsupported notes something that an agent cannot do.
func (v *verdict) addUnsupported(format string, args ...any) {
	v.unsupported = append(v.unsupported, fmt.Sprintf(format, args...))
}

// A Refusal is why calls and approvals may not pass: a guard is not loaded. starhost never refuses
// the end of a turn or session for that.
type Refusal struct {
	Err error
	// Prompts is why prompts may not pass either: a guard of prompts is not loaded. Nil lets them
	// pass with a message to the user.
	Prompts error
	// Open lets everything pass, with a message at each event.
	Open bool
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// refuses returns why an event of the kind may not pass, nil if it may.
func (r *Refusal) refuses(k kind) error {
	switch {
	case r == nil || r.Open:
		return nil
	case k == kindTool || k == kindApprove:
		return r.Err
	case k == kindPrompt:
		return r.Prompts
	}
	return nil
}

// notice is the message to the user about an event that passes, "" for none.
func (r *Refusal) notice(k kind) string {
	switch {
	case r == nil:
		return ""
	case r.Open:
		return "starhost: a guard is not loaded, and --fail-open lets everything pass: " + r.Error()
	case k == kindPrompt:
		return "starhost: a guard is not loaded, so starhost refuses all calls of tools: " + r.Error()
	}
	return ""
}

// Block returns the answer that refuses an event whatever the plugins say, for the
// given reason: of a program that must not work without its plugins.
func (e *Event) Block(reason string) (Answer, error) {
	return e.answer(&verdict{reason: reason, block: e.IsRefusable()})
}

// FailureCode is the exit code of a process that failed and has nothing to answer: 1, which blocks
// nothing, if guards cannot refuse the event, or if it is open: it would let all events pass.
func (e *Event) FailureCode(open bool) int {
	if e.agent.deniesOnAnyCode && e.kind == kindTool || e.IsRefusable() && !open {
		return 0
	}
	return 1
}

// answer puts a verdict in the agent's words.
func (e *Event) answer(v *verdict) (Answer, error) {
	if v.ask && !e.agent.canAsk {
		v.ask, v.block, v.reason = false, true, describeMissingPerson(v.reason)
	}
	if v.notice != "" && (!e.agent.showsMessages || v.block) {
		v.addUnsupported("%s", v.notice)
	}
	a, err := e.agent.write(e, v)
	a.Binding = v.block || v.ask || v.args != nil
	for _, text := range v.unsupported {
		a.Err += text + "\n"
	}
	return a, err
}

// Options say how events are answered.
type Options struct {
	// States store the state of sessions between two processes; nil stores nothing.
	States *States
	// Refusal says which guards are not loaded; nil means that all are.
	Refusal *Refusal
	// Notice is what the user is to know with the next prompt, "" for nothing.
	Notice string
	// Report takes what failed and does not change an answer; nil drops it.
	Report func(error)
}

// Answer asks the plugins of the host about an event; nil has none. The caller gives the answer,
// then calls store, which writes the session's state: its failure goes to Options.Report, and never
// changes the answer.
func (e *Event) Answer(ctx context.Context, h *starhost.Host, o Options) (a Answer, store func(), err error) {
	flow := flows[e.kind]
	v, store := &verdict{}, func() {}
	if why := o.Refusal.refuses(e.kind); why != nil {
		a, err = e.Block("starhost: " + why.Error())
		return a, store, err
	}
	if h != nil && flow.run != nil && flow.isNeeded(e, h) {
		v, store, err = o.inSession(ctx, h, e, flow)
	}
	if err == nil {
		if v.notice = o.Refusal.notice(e.kind); v.notice == "" && e.kind == kindPrompt {
			v.notice = o.Notice
		}
		a, err = e.answer(v)
	}
	return a, store, err
}
