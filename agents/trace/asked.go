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
	time          int64  // in milliseconds
	args, changed uint16 // changed is args if the answer changes nothing
	refuses       bool
	other         bool   // starhost saw that the call ran with other arguments
	by            uint64 // the call that it belongs to, 0 for none yet
	isWeak        bool   // it came behind that call, or nobody knows when that ended
	isTwice       bool   // the call was asked about once more, and refused then
}

// answers are the answers of a log, sorted by key and time.
type answers struct {
	seed  maphash.Seed
	list  []answer
	first map[uint64]time.Time // when each session, and each agent, asked first
	asked int                  // calls without an id that were looked for
}

func newAnswers() *answers {
	return &answers{seed: maphash.MakeSeed(), first: map[uint64]time.Time{}}
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
		for _, key := range []uint64{session, all.hash(a.Agent)} {
			if first, ok := all.first[key]; !ok || a.Time.Before(first) {
				all.first[key] = a.Time
			}
		}
		all.list = append(all.list, answer{
			key: all.key(agent, a.CallID, a.Session, a.Tool), session: session, time: a.Time.UnixMilli(),
			args: mark(a.Args), changed: mark(cmp.Or(a.Changed, a.Args)), refuses: refuses(a.Answered), other: a.Answered == decision.RanOther,
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

// mark returns a mark of arguments as a number.
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
// by several lines of the settings, and starhost hears of it again after it ran. Some models count their ids anew
// in each session, so that an answer of another time or session belongs to the call only if the arguments fit: a
// session may be a copy of another one. Without ids, an answer belongs to one call of the session and the tool: to
// one with its arguments, or with those that starhost put in their place.
func (all *answers) find(agent *agents.Agent, c *Call) *answer {
	key := all.key(agent, c.ID, c.Session, c.Tool)
	at, _ := slices.BinarySearchFunc(all.list, key, func(a answer, key uint64) int { return cmp.Compare(a.key, key) })
	end := at
	for end < len(all.list) && all.list[end].key == key {
		end++
	}
	if at == end {
		return nil
	}
	name := c.ID
	if name == "" {
		all.asked++
		name = strconv.Itoa(all.asked)
	}
	q := question{Call: c, session: all.hash(c.Agent, c.Session), by: all.hash(c.Session, name, strconv.FormatInt(c.Time.UnixNano(), 10)), ended: cmp.Or(c.Ended, c.Time.Add(time.Hour))}
	if agent.Transcripts.HasIDs && c.ID != "" {
		return q.join(all.list[at:end], agent.Transcripts.ShowsRan)
	}
	a := q.choose(all.list[at:end])
	if a != nil && !agent.Transcripts.ShowsRan && !a.other && q.ranOther(all.list[at:end]) {
		return &answer{time: a.time, refuses: a.refuses, other: true}
	}
	return a
}

// A question is a call whose answer is looked for.
type question struct {
	*Call
	session, by uint64
	ended       time.Time
	mark        uint16
	hasMark     bool
}

// fits reports whether an answer is about the arguments of the call.
func (q *question) fits(a *answer) bool {
	if !q.hasMark {
		q.mark, q.hasMark = mark(decision.ArgsMark(q.Arguments)), true
	}
	return a.args == q.mark || a.changed == q.mark
}

// isInTime reports whether an answer came while the call ran.
func (q *question) isInTime(a *answer) bool {
	return a.time >= q.Time.Add(-slack).UnixMilli() && a.time <= q.ended.Add(slack).UnixMilli()
}

// join joins the answers with the call's id.
func (q *question) join(list []answer, showsRan bool) (found *answer) {
	for i := range list {
		a := &list[i]
		isOurs := a.session == q.session
		switch inTime := q.isInTime(a); {
		case inTime && isOurs, inTime && q.fits(a): // else it may be of the session that this one was copied from
		case isOurs && (a.by == 0 || a.by == q.by) && q.fits(a): // late, or the clock jumped
		default:
			continue
		}
		if a.by = q.by; found == nil {
			found = &answer{time: a.time, args: a.args, changed: a.changed}
		}
		found.refuses = found.refuses || a.refuses
		found.other = found.other || a.other || showsRan && !q.fits(a)
	}
	return found
}

// choose returns the call's answer of those of its session and tool. Of calls with the same arguments at the same
// time, one that was denied gets a denial.
func (q *question) choose(list []answer) *answer {
	var found, late, taken *answer
	isDenied := slices.Contains([]Result{Denied, Worded, Refused}, q.Result)
	for i := range list {
		a := &list[i]
		if !q.fits(a) {
			continue
		}
		isFree := a.by == 0
		switch inTime := q.isInTime(a); {
		case a.by == q.by: // the transcript is there twice
			return a
		case inTime && isFree && (found == nil || found.refuses != isDenied && a.refuses == isDenied):
			found = a
		case inTime && a.isWeak && taken == nil:
			taken = a
		case isFree && late == nil && a.time > q.ended.UnixMilli() && a.time <= q.ended.Add(maxLate).UnixMilli():
			late = a
		}
	}
	a := cmp.Or(found, taken, late)
	if a != nil {
		a.isTwice = !a.refuses && q.Result == Ran && q.hasDenial(list)
		a.by, a.isWeak = q.by, a == late || q.Ended.IsZero()
	}
	return a
}

// hasDenial reports whether a denial of no other call came while the call ran.
func (q *question) hasDenial(list []answer) bool {
	return slices.ContainsFunc(list, func(a answer) bool {
		return a.by == 0 && a.refuses && q.fits(&a) && a.time >= q.Time.UnixMilli() && a.time <= q.Ended.UnixMilli()
	})
}

// ranOther reports whether starhost saw that the call ran with other arguments. Such a report belongs to one call.
// The transcript has the arguments that starhost was asked about, so that they do not tell which.
func (q *question) ranOther(list []answer) bool {
	for i := range list {
		if a := &list[i]; a.other && a.by == 0 && q.isInTime(a) {
			a.by = q.by
			return true
		}
	}
	return false
}
