package trace

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/serve/hook"
)

// Bounds of a reading in order.
const (
	maxHeld  = 12 << 20 // bytes of calls that a reader holds to put them in order
	callSize = 600      // of a call without its arguments
)

// InOrder returns the calls of an agent session by session, in the order of their times. A subagent's
// calls stand among those of its session. Sessions that hold more than a reader may come in parts.
func (r *Reader) InOrder(agent *agents.Agent) iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		form := formatOf(agent.Name)
		if form == nil {
			return
		}
		var calls []*Call
		size, more := 0, true
		flush := func() bool {
			for _, c := range inOrder(calls) {
				more = more && yield(c)
			}
			calls, size = nil, 0
			return more
		}
		for _, group := range r.groups(agent, form) {
			for _, name := range group {
				if !r.read(agent, form, name, 0, func(c *Call) bool {
					calls = append(calls, c)
					size += callSize + len(c.Arguments)
					return size <= maxHeld || flush()
				}) {
					return
				}
			}
			if !flush() {
				return
			}
		}
	}
}

// groups returns an agent's files in groups of which no two have calls of one session, by the time of
// their first call.
func (r *Reader) groups(agent *agents.Agent, form *format) (groups [][]string) {
	names := r.files(agent)
	var size int64
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil {
			size += info.Size()
		}
	}
	if size <= maxHeld || len(names) == 1 {
		return [][]string{names}
	}
	of := map[uint64]int{} // the group of a session, by a hash
	parent, first := make([]int, len(names)), make([]time.Time, len(names))
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	probe := &Reader{Getenv: r.Getenv, Since: r.Since}
	for i, name := range names {
		parent[i] = i
		probe.read(agent, form, name, 0, func(c *Call) bool {
			session, at := maphash.String(seed, c.Session), root(i)
			if j, ok := of[session]; ok {
				parent[at] = root(j)
			} else if len(of) < maxFiles {
				of[session] = at
			}
			for _, at := range []int{at, root(at)} {
				if first[at].IsZero() || c.Time.Before(first[at]) {
					first[at] = c.Time
				}
			}
			return true
		})
	}
	members := map[int][]string{}
	for i, name := range names {
		members[root(i)] = append(members[root(i)], name)
	}
	for _, at := range slices.SortedFunc(maps.Keys(members), func(a, b int) int { return cmp.Or(first[a].Compare(first[b]), a-b) }) {
		groups = append(groups, members[at])
	}
	return groups
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
	// Answered is the folder of the decision log, "" for none. It says which calls starhost itself gave the
	// arguments that some transcripts have.
	Answered string

	Calls, Skipped int // Skipped are calls without a time, or without an event in the agent's form
	Days           map[string]bool
	folders        []string // that were looked into
}

// Records returns the records of the calls of agents.
func (p *Past) Records(list []*agents.Agent) iter.Seq2[*decision.Record, error] {
	return func(yield func(*decision.Record, error) bool) {
		changed := newAnswers()
		if p.Answered != "" {
			var err error
			if changed, err = readAnswers(p.Answered, p.Since, func(agent *agents.Agent, a *decision.Answered) bool {
				return agent.Transcripts.ShowsRan && a.Changed != "" && a.Changed != a.Args && slices.Contains(list, agent)
			}); err != nil {
				yield(nil, err)
				return
			}
		}
		for _, agent := range list {
			p.folders = append(p.folders, agent.Transcripts.Folders(p.Getenv)...)
			for c := range p.InOrder(agent) {
				if c.Result == Refused {
					continue // the agent asks no hook about it
				}
				p.Calls++
				if r := p.record(agent, c, changed); r == nil {
					p.Skipped++
				} else if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// record returns the record of a call, which went through the agent's adapter, or nil if guards would see another
// time, or no event. changed has the answers by which starhost changed arguments.
func (p *Past) record(agent *agents.Agent, c *Call, changed *answers) *decision.Record {
	if c.Time.IsZero() {
		return nil
	}
	p.Days[c.Time.Local().Format(time.DateOnly)] = true
	if a := changed.find(agent, c); a != nil && a.changed == mark(decision.ArgsMark(c.Arguments)) {
		c.Arguments = nil // what the agent asked about is not there
	}
	adapter := hook.AgentOf(c.Agent)
	e, err := adapter.Read([]byte(adapter.EventBefore(c.Session, c.Folder, c.Tool, c.Arguments)))
	if err != nil {
		return nil
	}
	call := e.Call(p.Host)
	call.CallID = c.ID
	r := p.Log.Record(*call, host.Outcome{Turn: p.Turn})
	r.ID, r.Time, r.Answered = (&Finding{Call: c}).Place(p.Home), c.Time, decision.ActionNone
	r.Omitted = append(r.Omitted, "/input/user_message")
	if c.Arguments == nil {
		r.Omitted = append(r.Omitted, "/input/arguments")
	}
	return r
}

// String returns what was read, for people.
func (p *Past) String() string {
	if p.Calls+p.Broken == 0 {
		for i := range p.folders {
			p.folders[i] = errtext.InHome(p.Home, p.folders[i])
		}
		return "0 calls on 0 days in the transcripts: starhost looked into " + strings.Join(p.folders, ", ")
	}
	text := fmt.Sprintf("%s on %s in the transcripts", texttable.Count(p.Calls, "call"), texttable.Count(len(p.Days), "day"))
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d without a time, or that the agent's adapter refuses", p.Skipped)
	}
	if p.Broken > 0 {
		text += fmt.Sprintf("; %s cannot be read, the first at %s, byte %d: %s", texttable.Count(p.Broken, "line"),
			errtext.InHome(p.Home, p.Places[0].File), p.Places[0].Offset, p.Places[0].Why)
	}
	return text
}
