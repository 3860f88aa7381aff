package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/store"
)

// An answeredSession is the result of sessions answer.
type answeredSession struct{ storedSession }

func (p *program) sessionsAnswerCommand() *cobra.Command {
	var question string
	cmd := &cobra.Command{
		Use:   "answer ID yes|no",
		Short: "Answer the question for which a session's turn waits",
		Long: `Answer the question for which a session's turn waits: whether a tool call may run.
starhost sessions show ID shows it. starhost stores the answer, and the program that
goes on with the turn uses it once, within 24 hours of the question, and only if the
call, its arguments and the plugins are still the same. The guards are asked again.`,
		Example: `  starhost sessions answer waiting yes
  starhost sessions answer waiting no -F json`,
		Args: wantArguments("a session's id", "yes or no"),
		RunE: runSubcommand(p, "sessions answer", func(ctx context.Context, args []string) (answeredSession, error) {
			return p.env.answerSession(ctx, &p.res, args[0], args[1], question)
		}),
	}
	cmd.Flags().StringVar(&question, "question", "", "answer only the question whose digest begins with these `DIGITS`")
	return cmd
}

// answerSession stores an answer to the question of a session.
func (env Env) answerSession(ctx context.Context, res *Result, id, word, question string) (s answeredSession, err error) {
	words := []string{"no", "yes"}
	choice := slices.Index(words, word)
	switch {
	case choice < 0:
		return s, usagef("sessions answer: got %s, want yes or no", errtext.Brief(word))
	case question != "" && len(question) < store.MinDigits:
		return s, usagef("--question: got %s, want at least %d digits", errtext.Brief(question), store.MinDigits)
	}
	p, err := env.sessionPlace(res)
	if err != nil {
		return s, err
	}
	if s.storedSession, err = p.find(ctx, id); err != nil {
		return s, err
	}
	paused := s.saved.Paused
	switch {
	case paused == nil, paused.Digest == "":
		return s, &store.Failure{ErrorCode: "E0719", Err: errors.New("session " + errtext.Brief(id) + ": no turn waits for an answer")}
	case !strings.HasPrefix(paused.Digest, question):
		return s, &store.Failure{ErrorCode: "E0719", Err: errors.New("session " + errtext.Brief(id) + ": the question is another one, " + paused.Digest[:12])}
	}
	if err := s.saved.Answer(paused.Digest, choice == 1, time.Now()); err != nil {
		return s, &store.Failure{ErrorCode: "E0719", Err: err}
	}
	err = p.db.StoreSession(ctx, s.saved)
	if errors.Is(err, host.ErrBusy) {
		return s, &store.Failure{ErrorCode: "E0713", Err: err}
	}
	return s, store.AsFailure(err)
}
