package mcp

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
)

// A progress tells a client how far a call has come.
type progressSender struct {
	ctx        context.Context // of the call
	client     *sdk.ServerSession
	token      any
	callDone   chan struct{} // closed when the call is over
	senderDone chan struct{} // closed when nothing more is said

	mu      sync.Mutex
	last    starhost.Progress
	hasSent bool
}

// report passes on what a tool says. Progress only grows; what does not is dropped.
func (p *progressSender) report(now starhost.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasSent || now.Done > p.last.Done {
		p.send(now)
	}
}

func (p *progressSender) send(now starhost.Progress) {
	p.last, p.hasSent = now, true
	_ = p.client.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{ // who is gone needs no news
		ProgressToken: p.token, Progress: now.Done, Total: now.Total, Message: now.Message,
	})
}

// minProgress is what progress grows by where the tool says nothing.
const minProgress = 0.001

// sendSignsOfLife tells the client now and then that the call goes on.
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

// stop ends what is said: nothing comes after the call's result.
func (p *progressSender) stop() {
	close(p.callDone)
	<-p.senderDone
}
