package hook

import (
	"context"
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// A Verdict says what becomes of a call that no person can be asked about.
type Verdict struct {
	// Denied is why the call must not run, "" if it may.
	Denied string
	// Abort is true if a plugin ends the whole turn. Denied says why.
	Abort bool
	// Answer is the result that a plugin gives in the tool's stead, nil for none.
	Answer *starhost.Result
	// Arguments are the arguments that plugins changed, nil if they stay.
	Arguments json.RawMessage
}

// AskGuards asks the guards about a call, and the approvals if a person must agree. If no approval
// decides, it denies the call.
func AskGuards(ctx context.Context, t *host.Turn, pre *starhost.Event) (Verdict, error) {
	v, err := askGuards(ctx, t, pre)
	switch {
	case err != nil:
		return Verdict{}, err
	case ctx.Err() != nil: // handlers behind the end of ctx did not run
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
