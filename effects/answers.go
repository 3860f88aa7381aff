package effects

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Answers are replies to effects, written down by hand: a golden case's. Each line
// is that of a journal without "lane" and "plugin",
//
//	{"http.get":{"url":"https://pager.internal/oncall"},"reply":{"status":200,"body":"Ada"}}
//
// and answers every effect of its kind whose request has the members that the
// line's has; of several lines the first. What needs more than the case has,
// which is http and exec, must be answered; anything else is done. Answers are
// safe for concurrent use.
type Answers struct {
	name  string
	mu    sync.Mutex
	list  []entry
	lines []int // where they stand in the file
	used  []bool
}

// ReadAnswers reads lines; name is the file's, for messages.
func ReadAnswers(name string, lines []byte) (*Answers, error) {
	a := &Answers{name: name}
	err := readLines(name, lines, func(number int, line []byte) error {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		a.list, a.lines = append(a.list, e), append(a.lines, number)
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.used = make([]bool, len(a.list))
	return a, nil
}

// An UnusedAnswer is a line that answered nothing.
type UnusedAnswer struct {
	Line   int    // of the file, from 1
	Effect string // that the line answers: `exec {"argv":["date"]}`
}

// Unused returns the lines that no call asked for, in their order.
func (a *Answers) Unused() []UnusedAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	var unused []UnusedAnswer
	for i, e := range a.list {
		if !a.used[i] {
			unused = append(unused, UnusedAnswer{a.lines[i], describe(e.Kind, e.Request)})
		}
	}
	return unused
}

// An UnansweredError says that a golden case does not say what an effect gives.
type UnansweredError struct {
	File string // where the line belongs
	Line string // to add, with an empty reply
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("%s does not answer an effect: add this line, with its reply: %s", e.File, e.Line)
}

// Code returns "E0517".
func (e *UnansweredError) Code() string { return "E0517" }

func (a *Answers) answer(_, _ string, c effectCall) (entry, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	request := marshal(c.request)
	for i, e := range a.list {
		if e.Kind == c.kind && covers(decodeJSON(e.Request), decodeJSON(request), true) {
			a.used[i] = true
			return e, true, nil
		}
	}
	if !c.external {
		return entry{}, false, nil
	}
	line := entry{Kind: c.kind, Request: request, Reply: emptyReplies[c.kind]}.line()
	return entry{}, false, &UnansweredError{File: a.name, Line: string(line)}
}

// emptyReplies are what the reply of an effect that must be answered looks like.
var emptyReplies = map[string]json.RawMessage{
	"exec":         json.RawMessage(`{"code":0,"stdout":"","stderr":""}`),
	"http.get":     json.RawMessage(`{"status":200,"body":""}`),
	"http.post":    json.RawMessage(`{"status":200,"body":""}`),
	"http.request": json.RawMessage(`{"status":200,"body":""}`),
}

// AnswerLine turns the line of a recorded effect into one for [ReadAnswers]. It is
// false for effects that need no answer.
func AnswerLine(line json.RawMessage) (string, bool) {
	var e entry
	if json.Unmarshal(line, &e) != nil || emptyReplies[e.Kind] == nil {
		return "", false
	}
	e.Lane, e.Plugin = "", ""
	return string(e.line()), true
}
