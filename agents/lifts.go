package agents

import "strings"

// A lift is a way to lift a guard in an agent, or to pass it by. It is no lift that the user's account may
// change the settings: whoever removes starhost's line from its settings removes the guard.
type lift struct {
	// By is a noun for the lift, as in "can be lifted by another hook that answers updatedInput".
	By string
	// StoppedBy says what in the settings of all users stops the lift; "" if they do not stop it.
	StoppedBy string
	// Ours says what starhost does about the lift.
	Ours string
	// Attacks are the attacks of e2e/agents that showed the lift, with ", " between them.
	Attacks string
	// Read says where somebody read about the lift, if no attack showed it.
	Read string
}

// These texts say what starhost does about lifts that several agents have.
const (
	comparesRan  = "compares what ran with what it judged: a record, a message, and no more calls in the session; doctor lists other hooks"
	recordsRan   = "compares what ran with what it judged: a record and a message; doctor lists other hooks"
	doctorSaysIt = "doctor says off"
	doctorBlind  = "nothing: doctor cannot see it"
)

// managedHooks stops the lifts that concern only the hooks of the user and of projects.
const managedHooks = "managed hooks"

// Grade says how an agent's guard holds, with the lifts that remain: "holds", "holds unless …" if the
// settings of all users have starhost's line, or "can be lifted by …".
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

// Stopped says which lifts the settings of all users stop: "all of them", "all but …", or "" for none.
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

// These are the lifts of agents whose programs nobody could run.
var (
	notTried   = lift{By: "what nobody could try, because the program did not run here", Ours: recordsRan}
	otherHooks = lift{By: "another hook that changes the call", Ours: recordsRan}
)

// Lifts returns the ways to lift the agent's guard, or to pass it by.
func (a *Agent) Lifts() []lift {
	switch {
	case a.lifts != nil:
		return a.lifts
	case a.Rewrites == "":
		return []lift{notTried}
	}
	return []lift{otherHooks, notTried}
}
