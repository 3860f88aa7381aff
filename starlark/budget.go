package starlark

import (
	"cmp"
	"math/bits"
)

// A budget is what a run may spend and has spent. Steps are counted by the
// thread itself; memory only grows.
type budget struct {
	maxSteps, maxAlloc, maxOutput uint64
	alloc, output                 uint64

	startSteps, startAlloc uint64 // counts at the start of a nested call
	ownSteps, ownAlloc     bool   // a nested call's own limits are below the caller's
	stepSetting            string // what raises maxSteps, if that is not the sandbox's limit
}

// limitTo makes b, that of a nested call, the rest of p, that of its caller.
func (b *budget) limitTo(p *budget, steps uint64) {
	b.startSteps, b.startAlloc = steps, p.alloc
	b.alloc, b.output = p.alloc, p.output
	b.ownSteps = steps+b.maxSteps < p.maxSteps
	b.ownAlloc = p.alloc+b.maxAlloc < p.maxAlloc
	b.maxSteps = min(steps+b.maxSteps, p.maxSteps)
	b.maxAlloc = min(p.alloc+b.maxAlloc, p.maxAlloc)
	b.maxOutput = min(p.output+b.maxOutput, p.maxOutput)
}

// copySpent takes over what the nested call of b's run has spent.
func (b *budget) copySpent(nested *budget) {
	b.alloc, b.output = nested.alloc, nested.output
}

// charge pays for steps and bytes before the work of op is done.
func (w *worker) charge(op string, steps, bytes uint64) error {
	b, th := &w.budget, &w.thread
	if n := b.alloc + bytes; n > b.maxAlloc || n < bytes {
		return w.stopAtLimit("memory", op, addClamped(b.alloc, bytes), b.maxAlloc, b.alloc)
	}
	if n := th.Steps + steps; n > b.maxSteps || n < steps {
		return w.stopAtLimit("steps", op, addClamped(th.Steps, steps), b.maxSteps, th.Steps)
	}
	th.Steps += steps
	b.alloc += bytes
	return nil
}

// addClamped adds without wrapping round.
func addClamped(x, y uint64) uint64 {
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
	return w.charge(op, p.steps(n), addClamped(multiplyClamped(n, p.bytes), p.fixed))
}

// named returns p in the name of another operation.
func (p price) named(op string) *price {
	p.op = op
	return &p
}

// multiplyClamped multiplies without wrapping round.
func multiplyClamped(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	if hi != 0 {
		return ^uint64(0)
	}
	return lo
}

// stopAtLimit stops the run at a limit. The first limit that a run reaches is the
// one it reports.
func (w *worker) stopAtLimit(name, op string, need, max, used uint64) error {
	w.stop(w.limitError(name, op, need, max, used))
	return w.stopCause
}

func (w *worker) limitError(name, op string, need, max, used uint64) *LimitError {
	e := &LimitError{
		Limit: name, Op: op, Need: need, Max: max, Used: used, Pos: cmp.Or(callerPos(&w.thread), w.calledFuncPos()),
	}
	e.shared = w.sharesLimit(name)
	owner := w.limitOwner(name)
	e.setting = owner.sandbox.limits.Settings[name]
	if name == "steps" {
		e.setting = cmp.Or(owner.budget.stepSetting, e.setting)
	}
	return e
}

// sharesLimit reports whether a limit of the run is that of its caller.
func (w *worker) sharesLimit(name string) bool {
	return w.parent != nil && !(name == "steps" && w.budget.ownSteps) && !(name == "memory" && w.budget.ownAlloc)
}

// limitOwner returns the run, w or one that it is nested in, whose own limit holds. Each
// has a clock of its own.
func (w *worker) limitOwner(name string) *worker {
	for name != "time" && w.sharesLimit(name) {
		w = w.parent
	}
	return w
}
