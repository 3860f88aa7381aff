package decision_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost/decision"
)

// TestAsked checks what a list shows of a record's event.
func TestAsked(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, tt := range []struct{ input, want string }{
		{`{"arguments": {"command": "git  push\n--force", "description": "x"}}`, "git push --force"},
		{`{"arguments": {"cmd": ["ls", "-l"]}}`, "ls -l"},
		{`{"arguments": {"file_path": "/etc/passwd", "content": "x"}}`, "/etc/passwd"},
		{`{"arguments": {"prompt": "summarise", "url": "https://x.test/a"}}`, "https://x.test/a"},
		{`{"arguments": {"command": {"sha256": "00"}, "path": "a"}}`, "a"},
		{`{"arguments": {"cluster": "prod-1", "n": 2}}`, `{"cluster":"prod-1","n":2}`},
		{`{"arguments": {}}`, ""},
		{`{"arguments": "text"}`, `"text"`},
		{`{"user_message": "Why?"}`, "Why?"},
		{`{"user_message": {"sha256": "00", "bytes": 4}}`, ""},
		{`{"command": "deploy", "args": ["web", "now"]}`, "/deploy web now"},
		{`{}`, ""},
		{`{"arguments": {"command": "` + long + `"}}`, strings.Repeat("é", 18) + "…"},
	} {
		var r decision.Record
		if err := json.Unmarshal([]byte(tt.input), &r.Input); err != nil {
			t.Fatal(err)
		}
		if got := r.Asked(40); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.input, got, tt.want)
		}
	}
}
