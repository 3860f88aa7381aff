// Package parallel calls a function from several goroutines.
package parallel

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each calls do for the numbers below n, up to workers of them at the same time. The calls must write to
// different places, so that their order does not matter. If a call panics, Each panics.
func Each(workers, n int, do func(i int)) {
	var next atomic.Int64
	var panicked atomic.Value
	var wg sync.WaitGroup
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				panicked.Store(fmt.Sprintf("%v\n%s", p, debug.Stack()))
			}
		}()
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if p := panicked.Load(); p != nil {
		panic(p)
	}
}
