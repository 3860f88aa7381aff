package agents

import "strings"

// A lift is something that lifts a guard in an agent, or passes it by, and no right of
// the user's account: whoever removes starhost's line from its settings removes the guard.
type lift struct {
	// By is a noun for it, as in "can be lifted by another hook that answers updatedInput".
	By string
	// StoppedBy is what in the settings of all users stops it, "" if they do not.
	StoppedBy string
	// Ours says what starhost does about it.
	Ours string
	// Attacks are the attacks of e2e/agents that showed it, with ", " between them.
	Attacks string
	// Read says where somebody read it, if no attack showed it.
	Read string
}

// These say how starhost answers the lifts of several agents.
const (
	comparesRan  = "compares what ran with what it judged: a record, a message, and no more calls in the session; doctor lists other hooks"
	recordsRan   = "compares what ran with what it judged: a record and a message; doctor lists other hooks"
	doctorSaysIt = "doctor says off"
	doctorBlind  = "nothing: doctor cannot see it"
)

// managedHooks stops what only lifts the hooks of the user and of projects.
const managedHooks = "managed hooks"

// Grade describes how an agent's guard holds, with the lifts that remain: "holds", "holds unless …"
// if the settings of all users have starhost's line, or "can be lifted by …".
func (a *Agent) Grade(isManaged bool) (grade, by string) {
	var left []string
	for _, l := range a.Lifts() {
		if !isManaged || l.StoppedBy == "" {
			left = append(left, strings.ReplaceAll(l.By, "`", ""))
		}
	}
	switch {
	case len(left) == 0:
		return "holds", ""
	case isManaged:
		return "holds unless", "lifted by " + enumerate(left)
	}
	return "can be lifted", "by " + enumerate(left)
}

// Stopped says which lifts the settings of all users stop: "all of them", "all but …", "" for none.
func (a *Agent) Stopped() string {
	var left []string
	all := a.Lifts()
	for _, l := range all {
		if l.StoppedBy == "" {
			left = append(left, strings.ReplaceAll(l.By, "`", ""))
		}
	}
	switch len(left) {
	case len(all):
		return ""
	case 0:
		return "all of them"
	}
	return "all but " + enumerate(left)
}

// enumerate joins nouns: "a", "a or b", "a; b; or c".
func enumerate(nouns []string) string {
	switch n := len(nouns); n {
	case 0, 1:
		return strings.Join(nouns, "")
	case 2:
		return strings.Join(nouns, " or ")
	default:
		return strings.Join(nouns[:n-1], "; ") + "; or " + nouns[n-1]
	}
}

// The lifts of agents whose programs nobody could run.
var (
	notTried   = lift{By: "what nobody could try, because the program did not run here", Ours: recordsRan}
	otherHooks = lift{By: "another hook that changes the call", Ours: recordsRan}
)

// Lifts returns what lifts the agent's guard, or passes it by.
func (a *Agent) Lifts() []lift {
	switch {
	case a.lifts != nil:
		return a.lifts
	case a.Rewrites == "":
		return []lift{notTried}
	}
	return []lift{otherHooks, notTried}
}
