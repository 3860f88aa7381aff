package effects

import "strings"

// CheckEndpoint returns an error if the plugin may not let the host send requests to baseURL with the named
// secret as their key. If secret is "", the requests have no key. CheckEndpoint sends nothing: the model
// adapter sends the requests later. A permission of any method for the host is therefore enough.
func (w *World) CheckEndpoint(baseURL, secret string) error {
	t, err := parseTarget(baseURL)
	if err != nil {
		return err
	}
	t.path = strings.TrimSuffix(t.path, "/") + "/"
	if err := maySend(w, t); err != nil {
		return err
	}
	if secret == "" {
		return nil
	}
	return w.mayReveal(secret, t.host)
}
