package main

import (
	"context"
	"errors"
	"strings"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/store"
)

// A waitingError says that a turn waits for an approval, and is stored.
type waitingError struct {
	session  sessionID
	question *report.Question
}

func (e *waitingError) Error() string {
	q := e.question
	return "the turn waits for an approval: " + q.Tool + " " + cutArguments(q.Arguments) + ": " +
		strings.Join(q.Reasons, "; ")
}

// newWaitingError returns the error for the turn that now waits.
func (c *conversation) newWaitingError(ctx context.Context) error {
	saved, err := c.session.Save(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	e := &waitingError{c.id, report.QuestionOf(&saved)}
	e.question.Arguments = c.set.Redact(e.question.Arguments)
	return e
}

func asWaiting(err error, p *report.Problem) bool {
	e, ok := errors.AsType[*waitingError](err)
	if !ok {
		return false
	}
	id := shellwords.Quote(string(e.session))
	p.Code = "E0723"
	p.Help = "starhost sessions answer " + id + " yes|no, then starhost run --session " + id + " with the same plugins"
	return true
}

// resume goes on with the turn that waits for an approval, and shows its answer. The result is nil
// if none waits.
func (c *conversation) resume(ctx context.Context) (*host.TurnResult, error) {
	t, err := c.session.ResumeTurn(ctx)
	switch {
	case errors.Is(err, host.ErrBusy):
		return nil, &store.Failure{ErrorCode: "E0713", Err: err}
	case err != nil, t == nil:
		return nil, err
	}
	return c.finish(ctx, t)
}

// answer runs the turn of a request, or goes on with the turn that waits, if resumes is set.
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
