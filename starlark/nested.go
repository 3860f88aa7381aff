package starlark

import (
	"context"
	"sync"
	"time"

	"go.starlark.net/starlark"
)

// A link connects a context of a host's function to the run that called the function, so that a
// Call with this context is nested in the run.
type link struct {
	mu     sync.Mutex // locked during a nested call, so that there is one at a time
	parent *worker    // nil when the run has ended
	ctx    context.Context
	start  time.Time // start of the nested call
}

type linkKey struct{}

// Context returns the context of the run on th. A Call with it is nested in the run: it spends the
// run's budget and adds a level of nesting.
func (s *Sandbox) Context(th *starlark.Thread) context.Context {
	w := workerOf(th)
	if w.link == nil {
		w.link = &link{parent: w}
		w.link.ctx = context.WithValue(w.ctx, linkKey{}, w.link)
	}
	return w.link.ctx
}

// detach separates a link from its run, which has ended. If a host stored the context of the run, calls with
// it are no nested calls afterwards.
func (l *link) detach() {
	l.mu.Lock()
	l.parent = nil
	l.mu.Unlock()
}

// beginNested nests w in the run of l. The link stays locked until endNested.
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

// endNested returns the spending of w to the run that it is nested in. If the nested call reached a
// limit of that run, that run stops too.
func (w *worker) endNested() {
	p := w.parent
	p.thread.Steps = w.thread.Steps
	p.budget.copySpent(&w.budget)
	p.profiledUsage = Usage{p.thread.Steps, p.budget.alloc} // the profile has counted the nested call
	if e, ok := w.stopCause.(*LimitError); ok && e.fromCaller {
		p.stop(e)
	}
	p.extendDeadline(p.link.start)
	p.link.mu.Unlock()
}
