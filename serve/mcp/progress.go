package mcp

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
)

// A progressSender reports the progress of one call to its client.
type progressSender struct {
	ctx        context.Context // the context of the call
	client     *sdk.ServerSession
	token      any
	callDone   chan struct{} // closed by stop
	senderDone chan struct{} // closed when sendSignsOfLife has returned

	mu      sync.Mutex
	last    starhost.Progress
	hasSent bool
}

// report sends a tool's progress. The protocol demands that progress grows, so report drops a value
// that does not.
func (p *progressSender) report(now starhost.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasSent || now.Done > p.last.Done {
		p.send(now)
	}
}

func (p *progressSender) send(now starhost.Progress) {
	p.last, p.hasSent = now, true
	_ = p.client.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{ // the client may have gone
		ProgressToken: p.token, Progress: now.Done, Total: now.Total, Message: now.Message,
	})
}

// minProgress is the growth of a sign of life, because the protocol accepts no equal value.
const minProgress = 0.001

// sendSignsOfLife sends progress at regular times until the call ends.
func (p *progressSender) sendSignsOfLife() {
	defer close(p.senderDone)
	ticks := time.NewTicker(signOfLifeEvery)
	defer ticks.Stop()
	for {
		select {
		case <-p.callDone:
			return
		case <-ticks.C:
			p.mu.Lock()
			now := p.last
			now.Done += minProgress
			p.send(now)
			p.mu.Unlock()
		}
	}
}

// stop ends the signs of life, so that no progress follows the call's result.
func (p *progressSender) stop() {
	close(p.callDone)
	<-p.senderDone
}
