package proxy

import (
	"sync"

	"github.com/starhost/starhost/internal/jsontext"
)

// maxIDs is the most ids of replies that the proxy stores. It forgets the oldest first.
const maxIDs = 10_000

// replyIDs map the id of the reply that a client knows to the id that the endpoint knows. They differ if one
// stream to the client joined several replies: the stream has the id of the first reply, and the endpoint
// continues a conversation from the last.
type replyIDs struct {
	mu    sync.Mutex
	last  map[string]string // ids of last replies, by the id of the first reply
	order []string          // the keys of last, oldest first
}

func (r *replyIDs) add(first, last string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]string{}
	}
	if r.last[first] == "" {
		if r.order = append(r.order, first); len(r.order) > maxIDs {
			delete(r.last, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.last[first] = last
}

// find returns the id of the last reply of the stream whose first reply has the id first. It returns "" if
// the stream had one reply.
func (r *replyIDs) find(first string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[first]
}

// continueID gives the last reply of a stream the id of the first reply, and stores both ids.
func (c *conversation) continueID(w *wholeReply) {
	id := w.doc.Member(0, "id")
	if len(c.earlier) == 0 || !w.doc.HasKind(id, jsontext.String) {
		return
	}
	first := c.earlier[0].doc
	if text := first.StringAt(first.Member(0, "id")); text != "" && text != w.doc.StringAt(id) {
		c.ids.add(text, w.doc.StringAt(id))
		w.edits.Set(id, string(encode(text)))
	}
}

// followID replaces the id in a request that continues a reply by the id that the endpoint knows.
func (x *exchange) followID() {
	q := x.request
	id := q.doc.Member(0, "previous_response_id")
	if last := x.ids.find(q.doc.StringAt(id)); last != "" {
		q.edits.Set(id, string(encode(last)))
	}
}
