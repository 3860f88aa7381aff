package console

import (
	"context"
	"os"
)

// WithoutInterrupt returns a context that ctrl-C does not end, because ctrl-C only stops the
// running line. Everything else that ends ctx ends it.
func WithoutInterrupt(ctx context.Context) (context.Context, func()) {
	session, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if context.Cause(ctx) != (SignalError{os.Interrupt}) {
			end()
		}
	})
	return session, func() { stop(); end() }
}

// Interrupts receives ctrl-C.
type Interrupts chan os.Signal

// Within returns a context that ctrl-C ends. It lives longer than one input, because a function may
// have stored the input's ctx.
func (i Interrupts) Within(ctx context.Context) (context.Context, func()) {
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

// ReadWithin calls read, and returns early if ctx ends.
func ReadWithin(ctx context.Context, read func() (string, error)) (string, error) {
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

// A SignalError is the cause of a context that a signal ended.
type SignalError struct{ os.Signal }

func (e SignalError) Error() string { return e.String() }

func (e SignalError) Unwrap() error { return context.Canceled }
