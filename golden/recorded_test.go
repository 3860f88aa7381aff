package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/golden"
)

// readRecorded reads a text as a recorded case.
func readRecorded(t *testing.T, text string) (*golden.RecordedTurn, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.txtar")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return golden.ReadRecorded(file)
}

// recordedCase returns the text of a recorded case with these steps and further sections.
func recordedCase(steps, more string) string {
	return fmt.Sprintf("-- case.star --\n%s\n-- recorded.json --\n{\"seed\":0}\n%s", steps, more)
}

// TestReadRecordedSteps checks that a case asks what eval asks at once, so that no step of it goes unseen.
func TestReadRecordedSteps(t *testing.T) {
	for steps, want := range map[string]string{
		`prompt("a")`:                       "",
		"prompt(\"a\")\ncall_tool(\"b\")":   "",
		"prompt(\"a\")\nfire(\"error\")":    "",
		`fire("error")`:                     "",
		"":                                  "case.star: got no step, want prompt, call_tool or fire",
		`x = 1`:                             "case.star: got no step, want prompt, call_tool or fire",
		"prompt(\"a\")\nprompt(\"b\")":      "case.star:2:7: prompt: got a further step",
		"call_tool(\"a\")\nprompt(\"b\")":   "case.star:2:7: prompt: got a further step",
		"call_tool(\"a\")\ncall_tool(\"\")": "case.star:2:10: call_tool: got a further step",
		"call_tool(\"a\")\nfire(\"error\")": "case.star:2:5: fire: got a further step",
		"fire(\"error\")\nfire(\"error\")":  "case.star:2:5: fire: got a further step",
	} {
		_, err := readRecorded(t, recordedCase(steps, ""))
		if text := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.HasPrefix(text, want) {
			t.Errorf("%s: got %s, want %s", steps, text, want)
		}
	}
}

// TestReadRecordedErrors checks that no error repeats a long text of the case.
func TestReadRecordedErrors(t *testing.T) {
	long := strings.Repeat("n", 100_000)
	for name, text := range map[string]string{
		"section":  recordedCase(`prompt("a")`, "-- "+long+" --\n"),
		"path":     recordedCase(`prompt("a")`, "-- want/"+long+"/../x --\n"),
		"session":  recordedCase(`prompt("a")`, "-- session.json --\n{\""+long+"\":1}\n"),
		"recorded": "-- case.star --\nprompt(\"a\")\n-- recorded.json --\n{\"" + long + "\":1}\n",
		"now":      recordedCase(`prompt("a")`, "-- now --\n"+long+"\n"),
		"effect":   recordedCase(`prompt("a")`, "-- effects.jsonl --\n{\""+long+"\":1}\n"),
		"name":     recordedCase(long+long, ""),
	} {
		if _, err := readRecorded(t, text); err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), long[:250]) {
			t.Errorf("%s: got an error of %d bytes, want it short", name, len(fmt.Sprint(err)))
		}
	}
}

// FuzzReadRecorded states a law: a recorded case that can be read asks something, and every error is short.
func FuzzReadRecorded(f *testing.F) {
	for _, effects := range []string{"", `{"lane":"1","plugin":"a","env":{"name":"A"},"reply":"b"}`, `{"lane":"1/2","plugin":"a","env":{"name":"A"},"error":{"message":"b"}}`} {
		f.Add("prompt(\"a\", fragments = [\"b\"])", `{"seed":1,"plugins":{"a":"b"}}`, effects, "2026-01-01T00:00:00Z")
		f.Add("call_tool(\"a\", **{\"b\": [1, None]})", `{"seed":0}`, effects, "x")
		f.Add("prompt(\"a\", attachments = [attachment(content = base64.decode(\"QQ==\"), name = \"n\")])\nfire(\"error\", error = \"b\")", `{}`, effects, "")
	}
	f.Fuzz(func(t *testing.T, steps, recorded, effects, now string) {
		r, err := readRecorded(t, fmt.Sprintf("-- case.star --\n%s\n-- recorded.json --\n%s\n-- effects.jsonl --\n%s\n-- now --\n%s\n", steps, recorded, effects, now))
		switch {
		case err != nil && len(err.Error()) > 5000:
			t.Errorf("got an error of %d bytes", len(err.Error()))
		case err == nil && !r.Prompt && r.Call == "" && r.Event == "" && !strings.Contains(steps, "-- "):
			t.Error("the case asks nothing")
		case err == nil && r.Replay == nil:
			t.Error("the case has no replay")
		}
	})
}
