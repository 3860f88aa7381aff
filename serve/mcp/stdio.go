package mcp

import (
	"context"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// grace is how long requests under way have when a server stops.
const grace = 10 * time.Second

// ServeStdio serves one client, a message a line, until its input has ended and
// what it asked for is answered, or ctx ends. Nothing else may be written to out.
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
