package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/model/anthropic"
	"github.com/starhost/starhost/model/openai"
	"github.com/starhost/starhost/model/responses"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/store"
)

// A conversation asks models in one session, and shows their answers and the tool calls.
type conversation struct {
	Env
	*Result
	set     *loader.Set
	session *host.Session
	id      sessionID // the id; "" if the session is not stored
	caller  *model.Caller
	out     io.Writer // where text of the model goes; nil shows none
	waits   bool      // a hook may change answers, so nobody may see them before it has run
	streams bool      // shows text while it arrives

	turn     *host.Turn // the running turn
	shown    int        // how many calls of the turn were shown
	lastText string     // the text of the last reply
	written  string     // the last bytes that this turn wrote to out
	broken   error      // the error of writing to out
	cancel   context.CancelFunc
}

// dialects are the protocols that the program speaks.
var dialects = []model.Dialect{openai.Dialect(), responses.Dialect(), anthropic.Dialect()}

// newConversation returns a conversation in the session that id names. If id is "", it is in a session that
// is not stored.
func (env Env) newConversation(
	ctx context.Context, res *Result, set *loader.Set, id sessionID, config host.SessionConfig, streams bool,
) (*conversation, error) {
	session, err := id.open(ctx, set, config)
	if err != nil {
		return nil, err
	}
	c := &conversation{Env: env, Result: res, set: set, session: session, id: id, out: env.stdout}
	switch {
	case env.format == "json":
		c.out = nil
	case env.output != "":
		c.out = &res.out
	case console.IsTerminal(env.stdout):
		c.out = page.Screen{Writer: env.stdout}
	}
	changesText := func(h host.HookInfo) bool { return h.Event == "post_llm_call" }
	c.waits = slices.ContainsFunc(set.Host.Hooks(), changesText)
	c.streams = streams && c.out != nil && !c.waits
	c.caller = &model.Caller{
		Endpoint: set.Host.Endpoint, Secret: set.Secret, Warn: c.warnLine,
		Dialects: dialects,
		Options: model.Options{
			HTTP:   model.NewHTTP(),
			Limits: model.Limits{Answer: set.Config.Model.Answer, Timeout: set.Config.Model.Timeout},
		},
	}
	if streams {
		c.caller.Options.Stream = c.piece
	}
	return c, nil
}

// close closes connections. If the session is not stored, it ends the session.
func (c *conversation) close(ctx context.Context) {
	c.caller.Options.HTTP.CloseIdleConnections()
	if c.id == "" {
		c.addError(c.session.Close(context.WithoutCancel(ctx)))
	}
}

// ask runs one turn and shows its answer. If the turn did not begin, the result is nil, and err says why.
func (c *conversation) ask(ctx context.Context, r host.Request) (*host.TurnResult, error) {
	t, err := c.session.Begin(ctx, r)
	if err != nil {
		return nil, err
	}
	return c.finish(ctx, t)
}

// finish runs a turn to its end, or until the turn waits for an approval.
func (c *conversation) finish(ctx context.Context, t *host.Turn) (*host.TurnResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.cancel = cancel
	c.turn, c.shown, c.lastText, c.written = t, 0, "", ""
	result, err := t.Run(ctx, c)
	for err == nil && len(result.Pending) > 0 && result.Paused == nil {
		for _, call := range result.Pending {
			problem := "nothing here runs the tool " + call.Name + ", which the request declares"
			if err = t.Answer(call.ID, starhost.Result{ForLLM: problem, IsError: true}); err != nil {
				break
			}
		}
		result, err = t.Run(ctx, c)
	}
	c.showCalls()
	if result.Completed && (!c.streams || result.Text != c.lastText) {
		c.startText()
		c.write(result.Text)
	}
	c.endText()
	if result.Completed && result.Text == "" && err == nil {
		c.warnLine("the answer is empty")
	}
	if result.Rounds > c.set.Config.Model.Rounds {
		c.warnLine(fmt.Sprintf("the model had to answer without tools after %d rounds, limit [limits] rounds", c.set.Config.Model.Rounds))
	}
	t.End(ctx)
	err = errors.Join(err, c.id.store(ctx, c.session))
	if err == nil && result.Paused != nil {
		err = c.newWaitingError(ctx)
	}
	if c.broken != nil {
		err = c.broken
	}
	return result, err
}

// Complete sends a prompt to the prompt's model, and shows the answer.
func (c *conversation) Complete(ctx context.Context, p *host.Prompt) (starhost.Reply, error) {
	c.showCalls()
	if p.Model == "" {
		return starhost.Reply{}, checkModel(c.set, "", false)
	}
	if c.streams {
		c.startText()
	}
	reply, err := c.caller.Complete(ctx, p)
	c.lastText = reply.Content
	return reply, err
}

// piece shows a piece of an answer.
func (c *conversation) piece(p model.Piece) {
	if c.streams && p.Kind == model.PieceText {
		c.write(p.Text)
	}
}

// startText separates the text of this round from the text before it.
func (c *conversation) startText() {
	if c.written != "" {
		c.write(strings.Repeat("\n", 2-min(2, trailingNewlines(c.written))))
	}
}

// endText ends the last line that was written.
func (c *conversation) endText() {
	if c.written != "" && trailingNewlines(c.written) == 0 {
		c.write("\n")
	}
}

func trailingNewlines(text string) int { return len(text) - len(strings.TrimRight(text, "\n")) }

// partialText returns the text of an answer that broke off, or "" if nobody may see it.
func (c *conversation) partialText() string {
	if c.waits {
		return ""
	}
	return c.lastText
}

// write writes text of the model. If that fails, the turn ends.
func (c *conversation) write(text string) {
	if c.out == nil || text == "" || c.broken != nil {
		return
	}
	c.written = (c.written + text)[max(0, len(c.written)+len(text)-2):]
	if _, err := io.WriteString(c.out, text); err != nil {
		c.broken = errtext.File("standard output", err)
		c.cancel()
	}
}

// showCalls shows the calls of the turn that have run since showCalls ran last.
func (c *conversation) showCalls() {
	calls := c.turn.Result().Calls
	for i := range calls[c.shown:] {
		if c.format != "json" && !c.quiet {
			c.line(callLine(&calls[c.shown+i]))
		}
	}
	c.shown = len(calls)
}

// warnLine shows a warning.
func (c *conversation) warnLine(text string) {
	if !c.quiet {
		c.line("warning: " + texttable.EscapeLine(text))
	}
}

// line writes a line to standard error. If that is the same terminal as out, the line goes below the text.
func (c *conversation) line(text string) {
	if console.IsTerminal(c.stdout) {
		c.endText()
	}
	fmt.Fprintln(c.stderr, c.set.Redact(text))
}

// asEndpoint describes the error of an endpoint that did not answer.
var asEndpoint = report.KindOf(func(e *model.EndpointError, p *report.Problem) {
	p.Code, p.Message = "E0715", "model "+e.Error()
})

// A waitingError says that a turn waits for an approval and that its session is stored.
type waitingError struct {
	session  sessionID
	question *report.Question
}

func (e *waitingError) Error() string {
	q := e.question
	return "the turn waits for an approval: " + q.Tool + " " + cutArguments(q.Arguments) + ": " +
		strings.Join(q.Reasons, "; ")
}

// newWaitingError stores the session, and returns the error for its turn, which waits.
func (c *conversation) newWaitingError(ctx context.Context) error {
	saved, err := c.session.Save(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	e := &waitingError{c.id, report.QuestionOf(&saved)}
	e.question.Arguments = c.set.Redact(e.question.Arguments)
	return e
}

var asWaiting = report.KindOf(func(e *waitingError, p *report.Problem) {
	id := shellwords.Quote(string(e.session))
	p.Code = "E0723"
	p.Help = "starhost sessions answer " + id + " yes|no, then starhost run --session " + id + " with the same plugins"
})

// resume goes on with the turn that waits for an approval, and shows its answer. If no turn waits, the result
// is nil.
func (c *conversation) resume(ctx context.Context) (*host.TurnResult, error) {
	t, err := c.session.ResumeTurn(ctx)
	switch {
	case errors.Is(err, host.ErrBusy):
		return nil, store.AsFailure(err)
	case err != nil, t == nil:
		return nil, err
	}
	return c.finish(ctx, t)
}

// answer runs a turn for a request. If resumes is true, it goes on with the turn that waits instead.
func (c *conversation) answer(ctx context.Context, r host.Request, resumes bool) (*host.TurnResult, error) {
	if !resumes {
		return c.ask(ctx, r)
	}
	result, err := c.resume(ctx)
	if result == nil && err == nil {
		err = usagef("run: got no prompt, and no turn of session %q waits for an approval, want -p, -t or -i", string(c.id))
	}
	return result, err
}
