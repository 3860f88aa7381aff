// Which endpoints of models are valid, and the two that are built in.

package host

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// EndpointAPIs are the protocols of models, the default first. Package model has a folder for each, and TestDialects
// writes the list from the clients of cmd/starhost.
var EndpointAPIs = []string{"openai", "responses", "anthropic"}

// anyModel in the models of an endpoint means that the endpoint offers more models than it lists.
const anyModel = "*"

// builtInEndpoint returns the built-in endpoint with a name, or nil. It exists as long as no plugin registers
// that name.
func builtInEndpoint(name string) *starhost.Endpoint {
	e := &starhost.Endpoint{Name: name, API: name, Models: []string{anyModel}}
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

// completeEndpoint sets the fields of an endpoint that follow from others.
func completeEndpoint(e *starhost.Endpoint) {
	if builtIn := builtInEndpoint(e.Name); builtIn != nil && e.PluginName() == starhost.HostPlugin {
		e.BaseURL, e.API = cmp.Or(e.BaseURL, builtIn.BaseURL), cmp.Or(e.API, builtIn.API)
		e.APIKey = cmp.Or(e.APIKey, builtIn.APIKey)
	}
	e.API = cmp.Or(e.API, EndpointAPIs[0])
	if e.DefaultModel == "" && len(e.Models) > 0 && e.Models[0] != anyModel {
		e.DefaultModel = e.Models[0]
	}
}

// offers reports whether an endpoint has the model.
func offers(e *starhost.Endpoint, model string) bool {
	return model != "" && (slices.Contains(e.Models, model) || slices.Contains(e.Models, anyModel))
}

// checkEndpoint returns an error if an endpoint is not valid.
func checkEndpoint(e *starhost.Endpoint) error {
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		if !toolName.MatchString(name) {
			return errtext.Errorf("name %q: want 1 to 64 of A-Z a-z 0-9 _ -", name)
		}
	}
	u, err := url.Parse(e.BaseURL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errtext.Errorf("base_url: got %q, want http or https, a host and a path", e.BaseURL)
	case !slices.Contains(EndpointAPIs, e.API):
		return errtext.Errorf("api: got %q, want %s", e.API, errtext.Or(EndpointAPIs))
	case len(e.Models) == 0 || slices.Contains(e.Models, ""):
		return errtext.Errorf("models: want one name or more")
	case e.Context < 0:
		return errtext.Errorf("context: got %d, want the most tokens of a request, or 0", e.Context)
	case slices.Contains(e.Fallback, ""):
		return errtext.Errorf("fallback: got an empty name, want models of this endpoint or NAME/MODEL")
	case e.DefaultModel != "" && !offers(e, e.DefaultModel):
		return errtext.Errorf("default_model: got %q, want one of models%s", e.DefaultModel, near.DidYouMean(e.DefaultModel, e.Models))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		if name == "" || strings.ContainsAny(name+e.Headers[name], "\r\n\x00") || strings.ContainsAny(name, " :\t") {
			return errtext.Errorf("headers: %q: want a name and a value in one line", name)
		}
	}
	return nil
}
