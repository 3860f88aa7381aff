package front

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
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
const maxGuess = 64 << 10

// readBody reads the whole body of a request before the deadline that ServeHTTP set, so that no
// later step waits for a slow client.
func (f *front) readBody(w *answer, r *http.Request, body io.Reader) (status int, why string) {
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), maxGuess)) + bytes.MinRead)
	_, err := b.ReadFrom(body)
	data := b.Bytes()
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
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	r.Body, _ = r.GetBody() // it never fails
	return 0, ""
}

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
