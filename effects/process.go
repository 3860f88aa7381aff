package effects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// A processRequest identifies a request to a hook process. Its parameters are the event's, so that
// the journal contains only their digest.
type processRequest struct {
	Method string `json:"method"`
	SHA256 string `json:"sha256"`
}

// AskProcess asks the hook process that stands for the plugin: ask sends the request and returns
// the answer. A dry run asks nothing and returns null.
func (w *World) AskProcess(
	ctx context.Context, method string, params []byte, ask func(context.Context) (json.RawMessage, error),
) (json.RawMessage, error) {
	sum := sha256.Sum256(params)
	return do(ctx, w, effectCall{
		kind: "process", request: processRequest{method, hex.EncodeToString(sum[:])}, subject: method,
		writes: true, persistent: true,
	}, ask)
}
