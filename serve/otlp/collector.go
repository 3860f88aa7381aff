package otlp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
)

// maxAnswer is the most bytes of a collector's answer that this package reads.
const maxAnswer = 64 << 10

// A collector is where requests go.
type collector struct {
	url     string
	headers map[string]string
	client  *http.Client
}

// newCollector returns the collector at an endpoint, to which path leads unless the endpoint has it.
func newCollector(endpoint, path string, headers map[string]string) collector {
	return collector{strings.TrimSuffix(strings.TrimSuffix(endpoint, "/"), path) + path, headers, &http.Client{
		Timeout: sendTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment},
		// The target of a redirect must not get the headers, which often have a key.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// post sends a body of JSON, and returns the answer and the start of its text.
func (c *collector) post(ctx context.Context, body []byte, encoding string) (a *http.Response, text []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	for name, text := range c.headers {
		r.Header.Set(name, text)
	}
	if a, err = c.client.Do(r); err != nil {
		return nil, nil, err
	}
	defer a.Body.Close()
	// Reading it to the end lets the connection be used again. The status says enough if that fails.
	text, _ = io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	return a, text, nil
}
