package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// A side is one of two things that are compared. It does its work n times and returns the
// duration. A side that is a child process reads its own clock.
type side func(n int) time.Duration

// loop makes a side of work in this process.
func loop(work func()) side {
	return func(n int) time.Duration {
		start := time.Now()
		for range n {
			work()
		}
		return time.Since(start)
	}
}

// onProcessors returns a side that runs on a number of processors.
func (s side) onProcessors(processors int) side {
	return func(n int) time.Duration {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		return s(n)
	}
}

// runTogether returns a side whose work is shared by a and b, each on its own goroutine.
func runTogether(a, b side) side {
	return func(n int) time.Duration {
		start := time.Now()
		done := make(chan error)
		go func() { done <- catch(func() { a(n / 2) }) }()
		b(n - n/2)
		try(<-done)
		return time.Since(start)
	}
}

// A spread is the result of the pairs of a measurement.
type spread struct{ min, median, max float64 }

func exactly(figure float64) spread { return spread{figure, figure, figure} }

func spreadOf(figures []float64) spread {
	slices.Sort(figures)
	n := len(figures)
	return spread{figures[0], figures[n/2], figures[n-1]}
}

// inverse returns the spread of the inverse ratio: of the speed, if s is a share of the time.
func (s spread) inverse() spread { return spread{1 / s.max, 1 / s.median, 1 / s.min} }

// A failure is the panic by which work ends its goal. The error goes to [catch].
type failure struct{ error }

// try ends the goal if there is an error.
func try(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns a value, or ends the goal.
func must[T any](v T, err error) T {
	try(err)
	return v
}

// catch does work, and returns the error that ended it.
func catch(work func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			failed, ok := v.(failure)
			if !ok {
				panic(v)
			}
			err = failed.error
		}
	}()
	work()
	return nil
}

// A missingPeerError names what a peer needs that this machine does not have.
type missingPeerError struct{ need string }

func (m missingPeerError) Error() string { return "needs " + m.need }

// compareWith compares ours with a base that may be missing.
func (r *rig) compareWith(c claim, ours side, start func() side) {
	var base side
	err := catch(func() { base = start() })
	if m, ok := errors.AsType[missingPeerError](err); ok {
		r.skip(c, m.Error())
		return
	}
	try(err)
	r.compare(c, ours, base)
}

// A versus is a claim about a base that may be missing.
type versus struct {
	claim claim
	start func() side
}

// compareAll compares ours with each base.
func (r *rig) compareAll(ours side, all []versus) {
	for _, v := range all {
		r.compareWith(v.claim, ours, v.start)
	}
}

// compare runs both sides in turns and adds the row of the claim: ours divided by base, or base
// divided by ours if the claim is a speed.
func (r *rig) compare(c claim, ours, base side) {
	sides := [2]side{ours, base}
	var n [2]int
	for i, s := range sides {
		n[i] = r.batch(s)
	}
	var took [2][]float64 // nanoseconds of one operation
	var ratios []float64
	for range r.pairs {
		for i, s := range sides {
			d := s(n[i])
			took[i] = append(took[i], float64(d)/float64(n[i]))
		}
		last := len(took[0]) - 1
		ratios = append(ratios, took[0][last]/took[1][last])
	}
	got := spreadOf(ratios)
	if c.want.sign == "≥" {
		got = got.inverse()
	}
	ourTime, baseTime := time.Duration(spreadOf(took[0]).median), time.Duration(spreadOf(took[1]).median)
	r.add(row{claim: c, got: got, sides: fmt.Sprintf("%v : %v", roundDuration(ourTime), roundDuration(baseTime))})
}

// batch warms up a side, and returns how often it must do its work for one measurement.
func (r *rig) batch(s side) int {
	n := 1
	for s(n) < r.span {
		n *= 2
	}
	return n
}

// figure adds a row with a counted figure.
func (r *rig) figure(c claim, figure float64) { r.add(row{claim: c, got: exactly(figure)}) }

// skip adds a row with the reason why there is no figure.
func (r *rig) skip(c claim, why string) { r.add(row{claim: c, skipped: why}) }

func (r *rig) add(row row) {
	r.rows = append(r.rows, row)
	r.tell(row)
}

// cost returns the allocations of work and their bytes.
func cost(work func()) (allocs, bytes float64) {
	const times = 1000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	for range 2 { // the first warms up
		runtime.ReadMemStats(&before)
		for range times {
			work()
		}
		runtime.ReadMemStats(&after)
	}
	return float64((after.Mallocs - before.Mallocs) / times), float64((after.TotalAlloc - before.TotalAlloc) / times)
}
