package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/serve/hook"
)

// caseDeadline is the deadline for an answer in a golden case. It is long, because a busy machine must not
// change the answer.
const caseDeadline = 10 * time.Minute

// caseHooks returns the function for the step hook of golden cases. It gives the answers of starhost hook,
// but keeps sessions in memory.
func caseHooks(
	h *host.Host,
) func(ctx context.Context, agent, event string) (out, stderr string, code int, err error) {
	return answerHooks(hook.Plugins{Host: h, Options: hook.Options{States: &hook.States{Memory: hook.NewMemory(func(error) {})}}})
}

// answerHooks returns a function that gives the answers of starhost hook. Without states in p, each event is in a
// session of its own, which has begun.
func answerHooks(
	p hook.Plugins,
) func(ctx context.Context, agent, event string) (out, stderr string, code int, err error) {
	return func(ctx context.Context, name, event string) (out, stderr string, code int, err error) {
		agent := hook.AgentOf(name)
		if agent == nil {
			names := agentNames()
			return "", "", 0, fmt.Errorf("no adapter for the agent %q%s, want one of %s", name, near.DidYouMean(name, names), strings.Join(names, ", "))
		}
		var b, log strings.Builder
		desk := hook.Desk{
			Load: func(context.Context, *hook.Event) hook.Plugins { return p }, Deadline: caseDeadline,
			Warn: func(text string) { log.WriteString(text + "\n") },
		}
		if agent.Lines {
			err = desk.Serve(ctx, strings.NewReader(event+"\n"), &b)
			return b.String(), log.String(), 0, err
		}
		r := desk.Answer(ctx, agent, time.Now(), func() ([]byte, error) { return []byte(event), nil })
		<-r.Done
		return r.Answer.Out, log.String() + r.Answer.Err, r.Answer.Code, nil
	}
}
