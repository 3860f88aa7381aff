package trace

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/decision"
)

// An answer is an answer of starhost to a call, as its log says. It is small, because a log has
// many.
type answer struct {
	key           uint64 // of the agent and the call's id, or of the agent, the session and the tool
	session       uint64
	time          int64 // in milliseconds
	args, changed uint16
	refuses       bool
	other         bool // starhost saw that the call ran with other arguments
	used          bool
}

// answers are the answers of a log, sorted by key and time.
type answers struct {
	seed     maphash.Seed
	list     []answer
	sessions map[uint64]bool // that asked at least once
}

func newAnswers() *answers {
	return &answers{seed: maphash.MakeSeed(), sessions: map[uint64]bool{}}
}

// readAnswers reads the answers since a time that are wanted.
func readAnswers(dir string, since time.Time, isWanted func(*agents.Agent, *decision.Answered) bool) (*answers, error) {
	all := newAnswers()
	for a, err := range decision.ReadAnswered(dir, since) {
		if err != nil {
			return nil, err
		}
		agent := agents.Find(a.Agent)
		if agent == nil || !isWanted(agent, a) {
			continue
		}
		session := all.hash(a.Agent, a.Session)
		all.sessions[session] = true
		all.list = append(all.list, answer{
			key: all.key(agent, a.CallID, a.Session, a.Tool), session: session, time: a.Time.UnixMilli(),
			args: mark(a.Args), changed: mark(a.Changed), refuses: refuses(a.Answered), other: a.Answered == decision.RanOther,
		})
	}
	slices.SortStableFunc(all.list, func(a, b answer) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.time, b.time)) })
	return all, nil
}

// refuses reports whether an answer of starhost means that the call must not run. The agent asks a
// person about "ask", who may allow it.
func refuses(answered string) bool {
	return answered == "deny" || answered == "abort" || answered == "respond"
}

// mark returns a mark of arguments as a number, 0 for none.
func mark(text string) uint16 {
	n, _ := strconv.ParseUint(text, 16, 16)
	return uint16(n)
}

func (all *answers) hash(texts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(all.seed)
	for _, text := range texts {
		_, _ = h.WriteString(text)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// key returns by what answers and calls of an agent are matched.
func (all *answers) key(agent *agents.Agent, id, session, tool string) uint64 {
	if agent.Transcripts.HasIDs && id != "" {
		return all.hash("id", agent.Name, id)
	}
	return all.hash("call", agent.Name, session, tool)
}

// slack is how much the clocks of an agent's lines may differ from ours: some agents write whole
// seconds. maxLate is how long after a result an answer still belongs to its call.
const (
	slack   = time.Second
	maxLate = time.Minute
)

// find returns the answer to a call, nil for none. With ids, it joins all answers: a call may be asked about
// by several lines of the settings, and starhost hears of it again after it ran. Without ids, an answer
// belongs to one call: to the first one of the session and the tool with its arguments, or with those that
// starhost put in their place.
func (all *answers) find(agent *agents.Agent, c *Call) *answer {
	hasID := agent.Transcripts.HasIDs && c.ID != ""
	key := all.key(agent, c.ID, c.Session, c.Tool)
	at, _ := slices.BinarySearchFunc(all.list, key, func(a answer, key uint64) int { return cmp.Compare(a.key, key) })
	session, args := all.hash(c.Agent, c.Session), uint16(0)
	if !hasID || agent.Transcripts.ShowsRan {
		args = mark(decision.ArgsMark(c.Arguments))
	}
	ended := c.Ended
	if ended.IsZero() {
		ended = c.Time.Add(time.Hour)
	}
	var found, late *answer
	for i := at; i < len(all.list) && all.list[i].key == key; i++ {
		a := &all.list[i]
		isInTime := a.time >= c.Time.Add(-slack).UnixMilli() && a.time <= ended.Add(slack).UnixMilli()
		switch {
		case hasID && a.session != session && !isInTime: // else it may be of the session that this one was copied from
		case hasID:
			if found == nil {
				found = &answer{time: a.time, args: a.args, changed: a.changed}
			}
			found.refuses = found.refuses || a.refuses
			found.other = found.other || a.other || agent.Transcripts.ShowsRan && a.args != args && a.changed != args
		case a.used || a.args != args && a.changed != args:
		case isInTime:
			a.used = true
			if !agent.Transcripts.ShowsRan && !a.other && all.ranOther(i, c.Time, ended) {
				return &answer{time: a.time, refuses: a.refuses, other: true}
			}
			return a
		case late == nil && a.time > ended.UnixMilli() && a.time <= ended.Add(maxLate).UnixMilli():
			late = a
		}
	}
	if late != nil {
		late.used = true
	}
	return cmp.Or(found, late)
}

// ranOther reports whether starhost saw, between two times, that a call ran with other arguments, of the
// session and the tool of an answer. Such a report belongs to one call. The transcript has the arguments that
// starhost was asked about, so that they do not tell which.
func (all *answers) ranOther(at int, began, ended time.Time) bool {
	for i := at + 1; i < len(all.list) && all.list[i].key == all.list[at].key; i++ {
		a := &all.list[i]
		if a.other && !a.used && a.time >= began.Add(-slack).UnixMilli() && a.time <= ended.Add(slack).UnixMilli() {
			a.used = true
			return true
		}
	}
	return false
}
