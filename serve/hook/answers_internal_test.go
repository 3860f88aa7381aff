package hook

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost"
)

var update = flag.Bool("update", false, "write testdata/answers.txt")

// verdictForms has a verdict of each form. Strings of 10,000 bytes are the longest that some agents accept.
var verdictForms = []struct {
	name string
	make func() *verdict
}{
	{"nothing", func() *verdict { return &verdict{} }},
	{"context", func() *verdict { return &verdict{context: "C"} }},
	{"long context", func() *verdict { return &verdict{context: strings.Repeat("C", 10_000)} }},
	{"longer context", func() *verdict { return &verdict{context: strings.Repeat("C", 10_001)} }},
	{"block", func() *verdict { return &verdict{block: true, reason: "R"} }},
	{"block and context", func() *verdict { return &verdict{block: true, reason: "R", context: "C"} }},
	{"stop", func() *verdict { return &verdict{block: true, stop: true, reason: "R"} }},
	{"answer", func() *verdict {
		return &verdict{block: true, reason: "R", answer: &starhost.Result{ForLLM: "A"}}
	}},
	{"ask", func() *verdict { return &verdict{ask: true, reason: "R"} }},
	{"ask and context", func() *verdict { return &verdict{ask: true, reason: "R", context: "C"} }},
	{"allow", func() *verdict { return &verdict{allow: true, reason: "R"} }},
	{"arguments", func() *verdict { return &verdict{args: json.RawMessage(`{"command":"N"}`)} }},
	{"arguments and ask", func() *verdict { return &verdict{args: json.RawMessage(`{"command":"N"}`), ask: true, reason: "R"} }},
	{"arguments and block", func() *verdict { return &verdict{args: json.RawMessage(`{"command":"N"}`), block: true, reason: "R"} }},
	{"arguments and context", func() *verdict { return &verdict{args: json.RawMessage(`{"command":"N"}`), context: "C"} }},
	{"result", func() *verdict { text := "N"; return &verdict{result: &text} }},
	{"result and context", func() *verdict { text := "N"; return &verdict{result: &text, context: "C"} }},
	{"words", func() *verdict { return &verdict{hasWords: true, words: "W"} }},
	{"no words", func() *verdict { return &verdict{hasWords: true, words: " "} }},
	{"words and context", func() *verdict { return &verdict{hasWords: true, words: "W", context: "C"} }},
	{"notice", func() *verdict { return &verdict{notice: "N"} }},
	{"notice and block", func() *verdict { return &verdict{notice: "N", block: true, reason: "R"} }},
}

// TestAnswers reads an event of each kind from golden/hooks, whose exchanges say what plugins decide. It
// compares what starhost reads in the event, and the answers in the agent's form to all verdicts, with
// testdata/answers.txt.
func TestAnswers(t *testing.T) {
	const path = "testdata/answers.txt"
	shorten := strings.NewReplacer(strings.Repeat("C", 10_001), "C+", strings.Repeat("C", 10_000), "C*")
	got := []string{"# Events and answers of all forms. go test ./serve/hook -run TestAnswers -update writes it."}
	for _, e := range recordedEvents(t) {
		got = append(got, fmt.Sprintf("%s %s: kind %d, session %q, words %q of %q with %d messages, tool %q %q %s, result %q %v, response %q, clear %v, folder %q",
			e.agent.Name, e.name, e.kind, e.session, e.prompt, e.model, len(e.history), e.tool, e.callID, e.args, e.result, e.isError, e.response, e.clear, e.workspace))
		var texts []string
		forms := map[string][]string{} // the forms, by the text of their answer
		for _, form := range verdictForms {
			a, err := e.answer(form.make())
			if err != nil {
				t.Errorf("%s %s, %s: %v", e.agent.Name, e.name, form.name, err)
			}
			text := fmt.Sprintf("%s %d %q binding %v", strings.TrimSpace(a.Out), a.Code, a.Err, a.Binding)
			text = shorten.Replace(text)
			if forms[text] == nil {
				texts = append(texts, text)
			}
			forms[text] = append(forms[text], fmt.Sprintf("%s (%s)", form.name, a.Action))
		}
		for _, text := range texts {
			got = append(got, "\t"+text+" for "+strings.Join(forms[text], ", "))
		}
	}
	for _, a := range Agents {
		if !a.Lines {
			e, err := a.Read([]byte(`{"cwd":"/w"}`))
			got = append(got, fmt.Sprintf("%s without a name: %v, %v", a.Name, e != nil && e.IsDocumented(), err))
		}
		for _, isOpen := range []bool{false, true} {
			text, _ := a.Config(Settings{Command: []string{"starhost", "hook", a.Name}, Timeout: 5 * time.Second, FailOpen: isOpen})
			got = append(got, fmt.Sprintf("%s, open %v: %q", a.Name, isOpen, text))
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(data), "\n"), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// recordedEvents returns the first event of each agent, name and kind in golden/hooks.
func recordedEvents(t *testing.T) (list []*Event) {
	t.Helper()
	files, err := filepath.Glob("../../golden/hooks/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var agent *Agent
		for line := range strings.Lines(string(archive.Files[len(archive.Files)-1].Data)) {
			if command, ok := strings.CutPrefix(line, "$ starhost hook "); ok {
				agent = AgentOf(strings.Fields(command)[0])
			}
			payload, ok := strings.CutPrefix(line, "> ")
			if !ok || agent == nil || agent.Lines {
				continue
			}
			e, err := agent.Read([]byte(payload))
			if err != nil {
				continue
			}
			if key := fmt.Sprint(e.agent.Name, e.name, e.kind); !seen[key] {
				seen[key] = true
				list = append(list, e)
			}
		}
	}
	return list
}
