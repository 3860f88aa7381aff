package front

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A countedBody reads a request's body and adds its bytes to the total of all requests.
type countedBody struct {
	io.Reader
	total *atomic.Int64
	most  int64
	read  int64
}

var errBodies = errors.New("too many bodies at once")

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	if b.total.Add(int64(n)) > b.most {
		return 0, errBodies
	}
	return n, err
}

func (b *countedBody) release() { b.total.Add(-b.read) }

// maxGuess is the most memory that a request gets for its declared length, before its body arrives.
// A body of which so much has arrived gets room for perGuess times as much. A buffer that only
// doubles would allocate several times the body.
const maxGuess, perGuess = 64 << 10, 32

// readBody reads the whole body of a request before the deadline that ServeHTTP set, so that no
// later step waits for a slow client.
func (f *front) readBody(w *answer, r *http.Request, body io.Reader) (status int, why string) {
	var b strings.Builder
	chunk := chunks.Get().(*[maxGuess]byte)
	var err error
	length := min(r.ContentLength, f.MaxBody)
	for most := int64(0); err == nil && int64(b.Len()) == most && most < length; {
		most = min(length, most*perGuess+maxGuess)
		arrived := b.String()
		b.Reset() // a Builder that grows takes twice its size
		b.Grow(int(most))
		b.WriteString(arrived)
		_, err = io.CopyBuffer(&b, io.LimitReader(body, most-int64(len(arrived))), chunk[:])
	}
	if err == nil {
		_, err = io.CopyBuffer(&b, body, chunk[:]) // the rest, if its length is not declared
	}
	chunks.Put(chunk)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("body: got more than %d bytes, want less", f.MaxBody)
	case errors.Is(err, errBodies):
		return http.StatusServiceUnavailable, err.Error()
	case err != nil:
		return http.StatusBadRequest, "body: it did not arrive"
	}
	_ = w.control.SetReadDeadline(time.Time{})
	text := b.String()
	r.GetBody = func() (io.ReadCloser, error) { return &textBody{strings.NewReader(text), text}, nil }
	r.Body, _ = r.GetBody() // it never fails
	return 0, ""
}

// chunks are buffers for a part of a body each.
var chunks = sync.Pool{New: func() any { return new([maxGuess]byte) }}

// A textBody is a body that the front has read.
type textBody struct {
	*strings.Reader
	text string
}

// Text returns the whole body.
func (b *textBody) Text() string { return b.text }

// Close implements [io.Closer].
func (b *textBody) Close() error { return nil }

// An answer counts what a server answers, and sets a deadline for each piece of it, so that a
// client that does not read loses its connection.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	bytes   int64
}

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.status = a.code()
	a.extendDeadline()
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Flush implements [http.Flusher].
func (a *answer) Flush() {
	a.status = a.code()
	a.extendDeadline()
	_ = a.control.Flush()
}

// code returns the answer's status: net/http sends 200 for an answer that sets none.
func (a *answer) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}

// extendDeadline gives the client time to read the next piece.
func (a *answer) extendDeadline() {
	_ = a.control.SetWriteDeadline(time.Now().Add(bodyTimeout)) // the writers of tests have no deadlines
}

// Unwrap lets [http.ResponseController] find the real writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
