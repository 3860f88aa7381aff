package golden

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
)

// A scriptedModel is a model that returns the replies that a case states, and prints each request that it
// gets.
type scriptedModel struct {
	*play
	heading  string
	replies  []starhost.Reply
	full     bool  // print reports with sizes and hashes
	requests int   // number of requests so far
	hooks    int   // number of traces of handlers that requests have printed
	err      error // the error of the last request, or nil
}

// Complete prints a request, and returns the next reply of the case.
func (m *scriptedModel) Complete(_ context.Context, p *host.Prompt) (starhost.Reply, error) {
	m.requests++
	m.hooks += len(p.Hooks)
	before := m.sent
	m.sent = promptBlocks(p)
	heading := fmt.Sprintf("%s request %d", m.heading, m.requests)
	if m.err = m.print(heading, changedBlocks(before, m.sent)+"\n"+m.reportText(p, m.full)); m.err != nil {
		return starhost.Reply{}, m.err
	}
	if m.requests > len(m.replies) {
		m.err = errtext.Errorf("model_replies has %d, want one more: the turn goes on", len(m.replies))
		return starhost.Reply{}, m.err
	}
	return m.replies[m.requests-1], nil
}

// Turn runs a whole turn with a scripted model. If a handler aborted the turn, the result is
// empty.
func (p *play) Turn(
	_ context.Context, r host.Request, replies []starhost.Reply, answers []bool, full bool,
) (*host.TurnResult, error) {
	p.EndTurn()
	p.turns++
	p.begin(answers)
	m := &scriptedModel{play: p, heading: fmt.Sprintf("turn %d", p.turns), replies: replies, full: full}
	result, err := p.session.Turn(p.ctx, r, m)
	if result != nil {
		p.recordUnanswered(result.Turn.Errors()...)
		p.recordNow(result.Turn)
	}
	switch {
	case m.err != nil:
		return nil, p.printFailure(m.heading, m.err)
	case err != nil:
		return &host.TurnResult{}, p.printFailure(m.heading, err)
	case m.requests < len(replies):
		return nil, p.printFailure(m.heading, errtext.Errorf("model_replies has %d, want %d: the turn is over", len(replies), m.requests))
	}
	if err := p.checkAnswers("turn"); err != nil {
		return nil, p.printFailure(m.heading, err)
	}
	return result, p.print(m.heading+" answer", p.asked+quote(result.Text)+hooksText(result.Turn.Hooks()[m.hooks:]))
}

// Command runs a command in the current turn, and prints the questions of the command with their answers.
func (p *play) Command(_ context.Context, line string, answers []bool) (host.CommandReply, error) {
	heading := "command " + texttable.OneLine(line)
	t, err := p.CurrentTurn()
	if err != nil {
		return host.CommandReply{}, p.printFailure(heading, err)
	}
	before := len(t.Hooks())
	p.begin(answers)
	reply, err := t.Command(p.ctx, line)
	if err := cmp.Or(err, p.checkAnswers("command")); err != nil {
		return reply, p.printFailure(heading, err)
	}
	text := p.asked + resultText(&reply.Result)
	if reply.Denied != nil {
		text = p.asked + decisionText(*reply.Denied)
	}
	return reply, p.print(heading, text+hooksText(t.Hooks()[before:]))
}

// begin begins a step. answers are the answers to the step's questions.
func (p *play) begin(answers []bool) {
	p.answers, p.answered, p.lacking, p.asked = answers, 0, "", ""
}

// checkAnswers ends a step. It returns an error if the step had more answers than questions, or fewer.
func (p *play) checkAnswers(step string) error {
	left, used, lacking := len(p.answers), p.answered, p.lacking
	p.answers, p.answered = nil, 0
	switch {
	case left > 0:
		return errtext.Errorf("answers has %d, want %d: the %s is over", used+left, used, step)
	case used > 0 && lacking != "":
		return errtext.Errorf("answers has %d, want one more: %s", used, lacking)
	}
	return nil
}

// Approve answers a question that a step asks, or that a tool asks when a step calls it. If the step has no
// answers, the play's approver answers, or nobody does.
func (p *play) Approve(ctx context.Context, r host.ApprovalRequest) (got host.Answer, err error) {
	switch {
	case len(p.answers) > 0:
		got, p.answers = host.Answer{Yes: p.answers[0], By: "answers"}, p.answers[1:]
		p.answered++
	case p.answered == 0 && p.approver != nil:
		got, err = p.approver(ctx, r)
	default:
		err = errors.ErrUnsupported
		p.lacking = cmp.Or(p.lacking, strings.Join(r.Reasons, "; "))
	}
	answer := "no answer"
	if err == nil {
		answer = map[bool]string{false: "no", true: "yes"}[got.Yes]
	}
	if err == nil || strings.HasPrefix(r.Call.Name, "/") { // if nobody answers about a tool, the denial says so
		p.asked += "asked, " + answer + ": " + quote(strings.Join(r.Reasons, "; "))
	}
	return got, err
}

// CompleteCommand completes a line that begins with a slash. It ends the turn, because users type such lines
// between two turns.
func (p *play) CompleteCommand(_ context.Context, line string) ([]string, error) {
	heading, before := "complete_command "+texttable.OneLine(line), p.clockReads
	p.EndTurn()
	list, err := p.session.Complete(p.ctx, line)
	p.usedNow = p.usedNow || p.clockReads > before
	if err != nil {
		return nil, p.printFailure(heading, err)
	}
	text := ""
	for _, word := range list {
		text += quote(word)
	}
	return list, p.print(heading, text)
}

// RenderTemplate loads a template and fills it in. It does not resolve the template's
// references; prompt and turn do.
func (p *play) RenderTemplate(
	_ context.Context, ref, input string, params map[string]string,
) (starhost.Template, error) {
	heading := "render_template " + texttable.OneLine(ref)
	t, err := p.CurrentTurn()
	if err != nil {
		return starhost.Template{}, p.printFailure(heading, err)
	}
	tm, err := t.LoadTemplate(p.ctx, ref)
	if err == nil {
		tm.Prompt, tm.System, err = tm.Fill(input, params)
	}
	if err != nil {
		return starhost.Template{}, p.printFailure(heading, err)
	}
	return tm, p.print(heading, templateText(&tm))
}

// templateText returns the text that shows a filled-in template. It omits empty fields.
func templateText(tm *starhost.Template) string {
	list := func(names []string) string { return strings.Join(names, ", ") }
	text := ""
	for _, f := range []struct{ name, value string }{
		{"prompt", tm.Prompt}, {"system", tm.System}, {"model", tm.Model}, {"fragments", list(tm.Fragments)},
		{"system fragments", list(tm.SystemFragments)}, {"tools", list(tm.Tools)}, {"options", string(tm.Options)},
	} {
		if f.value != "" {
			text += withLabel(f.name, quote(f.value))
		}
	}
	return text + attachmentOffers(tm.Attachments)
}
