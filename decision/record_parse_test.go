package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestParse checks that a reader decodes the records that ParseRecord decodes, to the same values.
func TestParse(t *testing.T) {
	start := `{"schema":"starhost.decision/1","id":"1","event":"pre_tool_call",`
	lines := []string{`[]`, `{"schema":"starhost.decision/1","id":"1"}`, `{"id":"1","event":"e"}`, `{"schema":"starhost.decision/1","event":"e"}`}
	for _, line := range []string{
		`"turn":1,"tool":"Bash","foreign":true,"input":{"arguments":{"a":[1]}},"set":{"revision":"x","plugins":[{"name":"p"}]}}`,
		`"time":"2026-11-23T10:00:00.5Z","decision":{"action":"deny"},"handlers":[{"plugin":"p","effects":[{"now":{}}]}],"cut":["/x"]}`,
		`"time":1}`, `"turn":"1"}`, `"Tool":"x"}`, `"tool":null,"roles":null,"input":null}`, `"\u0074ool":"x"}`, `"unknown":[{}]}`, `"id":""}`,
		`"foreign":1}`, `"input":[]}`, `"set":1}`, `"x"`,
	} {
		lines = append(lines, start+line)
	}
	var p recordParser
	for _, line := range lines {
		want, wantErr := ParseRecord([]byte(line))
		got, err := p.parse([]byte(line))
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: got the error %v, want %v", line, err, wantErr)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", line, diff)
		}
	}
}
