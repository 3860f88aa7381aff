package decision

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
)

// A Replay fires the recorded events of a log again, with the plugins of another host, and compares the
// decisions with the recorded ones. It does no effect: the record answers each request of a plugin. If a
// record does not answer a request, its event counts as "cannot tell". A Replay fires one event after
// another, in the order of the log.
//
// The host's options must have the replay's Now as Clock and its Answer as Answer. The worlds of its plugins
// must have the replay's Resolve as Answers. A Replay is for one run.
type Replay struct {
	o        ReplayOptions
	host     *host.Host
	declared []starhost.EventSpec
	values   pastValues
	report   ReplayReport
	groups   groups

	mu sync.Mutex // needed because loaders of one event can run at the same time
	pastEvent
}

// ReplayOptions configure a [Replay].
type ReplayOptions struct {
	// Only limits the report to events about some tools: globs of names, or "kind:shell". If it is empty, the
	// report is about all events.
	Only []string
	// Lacks says why a record has no value of its event, "" for the reasons of a log.
	Lacks string
	// Example returns a line about a record that stands for its group in the report. Nil takes the
	// record's id.
	Example func(record *Record, group *ReplayGroup, e *starhost.Event) string
	// ReadFiles lets plugins read a file as it is today, if the record does not have it.
	ReadFiles bool
}

// NewReplay returns a replay. The error is about a wrong glob in o.Only.
func NewReplay(o ReplayOptions) (*Replay, error) {
	for _, glob := range o.Only {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, errtext.Errorf("got %q, want a glob of tools' names, or kind:shell", glob)
		}
	}
	return &Replay{o: o, values: newPastValues(), groups: newGroups()}, nil
}

// A pastEvent is the recorded event that a replay fires.
type pastEvent struct {
	record  *Record
	firing  bool
	session *pastSession
	effects []pastEffect // nil until a handler asks for one
	parsed  bool
	unknown string // why the replay cannot tell what plugins decide; "" if it can

	changes  []valueChange
	diverged []*pluginValues // the values of plugins that in this event first wrote other values than the record says
}

// Run fires the events of records with the plugins of a host. It returns the error of load, the first error in
// records, or that of ctx.
func (r *Replay) Run(
	ctx context.Context, load func() (*host.Host, error), records iter.Seq2[*Record, error],
) (*ReplayReport, error) {
	h, err := load()
	if err != nil {
		return nil, err
	}
	r.host, r.declared = h, h.Events()
	for record, err := range records {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = r.replay(ctx, record)
		}
		if err != nil {
			return nil, err
		}
	}
	r.report.Groups, r.report.MoreReasons = r.groups.sorted()
	return &r.report, nil
}

// replay fires the event of a record again. If the log masked a value that handlers can read, replay fires
// the event twice, with different values in its place: if the two decisions differ, the event counts as
// "cannot tell". The error is that of ctx.
func (r *Replay) replay(ctx context.Context, record *Record) error {
	if !record.IsEvent() {
		return nil
	}
	masks := record.maskedInput()
	if masks == "" {
		e, out, err := r.fire(ctx, record)
		if err == nil {
			c := r.compare(record, &out)
			r.finish(record, e, &c)
		}
		return err
	}
	_, out, err := r.fire(ctx, record.unmasked(placeholders[0]))
	if err != nil {
		return err
	}
	first := r.compare(record, &out)
	r.values.rollback(&r.pastEvent)
	e, out, err := r.fire(ctx, record.unmasked(placeholders[1]))
	if err != nil {
		return err
	}
	c := r.compare(record, &out)
	if first.outcome != isSame && first.outcome != isUnclear || first.outcome != c.outcome {
		r.cannotTell("the log masks " + masks)
		c = comparison{outcome: isUnclear, reason: r.unknown}
	}
	r.finish(record, e, &c)
	return nil
}

// placeholders are the two texts that stand for a masked value, one after the other. They have little in
// common, so that no usual test of a value has the same result for both. They are plain words, because a
// command with "<masked>" would read a file.
var placeholders = [2]string{"masked", "Zq7_another-value.for/what=the:log+hides@4711"}

// maskedInput returns the pointer of the first masked value that handlers can read, or "" if there is none.
func (r *Record) maskedInput() string {
	for _, at := range r.Masked {
		if rest, ok := strings.CutPrefix(at, "/input/"); ok {
			return rest
		}
		if strings.HasPrefix(at, "/handlers/") && strings.Contains(at, "/reply") {
			return at[1:]
		}
	}
	return ""
}

// unmasked returns a copy of a record in which placeholder replaces the masked values that handlers can read.
// The requests of effects stay as recorded: see fitsMasked.
func (r *Record) unmasked(placeholder string) *Record {
	out := *r
	replace := func(raw []byte) json.RawMessage {
		return bytes.ReplaceAll(raw, []byte(masked), []byte(placeholder))
	}
	out.Input = map[string]json.RawMessage{}
	for name, value := range r.Input {
		out.Input[name] = replace(value)
	}
	out.Handlers = slices.Clone(r.Handlers)
	for i := range out.Handlers {
		h := &out.Handlers[i]
		h.Effects = slices.Clone(h.Effects)
		for j, line := range h.Effects {
			if at := bytes.LastIndex(line, []byte(`"reply":`)); at >= 0 {
				h.Effects[j] = append(slices.Clip(line[:at]), replace(line[at:])...)
			}
		}
	}
	return &out
}

// Mask returns a record as the log would store it, with a word in the place of each masked value.
func (l *Log) Mask(r *Record) (*Record, error) {
	line, err := l.encode(r)
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(string(line), masked, placeholders[0])
	out := new(Record)
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return nil, err
	}
	out.Masked = nil
	return out, nil
}

// compare compares the outcome of the event that was fired last with its record.
func (r *Replay) compare(record *Record, out *host.Outcome) comparison {
	c := compare(record, out)
	if r.unknown == "" {
		r.unknown = c.unknown
	}
	if r.unknown != "" {
		c = comparison{outcome: isUnclear, reason: r.unknown}
	}
	return c
}

// fire fires the event of a record. If that is not possible, e is nil. The error is that of ctx.
func (r *Replay) fire(ctx context.Context, record *Record) (e *starhost.Event, out host.Outcome, err error) {
	r.pastEvent = pastEvent{record: record, session: r.values.sessionOf(record)}
	if record.hasValueEffects() {
		r.readEffects()
		r.values.startEvent(&r.pastEvent)
	}
	e, err = r.newEvent()
	if err == nil && record.isUndecided() {
		err = fmt.Errorf("no plugin decided: %s", record.Errors[0])
	}
	if err != nil {
		r.cannotTell(err.Error())
		return nil, out, nil
	}
	s := r.host.Resume(host.SessionConfig{
		ID: record.Session, Platform: record.Platform, Model: record.Model, Roles: record.Roles,
		Workspace: record.Workspace, Guarded: true,
	}, host.SavedSession{Turns: record.Turn, Started: true})
	r.firing = true
	out, err = s.Refire(ctx, e)
	r.firing = false
	if out.Lost != nil {
		r.cannotTell("a guard is not loaded: " + out.Lost.Error())
	}
	if aborted, ok := errors.AsType[*host.AbortError](err); ok { // a call that a handler made was aborted
		d := &out.Decision
		d.Action, d.Reason, d.Plugin, d.Pos = starhost.ActionAbort, aborted.Reason, aborted.Plugin, aborted.Pos
	} else if ctx.Err() != nil {
		return e, out, ctx.Err()
	} else if err != nil {
		r.cannotTell(err.Error())
	}
	return e, out, nil
}

// finish adds the replayed event to the report. e is nil if replay could not fire the event.
func (r *Replay) finish(record *Record, e *starhost.Event, c *comparison) {
	r.values.endEvent(&r.pastEvent)
	if !r.isWanted(record, e) {
		r.report.Others++
		return
	}
	r.report.Events++
	if !r.session.isCounted {
		r.report.Sessions++
		r.session.isCounted = true
	}
	r.report.add(record, c)
	if c.outcome == isSame {
		return
	}
	one := ReplayGroup{Outcome: c.outcome, Plugin: c.plugin, Pos: c.pos, Reason: c.reason, Count: 1, Example: record.ID}
	if r.o.Example == nil || e == nil {
		r.groups.add(one, nil)
		return
	}
	r.groups.add(one, func(g *ReplayGroup) string { return r.o.Example(record, g, e) })
}

// isWanted reports whether the report includes the event of a record. e is nil if replay could not fire it: then
// its kind is the recorded one, so that --only leaves out no call of its own about which replay cannot tell. If the
// deadline passed before the call was read, the record does not even have its tool.
func (r *Replay) isWanted(record *Record, e *starhost.Event) bool {
	kinds := []string{record.Kind}
	if e == nil && record.Tool == "" && strings.HasSuffix(record.Event, "_tool_call") {
		return true
	}
	if e != nil {
		if info := e.CallInfo(); info != nil {
			kinds = info.Kinds
		}
	}
	return len(r.o.Only) == 0 || slices.ContainsFunc(r.o.Only, func(glob string) bool {
		if kind, ok := strings.CutPrefix(glob, "kind:"); ok {
			return kind != "" && slices.Contains(kinds, kind)
		}
		return slices.ContainsFunc([]string{record.Tool, record.ToolAlias}, func(name string) bool {
			ok, _ := path.Match(glob, name)
			return ok && name != ""
		})
	})
}

// cannotTell notes why the replay cannot tell what the plugins decide about the event. If several reasons
// come, the first one counts.
func (r *Replay) cannotTell(reason string) {
	if r.unknown == "" {
		r.unknown = reason
	}
}

// newEvent returns the event of the record. If a handler reads a value that the record lacks, the event
// becomes "cannot tell".
func (r *Replay) newEvent() (*starhost.Event, error) {
	input := r.record.Input
	arguments, hasArguments := input["arguments"]
	delete(input, "arguments") // an agent may send something else than an object, which NewEvent refuses
	e, err := r.record.NewEvent(r.declared...)
	if hasArguments {
		input["arguments"] = arguments
	}
	if err != nil {
		return nil, err
	}
	if hasArguments && !slices.Contains(r.record.Omitted, "/input/arguments") {
		e.Arguments = arguments
	}
	for _, list := range [][]string{r.record.Omitted, r.record.Cut} {
		for _, pointer := range list {
			if rest, ok := strings.CutPrefix(pointer, "/input/"); ok {
				e.Omitted = append(e.Omitted, "/"+rest)
			}
		}
	}
	if len(e.Omitted) == 0 {
		return e, nil
	}
	e.OnOmitted = func(pointer string) {
		why := "[log] include omits it"
		if slices.Contains(r.record.Cut, "/input"+pointer) {
			why = "it was too large for the log"
		}
		why = cmp.Or(r.o.Lacks, why)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cannotTell(fmt.Sprintf("the record lacks %s: %s", pointer[1:], why))
	}
	if slices.ContainsFunc(e.Omitted, func(pointer string) bool { return strings.HasPrefix(pointer, "/arguments/") }) {
		e.Arguments = replaceDigests(e.Arguments, e.Omitted)
	}
	return e, nil
}

// Now returns the time that the handlers of the record saw. It is a value for host.Options.Clock.
func (r *Replay) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record == nil {
		return time.Time{}
	}
	r.readEffects()
	for i := range r.effects {
		e := &r.effects[i]
		var now time.Time
		if e.Kind == "now" && json.Unmarshal(e.Reply, &now) == nil {
			return now
		}
	}
	return r.record.Time
}

// errNobody says that the replay has no answer of the model or of a person.
var errNobody = errors.New("a replay asks neither the model nor a person")

// Answer refuses the questions to the model and to a person, because the record of an event has no answers to
// them. It is a value for host.Options.Answer.
func (r *Replay) Answer(in host.Input) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cannotTell("a handler's call of a tool asks for the answer of " + map[string]string{
		host.InputModel: "the model", host.InputApproval: "a person",
	}[in.Kind] + ", which the record lacks")
	return nil, errNobody
}
