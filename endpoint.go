package starhost

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// An Endpoint says where language models answer: it is the data of register_model. The program that
// runs a turn calls the endpoint; this package does not.
type Endpoint struct {
	// Name is the first half of what users choose, as in NAME/MODEL:
	// ^[A-Za-z0-9_-]{1,64}$, unique in a host. Aliases are other such names.
	Name    string
	Aliases []string
	// BaseURL is http or https, without user, query and fragment.
	BaseURL string
	// API is the form of requests: "openai" (Chat Completions), which "" means, "responses" or
	// "anthropic".
	API string
	// Models are the models that the endpoint offers; at least one. The name "*" stands for any.
	// DefaultModel is one of them; "" means the first, unless that is "*".
	Models       []string
	DefaultModel string
	// Context is the most tokens of a request, 0 if the program does not know it.
	Context int
	// Fallback are the models to ask if a model does not answer: names of this endpoint's models,
	// or NAME/MODEL.
	Fallback []string
	// APIKey is the name of the secret that is sent as the key; "" for none.
	APIKey string
	// Headers are sent with each request.
	Headers map[string]string
	// Unavailable says why the endpoint cannot be used, as a permission that is not
	// granted; "" if it can.
	Unavailable string
	// Pos is where the endpoint was registered.
	Pos Pos

	plugin string
}

// Plugin returns the name of the plugin that registered the endpoint.
func (e *Endpoint) Plugin() string { return e.plugin }

var endpointAPIs = []string{"openai", "responses", "anthropic"}

// anyModel is the model of an endpoint that offers more models than it lists.
const anyModel = "*"

// builtInEndpoint returns an endpoint that exists if no plugin registers its name, or nil.
func builtInEndpoint(name string) *Endpoint {
	e := &Endpoint{Name: name, API: name, Models: []string{anyModel}}
	switch name {
	case "openai":
		e.BaseURL, e.APIKey = "https://api.openai.com/v1", "OPENAI_API_KEY"
	case "anthropic":
		e.BaseURL, e.APIKey = "https://api.anthropic.com", "ANTHROPIC_API_KEY"
	default:
		return nil
	}
	return e
}

// complete sets the fields that follow from others.
func (e *Endpoint) complete() {
	if builtIn := builtInEndpoint(e.Name); builtIn != nil && e.plugin == HostPlugin {
		e.BaseURL, e.API = cmp.Or(e.BaseURL, builtIn.BaseURL), cmp.Or(e.API, builtIn.API)
		e.APIKey = cmp.Or(e.APIKey, builtIn.APIKey)
	}
	e.API = cmp.Or(e.API, endpointAPIs[0])
	if e.DefaultModel == "" && len(e.Models) > 0 && e.Models[0] != anyModel {
		e.DefaultModel = e.Models[0]
	}
}

// offers reports whether the endpoint has a model.
func (e *Endpoint) offers(model string) bool {
	return model != "" && (slices.Contains(e.Models, model) || slices.Contains(e.Models, anyModel))
}

// check returns why an endpoint is not valid, or nil.
func (e *Endpoint) check() error {
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		if !toolName.MatchString(name) {
			return errtext.Errorf("name %q: want 1 to 64 of A-Z a-z 0-9 _ -", name)
		}
	}
	u, err := url.Parse(e.BaseURL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errtext.Errorf("base_url: got %q, want http or https, a host and a path", e.BaseURL)
	case !slices.Contains(endpointAPIs, e.API):
		return errtext.Errorf("api: got %q, want %s", e.API, orList(endpointAPIs))
	case len(e.Models) == 0 || slices.Contains(e.Models, ""):
		return errtext.Errorf("models: want one name or more")
	case e.Context < 0:
		return errtext.Errorf("context: got %d, want the most tokens of a request, or 0", e.Context)
	case slices.Contains(e.Fallback, ""):
		return errtext.Errorf("fallback: got an empty name, want models of this endpoint or NAME/MODEL")
	case e.DefaultModel != "" && !e.offers(e.DefaultModel):
		return errtext.Errorf("default_model: got %q, want one of models%s", e.DefaultModel, near.DidYouMean(e.DefaultModel, e.Models))
	}
	for _, name := range sortedKeys(e.Headers) {
		if name == "" || strings.ContainsAny(name+e.Headers[name], "\r\n\x00") || strings.ContainsAny(name, " :\t") {
			return errtext.Errorf("headers: %q: want a name and a value in one line", name)
		}
	}
	return nil
}
