package hook

import (
	"context"
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// A Verdict is the decision about a call about which no person can be asked.
type Verdict struct {
	// Denied says why the call must not run; "" if it may run.
	Denied string
	// Abort is true if a plugin ends the whole turn. Denied says why.
	Abort bool
	// Answer is the result that a plugin gives in place of the tool; nil if the tool runs.
	Answer *starhost.Result
	// Arguments are the new arguments, if plugins changed them; nil if they did not.
	Arguments json.RawMessage
}

// AskGuards asks the guards about a call, and if a person must agree, the hooks that approve calls. If none
// of them decides, it denies the call.
func AskGuards(ctx context.Context, t *host.Turn, pre *starhost.Event) (Verdict, error) {
	v, err := askGuards(ctx, t, pre)
	switch {
	case err != nil:
		return Verdict{}, err
	case ctx.Err() != nil: // handlers that would run after the end of ctx did not run
		return Verdict{}, context.Cause(ctx)
	case v.answer != nil:
		return Verdict{Answer: v.answer}, nil
	case v.block:
		return Verdict{Denied: v.reason, Abort: v.stop}, nil
	case v.ask:
		return Verdict{Denied: describeMissingPerson(v.reason)}, nil
	}
	return Verdict{Arguments: v.args}, nil
}
