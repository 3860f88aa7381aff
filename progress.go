package starhost

import "context"

// A Progress says how far a call of a tool has come. Programs show it to users; nothing depends on
// it.
type Progress struct {
	Done    float64 // in any unit; it grows
	Total   float64 // Done at the end; 0 if the tool does not know it
	Message string  // the current work, for people; may be ""
}

type progressKey struct{}

// WithProgress returns a context in which tools report their progress to tell. The goroutine of the
// call calls tell.
func WithProgress(ctx context.Context, tell func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// Report passes the progress to the program that waits for the call of ctx. It does nothing if the
// program did not ask for progress: see [WithProgress].
func (p Progress) Report(ctx context.Context) {
	if tell, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		tell(p)
	}
}
