package golden

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/report"
)

// startTime is the time at the start of every case.
var startTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// platform is the platform of the sessions of all cases.
const platform = "test"

// A play is one run of a case: a session, and the output of its steps.
type play struct {
	ctx     context.Context
	session *host.Session
	turn    *host.Turn // the current turn, or nil

	betweenTurns bool // steps named fire use no turn: see startSession.BetweenTurns

	now   time.Time
	isSet bool // a step has set now

	usedNow    bool // a handler has read the time
	clockReads int  // readings of the host's clock, by handlers and by the host to measure times
	prompts    int
	turns      int
	limit      int      // the most bytes of out
	fullReport bool     // prompts have a report with sizes and hashes
	sent       []string // the texts that the previous prompt sent, by message
	logs       []host.LogLine
	out        strings.Builder

	unanswered error // the error of the first effect without a line in effects.jsonl, or not its next line; or nil

	answers  []bool // the answers to the next questions of the step
	answered int    // how many questions of the step got an answer
	lacking  string // the first question after the step's last answer, or ""
	asked    string // the step's questions with their answers, as lines
	// approver answers the questions of steps without answers. It may be nil.
	approver func(context.Context, host.ApprovalRequest) (host.Answer, error)

	// hook sends an agent's event through the agent's adapter. It is nil if the program has no adapters.
	hook func(ctx context.Context, agent, event string) (out, stderr string, code int, err error)

	events      appEvents                   // the events that the case declares
	known       func() []starhost.EventSpec // returns all events of the host
	firedEvents map[string]bool             // the names of the events that steps fired

	row      *row            // the row that runs, or nil
	usedKeys map[string]bool // keys of the row that the steps have read

	env           map[string]string // the case's variables
	mu            sync.Mutex
	usedVariables map[string]bool // names of variables in env that something has read
}

// lookup returns the value of an environment variable, and notes that something read it.
func (p *play) lookup(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	addName(&p.usedVariables, name)
	if value, ok := p.env[name]; ok {
		return value
	}
	return defaultValue(name)
}

// addName adds a name to a set. It makes the set when the first name comes, because most plays have no name
// to add.
func addName(names *map[string]bool, name string) {
	if *names == nil {
		*names = map[string]bool{}
	}
	(*names)[name] = true
}

// defaultValue is the value that a variable has if the case does not set it.
func defaultValue(name string) string { return "test-" + name }

// print writes a step's heading, its result, and the lines that handlers logged.
func (p *play) print(heading, text string) error {
	for _, part := range [...]string{"== ", heading, "\n", text, p.flushLogs()} {
		p.out.WriteString(part)
	}
	if p.out.Len() > p.limit {
		return errtext.Errorf("the case printed %d bytes, limit %d", p.out.Len(), p.limit)
	}
	return nil
}

func (p *play) flushLogs() string {
	text := ""
	for _, l := range p.logs {
		text += logText(l)
	}
	p.logs = nil
	return text
}

// printFailure prints the error of a step, and ends the turn. If a handler aborted the turn, that is the
// step's outcome, and printFailure returns no error.
func (p *play) printFailure(heading string, err error) error {
	p.EndTurn()
	p.recordUnanswered(err)
	if abort, ok := errors.AsType[*host.AbortError](err); ok {
		return p.print(heading, decisionText(starhost.Decision{
			Action: starhost.ActionAbort, Reason: abort.Reason, Plugin: abort.Plugin, Pos: abort.Pos,
		}))
	}
	if limit := p.print(heading, fmt.Sprintf("error: %s\n", texttable.OneLine(err.Error()))); limit != nil {
		return limit
	}
	return err
}

// CurrentTurn returns the current turn, or begins one with an empty message.
func (p *play) CurrentTurn() (*host.Turn, error) {
	if p.turn != nil {
		return p.turn, nil
	}
	return p.beginTurn(host.Request{})
}

func (p *play) beginTurn(r host.Request) (t *host.Turn, err error) {
	p.EndTurn()
	p.turn, err = p.session.Begin(p.ctx, r)
	return p.turn, err
}

// recordUnanswered looks in failures for the error of an effect that no line answers, and stores the first. A
// host goes on after a failure of a handler, but the case must fail.
func (p *play) recordUnanswered(failures ...error) {
	for _, err := range failures {
		var unanswered *effects.UnansweredError
		var divergence *effects.DivergenceError
		switch {
		case p.unanswered != nil:
		case errors.As(err, &unanswered):
			p.unanswered = unanswered
		case errors.As(err, &divergence):
			p.unanswered = err
		}
	}
}

// recordNow notes whether a handler of a turn has read the time.
func (p *play) recordNow(t *host.Turn) {
	_, asked := t.FirstNow()
	p.usedNow = p.usedNow || asked
}

func (p *play) EndTurn() {
	if p.turn != nil {
		p.turn.End(p.ctx)
		p.recordNow(p.turn)
		p.recordUnanswered(p.turn.Errors()...)
		p.turn = nil
	}
}

// Prompt begins a turn and builds its prompt. If a handler aborted the turn, the prompt is
// empty.
func (p *play) Prompt(_ context.Context, r host.Request, full bool) (*host.Prompt, error) {
	p.prompts++
	heading := fmt.Sprintf("prompt %d", p.prompts)
	t, err := p.beginTurn(r)
	if err != nil {
		return &host.Prompt{}, p.printFailure(heading, err)
	}
	prompt, err := t.Prompt(p.ctx)
	if err != nil {
		return &host.Prompt{}, p.printFailure(heading, err)
	}
	before := p.sent
	p.sent = promptBlocks(prompt)
	return prompt, p.print(heading, changedBlocks(before, p.sent)+"\n"+p.reportText(prompt, full))
}

// reportText returns the line about a prompt, or if full is true the report with sizes and hashes.
func (p *play) reportText(prompt *host.Prompt, full bool) string {
	if full || p.fullReport {
		return report.Text(prompt)
	}
	return report.Line(prompt)
}

// fullReportLine matches the last line of report.Text. Earlier versions of starhost wrote no other report,
// and a want with such a line keeps its form.
var fullReportLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^prompt +[0-9]+ B, about [0-9]+ tokens?(, and .*)?\r?$`)
})

// CallTool calls a tool as the model would.
func (p *play) CallTool(_ context.Context, call starhost.ToolCall, answers []bool) (host.ToolReply, error) {
	heading := "call_tool " + call.Name
	t, err := p.CurrentTurn()
	if err != nil {
		return host.ToolReply{}, p.printFailure(heading, err)
	}
	before := len(t.Hooks())
	p.begin(answers)
	reply, err := t.CallTool(p.ctx, call)
	if err := cmp.Or(err, p.checkAnswers("call")); err != nil {
		return reply, p.printFailure(heading, err)
	}
	return reply, p.print(heading, p.asked+replyText(call, &reply)+hooksText(t.Hooks()[before:]))
}

// hooksText returns the line of a step's output that lists what handlers did.
func hooksText(traces []host.HookTrace) string {
	var b strings.Builder
	report.WriteLine(&b, "hooks", report.HookLines(traces)...)
	return b.String()
}

// Fire fires an event.
func (p *play) Fire(_ context.Context, event string, args map[string]json.RawMessage) (host.Outcome, error) {
	heading := "fire " + event
	addName(&p.firedEvents, event)
	e, err := starhost.NewEvent(event, args, p.known()...)
	if _, unknown := starhost.LookupEvent(event, p.known()...); unknown != nil {
		err = agents.UnknownEvent(event, err)
	}
	if err == nil && e.Agent != "" && agents.Find(e.Agent) == nil {
		err = unknownAgent(e.Agent)
	}
	if err != nil {
		return host.Outcome{}, p.printFailure(heading, err)
	}
	if e.Tool != "" {
		heading += " " + texttable.OneLine(e.Tool)
	}
	out, err := p.fireEvent(e)
	if err != nil {
		return out, p.printFailure(heading, err)
	}
	return out, p.print(heading, outcomeText(&out))
}

// fireEvent fires an event in the current turn, or between two turns.
func (p *play) fireEvent(e *starhost.Event) (out host.Outcome, err error) {
	if p.betweenTurns {
		p.EndTurn()
		t, err := p.session.BetweenTurns(p.ctx)
		if err == nil {
			out, err = t.Fire(p.ctx, e)
			p.recordNow(t)
			p.recordUnanswered(t.Errors()...)
			t.End(p.ctx)
		}
		return out, err
	}
	t, err := p.CurrentTurn()
	if err != nil {
		return out, err
	}
	return t.Fire(p.ctx, e)
}

// unknownAgent returns the error for an agent whose tools starhost has no table of.
func unknownAgent(name string) error {
	var names []string
	for _, a := range agents.All {
		if a.Name != "" {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return errtext.Errorf("unknown agent %q%s, want one of %s", name, near.DidYouMean(name, names), strings.Join(names, ", "))
}

// Hook sends an agent's event through the agent's adapter.
func (p *play) Hook(_ context.Context, agent, event string) (out, stderr string, code int, err error) {
	heading := "hook " + texttable.OneLine(agent)
	p.EndTurn()
	if p.hook == nil {
		return "", "", 0, p.printFailure(heading, errors.New("this program has no adapters of agents"))
	}
	if out, stderr, code, err = p.hook(p.ctx, agent, event); err != nil {
		return "", "", 0, p.printFailure(heading, err)
	}
	return out, stderr, code, p.print(heading, answerText(out, stderr, code))
}

// LoadFragments resolves a reference as in a prompt.
func (p *play) LoadFragments(_ context.Context, ref string) (starhost.Context, error) {
	heading := "load_fragments " + texttable.OneLine(ref)
	t, err := p.CurrentTurn()
	if err != nil {
		return starhost.Context{}, p.printFailure(heading, err)
	}
	got, err := t.Load(p.ctx, []string{ref})
	if err != nil {
		return starhost.Context{}, p.printFailure(heading, err)
	}
	return got[0], p.print(heading, contextText(got[0]))
}

// Advance moves the time forward. It ends the turn, because all of a turn has one time.
func (p *play) Advance(_ context.Context, d time.Duration) error {
	p.EndTurn()
	p.now = p.now.Add(d)
	return nil
}

// SetNow sets the time, and ends the turn.
func (p *play) SetNow(_ context.Context, now time.Time) error {
	p.EndTurn()
	p.now, p.isSet = now, true
	return nil
}
