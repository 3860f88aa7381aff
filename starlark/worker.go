package starlark

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"

	"go.starlark.net/starlark"
)

// A worker is a thread with what a run needs around it. Workers are pooled: a
// run takes one in enter and gives it back in leave, unless it ended badly.
type worker struct {
	thread starlark.Thread // first, as workerOf relies on
	name   [8]byte         // of the thread, which nobody changes
	call   call            // of a method that is under way; there is none between runs
	run
}

// A run is the part of a worker that is new with every Run and Call.
type run struct {
	sandbox *Sandbox
	ctx     context.Context
	budget  budget
	parent  *worker // that made the nested call, or nil
	depth   int     // of nested calls
	link    *link   // what Context handed out, or nil

	calledFunc starlark.Callable // the function whose result is looked at, or nil

	// deadline is zero until the first tick: a short run never asks for the time.
	deadline time.Time
	nextTick uint64 // the step of the next tick

	sketches   map[starlark.Value]*sketch // of the tables that grew in this run
	lastTable  starlark.Value             // that was inserted into, and its sketch
	peaks      map[starlark.Value]int     // greatest lengths of tables that shrank
	lastSketch *sketch

	loader    *loader  // of a Run; nil in a Call
	fileStack []string // being evaluated, the outermost first
	stopCause error    // why the thread was cancelled: a limit, or the context's error
	panicked  bool     // a panic passed through: the thread must not be used again

	profiled     Usage   // what a profile has counted
	profileStack []Frame // to where it was spent last
}

// threadName is the name of the threads of workers.
const threadName = "starhost"

// workerOf returns the worker that a thread is a part of, or nil if it is none's: the name
// of a worker's thread lies in the worker, behind the thread, where that of another thread
// never lies, also if it is the same string. All that is paid for asks this first: a look
// into the thread's locals would be a quarter of what it costs.
func workerOf(th *starlark.Thread) *worker {
	name := uintptr(unsafe.Pointer(unsafe.StringData(th.Name)))
	if name != uintptr(unsafe.Pointer(th))+unsafe.Offsetof(worker{}.name) {
		return nil
	}
	return (*worker)(unsafe.Pointer(th))
}

var workerPool = sync.Pool{New: func() any { return newWorker() }}

// newWorker makes a thread. No other function does.
func newWorker() *worker {
	w := new(worker)
	copy(w.name[:], threadName)
	w.thread.Name = unsafe.String(&w.name[0], len(w.name))
	w.thread.Print = func(_ *starlark.Thread, text string) { w.printText(text) }
	w.thread.Load = func(_ *starlark.Thread, label string) (starlark.StringDict, error) { return w.loadFile(label) }
	w.thread.OnMaxSteps = func(*starlark.Thread) { w.tick() }
	return w
}

// reset makes a used worker as good as new.
func (w *worker) reset() {
	if w.stopCause != nil {
		w.thread.Uncancel()
	}
	w.run = run{}
	w.thread.Steps = 0
}

// startRun starts a run, as a part of the one that ctx comes from if there is one.
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
	w.profiled.Steps, w.profiled.Bytes = w.thread.Steps, b.alloc
	w.setNextTick()
	return w, nil
}

// lowerSteps lowers the steps of a run that has just begun to those of most.
func (w *worker) lowerSteps(most Allowance) {
	if n := addClamped(w.budget.startSteps, multiplyClamped(most.Steps, w.sandbox.stepRate())); n < w.budget.maxSteps {
		w.budget.maxSteps, w.budget.ownSteps, w.budget.stepSetting = n, true, most.Setting
		w.setNextTick()
	}
}

// endRun ends a run. It returns what the run used, and err or what stopped it.
func (w *worker) endRun(err error) (Usage, error) {
	if w.stopCause != nil {
		err = stopError{err, w.stopCause}
	}
	w.thread.Steps = min(w.thread.Steps, w.budget.maxSteps) // the one too many did not run
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

// tick is called by the interpreter when the run may be over: its steps are
// spent, or it is time to look at the clock. Looking here, and not with a timer
// of each run, no late signal can hit the next run of the thread.
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

// checkClock stops the run if its time is over.
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

// setNextTick sets the step at which the interpreter calls tick: it does so before that step.
func (w *worker) setNextTick() {
	w.nextTick = min(w.thread.Steps+w.sandbox.tickInterval(), addClamped(w.budget.maxSteps, 1))
	w.thread.SetMaxExecutionSteps(w.nextTick)
}

// stop cancels the run for good: what swallows the error of an operation
// meets the cancelled thread at its next instruction.
func (w *worker) stop(cause error) {
	if w.stopCause == nil {
		w.stopCause = cause
	}
	w.thread.Cancel(w.stopCause.Error())
}

// callFunc calls fn with a recovered panic as an error.
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
	if v == starlark.None { // as most handlers return: there is nothing to look at
		return v, w.charge("result", 0, noneSize)
	}
	if err := w.checkResult(v); err != nil {
		return nil, err
	}
	return v, w.payResult(v)
}

// calledFuncPos returns the place of the function whose result is looked at.
func (w *worker) calledFuncPos() Pos {
	if f, ok := w.calledFunc.(*starlark.Function); ok {
		return posOf(f.Position())
	}
	return Pos{}
}

// recoverPanic turns a panic into an InternalError with the place of the script.
// It is deferred.
func (w *worker) recoverPanic(err *error) {
	p := recover()
	if p == nil {
		return
	}
	w.panicked = true
	*err = &InternalError{Pos: callerPos(&w.thread), Value: p, Stack: debug.Stack()}
}

// callerPos returns the place of the innermost frame of Starlark code.
func callerPos(th *starlark.Thread) Pos {
	for i := range th.CallStackDepth() {
		if p := th.CallFrame(i).Pos; p.Line > 0 {
			return posOf(p)
		}
	}
	return Pos{}
}

// printText hands on what a script prints, while the run may.
func (w *worker) printText(text string) {
	if w.payOutput(text) && w.sandbox.print != nil {
		w.sandbox.print(w.ctx, callerPos(&w.thread), text)
	}
}

// payOutput pays for a line of output, and reports whether the run may print it.
func (w *worker) payOutput(text string) bool {
	n := w.budget.output + uint64(len(text)) + 1
	if n > w.budget.maxOutput {
		w.stopAtLimit("output", "print", n, w.budget.maxOutput, w.budget.output)
		return false
	}
	w.budget.output = n
	return true
}

// Charge pays for work that a host's function is about to do: steps, at 10 to 20
// ns each, and bytes that it allocates. An error must be returned at once. A function that works
// for long pays in pieces: only between them can the clock or the context stop it.
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

// CurrentFile returns the file whose top level is being evaluated on th, and
// whether it is one that another file loads. The file is "" in a Call.
func (s *Sandbox) CurrentFile(th *starlark.Thread) (file string, module bool) {
	files := workerOf(th).fileStack
	if len(files) == 0 {
		return "", false
	}
	return files[len(files)-1], len(files) > 1
}

// Pause stops the run's wall clock until goOn is called, as during an effect that has a
// deadline of its own.
func (s *Sandbox) Pause(th *starlark.Thread) (goOn func()) {
	w := workerOf(th)
	start, deadline := time.Now(), w.deadline
	return func() {
		w.deadline = deadline // nested calls have moved it as well
		w.extendDeadline(start)
	}
}

// extendDeadline moves the deadline by the time since start.
func (w *worker) extendDeadline(start time.Time) {
	if !w.deadline.IsZero() {
		w.deadline = w.deadline.Add(time.Since(start))
	}
}
