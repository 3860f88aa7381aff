package starlark

import (
	"cmp"
	"math/bits"
)

// A budget has the limits of a run and what the run has spent. The interpreter's thread counts the steps. A
// run that frees memory gets no part of its budget back.
type budget struct {
	maxSteps, maxAlloc, maxOutput uint64
	alloc, output                 uint64

	startSteps, startAlloc uint64 // counters of the caller when the nested call began
	ownSteps, ownAlloc     bool   // true if the nested call's own limit is lower than what its caller has left
	stepSetting            string // the setting that raises maxSteps, if Limits.Settings does not name it
}

// limitTo lowers the limits of b, the budget of a nested call, to the rest of p, its caller's.
// steps is the caller's count of steps.
func (b *budget) limitTo(p *budget, steps uint64) {
	b.startSteps, b.startAlloc = steps, p.alloc
	b.alloc, b.output = p.alloc, p.output
	b.ownSteps = steps+b.maxSteps < p.maxSteps
	b.ownAlloc = p.alloc+b.maxAlloc < p.maxAlloc
	b.maxSteps = min(steps+b.maxSteps, p.maxSteps)
	b.maxAlloc = min(p.alloc+b.maxAlloc, p.maxAlloc)
	b.maxOutput = min(p.output+b.maxOutput, p.maxOutput)
}

// copySpent replaces the spending of b by the spending of a nested call, which includes what b had spent
// before.
func (b *budget) copySpent(nested *budget) {
	b.alloc, b.output = nested.alloc, nested.output
}

// charge adds steps and bytes to the spending of the run, before op does its work. The error says
// which limit would be exceeded.
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

// addClamped returns x+y, or the greatest uint64 if the sum overflows.
func addClamped(x, y uint64) uint64 {
	if x+y < x {
		return ^uint64(0)
	}
	return x + y
}

// pay charges for n units of work at the price p. A caller pays before it does the work.
func (w *worker) pay(p *price, n uint64) error { return w.payAs(p.op, p, n) }

// steps returns the steps that n units cost.
func (p *price) steps(n uint64) uint64 {
	units := float64(n)
	if p.per == 0 || units < p.per { // the usual case, without a slow division
		return 0
	}
	steps := units / p.per
	if steps >= 1<<63 {
		return 1 << 63
	}
	return uint64(steps)
}

// payAs charges as pay does, and errors name the operation op.
func (w *worker) payAs(op string, p *price, n uint64) error {
	return w.charge(op, p.steps(n), addClamped(multiplyClamped(n, p.bytes), p.fixed))
}

// withOp returns a copy of p whose errors name the operation op.
func (p price) withOp(op string) *price {
	p.op = op
	return &p
}

// multiplyClamped returns x*y, or the greatest uint64 if the product overflows.
func multiplyClamped(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	if hi != 0 {
		return ^uint64(0)
	}
	return lo
}

// stopAtLimit stops the run at a limit. A run reports the first limit that it reaches.
func (w *worker) stopAtLimit(name, op string, need, max, used uint64) error {
	w.stop(w.limitError(name, op, need, max, used))
	return w.stopCause
}

func (w *worker) limitError(name, op string, need, max, used uint64) *LimitError {
	e := &LimitError{
		Limit: name, Op: op, Need: need, Max: max, Used: used, Pos: cmp.Or(callerPos(&w.thread), w.calledFuncPos()),
	}
	e.fromCaller = w.sharesLimit(name)
	owner := w.limitOwner(name)
	e.setting = owner.sandbox.limits.Settings[name]
	if name == "steps" {
		e.setting = cmp.Or(owner.budget.stepSetting, e.setting)
	}
	return e
}

// sharesLimit reports whether the caller's limit of that name stops the run, because the run has no lower
// limit of its own.
func (w *worker) sharesLimit(name string) bool {
	return w.parent != nil && !(name == "steps" && w.budget.ownSteps) && !(name == "memory" && w.budget.ownAlloc)
}

// limitOwner returns the run whose limit of that name applies to w: w itself, or a run that w is nested in.
// The limit of time is always w's own, because each run has its own clock.
func (w *worker) limitOwner(name string) *worker {
	for name != "time" && w.sharesLimit(name) {
		w = w.parent
	}
	return w
}
