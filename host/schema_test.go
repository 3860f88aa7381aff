package host_test

import (
	"encoding/json"
	"testing"

	"github.com/starhost/starhost"
)

// TestToolSchema checks that a request has a tool's schema without the keywords for which endpoints would
// refuse all tools of the request.
func TestToolSchema(t *testing.T) {
	for schema, want := range map[string]string{
		``: `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{}]}}}`:              `{"type":"object","properties":{"a":{"anyOf":[{}]}}}`,
		`{"type":"object", "anyOf":[{"required":["a"]}], "properties":{}}`: `{"type":"object", "properties":{}}`,
		`{"oneOf":[],"type":"object","allOf":[]}`:                          `{"type":"object"}`,
		`{"type":"object","not":{},"enum":[1]}`:                            `{"type":"object"}`,
	} {
		tool := starhost.Tool{Parameters: json.RawMessage(schema)}
		diff(t, schema, want, string(tool.Schema()))
	}
}
