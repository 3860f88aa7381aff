package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost/internal/jsontext"
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

// TestPointers checks who wrote the text at each pointer of a record, and whether its value can have
// any type.
func TestPointers(t *testing.T) {
	for _, tt := range []struct {
		at     string
		origin origin
		isFree bool
	}{
		{"/agent", isHosts, false}, {"/input", isArgument, false}, {"/input/arguments/command", isPlugins, true},
		{"/input/arguments/command/0", isPlugins, true}, {"/input/arguments/x/command", isArgument, true}, {"/input/command", isArgument, true},
		{"/input/reason", isPlugins, true}, {"/errors/0", isPlugins, false}, {"/context/0/title", isPlugins, false},
		{"/set/plugins/0/config/x", isArgument, true}, {"/set/plugins/0/config", isArgument, false}, {"/set/plugins/0/name/x", isArgument, false},
		{"/decision", isHosts, false}, {"/decision/action", isHosts, false}, {"/decision/reason", isPlugins, false}, {"/decision/value", isArgument, true},
		{"/decision/changes", isArgument, false}, {"/decision/changes/x", isArgument, true}, {"/decision/result/for_llm", isArgument, false},
		{"/handlers", isHosts, false}, {"/handlers/0", isHosts, false}, {"/handlers/0/pos", isHosts, false}, {"/handlers/0/error", isPlugins, false},
		{"/handlers/0/logs/0/text", isPlugins, false}, {"/handlers/0/effects/0", isArgument, false}, {"/handlers/0/effects/0/reply", isArgument, true},
		{"/handlers/0/value", isArgument, true}, {"/handlers/0/changes/x", isArgument, true}, {"/approval/by", isHosts, false},
		{"/approval/asks/0/reason", isPlugins, false}, {"/approval/asks/0/pos", isHosts, false},
	} {
		if got := originOf([]byte(tt.at)); got != tt.origin {
			t.Errorf("origin of %s: got %d, want %d", tt.at, got, tt.origin)
		}
		if got := isFree(tt.at); got != tt.isFree {
			t.Errorf("%s is free: got %v", tt.at, got)
		}
	}
}

// TestSameChange checks which new values equal a recorded one.
func TestSameChange(t *testing.T) {
	digest := func(text string) string { return string(jsontext.EncodeOrNull(digestOf(text))) }
	for _, tt := range []struct {
		recorded, value string
		want            bool
	}{
		{`"a"`, `"a"`, true}, {`"a"`, `"b"`, false}, {`{"a": 1}`, `{"a":1}`, true}, {`[1]`, `[1,2]`, false}, {`[1]`, `{}`, false}, {`{}`, `[]`, false},
		{`1`, `1.0`, false}, {`null`, `1`, false}, {digest("a"), `"a"`, true}, {digest("a"), `"b"`, false}, {digest("[1]"), `[1]`, true},
		{`{"x":` + digest("a") + `}`, `{"x":"a"}`, true}, {`{"x":` + digest("a") + `}`, `{"x":"b"}`, false},
		{`{"bytes":1,"sha256":"x","more":1}`, `"a"`, false}, {`"a<masked>b"`, `"a1b"`, true}, {`"a<masked>b"`, `"a1c"`, false}, {`"a<masked>b<masked>c"`, `"a1b2c"`, true},
		{`"a<masked>b<masked>c"`, `"a1c"`, false}, {`"a<masked>a"`, `"a"`, false}, {`"<masked>b"`, `"bab"`, true}, {`"a<masked>"`, `1`, false},
		{`{"for_llm":"","digest":` + digest("a\x00b") + `}`, `{"for_llm":"a","for_user":"b"}`, true},
		{`{"for_llm":"","digest":` + digest("a\x00b") + `}`, `{"for_llm":"a"}`, false},
		{`{"for_llm":"","digest":` + digest("a\x00") + `}`, `{"for_llm":"a","is_error":true}`, false}, {`{"for_llm":"a"}`, `{"for_llm":"b"}`, false},
		{`{"for_llm":"","digest":` + digest("a\x00") + `}`, `"a"`, false},
	} {
		if got := sameChange([]byte(tt.recorded), []byte(tt.value)); got != tt.want {
			t.Errorf("%s and %s: got %v", tt.recorded, tt.value, got)
		}
	}
	a, b := &Result{ForLLM: "a"}, &Result{ForLLM: "b"}
	for i, got := range []bool{sameResult(nil, nil), sameResult(a, &Result{ForLLM: "a"}), !sameResult(a, b), !sameResult(nil, a), !sameResult(a, nil)} {
		if !got {
			t.Errorf("pair %d of results: got the other answer", i)
		}
	}
}
