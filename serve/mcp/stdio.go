package mcp

import (
	"context"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// grace is the time for open requests when a server stops.
const grace = 10 * time.Second

// ServeStdio serves one client with one message a line. It returns when the input has ended and all
// requests have answers, or when ctx ends. The caller must write nothing else to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	conn := newLineConn(in, out)
	conn.answersErrors = true
	ss, err := s.sdk.Connect(context.WithoutCancel(ctx), conn, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- ss.Wait() }()
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	select {
	case <-ctx.Done():
		s.refuseRequests()
		conn.awaitAnswers(stop)
	case err = <-ended:
	}
	late := time.AfterFunc(grace, cancel)
	defer late.Stop()
	s.drain(stop)
	return err
}

var _ sdk.Transport = (*lineConn)(nil)
