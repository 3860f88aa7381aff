package starlark

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/internal/starnames"
)

// A worker is an interpreter thread with the state of a run. Workers are pooled: startRun takes one
// from the pool, and endRun puts it back unless a panic broke it.
type worker struct {
	thread starlark.Thread
	call   call // the active call of a method; zero between runs
	run
}

// A run is the part of a worker that belongs to one Run or Call.
type run struct {
	sandbox *Sandbox
	ctx     context.Context
	budget  budget
	parent  *worker // the run of the caller if the call is nested, or nil
	depth   int     // nesting depth
	link    *link   // link of the context that Context returned, or nil

	calledFunc starlark.Callable // the function whose result is checked, or nil

	// deadline is zero until the first tick, because short runs need not read the clock.
	deadline time.Time
	nextTick uint64 // the step of the next tick

	sketches   map[starlark.Value]*sketch // sketches of the tables that grew in this run
	lastTable  starlark.Value             // the table of the last insertion; lastSketch is its sketch
	peaks      map[starlark.Value]int     // greatest lengths of tables that shrank
	lastSketch *sketch

	loader    *loader  // loader of a Run; nil in a Call
	fileStack []string // names of the files under evaluation, the outermost first
	stopCause error    // why the thread was cancelled: a limit, or the context's error
	panicked  bool     // a panic occurred, so the thread must not be used again

	profiledUsage Usage   // spending that the profile has counted
	profileStack  []Frame // stack of the last sample
}

// workerLocal is the name of the threads of workers, and of the thread local that holds the worker.
const workerLocal = "starhost"

// workerOf returns the worker of th, or nil if th is another thread. Every charge calls it.
func workerOf(th *starlark.Thread) *worker {
	w, _ := th.Local(workerLocal).(*worker)
	return w
}

var workerPool = sync.Pool{New: func() any { return newWorker() }}

// newWorker makes a worker. All workers come from here, so that each thread has its worker and its callbacks.
func newWorker() *worker {
	w := new(worker)
	w.thread.Name = workerLocal
	w.thread.SetLocal(workerLocal, w)
	w.thread.Print = func(_ *starlark.Thread, text string) { w.printText(text) }
	w.thread.Load = func(_ *starlark.Thread, label string) (starlark.StringDict, error) { return w.loadFile(label) }
	w.thread.OnMaxSteps = func(*starlark.Thread) { w.tick() }
	return w
}

// reset clears a used worker for the next run.
func (w *worker) reset() {
	if w.stopCause != nil {
		w.thread.Uncancel()
	}
	w.run = run{}
	w.thread.Steps = 0
}

// startRun starts a run. If ctx comes from another run, the new run is nested in that one.
func (s *Sandbox) startRun(ctx context.Context) (*worker, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := workerPool.Get().(*worker)
	w.sandbox, w.ctx = s, ctx
	b := &w.budget
	b.maxSteps = multiplyClamped(s.limits.Steps, s.stepRate())
	b.maxAlloc, b.maxOutput = s.limits.Memory, uint64(s.limits.Output)
	if l, ok := ctx.Value(linkKey{}).(*link); ok {
		if err := w.beginNested(l); err != nil {
			w.reset()
			workerPool.Put(w)
			return nil, err
		}
	}
	w.profiledUsage.Steps, w.profiledUsage.Bytes = w.thread.Steps, b.alloc
	w.setNextTick()
	return w, nil
}

// lowerSteps lowers the step limit of a new run to its allowance.
func (w *worker) lowerSteps(most Allowance) {
	if n := addClamped(w.budget.startSteps, multiplyClamped(most.Steps, w.sandbox.stepRate())); n < w.budget.maxSteps {
		w.budget.maxSteps, w.budget.ownSteps, w.budget.stepSetting = n, true, most.Setting
		w.setNextTick()
	}
}

// endRun ends a run. It returns the spending of the run, and the cause of its stop, or else err.
func (w *worker) endRun(err error) (Usage, error) {
	if w.stopCause != nil {
		err = stopError{err, w.stopCause}
	}
	w.thread.Steps = min(w.thread.Steps, w.budget.maxSteps) // the step above the limit did not run
	usage := Usage{
		Steps: (w.thread.Steps - w.budget.startSteps) / w.sandbox.stepRate(),
		Bytes: w.budget.alloc - w.budget.startAlloc,
	}
	if w.link != nil {
		w.link.detach()
	}
	if p := w.sandbox.profile; p != nil {
		p.addSample(w)
	}
	if w.parent != nil {
		w.endNested()
	}
	if w.panicked {
		return usage, err
	}
	w.reset()
	workerPool.Put(w)
	return usage, err
}

// The interpreter calls tick when the run has spent its steps, or when it is time to check the clock.
// A timer for each run could fire late and hit the next run of the thread; tick cannot.
func (w *worker) tick() {
	if p := w.sandbox.profile; p != nil {
		p.addSample(w)
	}
	if w.thread.Steps > w.budget.maxSteps {
		w.stopAtLimit("steps", wholeScript, w.thread.Steps, w.budget.maxSteps, w.budget.maxSteps)
		return
	}
	w.checkClock()
}

// checkClock stops the run if its context has ended or its time is over.
func (w *worker) checkClock() {
	now := time.Now()
	switch {
	case w.ctx.Err() != nil:
		w.stop(w.ctx.Err())
		return
	case w.deadline.IsZero():
		w.deadline = now.Add(w.sandbox.limits.Timeout)
	case now.After(w.deadline):
		timeout := w.sandbox.limits.Timeout
		used := uint64((now.Sub(w.deadline) + timeout).Milliseconds())
		w.stopAtLimit("time", wholeScript, used, uint64(timeout.Milliseconds()), used)
		return
	}
	w.setNextTick()
}

// setNextTick sets the step before which the interpreter calls tick.
func (w *worker) setNextTick() {
	w.nextTick = min(w.thread.Steps+w.sandbox.tickInterval(), addClamped(w.budget.maxSteps, 1))
	w.thread.SetMaxExecutionSteps(w.nextTick)
}

// stop cancels the run for good. If an operation drops the error, the next instruction fails, because the
// thread is cancelled.
func (w *worker) stop(cause error) {
	if w.stopCause == nil {
		w.stopCause = cause
	}
	w.thread.Cancel(w.stopCause.Error())
}

// callFunc calls fn, and returns a panic as an error.
func (w *worker) callFunc(
	fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple,
) (v starlark.Value, err error) {
	defer w.recoverPanic(&err)
	if w.parent != nil {
		if err := w.payNestedCall("nested call", args, kwargs); err != nil {
			return nil, err
		}
	}
	v, err = starlark.Call(&w.thread, fn, args, kwargs)
	if err != nil {
		return nil, err
	}
	w.calledFunc = fn
	if v == starlark.None { // the usual result, which needs no check
		return v, w.charge("result", 0, noneSize)
	}
	if err := w.checkResult(v); err != nil {
		return nil, err
	}
	return v, w.payResult(v)
}

// calledFuncPos returns the position of the function whose result is checked.
func (w *worker) calledFuncPos() Pos {
	if f, ok := w.calledFunc.(*starlark.Function); ok {
		return posOf(f.Position())
	}
	return Pos{}
}

// recoverPanic turns a panic into an InternalError with the position of the script. It must be
// deferred.
func (w *worker) recoverPanic(err *error) {
	p := recover()
	if p == nil {
		return
	}
	w.panicked = true
	*err = &InternalError{Pos: callerPos(&w.thread), Value: p, Stack: debug.Stack()}
}

// callerPos returns the position of the innermost frame of Starlark code.
func callerPos(th *starlark.Thread) Pos {
	for i := range th.CallStackDepth() {
		if p := th.CallFrame(i).Pos; starnames.InScript(p) {
			return posOf(p)
		}
	}
	return Pos{}
}

// printText passes the output of a script to the host, within the output limit.
func (w *worker) printText(text string) {
	if w.payOutput(text) && w.sandbox.print != nil {
		w.sandbox.print(w.ctx, callerPos(&w.thread), text)
	}
}

// payOutput charges for a line of output, and reports whether the run may print it.
func (w *worker) payOutput(text string) bool {
	n := w.budget.output + uint64(len(text)) + 1
	if n > w.budget.maxOutput {
		w.stopAtLimit("output", "print", n, w.budget.maxOutput, w.budget.output)
		return false
	}
	w.budget.output = n
	return true
}

// Charge charges for work that a host's function is about to do: steps, of 10 to 100 ns each, and
// allocated bytes. The function must return an error at once. A function that works for long should
// charge in pieces, because only Charge checks the clock and the context.
func (s *Sandbox) Charge(th *starlark.Thread, op string, steps, bytes uint64) error {
	w := workerOf(th)
	if err := w.charge(op, steps, bytes); err != nil {
		return err
	}
	if th.Steps >= w.nextTick {
		w.checkClock()
		return w.stopCause
	}
	return nil
}

// CurrentFile returns the file whose top level th is evaluating, and whether another file loads it.
// The file is "" in a Call.
func (s *Sandbox) CurrentFile(th *starlark.Thread) (file string, module bool) {
	files := workerOf(th).fileStack
	if len(files) == 0 {
		return "", false
	}
	return files[len(files)-1], len(files) > 1
}

// Pause stops the wall clock of the run until the caller calls goOn, for example during an effect
// with its own deadline.
func (s *Sandbox) Pause(th *starlark.Thread) (goOn func()) {
	w := workerOf(th)
	start, deadline := time.Now(), w.deadline
	return func() {
		w.deadline = deadline // nested calls have moved the deadline as well
		w.extendDeadline(start)
	}
}

// extendDeadline moves the deadline by the time since start.
func (w *worker) extendDeadline(start time.Time) {
	if !w.deadline.IsZero() {
		w.deadline = w.deadline.Add(time.Since(start))
	}
}

// tickInterval returns the number of steps between two ticks of a run.
func (s *Sandbox) tickInterval() uint64 {
	if s.profile != nil {
		return 1
	}
	return tickSteps
}

// stepRate returns how many interpreter steps count as one step of a limit, an allowance or a usage.
func (s *Sandbox) stepRate() uint64 {
	if s.coverage != nil {
		return coveredSteps
	}
	return 1
}
