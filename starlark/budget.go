package starlark

import "math/bits"

// A budget is what a run may spend and has spent. Steps are counted by the
// thread itself; memory only grows.
type budget struct {
	maxSteps, maxAlloc, maxOutput uint64
	alloc, output                 uint64

	firstStep, firstByte uint64 // counts at the start of a nested call
	lowSteps, lowAlloc   bool   // a nested call's own limits are below the caller's
	raise                string // what raises maxSteps, if that is not the sandbox's limit
}

// share makes b, that of a nested call, the rest of p, that of its caller.
func (b *budget) share(p *budget, steps uint64) {
	b.firstStep, b.firstByte = steps, p.alloc
	b.alloc, b.output = p.alloc, p.output
	b.lowSteps = steps+b.maxSteps < p.maxSteps
	b.lowAlloc = p.alloc+b.maxAlloc < p.maxAlloc
	b.maxSteps = min(steps+b.maxSteps, p.maxSteps)
	b.maxAlloc = min(p.alloc+b.maxAlloc, p.maxAlloc)
	b.maxOutput = min(p.output+b.maxOutput, p.maxOutput)
}

// settle takes over what the nested call of b's run has spent.
func (b *budget) settle(nested *budget) {
	b.alloc, b.output = nested.alloc, nested.output
}

// charge pays for steps and bytes before the work of op is done.
func (w *worker) charge(op string, steps, bytes uint64) error {
	b, th := &w.budget, &w.thread
	if n := b.alloc + bytes; n > b.maxAlloc || n < bytes {
		return w.exceed("memory", op, saturate(b.alloc, bytes), b.maxAlloc, b.alloc)
	}
	if n := th.Steps + steps; n > b.maxSteps || n < steps {
		return w.exceed("steps", op, saturate(th.Steps, steps), b.maxSteps, th.Steps)
	}
	th.Steps += steps
	b.alloc += bytes
	return nil
}

// saturate adds without wrapping round.
func saturate(x, y uint64) uint64 {
	if x+y < x {
		return ^uint64(0)
	}
	return x + y
}

// pay charges n units of p before the work is done.
func (w *worker) pay(p *price, n uint64) error { return w.payAs(p.op, p, n) }

// steps returns what n units cost in steps.
func (p *price) steps(n uint64) uint64 {
	units := float64(n)
	if p.per == 0 || units < p.per { // as most work: to divide would take longer
		return 0
	}
	steps := units / p.per
	if steps >= 1<<63 {
		return 1 << 63
	}
	return uint64(steps)
}

// payAs is pay in the name of another operation.
func (w *worker) payAs(op string, p *price, n uint64) error {
	return w.charge(op, p.steps(n), saturate(times(n, p.bytes), p.fixed))
}

// as returns p in the name of another operation.
func (p price) as(op string) *price {
	p.op = op
	return &p
}

// times multiplies without wrapping round.
func times(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	if hi != 0 {
		return ^uint64(0)
	}
	return lo
}

// exceed stops the run at a limit. The first limit that a run reaches is the
// one it reports.
func (w *worker) exceed(name, op string, need, max, used uint64) error {
	w.stop(w.limitError(name, op, need, max, used))
	return w.stopped
}

func (w *worker) limitError(name, op string, need, max, used uint64) *LimitError {
	e := &LimitError{Limit: name, Op: op, Need: need, Max: max, Used: used, Pos: either(callerPos(&w.thread), w.at())}
	e.inherited = w.inherits(name)
	owner := w.owner(name)
	e.raised = owner.box.limits.Raised[name]
	if name == "steps" {
		e.raised = either(owner.budget.raise, e.raised)
	}
	return e
}

// inherits reports whether a limit of the run is that of its caller.
func (w *worker) inherits(name string) bool {
	return w.parent != nil && !(name == "steps" && w.budget.lowSteps) && !(name == "memory" && w.budget.lowAlloc)
}

// owner returns the run, w or one that it is nested in, whose own limit holds. Each
// has a clock of its own.
func (w *worker) owner(name string) *worker {
	for name != "time" && w.inherits(name) {
		w = w.parent
	}
	return w
}
