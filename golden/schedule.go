package golden

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/starhost/starhost/internal/parallel"
	"github.com/starhost/starhost/starlark"
)

// chunkSize is the most cases of one plugin that run on one stage. With more, some workers would be idle, and
// with fewer, starhost would load the plugin more often.
const chunkSize = 32

// splitChunks splits cases into lists. A list has neighbouring cases of one plugin.
func splitChunks(cases []*testCase) [][]*testCase {
	var list [][]*testCase
	for i, c := range cases {
		if n := len(list) - 1; n >= 0 && c.plugin == cases[i-1].plugin && len(list[n]) < chunkSize {
			list[n] = append(list[n], c)
			continue
		}
		list = append(list, []*testCase{c})
	}
	return list
}

// jobCount returns how many cases run at the same time.
func (o *Options) jobCount() int {
	if o.Jobs <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Jobs
}

// forAll calls do for all cases, several at the same time.
func (o *Options) forAll(cases []*testCase, do func(*testCase)) {
	list := splitChunks(cases)
	parallel.Each(o.jobCount(), len(list), func(i int) {
		for _, c := range list[i] {
			do(c)
		}
	})
}

// runAll runs all cases once in order. Unless o.Once is set, it runs them again in reverse order, and starts
// the loaders of each prompt in reverse order. ran is the number of cases that ran: all, or those up to the
// first failure if o.FailFast is set. If coverage is not nil, a third pass counts lines. It compares nothing,
// because probes cost steps. The third pass is like the second, so that the number of jobs changes no counts
// of a case.
func runAll(ctx context.Context, cases []*testCase, o *Options, coverage *starlark.Coverage) (ran int, err error) {
	var last atomic.Int64 // the index of the last case that must run
	last.Store(int64(len(cases) - 1))
	err = pass(ctx, cases, o, conditions{workers: 1, cache: o.Cache}, func(st *stage, c *testCase) {
		if c.index > last.Load() {
			return
		}
		c.first = st.run(ctx, c)
		c.second = c.first
		if o.FailFast && c.fails(o) {
			lowerTo(&last, c.index)
		}
	})
	if err != nil {
		return 0, err
	}
	cases = slices.Clone(cases[:last.Load()+1])
	if o.Once {
		return len(cases), nil
	}
	slices.Reverse(cases)
	again := conditions{workers: 2, lastFirst: true, cache: o.Cache}
	err = pass(ctx, cases, o, again, func(st *stage, c *testCase) { c.second = st.run(ctx, c) })
	if err != nil || coverage == nil {
		return len(cases), err
	}
	again.coverage = coverage
	err = pass(ctx, cases, o, again, func(st *stage, c *testCase) { st.run(ctx, c) })
	return len(cases), err
}

// lowerTo sets n to v, unless n is lower already.
func lowerTo(n *atomic.Int64, v int64) {
	for old := n.Load(); v < old && !n.CompareAndSwap(old, v); old = n.Load() {
	}
}

// pass runs cases in order. Each of its workers has a stage of its own.
func pass(ctx context.Context, cases []*testCase, o *Options, cond conditions, run func(*stage, *testCase)) error {
	list := splitChunks(cases)
	errs := make([]error, min(o.jobCount(), len(list)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			st, err := newStage(cond, o.Plugins)
			if errs[i] = err; err != nil {
				return
			}
			st.options = o
			for n := int(next.Add(1)) - 1; n < len(list); n = int(next.Add(1)) - 1 {
				for _, c := range list[n] {
					if ctx.Err() == nil {
						run(st, c)
					}
				}
				st.closeHosts()
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}
