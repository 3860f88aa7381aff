package mcp

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/procgroup"
)

// endDelay is the time for a program to end after its input has ended.
var endDelay = 2 * time.Second

// A processTransport starts a server's program and speaks to it.
type processTransport struct {
	options MountOptions
}

// A processConn is the connection to a running program.
type processConn struct {
	*lineConn
	program *procgroup.Program
}

// Connect implements [sdk.Transport].
func (p *processTransport) Connect(context.Context) (sdk.Connection, error) {
	o := &p.options
	running, err := procgroup.Start(procgroup.ProgramOptions{
		Command: o.Command, Path: effects.DefaultPath, Dir: o.Dir, Env: o.Env,
	})
	if err != nil {
		return nil, err
	}
	c := &processConn{program: running, lineConn: newLineConn(running.Out, running.In)}
	c.pipe = running.In
	go c.readLines()
	return c, nil
}

// Read implements [sdk.Connection]. It keeps structured content: see keepStructured.
func (c *processConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.lineConn.Read(ctx)
	if answer, ok := m.(*jsonrpc.Response); ok {
		answer.Result = keepStructured(answer.Result)
	}
	return m, err
}

// Close implements [sdk.Connection]. It ends the program and its child processes.
func (c *processConn) Close() error {
	_ = c.lineConn.Close() // cannot fail
	return c.program.Close(endDelay)
}
