package trace

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/internal/errtext"
)

// A Verdict says whether an agent asked starhost about a call.
type Verdict string

// The verdicts about calls. The first four are faults.
const (
	NotAsked   Verdict = "not asked"           // the hook was installed, and the log has no answer
	DeniedRan  Verdict = "denied but ran"      // the log has a denial, and the transcript a result
	RanOther   Verdict = "ran other arguments" // than starhost was asked about
	TooLate    Verdict = "asked too late"      // the call had its result before the answer
	CannotTell Verdict = "cannot tell"         // the reason is in Finding.Why
	Before     Verdict = "before"              // the hook was not installed, or the session began before it was
	DidNotRun  Verdict = "did not run"         // the agent refused the call itself
	Covered    Verdict = "covered"             // asked, and it did what was answered
	Quiet      Verdict = "needs no question"   // a tool that touches nothing outside of the agent, of which it tells no hook
)

// Verdicts are all verdicts, faults first.
func Verdicts() []Verdict {
	return []Verdict{NotAsked, DeniedRan, RanOther, TooLate, CannotTell, Before, DidNotRun, Quiet, Covered}
}

// IsFault reports whether a verdict says that a guard was passed by.
func (v Verdict) IsFault() bool { return slices.Contains(Verdicts()[:4], v) }

// A Finding is a call that a report names.
type Finding struct {
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`
	*Call
}

// Place returns where the call is in the transcripts.
func (f *Finding) Place(home string) string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", errtext.InHome(home, f.File), f.Line)
	}
	return fmt.Sprintf("%s, byte %d", errtext.InHome(home, f.File), f.Offset)
}

// A Coverage says of an agent's calls whether starhost was asked about them.
type Coverage struct {
	Agent  string          `json:"agent"`
	Calls  int             `json:"calls"`
	Counts map[Verdict]int `json:"counts"`
	// Findings are the faults, and the calls of which it cannot be told, the first of each verdict. They
	// have no arguments.
	Findings []Finding `json:"findings"`
	More     int       `json:"more"` // calls of these verdicts that Findings does not name
	Broken   int       `json:"broken"`
	Places   []Place   `json:"places"`
}

// Faults counts the calls that passed a guard by.
func (c *Coverage) Faults() (n int) {
	for verdict, count := range c.Counts {
		if verdict.IsFault() {
			n += count
		}
	}
	return n
}

// maxFindings is how many calls of a verdict a report names.
const maxFindings = 1000

// QuickCalls is how many calls of each agent a quick look compares.
const QuickCalls = 50

// A Comparison compares transcripts with the log.
type Comparison struct {
	Getenv func(string) string
	// Log is the folder of the decision log, "" if it is off. Kept is the time since which it may be whole.
	Log  string
	Kept time.Time
	Max  int64 // bytes of a day in the log; zero means [decision.DefaultMax]
	// Changes are the times at which the hook of an agent was put in and taken out, by the agent's name.
	// Without any, only sessions that asked at least once should have asked.
	Changes map[string][]Change
	// Since and Last are those of [Reader].
	Since time.Time
	Last  int

	gaps []decision.Gap
}

// A Change is a time at which the hook of an agent was put in one of its settings, or taken out.
type Change struct {
	Time time.Time `json:"time"`
	In   bool      `json:"in"`
	// Folder is the project whose settings they are, "" for those of the user and of the machine.
	Folder string `json:"folder,omitempty"`
}

// Compare compares the calls of agents. Agents without a transcript are not in the result. The error
// is that of the log, or of ctx.
func (x *Comparison) Compare(ctx context.Context, list []*agents.Agent) ([]Coverage, error) {
	since := x.Since
	last := make([][]*Call, len(list))
	readers := make([]*Reader, len(list))
	for i, agent := range list {
		readers[i] = &Reader{Getenv: x.Getenv, Since: x.Since, Last: x.Last}
		if x.Last > 0 { // the log is read only as far back as these calls go
			last[i] = lastCalls(slices.Collect(readers[i].Calls(agent)), x.Last)
		}
	}
	if x.Last > 0 {
		since = x.oldest(last)
	}
	all := newAnswers()
	if x.Log != "" && (x.Last == 0 || !since.IsZero()) {
		var err error
		isWanted := func(agent *agents.Agent, _ *decision.Answered) bool { return slices.Contains(list, agent) }
		if x.gaps, err = decision.Gaps(x.Log, x.Max); err != nil {
			return nil, err
		}
		if all, err = readAnswers(x.Log, since.Add(-slack), isWanted); err != nil {
			return nil, err
		}
	}
	out := []Coverage{}
	for i, agent := range list {
		calls := slices.Values(last[i])
		if x.Last == 0 {
			calls = readers[i].Calls(agent)
		}
		c := Coverage{Agent: agent.Name, Counts: map[Verdict]int{}, Findings: []Finding{}}
		for call := range calls {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			verdict, why := x.judge(agent, all, call)
			c.add(call, verdict, why)
		}
		c.Broken, c.Places = readers[i].Broken, append([]Place{}, readers[i].Places...)
		if c.Calls+c.Broken > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// lastCalls returns the last n calls.
func lastCalls(calls []*Call, n int) []*Call {
	slices.SortStableFunc(calls, func(a, b *Call) int { return a.Time.Compare(b.Time) })
	return calls[max(0, len(calls)-n):]
}

// oldest returns the time since which answers say something of the calls of all lists, zero for no calls: that of
// the first call, or that at which its session began if the hook is not older.
func (x *Comparison) oldest(lists [][]*Call) (first time.Time) {
	for _, calls := range lists {
		for _, c := range calls {
			at, changes := c.Time, x.Changes[c.Agent]
			if len(changes) == 0 || c.began.Before(changes[len(changes)-1].Time) {
				at = cmp.Or(c.began, c.Time)
			}
			if !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}

// add counts a call.
func (c *Coverage) add(call *Call, verdict Verdict, why string) {
	c.Calls++
	c.Counts[verdict]++
	switch {
	case !verdict.IsFault() && verdict != CannotTell:
	case c.Counts[verdict] > maxFindings:
		c.More++
	default:
		named := *call
		named.Arguments = nil
		for _, text := range []*string{&named.Version, &named.Session, &named.ID, &named.Tool, &named.Folder} {
			*text = errtext.Clip(*text) // a program may have written anything there
		}
		c.Findings = append(c.Findings, Finding{verdict, why, &named})
	}
}

// judge says whether starhost was asked about a call. For [CannotTell] it says why.
func (x *Comparison) judge(agent *agents.Agent, all *answers, c *Call) (Verdict, string) {
	ran := c.Result == Ran || c.Result == Failed && !agent.Transcripts.VagueFailures
	a, gap := all.find(agent, c), x.gap(c)
	switch {
	case c.Result == Unknown:
		return CannotTell, "the transcript has a line about it that starhost does not know"
	case c.Time.IsZero():
		return CannotTell, "the transcript does not say when it was"
	case a == nil:
		return x.judgeSilence(agent, all, c, ran, gap)
	case a.refuses && ran:
		return DeniedRan, ""
	case a.other && !slices.Contains([]Result{Denied, Worded, Refused}, c.Result):
		return RanOther, ""
	case a.refuses && c.Result == Failed:
		return CannotTell, "it was denied, and failed: the transcript does not say whether it ran"
	case a.refuses && c.Result == None && !agent.Transcripts.HidesDenied:
		return CannotTell, "it was denied, and the transcript has no result of it"
	case ran && !c.Ended.IsZero() && a.time > c.Ended.Add(slack).UnixMilli():
		return TooLate, ""
	case a.isTwice:
		return CannotTell, "starhost was asked about it twice, and denied it once"
	case gap != "": // another answer may have been a denial
		return CannotTell, gap
	}
	return Covered, ""
}

// judgeSilence says why the log has no answer to a call. ran says that the call certainly ran.
func (x *Comparison) judgeSilence(agent *agents.Agent, all *answers, c *Call, ran bool, gap string) (Verdict, string) {
	switch {
	case c.Result == Refused, c.Result == Denied:
		return DidNotRun, ""
	case slices.Contains(strings.Fields(agent.Transcripts.Quiet), c.Tool):
		return Quiet, ""
	case slices.Contains(strings.Fields(agent.Transcripts.Opaque), c.Tool):
		return CannotTell, "it runs code, and the transcript does not have the calls of the code"
	case c.Session == "":
		return CannotTell, "the transcript does not say whose session it is"
	case !x.isInstalled(all, c):
		return Before, ""
	case x.isOlder(all, c):
		return CannotTell, "nothing says whether the hook was installed then"
	case x.Log == "":
		return CannotTell, "the decision log is off"
	case c.Time.Before(x.Kept):
		return CannotTell, "the decision log does not go back so far"
	case gap != "":
		return CannotTell, gap
	case c.Result == None:
		return CannotTell, "the transcript has no result of it"
	case !ran: // also if words of a denial are all that it has
		return CannotTell, "it failed, and the transcript does not say whether it ran"
	}
	return NotAsked, ""
}

// gap returns why the log may lack an answer to a call, "" if it lacks none.
func (x *Comparison) gap(c *Call) string {
	began, ended := c.Time.Add(-slack), cmp.Or(c.Ended, c.Time).Add(slack)
	for _, gap := range x.gaps {
		if began.Before(gap.To) && !ended.Before(gap.From) {
			return gap.Why
		}
	}
	return ""
}

// isInstalled reports whether the agent should have asked about a call. Agents read their hooks when a
// session begins, so that one which began before need not ask until it does.
func (x *Comparison) isInstalled(all *answers, c *Call) bool {
	first, asked := all.first[all.hash(c.Agent, c.Session)]
	changes := x.Changes[c.Agent]
	if len(changes) == 0 {
		return asked
	}
	// A session that asked runs in a project with a hook, wherever the agent has gone since.
	isAnywhere := asked && !slices.ContainsFunc(changes, func(change Change) bool { return change.Folder == "" })
	count, since, in := 0, time.Time{}, map[string]int{} // in counts by folder
	for _, change := range changes {
		isHere := change.Folder == "" || isAnywhere || isInside(c.Folder, change.Folder) || isInside(c.start, change.Folder)
		switch {
		case change.Time.After(c.Time), !isHere:
		case !change.In && in[change.Folder] == 0: // of a hook that nobody noted
		case !change.In:
			count, in[change.Folder] = count-1, in[change.Folder]-1
		default:
			in[change.Folder]++
			if count++; count == 1 {
				since = change.Time
			}
		}
	}
	return count > 0 && (!c.began.Before(since) || asked && !c.Time.Before(first))
}

// isOlder reports whether a call could be older than a hook of which nothing says when it was installed: its
// session began before the agent ever asked.
func (x *Comparison) isOlder(all *answers, c *Call) bool {
	return len(x.Changes[c.Agent]) == 0 && c.Time.Before(all.first[all.hash(c.Agent, c.Session)]) && c.began.Before(all.first[all.hash(c.Agent)])
}

// isInside reports whether a folder is another one or inside of it.
func isInside(folder, root string) bool {
	rel, err := filepath.Rel(root, folder)
	return err == nil && filepath.IsLocal(rel)
}
