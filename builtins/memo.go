package builtins

import (
	"context"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/starhost/starhost"
	"go.starlark.net/starlark"
)

// A Memo remembers what handlers returned, and gives it again where a call could
// not but return the same. It serves the plugins of one host, so that their files,
// settings, grants and limits stay what they were; it is told of by [Recorder.Use].
//
// A call is remembered by its function and its arguments, if these are short texts,
// numbers, bools, None and ctx, and if it used nothing of ctx but what repeatable
// names. What it read comes with it: before the result is given again, all of that is
// read again, in the same order, with the plugin's permissions, and must be the same.
// So a journal has the same lines, whoever answers. Lines that the call logged are
// logged again, and what it spent is spent: nobody can tell, but by the time it takes.
//
// Calls within calls always run: they share a budget, and what they may still spend
// depends on who called.
//
// What is remembered is bounded; when it is full, all is forgotten. A nil Memo
// remembers nothing. It is safe for concurrent use.
type Memo struct {
	mu    sync.Mutex
	calls map[memoKey]*remembered
	bytes int
	hits  atomic.Int64 // how often a result was given again
}

// Bounds of a [Memo].
const (
	maxMemo      = 32 << 20 // bytes of all results, and of what they were made of
	maxMemoCalls = 10_000
	maxMemoCall  = 1 << 20 // bytes of one call
	maxMemoKey   = 4 << 10 // bytes of its arguments
	maxMemoReads = 100     // how often it read something
	maxMemoLines = 100     // that it logged

	// minMemoWork is the least that a call spends to be worth it: steps, and 64 bytes
	// each. Others are as quick as looking for them.
	minMemoWork = 100
)

// repeatable are the members of ctx that a call may use to be remembered: those that
// are the same for all calls of the plugin, those that are read again, and log.
var repeatable = []string{"config", "plugin", "log", "fs.read", "fs.read_bytes", "fs.glob", "fs.exists", "fs.stat"}

// A memoKey is what a call is remembered by. Functions of different plugins, and of
// different evaluations of one, are different.
type memoKey struct {
	fn   *starlark.Function
	args string // see appendKey
}

// A remembered is a call that is over. It is immutable.
type remembered struct {
	notes *notes         // or nil
	value starlark.Value // one of whole
	made  *decision
	usage Usage
	bytes int
}

// notes are what a call did beside returning something.
type notes struct {
	reads []reading
	lines []saidLine
}

// once stands for the notes of a call that did what cannot be done again.
var once = new(notes)

// noting returns the notes of a call, for one more of each, or nil if it cannot be
// remembered.
func (h *handlerCall) noting() *notes {
	switch {
	case h.rec.memo == nil || h.notes == once:
		return nil
	case h.notes == nil:
		h.notes = new(notes)
	case len(h.notes.reads) == maxMemoReads || len(h.notes.lines) == maxMemoLines:
		h.notes = once
		return nil
	}
	return h.notes
}

// A reading reads something again, and reports whether it is what it was.
type reading func(context.Context) bool

// A saidLine is a line of a log, as the plugin said it and as it was kept.
type saidLine struct{ said, kept starhost.LogLine }

// noted reads something for a call, and notes what it was.
func noted[T any](ctx context.Context, h *handlerCall, read func(context.Context) (T, error)) (T, error) {
	got, err := read(ctx)
	if err != nil {
		h.notes = once
	}
	if n := h.noting(); n != nil {
		n.reads = append(n.reads, func(ctx context.Context) bool {
			now, err := read(ctx)
			return err == nil && reflect.DeepEqual(now, got)
		})
	}
	return got, err
}

// noteLine notes a line that the call logged.
func (h *handlerCall) noteLine(said, kept starhost.LogLine) {
	if n := h.noting(); n != nil {
		n.lines = append(n.lines, saidLine{said, kept})
	}
}

// Use ends the evaluation: the handlers' calls use m, which may be nil. It is for the
// time before the first one. Where effects have answers, all calls run: some answers
// are given once.
func (r *Recorder) Use(m *Memo) {
	r.names, r.captures = nil, nil // nothing is registered any more
	if r.world.Answers == nil {
		r.memo = m
	}
}

// recall returns what a call of a function that is remembered returns, if that is known,
// and does what else it does.
func (m *Memo) recall(h *handlerCall, s *signature, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, bool) {
	if m == nil || h.lane.Depth() > 0 {
		return nil, false
	}
	var space [256]byte
	key, ok := appendKey(space[:0], args, kwargs)
	if !ok {
		return nil, false
	}
	m.mu.Lock()
	r := m.calls[memoKey{s.fn, string(key)}]
	m.mu.Unlock()
	if r == nil || h.lane.MaxSteps > 0 && r.usage.Steps > h.lane.MaxSteps || !r.holds(h) {
		return nil, false
	}
	m.hits.Add(1)
	if r.notes != nil {
		for _, line := range r.notes.lines {
			h.keep(line.kept)
		}
	}
	h.lane.Spent(r.usage.Steps, r.usage.Bytes)
	h.made = r.made
	return r.value, true
}

// holds reports whether h would do the same. What it would read has been read then.
func (r *remembered) holds(h *handlerCall) bool {
	if h.Err() != nil || r.notes == nil {
		return h.Err() == nil
	}
	for _, line := range r.notes.lines {
		if !reflect.DeepEqual(h.rec.redactLine(line.said), line.kept) { // a secret was learned since
			return false
		}
	}
	return h.lane.Try(func() bool { return r.notes.unchanged(h) })
}

// unchanged reports whether all that a call read is what it was.
func (n *notes) unchanged(ctx context.Context) bool {
	return !slices.ContainsFunc(n.reads, func(same reading) bool { return !same(ctx) })
}

// worthMemo reports whether a call that spent so much is worth being remembered.
func worthMemo(u Usage) bool { return u.Steps+u.Bytes/64 >= minMemoWork && u.Bytes <= maxMemoCall }

// remember takes up a call that succeeded and is worth it.
func (m *Memo) remember(h *handlerCall, s *signature, args starlark.Tuple, kwargs []starlark.Tuple, v starlark.Value, usage Usage) {
	if m == nil || h.notes == once || h.lane.Depth() > 0 || !whole(v) || h.made != nil && !whole(h.made) {
		return
	}
	key, ok := appendKey(nil, args, kwargs)
	if !ok {
		return
	}
	m.put(memoKey{s.fn, string(key)}, &remembered{
		notes: h.notes, value: shared(h.turn, v), made: h.made, usage: usage, bytes: 512 + len(key) + int(usage.Bytes) + h.notes.size(),
	})
	s.remembered.Store(true)
}

// size returns about how many bytes notes take, but for what was read: a call has paid
// for that.
func (n *notes) size() int {
	if n == nil {
		return 0
	}
	size := 256 * (len(n.reads) + len(n.lines))
	for _, line := range n.lines {
		size += 2 * (len(line.said.Text) + len(line.said.Fields))
	}
	return size
}

// put remembers a call, in the place of an earlier one.
func (m *Memo) put(key memoKey, r *remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.calls[key]; old != nil {
		m.bytes -= old.bytes
	}
	if m.bytes += r.bytes; m.calls == nil || m.bytes > maxMemo || len(m.calls) >= maxMemoCalls {
		m.calls, m.bytes = map[memoKey]*remembered{}, r.bytes
	}
	m.calls[key] = r
}

// appendKey appends the arguments of a call, or reports that it cannot be remembered.
// Different arguments never give the same key.
func appendKey(key []byte, args starlark.Tuple, kwargs []starlark.Tuple) (_ []byte, ok bool) {
	for _, v := range args {
		if key, ok = appendArg(key, v); !ok {
			return nil, false
		}
	}
	for _, kv := range kwargs {
		if key, ok = appendArg(append(key, '='), kv[0]); ok {
			key, ok = appendArg(key, kv[1])
		}
		if !ok {
			return nil, false
		}
	}
	return key, true
}

// appendArg appends one argument: its type in a letter, and all of it.
func appendArg(key []byte, v starlark.Value) (_ []byte, ok bool) {
	switch v := v.(type) {
	case starlark.NoneType:
		return append(key, 'n'), true
	case starlark.Bool:
		if v {
			return append(key, 't'), true
		}
		return append(key, 'f'), true
	case starlark.Int:
		n, ok := v.Int64()
		return binary.AppendVarint(append(key, 'i'), n), ok
	case starlark.Float:
		return binary.BigEndian.AppendUint64(append(key, 'd'), math.Float64bits(float64(v))), true
	case starlark.String:
		if len(key)+len(v) > maxMemoKey {
			return nil, false
		}
		return append(binary.AppendUvarint(append(key, 's'), uint64(len(v))), v...), true
	case *ctxValue:
		return append(key, 'c'), v.group == ""
	}
	return nil, false
}

// whole reports whether a result can be given to any number of calls at once: it is
// immutable, or a list of what is.
func whole(v starlark.Value) bool {
	switch v := v.(type) {
	case *starlark.List:
		for i := range v.Len() {
			if !part(v.Index(i)) {
				return false
			}
		}
		return true
	case starlark.Tuple:
		return !slices.ContainsFunc(v, func(e starlark.Value) bool { return !part(e) })
	}
	return part(v)
}

// shared returns a result of whole for any number of calls. The host knows its
// fragments, so that no byte of them is read again.
func shared(t *starhost.Turn, v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case *fragmentValue:
		f := v.f
		t.Know(&f)
		return &fragmentValue{f}
	case *starlark.List:
		parts := make([]starlark.Value, v.Len())
		for i := range parts {
			parts[i] = shared(t, v.Index(i))
		}
		return frozen(starlark.NewList(parts))
	}
	return v
}

// part reports whether v is immutable and knows nothing of the call that made it.
func part(v starlark.Value) bool {
	switch v := v.(type) {
	case *fragmentValue, *attachmentValue, *resultValue, *templateValue:
		return true
	case *decision:
		return !slices.ContainsFunc(v.changes, func(c starlark.Tuple) bool { return !scalar(c[1]) })
	}
	return scalar(v)
}

func scalar(v starlark.Value) bool {
	switch v.(type) {
	case starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float, starlark.String:
		return true
	}
	return false
}
