package proxy

import "github.com/starhost/starhost/internal/jsontext"

// maxIDs is the most ids of replies that the proxy stores. It forgets the oldest first.
const maxIDs = 10_000

// continueID gives the last reply of a stream the id of the first reply. It stores both ids: the client knows the
// stream by the first one, and the endpoint continues a conversation from the last reply.
func (c *conversation) continueID(w *wholeReply) {
	id := w.doc.Member(0, "id")
	if len(c.earlier) == 0 || !w.doc.HasKind(id, jsontext.String) {
		return
	}
	first := c.earlier[0].doc
	if text := first.StringAt(first.Member(0, "id")); text != "" && text != w.doc.StringAt(id) {
		c.ids.Set(text, w.doc.StringAt(id), 1, maxIDs)
		w.edits.Set(id, string(jsontext.Must(text)))
	}
}

// followID replaces the id in a request that continues a reply by the id that the endpoint knows.
func (x *exchange) followID() {
	q := x.request
	id := q.doc.Member(0, "previous_response_id")
	if last, ok := x.ids.Get(q.doc.StringAt(id)); ok {
		q.edits.Set(id, string(jsontext.Must(last)))
	}
}
