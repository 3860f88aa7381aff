package effects

import "strings"

// CheckEndpoint says why the plugin may not have requests sent to a base URL with
// a secret as their key, "" for none; nil if it may. Nothing is sent: whoever calls
// the endpoint sends. So a permission for the host is enough, whatever its methods.
func (w *World) CheckEndpoint(baseURL, secret string) error {
	t, err := parseTarget(baseURL)
	if err != nil {
		return err
	}
	t.path = strings.TrimSuffix(t.path, "/") + "/"
	if err := w.maySend(t); err != nil {
		return err
	}
	if secret == "" {
		return nil
	}
	return w.mayReveal(secret, t.host)
}
