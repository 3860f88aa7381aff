package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/serve/hook"
)

// caseHooks returns the function for the step hook of golden cases. It gives the answers of starhost hook,
// but keeps sessions in memory.
func caseHooks(
	h *host.Host,
) func(ctx context.Context, agent, event string) (out, stderr string, code int, err error) {
	c := hookCase{host: h, sessions: map[string]*host.Session{}}
	return c.answer
}

// A hookCase answers the events of agents in one golden case.
type hookCase struct {
	host     *host.Host
	sessions map[string]*host.Session // sessions by agent and id
}

func (c *hookCase) answer(ctx context.Context, name, event string) (out, stderr string, code int, err error) {
	agent := hook.AgentOf(name)
	switch {
	case agent == nil:
		names := agentNames()
		return "", "", 0, fmt.Errorf("no adapter for the agent %q%s, want one of %s", name, near.DidYouMean(name, names), strings.Join(names, ", "))
	case agent.Lines:
		return c.answerLine(ctx, event)
	}
	e, err := agent.Read([]byte(event))
	if err != nil {
		_, a, err := agent.Refuse([]byte(event), "starhost: "+err.Error())
		return a.Out, a.Err, a.Code, err
	}
	answer, _, err := e.Answer(ctx, c.host, hook.Options{Resume: c.session})
	if errors.Is(err, host.ErrClosed) { // the session has ended, and the agent resumes it
		answer, _, err = e.Answer(ctx, c.host, hook.Options{Resume: c.resume})
	}
	return answer.Out, answer.Err, answer.Code, err
}

// session returns the session of an event.
func (c *hookCase) session(config host.SessionConfig, saved host.SavedSession) *host.Session {
	key := config.Platform + "\x00" + config.ID
	if c.sessions[key] == nil {
		c.sessions[key] = c.host.Resume(config, saved)
	}
	return c.sessions[key]
}

// resume replaces the event's session, which has ended, by a new one with the states of its plugins.
func (c *hookCase) resume(config host.SessionConfig, saved host.SavedSession) *host.Session {
	ended := c.session(config, saved)
	delete(c.sessions, config.Platform+"\x00"+config.ID)
	s := c.session(config, saved)
	_ = effects.RestoreStates(s, effects.SaveStates(ended)) // no error, because the states fitted before
	return s
}

// caseDeadline is the deadline for an answer in a golden case. It is long, because a busy machine must not
// change the answer.
const caseDeadline = 10 * time.Minute

// answerLine answers one line of an agent that keeps its process running.
func (c *hookCase) answerLine(ctx context.Context, line string) (out, stderr string, code int, err error) {
	var b, log strings.Builder
	desk := hook.Desk{
		Load:     func(context.Context, *hook.Event) hook.Plugins { return hook.Plugins{Host: c.host} },
		Deadline: caseDeadline, Warn: func(text string) { log.WriteString(text + "\n") },
	}
	err = desk.Serve(ctx, strings.NewReader(line+"\n"), &b)
	return b.String(), log.String(), 0, err
}
