package neko

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// RegistryOptions control a [Registry]. Roles and Apply are required.
type RegistryOptions struct {
	// Roles are the roles that a tool can be registered for.
	Roles []string
	// Apply makes a host with the tools of [Registry.Plugin] the one in use. The error says why
	// the tools from before stay. Calls of Apply do not overlap.
	Apply func(context.Context) error
	// Warn receives a line for the operator. Nil drops it.
	Warn func(string)
}

// A Registry contains the tools that N.E.K.O's plugins register over HTTP. It is in memory: plugins
// look whether their tools are still there. It is safe for concurrent use.
type Registry struct {
	RegistryOptions
	client *http.Client

	evicting sync.WaitGroup
	changing sync.Mutex // one change at a time, because Apply is slow
	mu       sync.Mutex
	tools    []*definition // in the order of their registration
	failures map[endpoint]int
}

// A definition is a registered tool. It is never changed; another one replaces it.
type definition struct {
	name, description, source, callback string
	parameters                          json.RawMessage
	roles                               []string // all roles that have it
	timeout                             time.Duration
}

// An endpoint is the address at which a source answers.
type endpoint struct{ source, origin string }

// NewRegistry returns an empty registry.
func NewRegistry(o RegistryOptions) *Registry {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &Registry{RegistryOptions: o, client: newClient(), failures: map[endpoint]int{}}
}

// Close waits for changes under way and closes the idle connections to plugins. No call may run.
func (r *Registry) Close() error {
	r.evicting.Wait()
	r.client.CloseIdleConnections()
	return nil
}

// Handler returns the handler of all requests: the paths under /api/tools.
func (r *Registry) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/tools/register", r.register)
	mux.HandleFunc("POST /api/tools/unregister", r.unregister)
	mux.HandleFunc("POST /api/tools/clear", r.clear)
	mux.HandleFunc("GET /api/tools", r.list)
	return refuseOthers(mux)
}

// Plugin returns a plugin with all tools. Their approval is auto, and hooks guard their calls.
func (r *Registry) Plugin() starhost.Plugin {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pluginOf(r.tools)
}

// pluginName is the name of the plugin with the registered tools.
const pluginName = "neko"

func (r *Registry) pluginOf(tools []*definition) starhost.Plugin {
	p := starhost.Plugin{Name: pluginName}
	for _, d := range tools {
		t := starhost.Tool{
			Name: d.name, Description: d.description, Parameters: d.parameters,
			Approval: starhost.ApprovalAuto, Timeout: d.timeout,
			Call: func(ctx context.Context, call starhost.ToolCall) (starhost.Result, error) {
				return r.call(ctx, d, call)
			},
		}
		if len(d.roles) < len(r.Roles) {
			t.Roles = d.roles
		}
		p.Tools = append(p.Tools, t)
	}
	return p
}

// A failure says why a role did not change.
type failure struct {
	Role  string `json:"role"`
	Error string `json:"error"`
}

// targets returns the roles that a request is about: all for "". ok is false for an unknown role,
// which targets has answered.
func (r *Registry) targets(w http.ResponseWriter, role *string) (roles []string, ok bool) {
	if role == nil || *role == "" {
		return r.Roles, true
	}
	if !slices.Contains(r.Roles, *role) {
		writeJSON(w, http.StatusNotFound, map[string]any{"detail": "unknown role: " + *role})
		return nil, false
	}
	return []string{*role}, true
}

// change replaces the list of tools and applies it. If that fails, the old list stays.
func (r *Registry) change(ctx context.Context, next []*definition) error {
	r.mu.Lock()
	old := r.tools
	r.tools = next
	r.mu.Unlock()
	err := r.Apply(ctx)
	if err != nil {
		r.mu.Lock()
		r.tools = old
		r.mu.Unlock()
	}
	return err
}

// snapshot returns the list of tools.
func (r *Registry) snapshot() []*definition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tools
}

// register answers a registration. A tool of the same name and source is replaced; one of another
// source is not.
func (r *Registry) register(w http.ResponseWriter, req *http.Request) {
	q := registration{Source: "external", Timeout: defaultTimeout.Seconds()}
	d, err := q.read(req.Body)
	if err != nil {
		writeInvalid(w, err)
		return
	}
	roles, ok := r.targets(w, q.Role)
	if !ok {
		return
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	tools := r.snapshot()
	d.roles = roles
	i := slices.IndexFunc(tools, func(o *definition) bool { return o.name == d.name })
	if i >= 0 {
		err = d.replace(tools[i])
	} else if len(tools) >= maxTools {
		err = fmt.Errorf("%d tools are registered, limit %d", len(tools), maxTools)
	}
	if err == nil {
		err = host.New(host.Options{}).Add(r.pluginOf([]*definition{d})) // its schema
	}
	if err == nil {
		next := slices.Clone(tools)
		if i >= 0 {
			next = slices.Delete(next, i, i+1)
		}
		err = r.change(req.Context(), append(next, d))
	}
	answer := map[string]any{
		"ok": err == nil, "registered": d.name, "affected_roles": roles, "failed_roles": failures(roles, err),
	}
	if err != nil {
		answer["affected_roles"], answer["error"] = []string{}, "no role accepted the registration"
	}
	writeJSON(w, http.StatusOK, answer)
}

// replace prepares the replacement of an old definition of the same name.
func (d *definition) replace(old *definition) error {
	if old.source != d.source {
		return fmt.Errorf("tool '%s' already owned by source '%s' (cross-source overwrite refused)", d.name, old.source)
	}
	for _, role := range old.roles {
		switch {
		case slices.Contains(d.roles, role):
		case d.isLike(old):
			d.roles = append(slices.Clone(d.roles), role)
		default:
			return fmt.Errorf("the role '%s' has another tool '%s', and starhost offers one tool of a name", role, d.name)
		}
	}
	return nil
}

// isLike reports whether two definitions of a name do the same.
func (d *definition) isLike(o *definition) bool {
	return o.callback == d.callback && o.description == d.description && bytes.Equal(o.parameters, d.parameters)
}

// failures returns what failed for each role: nothing for nil.
func failures(roles []string, err error) []failure {
	list := []failure{}
	for _, role := range roles {
		if err != nil {
			list = append(list, failure{role, err.Error()})
		}
	}
	return list
}

// remove takes roles from the definitions that fit, and drops those without roles. It returns the
// number of removed tools, counted for each role, and the roles that changed.
func (r *Registry) remove(
	ctx context.Context, roles []string, fits func(*definition) bool,
) (removed int, affected []string, err error) {
	var next []*definition
	for _, d := range r.snapshot() {
		rest := slices.DeleteFunc(slices.Clone(d.roles), func(role string) bool { return slices.Contains(roles, role) })
		if !fits(d) || len(rest) == len(d.roles) {
			next = append(next, d)
			continue
		}
		removed += len(d.roles) - len(rest)
		for _, role := range d.roles {
			if slices.Contains(roles, role) && !slices.Contains(affected, role) {
				affected = append(affected, role)
			}
		}
		if len(rest) > 0 {
			changed := *d
			changed.roles = rest
			next = append(next, &changed)
		}
	}
	if removed == 0 {
		return 0, []string{}, nil
	}
	if err := r.change(ctx, next); err != nil {
		return 0, []string{}, err
	}
	return removed, affected, nil
}

// unregister answers a request to drop one tool.
func (r *Registry) unregister(w http.ResponseWriter, req *http.Request) {
	var q struct {
		Name   string  `json:"name"`
		Role   *string `json:"role"`
		Source *string `json:"expected_source"`
	}
	err := readBody(req.Body, &q)
	if err == nil {
		err = checkName(q.Name)
	}
	if err != nil {
		writeInvalid(w, err)
		return
	}
	roles, ok := r.targets(w, q.Role)
	if !ok {
		return
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	refused := []map[string]string{}
	removed, affected, err := r.remove(req.Context(), roles, func(d *definition) bool {
		if d.name != q.Name {
			return false
		}
		if q.Source != nil && *q.Source != d.source {
			for _, role := range d.roles {
				if slices.Contains(roles, role) {
					refused = append(refused, map[string]string{"role": role, "owned_by": d.source})
				}
			}
			return false
		}
		return true
	})
	writeJSON(w, http.StatusOK, map[string]any{
		"ok": err == nil, "removed": removed > 0, "name": q.Name, "affected_roles": affected,
		"failed_roles": failures(roles, err), "refused_roles": refused,
	})
}

// clear answers a request to drop the tools of a source.
func (r *Registry) clear(w http.ResponseWriter, req *http.Request) {
	var q struct {
		Source string  `json:"source"`
		Role   *string `json:"role"`
	}
	err := readBody(req.Body, &q)
	if err == nil && q.Source == "" {
		err = &fieldError{"source", "want a source"}
	}
	if err != nil {
		writeInvalid(w, err)
		return
	}
	roles, ok := r.targets(w, q.Role)
	if !ok {
		return
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	removed, affected, err := r.remove(req.Context(), roles, func(d *definition) bool { return d.source == q.Source })
	writeJSON(w, http.StatusOK, map[string]any{
		"ok": err == nil, "removed": removed, "source": q.Source, "affected_roles": affected,
		"failed_roles": failures(roles, err),
	})
}

// A listedTool is a tool in the list for a role.
type listedTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"`
	Callback    string `json:"callback_url"`
	IsRemote    bool   `json:"is_remote"`
}

// list answers a request for the registered tools.
func (r *Registry) list(w http.ResponseWriter, req *http.Request) {
	role := req.URL.Query().Get("role")
	roles, ok := r.targets(w, &role)
	if !ok {
		return
	}
	tools := map[string][]listedTool{}
	for _, role := range roles {
		tools[role] = []listedTool{}
		for _, d := range r.snapshot() {
			if slices.Contains(d.roles, role) {
				tools[role] = append(tools[role], listedTool{d.name, d.description, d.source, d.callback, true})
			}
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "tools_by_role": tools})
}

// call sends a call to the plugin of a tool. A failure is a result that the model reads.
func (r *Registry) call(ctx context.Context, d *definition, call starhost.ToolCall) (starhost.Result, error) {
	body, err := json.Marshal(map[string]any{
		"name": d.name, "arguments": call.Arguments, "call_id": call.ID, "raw_arguments": string(call.Arguments),
	})
	if err != nil {
		return starhost.Result{}, err
	}
	text, status, err := post(ctx, r.client, d.callback, body)
	r.countFailure(d, err)
	switch {
	case err != nil:
		return starhost.Result{}, fmt.Errorf("the plugin of tool %s does not answer: %w", d.name, err)
	case status >= http.StatusBadRequest:
		return starhost.Result{}, fmt.Errorf("the plugin of tool %s answered with HTTP %d: %s", d.name, status, clip(text))
	}
	return readResult(text), nil
}

// post sends JSON and returns the answer.
func post(ctx context.Context, c *http.Client, to string, body []byte) (text []byte, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	return do(c, req)
}

// do sends a request and returns the answer, with at most MaxBody bytes.
func do(c *http.Client, req *http.Request) (text []byte, status int, err error) {
	answer, err := c.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, MaxBody+1))
	if err == nil && len(text) > MaxBody {
		err = fmt.Errorf("got more than %d bytes, want less", MaxBody)
	}
	return text, answer.StatusCode, err
}

// clip returns at most 200 bytes of an answer.
func clip(text []byte) string {
	return strings.ToValidUTF8(string(text[:min(len(text), 200)]), "\uFFFD")
}

// readResult decodes the answer of a plugin: an object with output, or with is_error and error. Any
// other answer is the output itself.
func readResult(text []byte) starhost.Result {
	var e envelope
	var members map[string]json.RawMessage
	isEnvelope := json.Unmarshal(text, &members) == nil && json.Unmarshal(text, &e) == nil && (members["output"] != nil || e.IsError)
	switch {
	case !isEnvelope:
		return starhost.Result{ForLLM: outputText(text)}
	case e.IsError && e.Error != "":
		return starhost.Result{ForLLM: e.Error, IsError: true}
	}
	return starhost.Result{ForLLM: outputText(e.Output), IsError: e.IsError}
}

// outputText returns the text of a value: a string as it is, any other value as compact JSON.
func outputText(value []byte) string {
	var s string
	if json.Unmarshal(value, &s) == nil && !bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return strings.ToValidUTF8(string(value), "\uFFFD")
	}
	return b.String()
}

// pluginSource begins the sources of N.E.K.O's plugins. Other sources come and go by other rules,
// so their tools stay.
const pluginSource = "plugin:"

// countFailure counts connections in a row that fail, and drops the tools of a plugin that is gone.
// A plugin that answers anything is there.
func (r *Registry) countFailure(d *definition, err error) {
	if !strings.HasPrefix(d.source, pluginSource) {
		return
	}
	at := endpoint{d.source, originOf(d.callback)}
	r.mu.Lock()
	if !isConnectError(err) {
		delete(r.failures, at)
		r.mu.Unlock()
		return
	}
	r.failures[at]++
	gone := r.failures[at] >= maxFailures
	if gone {
		delete(r.failures, at)
	}
	r.mu.Unlock()
	if gone {
		r.evicting.Go(func() { r.evict(at) }) // the caller is a turn of the host that evict replaces
	}
}

// evict drops the tools at an endpoint.
func (r *Registry) evict(at endpoint) {
	r.changing.Lock()
	defer r.changing.Unlock()
	n, _, err := r.remove(context.Background(), r.Roles, func(d *definition) bool {
		return d.source == at.source && originOf(d.callback) == at.origin
	})
	if n > 0 || err != nil {
		r.Warn(fmt.Sprintf("%s at %s did not answer %d times: its tools are removed", at.source, at.origin, maxFailures))
	}
}

// isConnectError reports whether nothing listens at the address of a request.
func isConnectError(err error) bool {
	dialing, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, syscall.ECONNREFUSED) || ok && dialing.Op == "dial" && dialing.Timeout()
}

// originOf returns the scheme, the host and the port of a URL.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + u.Hostname() + ":" + port
}
