package builtins

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
)

// ctxProgress implements ctx.progress.
func ctxProgress(c call.Call, h *handlerCall) (starlark.Value, error) {
	var done, total amount
	var message string
	if err := c.Bind("done", &done, "total?", &total, "message?", &message); err != nil {
		return nil, err
	}
	if err := c.Pay(progressSteps, len(message)); err != nil {
		return nil, err
	}
	p := starhost.Progress{Done: float64(done), Total: float64(total), Message: h.rec.world.Redact(message)}
	p.Report(c.Runtime.Context(c.Thread))
	return starlark.None, nil
}

// progressSteps is the price of telling a client about progress once.
const progressSteps = 100

// An amount is a number from 0 to 1e15.
type amount float64

// Unpack implements [starlark.Unpacker].
func (a *amount) Unpack(v starlark.Value) error {
	f, ok := starlark.AsFloat(v)
	if !ok {
		return fmt.Errorf("got %s, want a number", v.Type())
	}
	if !(0 <= f && f <= 1e15) { // also refuses NaN
		return fmt.Errorf("got %v, want a number from 0 to 1e15", f)
	}
	*a = amount(f)
	return nil
}
