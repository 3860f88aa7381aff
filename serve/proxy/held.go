package proxy

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// maxReplies is the most bytes of replies that the proxy stores for all open requests together. It stores
// replies that plugins must see before the client does.
const maxReplies = 16 * MaxBody

// A share counts the bytes that one request adds to a total of all requests.
type share struct {
	mu      sync.Mutex
	total   *atomic.Int64
	bytes   int64
	isEnded bool
}

// add adds n bytes to the share and the total, and returns the new total. After end it adds nothing.
func (s *share) add(n int) (total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isEnded {
		return 0
	}
	s.bytes += int64(n)
	return s.total.Add(int64(n))
}

// end takes the bytes of the request out of the total.
func (s *share) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isEnded = true
	s.total.Add(-s.bytes)
}

var errReplies = refuse(http.StatusServiceUnavailable, "starhost: too many replies at once")

// hold counts n bytes of the reply. It returns an error if all replies together exceed maxReplies.
func (x *exchange) hold(n int) error {
	if x.replies.add(n) > maxReplies {
		return errReplies
	}
	return nil
}

// A sharedReader reads a body, and adds its bytes to a share. If the total is over most, reading ends with the
// error full.
type sharedReader struct {
	io.Reader
	share *share
	most  int64
	full  error
}

// Read implements [io.Reader].
func (r *sharedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if r.share.add(n) > r.most {
		return 0, r.full
	}
	return n, err
}
