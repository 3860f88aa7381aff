package starlark

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Profile counts the steps and bytes of runs by line and stack. It counts everything that the
// budget counts, so it is exact and repeatable: the samples of a run add up to its [Usage]. A run
// with a profile stops at each instruction and takes several times as long. The zero value is
// ready. It is safe for concurrent use.
type Profile struct {
	mu     sync.Mutex
	stacks map[string]*stackUsage
}

// A stackUsage has the steps and bytes that runs spent on one line while one stack of calls was active.
type stackUsage struct {
	// Stack has the innermost call first. A nested call follows the call that made it.
	Stack        []Frame
	Steps, Bytes uint64
}

// samples returns the counts so far, sorted by their stacks from the outermost call on.
func (p *Profile) samples() []stackUsage {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []stackUsage
	for _, key := range slices.Sorted(maps.Keys(p.stacks)) {
		list = append(list, *p.stacks[key])
	}
	slices.SortStableFunc(list, func(a, b stackUsage) int {
		return slices.CompareFunc(reverseStack(a.Stack), reverseStack(b.Stack), compareFrames)
	})
	return list
}

func reverseStack(stack []Frame) []Frame {
	stack = slices.Clone(stack)
	slices.Reverse(stack)
	return stack
}

func compareFrames(a, b Frame) int {
	return cmp.Or(
		strings.Compare(a.Pos.File, b.Pos.File),
		cmp.Compare(a.Pos.Line, b.Pos.Line),
		strings.Compare(a.Fn, b.Fn),
	)
}

// addSample counts the spending of w since the last sample, for the current stack. The interpreter
// ticks before each instruction, when the stack is still that of the previous instruction.
func (p *Profile) addSample(w *worker) {
	if w.thread.CallStackDepth() > 0 {
		w.profileStack = w.appendStack(w.profileStack[:0])
	}
	now := Usage{Steps: w.thread.Steps, Bytes: w.budget.alloc}
	spent := Usage{now.Steps - w.profiledUsage.Steps, now.Bytes - w.profiledUsage.Bytes}
	w.profiledUsage = now
	if spent != (Usage{}) {
		p.add(w.profileStack, spent)
	}
}

func (p *Profile) add(way []Frame, spent Usage) {
	key := stackKey(way)
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stacks[key]
	if s == nil {
		if p.stacks == nil {
			p.stacks = map[string]*stackUsage{}
		}
		s = &stackUsage{Stack: slices.Clone(way)}
		p.stacks[key] = s
	}
	s.Steps += spent.Steps
	s.Bytes += spent.Bytes
}

// stackKey returns a text that identifies a stack: two different stacks have different texts.
func stackKey(way []Frame) string {
	var key []byte
	for _, f := range way {
		key = append(key, f.Pos.File...)
		key = append(key, ':')
		key = strconv.AppendInt(key, int64(f.Pos.Line), 10)
		key = append(key, ' ')
		key = append(key, f.Fn...)
		key = append(key, '\n')
	}
	return string(key)
}

// appendStack appends the active calls to list, innermost first. It omits helpers, and columns,
// which a profile does not show.
func (w *worker) appendStack(list []Frame) []Frame {
	for i := range w.thread.CallStackDepth() {
		f := w.thread.CallFrame(i)
		if strings.HasPrefix(f.Name, "$") {
			continue
		}
		list = append(list, Frame{Fn: f.Name, Pos: Pos{File: f.Pos.Filename(), Line: int(f.Pos.Line)}})
	}
	if w.parent != nil {
		list = w.parent.appendStack(list)
	}
	return list
}
