package starhost

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
	// Plugin is the endpoint's plugin, nil for a built-in one. A host sets it in its copy of the
	// plugin.
	Plugin *Plugin
}

// PluginName returns the name of the endpoint's plugin, or "" for a built-in endpoint.
func (e *Endpoint) PluginName() string { return nameOf(e.Plugin) }
