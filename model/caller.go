package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// A Caller is a [host.Model] that calls the endpoint of each prompt's model, which is a choice
// as NAME/MODEL. If a model does not answer, the Caller asks its fallbacks.
type Caller struct {
	// Endpoint returns the endpoint and the model of a choice: see [host.Host.Endpoint].
	Endpoint func(choice string) (starhost.Endpoint, string, error)
	// Secret returns the value of a secret.
	Secret func(name string) (string, error)
	// Dialects are the dialects by their API.
	Dialects []Dialect
	// Options are for all clients: Stream, Limits, HTTP and Sleep.
	Options Options
	// Warn receives a line about each further try, each fallback and each answer that the model
	// did not end. Nil drops them.
	Warn func(string)
}

// A choice is a model with its endpoint.
type choice struct {
	endpoint starhost.Endpoint
	model    string
}

// name returns the choice as NAME/MODEL.
func (c *choice) name() string { return c.endpoint.Name + "/" + c.model }

// Complete asks the prompt's model, and then its fallbacks in order while none has begun its
// answer.
func (c *Caller) Complete(ctx context.Context, p *host.Prompt) (starhost.Reply, error) {
	choices, err := c.choices(p.Model)
	if err != nil {
		return starhost.Reply{}, err
	}
	c.checkContext(&choices[0], p)
	begun := false
	for i := range choices {
		reply, err := c.ask(ctx, &choices[i], p, &begun)
		if reply.Stop != "" && err == nil {
			c.warn("%s stopped before the end of its answer: %s", choices[i].name(), reply.Stop)
		}
		if err == nil || begun || ctx.Err() != nil || i == len(choices)-1 {
			return reply, err
		}
		c.warn("%v; asking %s", err, choices[i+1].name())
	}
	panic("unreachable")
}

// choices returns the models to ask, in order.
func (c *Caller) choices(wanted string) ([]choice, error) {
	e, model, err := c.Endpoint(wanted)
	if err != nil {
		return nil, err
	}
	list := []choice{{e, model}}
	for _, name := range e.Fallback {
		if slices.Contains(e.Models, name) || !strings.Contains(name, "/") {
			name = e.Name + "/" + name
		}
		other, model, err := c.Endpoint(name)
		if err != nil {
			return nil, errorf("fallback of %s: %w", e.Name, err)
		}
		list = append(list, choice{other, model})
	}
	return list, nil
}

// checkContext warns about a prompt that is probably too long for the model.
func (c *Caller) checkContext(to *choice, p *host.Prompt) {
	size := len(p.System)
	for i := range p.Messages {
		size += p.Messages[i].Content.Len()
	}
	for i := range p.Tools {
		size += len(p.Tools[i].Description) + len(p.Tools[i].Parameters)
	}
	if limit := to.endpoint.Context; limit > 0 && size/bytesPerToken > limit {
		c.warn("the prompt has about %d tokens, and the context of %s has %d", size/bytesPerToken, to.name(), limit)
	}
}

// bytesPerToken is an estimate for English text.
const bytesPerToken = 4

// ask asks one model. It sets begun once a piece of the answer reached the caller.
func (c *Caller) ask(ctx context.Context, to *choice, p *host.Prompt, begun *bool) (starhost.Reply, error) {
	e := &to.endpoint
	i := slices.IndexFunc(c.Dialects, func(d Dialect) bool { return d.API == e.API })
	if i < 0 {
		return starhost.Reply{}, errorf("%s: api: got %q, want one that this program speaks", e.Name, e.API)
	}
	o := c.Options
	o.Name, o.BaseURL, o.Headers, o.KeyName = e.Name, e.BaseURL, e.Headers, e.APIKey
	o.Retry = func(err error, pause time.Duration) {
		c.warn("%s: %v; trying again in %v", to.name(), err, pause.Round(100*time.Millisecond))
	}
	if e.APIKey != "" {
		o.Key = func() (string, error) { return c.Secret(e.APIKey) }
	}
	if stream := c.Options.Stream; stream != nil {
		o.Stream = func(p Piece) {
			*begun = true
			stream(p)
		}
	}
	sent := *p
	sent.Model = to.model
	reply, err := NewClient(c.Dialects[i], o).Complete(ctx, &sent)
	if err != nil && ctx.Err() == nil {
		err = &EndpointError{to.name(), err}
	}
	return reply, err
}

func (c *Caller) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(errorf(format, args...).Error())
	}
}

// An EndpointError says which model did not answer, and why.
type EndpointError struct {
	// Model is the model as NAME/MODEL.
	Model string
	Err   error
}

func (e *EndpointError) Error() string { return e.Model + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *EndpointError) Unwrap() error { return e.Err }
