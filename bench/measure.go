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
type side func(n int) (time.Duration, error)

// loop makes a side of work in this process.
func loop(work func() error) side {
	return func(n int) (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := work(); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
}

// onProcessors returns a side that runs on a number of processors.
func (s side) onProcessors(processors int) side {
	return func(n int) (time.Duration, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		return s(n)
	}
}

// runTogether returns a side whose work is shared by a and b, each on its own goroutine.
func runTogether(a, b side) side {
	return func(n int) (time.Duration, error) {
		start := time.Now()
		done := make(chan error)
		go func() {
			_, err := a(n / 2)
			done <- err
		}()
		_, err := b(n - n/2)
		err = errors.Join(err, <-done)
		return time.Since(start), err
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

// A missingPeerError names what a peer needs that this machine does not have.
type missingPeerError struct{ need string }

func (m missingPeerError) Error() string { return "needs " + m.need }

// compareWith compares ours with a base that may be missing.
func (r *rig) compareWith(c claim, ours side, start func() (side, error)) error {
	base, err := start()
	if m, ok := errors.AsType[missingPeerError](err); ok {
		r.skip(c, m.Error())
		return nil
	}
	if err != nil {
		return err
	}
	return r.compare(c, ours, base)
}

// A versus is a claim about a base that may be missing.
type versus struct {
	claim claim
	start func() (side, error)
}

// compareAll compares ours with each base.
func (r *rig) compareAll(ours side, all []versus) error {
	for _, v := range all {
		if err := r.compareWith(v.claim, ours, v.start); err != nil {
			return err
		}
	}
	return nil
}

// compare runs both sides in turns and adds the row of the claim: ours divided by base, or base
// divided by ours if the claim is a speed.
func (r *rig) compare(c claim, ours, base side) error {
	sides := [2]side{ours, base}
	var n [2]int
	for i, s := range sides {
		var err error
		if n[i], err = r.batch(s); err != nil {
			return err
		}
	}
	var took [2][]float64 // nanoseconds of one operation
	var ratios []float64
	for range r.pairs {
		for i, s := range sides {
			d, err := s(n[i])
			if err != nil {
				return err
			}
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
	return nil
}

// batch warms up a side, and returns how often it must do its work for one measurement.
func (r *rig) batch(s side) (int, error) {
	for n := 1; ; n *= 2 {
		took, err := s(n)
		if err != nil || took >= r.span {
			return n, err
		}
	}
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
func cost(work func() error) (allocs, bytes float64, err error) {
	const times = 1000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	for range 2 { // the first warms up
		runtime.ReadMemStats(&before)
		for range times {
			if err := work(); err != nil {
				return 0, 0, err
			}
		}
		runtime.ReadMemStats(&after)
	}
	allocs, bytes = float64((after.Mallocs-before.Mallocs)/times), float64((after.TotalAlloc-before.TotalAlloc)/times)
	return allocs, bytes, nil
}
