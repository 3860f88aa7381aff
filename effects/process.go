package effects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// processRequest is the form in a journal of a request to a hook process. The journal has only a digest of
// the request's parameters, because they are the event's.
type processRequest struct {
	Method string `json:"method"`
	SHA256 string `json:"sha256"`
}

// AskProcess asks the hook process that stands for the plugin. It calls ask, which sends the request and
// returns the process's answer. In a dry run, AskProcess does not call ask, and returns null.
func (w *World) AskProcess(
	ctx context.Context, method string, params []byte, ask func(context.Context) (json.RawMessage, error),
) (json.RawMessage, error) {
	sum := sha256.Sum256(params)
	return do(ctx, w, effectCall{
		kind: "process", request: processRequest{method, hex.EncodeToString(sum[:])}, subject: method,
		writes: true, persistent: true,
	}, ask)
}
