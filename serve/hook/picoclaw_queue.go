package hook

import "context"

// A queueEntry is the place of a request in the queue of its conversation.
type queueEntry struct {
	before    *queueEntry   // nil for the first entry
	done      chan struct{} // closed when the request leaves the queue
	leftEarly bool          // the request left before its turn: wait for before; set before done closes
}

// enqueue adds a request to the queue of its conversation. It returns nil if the connection is
// closed.
func (p *picoConn) enqueue(name string) (*picoSession, *queueEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed {
		return nil, nil
	}
	p.workers.Add(1)
	s := p.findSession(name)
	s.lastEntry = &queueEntry{before: s.lastEntry, done: make(chan struct{})}
	return s, s.lastEntry
}

// awaitTurn waits until it is the request's turn. It returns false if ctx ends first. While a handler does
// not stop, its request blocks all later ones.
func (at *queueEntry) awaitTurn(ctx context.Context) bool {
	for at.before != nil {
		select {
		case <-at.before.done:
		case <-ctx.Done():
			at.leftEarly = true
			return false
		}
		if !at.before.leftEarly {
			at.before = nil
			return true
		}
		at.before = at.before.before
	}
	return true
}

// answerInTurn answers a request when it is the request's turn, the plugins are loaded, and fewer than
// maxRunningRequests run. After a panic it refuses the request: if the process ended instead, PicoClaw would
// run the call.
func (p *picoConn) answerInTurn(ctx context.Context, s *picoSession, r *request, method picoMethod, at *queueEntry) {
	defer close(at.done)
	defer func() {
		if value := recover(); value != nil {
			p.refuseUnanswered(r, panicError(value))
		}
	}()
	if !at.awaitTurn(ctx) {
		p.refuseUnanswered(r, ctx.Err())
		return
	}
	select {
	case <-p.hostReady:
	case <-ctx.Done():
		p.refuseUnanswered(r, ctx.Err())
		return
	}
	select {
	case p.runningRequests <- struct{}{}:
		defer func() { <-p.runningRequests }()
		p.askPlugins(ctx, s, r, method)
	case <-ctx.Done():
		p.refuseUnanswered(r, ctx.Err())
	}
}
