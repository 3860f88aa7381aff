package trace

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/serve/hook"
)

// maxArguments is how many bytes of arguments a reader holds to put calls in order.
const maxArguments = 256 << 20

// InOrder returns the calls of an agent session by session, in the order of their times. A subagent's
// calls stand among those of its session.
func (r *Reader) InOrder(agent *agents.Agent) iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		var calls []*Call
		size, more := 0, true
		flush := func() {
			for _, c := range inOrder(calls) {
				more = more && yield(c)
			}
			calls, size = nil, 0
		}
		for c := range r.Calls(agent) {
			calls = append(calls, c)
			if size += len(c.Arguments); size > maxArguments {
				flush()
			}
			if !more {
				return
			}
		}
		flush()
	}
}

// inOrder sorts calls by the beginning of their session, then by time.
func inOrder(calls []*Call) []*Call {
	first := map[string]time.Time{}
	for _, c := range calls {
		if t, ok := first[c.Session]; !ok || c.Time.Before(t) {
			first[c.Session] = c.Time
		}
	}
	slices.SortStableFunc(calls, func(a, b *Call) int {
		return cmp.Or(first[a.Session].Compare(first[b.Session]), cmp.Compare(a.Session, b.Session), a.Time.Compare(b.Time))
	})
	return calls
}

// A Past makes records of calls, as if guards that decide nothing had been asked about each. A replay
// then says what other guards would have decided.
type Past struct {
	*Reader
	// Log makes the records. It must include all parts of events.
	Log *decision.Log
	// Host has the plugins that will be asked: it knows which tools are theirs.
	Host *host.Host
	// Turn is the turn of the records: 2 if other events than calls write the plugins' state, so that it
	// is not known, else 1.
	Turn int
	Home string

	Calls, Skipped int // Skipped are calls that have no event in the agent's form
	Days           map[string]bool
}

// Records returns the records of the calls of agents.
func (p *Past) Records(list []*agents.Agent) iter.Seq2[*decision.Record, error] {
	return func(yield func(*decision.Record, error) bool) {
		for _, agent := range list {
			for c := range p.InOrder(agent) {
				if c.Result == Refused {
					continue // the agent asks no hook about it
				}
				p.Calls++
				p.Days[c.Time.Local().Format(time.DateOnly)] = true
				r, err := p.record(c)
				if err != nil {
					p.Skipped++
					continue
				}
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// record returns the record of a call, which went through the agent's adapter.
func (p *Past) record(c *Call) (*decision.Record, error) {
	agent := hook.AgentOf(c.Agent)
	e, err := agent.Read([]byte(agent.EventBefore(c.Session, c.Folder, c.Tool, c.Arguments)))
	if err != nil {
		return nil, err
	}
	call := e.Call(p.Host)
	call.CallID = c.ID
	r := p.Log.Record(*call, host.Outcome{Turn: p.Turn})
	r.ID, r.Time, r.Answered = (&Finding{Call: c}).Place(p.Home), c.Time, decision.ActionNone
	r.Omitted = append(r.Omitted, "/input/user_message")
	if c.Arguments == nil {
		r.Omitted = append(r.Omitted, "/input/arguments")
	}
	return r, nil
}

// String returns what was read, for people.
func (p *Past) String() string {
	text := fmt.Sprintf("%d calls on %d days in the transcripts", p.Calls, len(p.Days))
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d that the agent's adapter refuses", p.Skipped)
	}
	if p.Broken > 0 {
		text += fmt.Sprintf("; %d lines cannot be read, the first at %s, byte %d: %s", p.Broken,
			errtext.InHome(p.Home, p.Places[0].File), p.Places[0].Offset, p.Places[0].Why)
	}
	return text
}
