// What every call of a handler needs: its lane, its records, its panics, the limits of its
// context.

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// newLane returns the lane for the next call of a plugin's handler. If ctx has a lane, the new one is nested
// in it. newLane must be called in the order in which the calls are due.
func (t *Turn) newLane(ctx context.Context, plugin string, readOnly bool) *Lane {
	if outer := LaneOf(ctx); outer != nil {
		outer.children++
		return &Lane{
			Plugin: plugin, ReadOnly: readOnly || outer.ReadOnly, turn: t,
			records: outer.records, most: outer.most, outer: outer, number: outer.children, depth: outer.depth + 1,
		}
	}
	t.laneCount++
	o := &t.host.opts
	isLoader := readOnly && o.Observe != nil // finishLoad observes the loader
	l := &Lane{
		Plugin: plugin, ReadOnly: readOnly, turn: t,
		records: o.Record != nil || t.observed != nil || isLoader, aside: t.aside, number: t.laneCount,
	}
	if (isLoader || t.observed != nil && t.observed.isRun) && o.Record == nil {
		l.most = maxRun
	}
	return l
}

// isMediaType reports whether typ is a media type. Adapters write it into headers and data URLs.
func isMediaType(typ string) bool {
	if len(typ) > maxMediaType || !isPrintable(typ) {
		return false
	}
	_, _, err := mime.ParseMediaType(typ)
	return err == nil && strings.Contains(typ, "/")
}

// maxMediaType is the most bytes of a media type.
const maxMediaType = 512

// isPrintable reports whether s contains only printable ASCII characters and spaces.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// firstNotes is the capacity that the trace of a turn begins with, in calls.
const firstNotes = 2

// deliverRecords passes the logs and effects of a handler on to the program. Inside a loader, the loader's
// lane stores them first, because other loaders run at the same time.
func (t *Turn) deliverRecords(l *Lane) {
	if outer := l.outer; outer != nil && outer.ReadOnly {
		outer.pendingRecords().appendFrom(l)
		outer.Logs = append(outer.Logs, l.Logs...)
		return
	}
	for _, line := range l.Logs {
		t.host.opts.Log(line)
	}
	if t.observed != nil {
		t.observed.addLogs(l.Logs)
	}
	if done := l.pending; done != nil {
		if t.observed != nil {
			t.observed.lost += done.lost
		}
		t.deliverEntries(done.entries)
		t.notes = append(t.notes, done.notes...)
	}
}

// deliverEntries passes the effects of a handler on to the program.
func (t *Turn) deliverEntries(entries []Entry) {
	for _, e := range entries {
		if t.observed != nil && t.observed.hasRoom(len(e.Line)) {
			t.observed.effects = append(t.observed.effects, e.Line)
		}
		if t.host.opts.Record != nil {
			e.Session, e.Turn = t.session.ID(), t.number
			t.host.opts.Record(e)
		}
	}
}

// addNote adds a note about the call of a lane, after the lane's logs and effects were passed on.
func (t *Turn) addNote(l *Lane) *traceNote {
	trace := &t.notes
	if outer := l.outer; outer != nil && outer.ReadOnly {
		trace = &outer.pendingRecords().notes
	} else if n := len(*trace); n == cap(*trace) {
		*trace = slices.Grow(*trace, max(firstNotes, n, t.session.lastNoteCount-n))
	}
	*trace = append(*trace, traceNote{})
	return &(*trace)[len(*trace)-1]
}

// As calls work as if it were a handler of the plugin: in a lane of its own, whose logs and effects are
// recorded.
func (t *Turn) As(ctx context.Context, plugin string, work func(context.Context) error) error {
	lane := t.newLane(ctx, plugin, false)
	_, err := protect(func() (struct{}, error) { return struct{}{}, work(lane.context(ctx)) })
	t.deliverRecords(lane)
	return err
}

// askInput returns an answer from [Options.Answer] if that is set, or else from ask, and passes it to
// [Options.Record]. If ctx ended the wait, it records nothing.
func askInput[A any](
	ctx context.Context, t *Turn, kind string, request func() any, ask func() (A, error),
) (answer A, err error) {
	o := &t.host.opts
	lane := t.newLane(ctx, starhost.HostPlugin, false)
	if o.Answer == nil && o.Record == nil {
		return ask()
	}
	in := Input{Lane: lane.Path(), Kind: kind, Request: jsontext.EncodeOrNull(request())}
	if o.Answer == nil {
		answer, err = ask()
	} else if raw, failed := o.Answer(in); failed != nil {
		err = failed
	} else {
		err = json.Unmarshal(raw, &answer)
	}
	if ctx.Err() == nil {
		lane.Record(in.line(answer, err))
		t.deliverRecords(lane)
	}
	return answer, err
}

// A PanicError says that Go code of a handler panicked, which is a bug of its program.
type PanicError struct {
	Value any
	Stack []byte // stack of the goroutine: see [debug.Stack]
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// protect calls a handler, and returns a panic of it as an error.
func protect[T any](call func() (T, error)) (v T, err error) {
	defer recoverPanic(&err)
	return call()
}

// recoverPanic turns a panic into an error. Callers defer the call.
func recoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = &PanicError{Value: p, Stack: debug.Stack()}
	}
}

// endingError returns the error that ends the turn after a handler returned err: the error of ctx, the
// *AbortError of a tool call that the handler made, or nil if the turn goes on.
func endingError(ctx context.Context, err error) error {
	if err == nil {
		return ctx.Err()
	}
	if aborted, ok := errors.AsType[*AbortError](err); ok {
		return aborted
	}
	return ctx.Err()
}

// checkContext returns an error for context with too many parts, with a fragment over its limit, or with text
// that is not UTF-8. It also sets the ids of the fragments.
func (t *Turn) checkContext(c *starhost.Context) error {
	if n := len(c.Fragments) + len(c.Attachments); n > maxParts {
		return errtext.Errorf("%d fragments and attachments, limit %d", n, maxParts)
	}
	for i := range c.Attachments {
		if typ := c.Attachments[i].Type; typ != "" && !isMediaType(typ) {
			return errtext.Errorf("attachment: type: got %q, want a MIME type as image/png", typ)
		}
	}
	for i := range c.Fragments {
		f := &c.Fragments[i]
		if err := fragments.CheckSize(*f, t.host.opts.Prompt.Budget.MaxFragment); err != nil {
			return err
		}
		if !t.host.hashes.Identify(f) {
			return errtext.Errorf("fragment %q is not UTF-8: data goes into an attachment", f.Source)
		}
	}
	return nil
}
