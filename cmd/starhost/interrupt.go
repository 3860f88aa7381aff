package main

import (
	"context"
	"os"
)

// withoutInterrupt returns a context that ctrl-C does not end, because ctrl-C only stops the
// running line. Everything else that ends ctx ends it.
func withoutInterrupt(ctx context.Context) (context.Context, func()) {
	session, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if context.Cause(ctx) != (signalError{os.Interrupt}) {
			end()
		}
	})
	return session, func() { stop(); end() }
}

// interrupts receives ctrl-C.
type interrupts chan os.Signal

// within returns a context that ctrl-C ends. It lives longer than one input, because a function may
// have stored the input's ctx.
func (i interrupts) within(ctx context.Context) (context.Context, func()) {
	select {
	case <-i: // pressed before this input
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-i:
			cancel()
		case <-done:
		}
	}()
	// The stop function waits for the goroutine, so that it cannot take the next input's
	// ctrl-C.
	return ctx, func() { close(done); <-gone }
}

// readWithin calls read, and returns early if ctx ends.
func readWithin(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := read()
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
