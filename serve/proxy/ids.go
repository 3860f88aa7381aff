package proxy

import (
	"sync"

	"github.com/starhost/starhost/internal/jsontext"
)

// maxIDs is the most ids of replies that the proxy stores.
const maxIDs = 10_000

// replyIDs are the ids of replies whose stream continued another one. A client has the id of the
// first reply, because a stream has one id. The endpoint continues a conversation from the last
// one.
type replyIDs struct {
	mu    sync.Mutex
	last  map[string]string // by the first id
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

// find returns the id of the last reply, "" for a reply that continued no other one.
func (r *replyIDs) find(first string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[first]
}

// continueID gives the last reply of a stream the id of the first one.
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

// followID makes a request continue the reply that the endpoint wrote last.
func (x *exchange) followID() {
	q := x.request
	id := q.doc.Member(0, "previous_response_id")
	if last := x.ids.find(q.doc.StringAt(id)); last != "" {
		q.edits.Set(id, string(encode(last)))
	}
}
