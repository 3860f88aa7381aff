package mcp

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
)

// A progress tells a client how far a call has come.
type progress struct {
	ctx    context.Context // of the call
	client *sdk.ServerSession
	token  any
	done   chan struct{} // closed when the call is over
	over   chan struct{} // closed when nothing more is said

	mu   sync.Mutex
	last starhost.Progress
	said bool
}

// tell passes on what a tool says. Progress only grows; what does not is dropped.
func (p *progress) tell(now starhost.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.said || now.Done > p.last.Done {
		p.say(now)
	}
}

func (p *progress) say(now starhost.Progress) {
	p.last, p.said = now, true
	_ = p.client.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{ // who is gone needs no news
		ProgressToken: p.token, Progress: now.Done, Total: now.Total, Message: now.Message,
	})
}

// little is what progress grows by where the tool says nothing.
const little = 0.001

// alive tells the client now and then that the call goes on.
func (p *progress) alive() {
	defer close(p.over)
	ticks := time.NewTicker(aliveEvery)
	defer ticks.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticks.C:
			p.mu.Lock()
			now := p.last
			now.Done += little
			p.say(now)
			p.mu.Unlock()
		}
	}
}

// stop ends what is said: nothing comes after the call's result.
func (p *progress) stop() {
	close(p.done)
	<-p.over
}
