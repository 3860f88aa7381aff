package starlark

import (
	"context"
	"sync"
	"time"

	"go.starlark.net/starlark"
)

// A link ties the context that a host's function gets to the run that called
// it, so that a Call made with that context is nested in the run.
type link struct {
	mu     sync.Mutex // held during a nested call: there is one at a time
	parent *worker    // nil once the run has ended
	ctx    context.Context
	start  time.Time // of the nested call
}

type linkKey struct{}

// Context returns the context of the run on th. A Call with it is nested in the
// run: it shares the budget, and counts towards the nesting depth.
func (s *Sandbox) Context(th *starlark.Thread) context.Context {
	w := workerOf(th)
	if w.link == nil {
		w.link = &link{parent: w}
		w.link.ctx = context.WithValue(w.ctx, linkKey{}, w.link)
	}
	return w.link.ctx
}

// detach ends the life of a link with its run: contexts that were kept make
// ordinary calls from now on.
func (l *link) detach() {
	l.mu.Lock()
	l.parent = nil
	l.mu.Unlock()
}

// beginNested nests w in the run of l, which stays locked until part.
func (w *worker) beginNested(l *link) error {
	l.mu.Lock()
	p := l.parent
	if p == nil {
		l.mu.Unlock()
		return nil
	}
	if p.depth+1 > maxNesting {
		l.mu.Unlock()
		return p.stopAtLimit("nesting", "nested call", uint64(p.depth+1), maxNesting, 0)
	}
	l.start = time.Now()
	if p.sandbox.profile != nil {
		p.sandbox.profile.addSample(p)
	}
	w.parent, w.depth = p, p.depth+1
	w.thread.Steps = p.thread.Steps
	w.budget.limitTo(&p.budget, p.thread.Steps)
	return nil
}

// endNested hands the spent budget back to the run that w is nested in. A limit of
// that run which the nested call reached stops it too.
func (w *worker) endNested() {
	p := w.parent
	p.thread.Steps = w.thread.Steps
	p.budget.copySpent(&w.budget)
	p.profiled = Usage{p.thread.Steps, p.budget.alloc} // the nested call's own profile has it
	if e, ok := w.stopCause.(*LimitError); ok && e.shared {
		p.stop(e)
	}
	p.extendDeadline(p.link.start)
	p.link.mu.Unlock()
}
