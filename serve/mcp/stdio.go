package mcp

import (
	"context"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// grace is the time for open requests when a server stops.
var grace = 10 * time.Second

// ServeStdio serves one client with one message a line. It returns when the input has ended and all
// requests have answers, or when ctx ends. The caller must write nothing else to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	conn := newLineConn(in, out)
	conn.answersErrors = true
	ss, err := s.sdk.Connect(context.WithoutCancel(ctx), conn, nil)
	if err != nil {
		return err
	}
	ours := s.findSession(ss) // here, because drain waits for sessions and none may begin beside it
	ended := make(chan error, 1)
	go func() { ended <- ss.Wait() }()
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		select {
		case <-conn.inputEnd:
			ours.leave() // the client can answer no question
		case <-stop.Done():
		}
	}()
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	late := time.AfterFunc(grace, cancel) // for all that follows
	defer late.Stop()
	if ctx.Err() != nil {
		s.refuseRequests()
		conn.awaitAnswers(stop)
	}
	s.drain(stop)
	return err
}

var _ sdk.Transport = (*lineConn)(nil)
