package neko

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// invokePath is the path at which a provider answers calls.
const invokePath = "/tool_invoke"

// providerSource is the source of a provider's tools.
const providerSource = pluginSource + "starhost"

// clearTimeout is the time to remove the tools at the end.
const clearTimeout = 2 * time.Second

// ProviderOptions control a [Provider]. Host, Server and Callback are required.
type ProviderOptions struct {
	Host *host.LiveHost
	// Server is the base URL of N.E.K.O on this machine: http://127.0.0.1:48911.
	Server string
	// Callback is the base URL at which N.E.K.O reaches the provider's Handler.
	Callback string
	// Every is the time between two looks at N.E.K.O's list. 0 means 3 seconds.
	Every time.Duration
	// Warn receives a line for the operator. Nil drops it.
	Warn func(string)
}

// A Provider offers the tools of a host to N.E.K.O, except those that a [Registry] took from it.
type Provider struct {
	ProviderOptions
	client  *http.Client
	session *host.Session

	sent   map[string]string // the last registration of each tool, by name
	mu     sync.Mutex
	warned string // the last warning, which Run does not repeat
}

// NewProvider returns a provider. The error says why it cannot reach N.E.K.O.
func NewProvider(o ProviderOptions) (*Provider, error) {
	if err := checkURL(o.Server); err != nil {
		return nil, err
	}
	o.Every, o.Server = cmp.Or(o.Every, 3*time.Second), strings.TrimSuffix(o.Server, "/")
	return &Provider{
		ProviderOptions: o, client: newClient(), sent: map[string]string{},
		session: o.Host.NewSession(host.SessionConfig{ID: pluginName, Platform: pluginName}),
	}, nil
}

// Handler returns the handler of N.E.K.O's calls.
func (p *Provider) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+invokePath, p.invoke)
	return refuseOthers(mux)
}

// An envelope is the answer to a call.
type envelope struct {
	Output  json.RawMessage `json:"output"`
	IsError bool            `json:"is_error"`
	Error   string          `json:"error,omitempty"`
}

// invoke answers a call of a tool. N.E.K.O takes every status but 200 for a broken plugin, so a
// failure is an answer, too.
func (p *Provider) invoke(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		ID        string          `json:"call_id"`
	}
	fail := func(err error) { writeJSON(w, http.StatusOK, envelope{IsError: true, Error: err.Error()}) }
	if err := readBody(r.Body, &q); err != nil {
		fail(err)
		return
	}
	isCalled := func(t starhost.Tool) bool { return t.Name == q.Name && isOurs(&t) }
	if !slices.ContainsFunc(p.Host.Host().Tools(), isCalled) {
		fail(fmt.Errorf("unknown tool %q", q.Name))
		return
	}
	var reply host.ToolReply
	t, err := p.session.BetweenTurns(r.Context())
	if err == nil {
		reply, err = t.CallTool(r.Context(), starhost.ToolCall{ID: q.ID, Name: q.Name, Arguments: q.Arguments})
		t.End(r.Context())
	}
	switch result := reply.Result; {
	case err != nil:
		fail(err)
	case result.IsError:
		fail(errors.New(result.ForLLM))
	default:
		output := json.RawMessage(result.ForLLM)
		if !json.Valid(output) {
			output, _ = json.Marshal(result.ForLLM) // a text has a JSON form
		}
		writeJSON(w, http.StatusOK, envelope{Output: output})
	}
}

// isOurs reports whether a tool does not come from N.E.K.O.
func isOurs(t *starhost.Tool) bool { return t.PluginName() != pluginName }

// Run registers the tools with N.E.K.O and looks again and again whether they are still there,
// until ctx ends. Then it removes them.
func (p *Provider) Run(ctx context.Context) {
	defer p.client.CloseIdleConnections()
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.warn(p.sync(ctx))
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTimeout)
	defer cancel()
	_ = p.ask(last, "clear", map[string]any{"source": providerSource, "role": nil}, nil) // N.E.K.O may have ended first
	_ = p.session.Close(last)
}

// warn reports an error once.
func (p *Provider) warn(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	p.mu.Lock()
	isNew := text != p.warned
	p.warned = text
	p.mu.Unlock()
	if isNew && text != "" && p.Warn != nil {
		p.Warn("N.E.K.O at " + p.Server + ": " + text)
	}
}

// sync registers the tools that N.E.K.O does not have, and removes those that the host no longer
// has.
func (p *Provider) sync(ctx context.Context) error {
	var list struct {
		Roles map[string][]listedTool `json:"tools_by_role"`
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Server+"/api/tools", nil)
	if err != nil {
		return err
	}
	text, status, err := do(p.client, req)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	case status != http.StatusOK || json.Unmarshal(text, &list) != nil:
		return fmt.Errorf("GET /api/tools: got HTTP %d, want a list of tools: %s", status, clip(text))
	}
	var errs []error
	wanted := map[string]bool{}
	for _, t := range p.Host.Host().Tools() {
		if !isOurs(&t) || len(t.Roles) > 0 {
			continue
		}
		wanted[t.Name] = true
		if err := p.register(ctx, &t, list.Roles); err != nil {
			errs = append(errs, err)
		}
	}
	for name := range p.sent {
		if !wanted[name] {
			err := p.ask(ctx, "unregister", map[string]any{"name": name, "role": nil, "expected_source": providerSource}, nil)
			if err == nil {
				delete(p.sent, name)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// register registers a tool unless all roles have it.
func (p *Provider) register(ctx context.Context, t *starhost.Tool, roles map[string][]listedTool) error {
	timeout := maxTimeout
	if t.Timeout > 0 {
		timeout = min(t.Timeout+time.Second, maxTimeout)
	}
	parameters := t.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	q := registration{
		Name: t.Name, Description: t.Description, Parameters: parameters, Callback: p.Callback + invokePath,
		Source: providerSource, Timeout: timeout.Seconds(),
	}
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	isThere := func(l listedTool) bool {
		return l.Name == t.Name && l.Source == providerSource && l.Callback == q.Callback
	}
	missing := len(roles) == 0 || p.sent[t.Name] != string(text)
	for _, list := range roles {
		missing = missing || !slices.ContainsFunc(list, isThere)
	}
	if !missing {
		return nil
	}
	var answer struct {
		OK     bool      `json:"ok"`
		Failed []failure `json:"failed_roles"`
	}
	if err := p.ask(ctx, "register", q, &answer); err != nil {
		return err
	}
	if !answer.OK {
		why := "no role took it"
		if len(answer.Failed) > 0 {
			why = answer.Failed[0].Error
		}
		return fmt.Errorf("tool %s is not registered: %s", t.Name, why)
	}
	p.sent[t.Name] = string(text)
	return nil
}

// ask sends a request to N.E.K.O and decodes the answer, unless to is nil.
func (p *Provider) ask(ctx context.Context, what string, body, to any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, status, err := post(ctx, p.client, p.Server+"/api/tools/"+what, text)
	switch {
	case err != nil:
		return err
	case status != http.StatusOK:
		return fmt.Errorf("%s: got HTTP %d: %s", what, status, clip(answer))
	case to != nil && json.Unmarshal(answer, to) != nil:
		return fmt.Errorf("%s: got no JSON object: %s", what, clip(answer))
	}
	return nil
}
