package decision

import (
	"testing"

	"github.com/starhost/starhost/internal/jsontext"
)

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
