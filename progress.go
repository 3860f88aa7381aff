package starhost

import "context"

// A Progress is how far a call of a tool has come, for whoever waits for it.
// Nothing depends on it.
type Progress struct {
	Done    float64 // in any unit; it grows
	Total   float64 // what Done is at the end; 0 if that is not known
	Message string  // what is done now, for people; may be ""
}

type progressKey struct{}

// WithProgress returns a context under which tools say how far they have come. tell
// is called by the goroutine of the call.
func WithProgress(ctx context.Context, tell func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// Report tells whoever waits for the call that ctx belongs to; nobody may.
func (p Progress) Report(ctx context.Context) {
	if tell, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		tell(p)
	}
}
