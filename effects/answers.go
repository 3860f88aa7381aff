package effects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
)

// Answers are replies to effects that a person wrote for a golden case. Each line is a
// journal's line without "lane" and "plugin":
//
//	{"http.get":{"url":"https://pager.internal/oncall"},"reply":{"status":200,"body":"Ada"}}
//
// A line answers every effect of its kind whose request has all members that the line states;
// if several lines fit, the first one answers. Lines with the same request answer in turn, and the
// last of them answers all further effects. A case without a fitting line fails for http and exec.
// All other effects are done if no line answers them. Answers are safe for concurrent use.
type Answers struct {
	name  string
	mu    sync.Mutex
	list  []RecordedEffect
	lines []int // the number of each entry's line in the file
	used  []bool
}

// ReadAnswers reads the lines of a file of answers. Error messages call the file name.
func ReadAnswers(name string, lines []byte) (*Answers, error) {
	a := &Answers{name: name}
	err := readEntries(name, lines, func(number int, e RecordedEffect) {
		a.list, a.lines = append(a.list, e), append(a.lines, number)
	})
	if err != nil {
		return nil, err
	}
	a.used = make([]bool, len(a.list))
	return a, nil
}

// checkMembers refuses members that the line of an answer cannot have: a line with a misspelt member would
// answer no effect, or would answer with an empty value.
func (e *RecordedEffect) checkMembers(line []byte) error {
	known := []string{e.Kind, "reply", "error", "lane", "plugin", "would_run", "steps"}
	if err := checkMembers("the line", line, known); err != nil {
		return err
	}
	for _, k := range effectKinds {
		if !slices.Contains(strings.Fields(k.names), e.Kind) {
			continue
		}
		if err := checkMembers(e.Kind, e.Request, strings.Fields(k.request)); err != nil || k.reply == "" {
			return err
		}
		return checkMembers("the reply to "+e.Kind, e.Reply, strings.Fields(k.reply))
	}
	return nil
}

// checkMembers refuses unknown members of an object. It accepts any text that is no object; whoever reads the
// text later refuses that.
func checkMembers(what string, text []byte, known []string) error {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			return errtext.Errorf("%s has no member %s, want %s%s", what, errtext.Quote(name), cmp.Or(strings.Join(known, ", "), "none"), near.DidYouMean(name, known))
		}
	}
	return nil
}

// An UnusedAnswer is a line that answered no effect.
type UnusedAnswer struct {
	Line   int    // the line's number in the file, from 1
	Effect string // the effect of the line: `exec {"argv":["date"]}`
}

// Unused returns the lines that answered no effect, in their order.
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

// An UnansweredError reports that a golden case has no reply to an effect that it must answer.
type UnansweredError struct {
	File string // the file that lacks the line
	Line string // the line to add, with an empty reply
	Near string // says how the most similar line of this kind differs, as "line 2 has another url"; "" for none
}

func (e *UnansweredError) Error() string {
	differs := ""
	if e.Near != "" {
		differs = " (" + e.Near + ")"
	}
	return fmt.Sprintf("%s does not answer an effect%s: add this line, with its reply: %s", e.File, differs, e.Line)
}

// Code returns "E0517", which [Codes] explains.
func (e *UnansweredError) Code() string { return "E0517" }

func (a *Answers) answer(_, _ string, c effectCall) (RecordedEffect, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	request := jsontext.EncodeOrNull(c.request)
	for i, e := range a.list {
		if e.Kind == c.kind && covers(decodeText(e.Request), decodeText(request), true) {
			i = a.next(i)
			a.used[i] = true
			return a.list[i], true, nil
		}
	}
	if !c.external {
		return RecordedEffect{}, false, nil
	}
	line := RecordedEffect{Kind: c.kind, Request: shortRequest(request), Reply: emptyReply(c.kind)}.Line()
	return RecordedEffect{}, false, &UnansweredError{File: a.name, Line: string(line), Near: a.nearest(c.kind, request)}
}

// nearest says how the line that fits a request best differs from the request. It returns "" if no line is of
// the request's kind.
func (a *Answers) nearest(kind string, request json.RawMessage) (differs string) {
	var fewest []string
	for i, e := range a.list {
		if e.Kind != kind {
			continue
		}
		var other []string
		want, _ := decodeText(e.Request).(map[string]any)
		got, _ := decodeText(request).(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if !reflect.DeepEqual(want[name], got[name]) {
				other = append(other, name)
			}
		}
		if fewest == nil || len(other) < len(fewest) {
			fewest = other
			differs = fmt.Sprintf("line %d has another %s", a.lines[i], strings.Join(other, ", "))
		}
	}
	return differs
}

// next returns the number of the entry that answers, among entry i and those with the same request: the first
// that has answered nothing, or else the last.
func (a *Answers) next(i int) int {
	first := a.list[i]
	for k := i; k < len(a.list) && a.used[i]; k++ {
		if e := a.list[k]; e.Kind == first.Kind && bytes.Equal(e.Request, first.Request) {
			i = k
		}
	}
	return i
}

// maxLine is the most bytes of a request in the line that an UnansweredError proposes.
const maxLine = 800

// shortRequest returns a request of at most maxLine bytes. It drops the longest members first, because a line
// of answers need not state them.
func shortRequest(request json.RawMessage) json.RawMessage {
	members := map[string]json.RawMessage{}
	if len(request) <= maxLine || json.Unmarshal(request, &members) != nil {
		return request
	}
	for len(request) > maxLine {
		longest := ""
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if longest == "" || len(members[name]) > len(members[longest]) {
				longest = name
			}
		}
		delete(members, longest)
		request = jsontext.EncodeOrNull(members)
	}
	return request
}

// emptyReply returns an example of a reply to a kind of effect that a golden case must answer. It returns nil
// for other kinds.
func emptyReply(kind string) json.RawMessage {
	switch kind {
	case "exec":
		return json.RawMessage(`{"code":0,"stdout":"","stderr":""}`)
	case "http.get", "http.post", "http.request":
		return json.RawMessage(`{"status":200,"body":""}`)
	}
	return nil
}

// AnswerLine turns the line of a recorded effect into a line for [ReadAnswers], without headers that differ
// each time. The summary says in one line what the effect asked for, what reply it got, and which headers the
// answer leaves out. Both results are "" for an effect that a golden case need not answer.
func AnswerLine(line json.RawMessage) (answer, summary string) {
	var e RecordedEffect
	if json.Unmarshal(line, &e) != nil || emptyReply(e.Kind) == nil {
		return "", ""
	}
	e.Lane, e.Plugin = "", ""
	summary = e.summary()
	if dropped := e.dropVolatile(); dropped != nil {
		summary += " (left out " + strings.Join(dropped, ", ") + ")"
	}
	return string(e.Line()), summary
}

// volatileHeaders are headers of responses that differ from one response to the next and say nothing about
// what the request asked for, and headers with credentials. An entry that begins with a dash matches every
// name that ends with it.
var volatileHeaders = []string{
	"age", "alt-svc", "cf-ray", "connection", "date", "expires", "keep-alive", "nel", "report-to", "reporting-endpoints",
	"server-timing", "set-cookie", "traceparent", "tracestate", "via", "x-amz-cf-id", "x-cache", "x-cache-hits", "x-runtime",
	"x-served-by", "x-timer", "-request-id", "-trace-id", "-correlation-id",
}

// isVolatile reports whether a header is one of volatileHeaders.
func isVolatile(header string) bool {
	return slices.ContainsFunc(volatileHeaders, func(v string) bool {
		return header == strings.TrimPrefix(v, "-") || v[0] == '-' && strings.HasSuffix(header, v)
	})
}

// dropVolatile removes the volatileHeaders from the reply, and returns their names.
func (e *RecordedEffect) dropVolatile() (dropped []string) {
	var reply Response
	if !strings.HasPrefix(e.Kind, "http.") || json.Unmarshal(e.Reply, &reply) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(reply.Headers)) {
		if isVolatile(name) {
			dropped = append(dropped, name)
			delete(reply.Headers, name)
		}
	}
	if dropped != nil {
		e.Reply = jsontext.EncodeOrNull(reply)
	}
	return dropped
}

// summary says in one line what an HTTP request or a program asked for and what reply it got.
func (e *RecordedEffect) summary() string {
	var request struct {
		URL  string `json:"url"`
		Argv blobs  `json:"argv"`
	}
	var reply struct {
		Status int           `json:"status"`
		Code   int           `json:"code"`
		Body   jsontext.Text `json:"body"`
		Stdout jsontext.Text `json:"stdout"`
	}
	_ = json.Unmarshal(e.Request, &request) // a member that is not there is empty
	_ = json.Unmarshal(e.Reply, &reply)
	what := cmp.Or(request.URL, shellwords.Join(request.Argv.texts()))
	result := fmt.Sprintf("exit %d, %d B of output", reply.Code, len(reply.Stdout))
	switch {
	case e.Err != nil:
		result = "error: " + errtext.Clip(e.Err.Message)
	case e.Kind != "exec":
		result = fmt.Sprintf("%d, %d B", reply.Status, len(reply.Body))
	}
	return fmt.Sprintf("%s %s: %s", e.Kind, errtext.Clip(what), result)
}
