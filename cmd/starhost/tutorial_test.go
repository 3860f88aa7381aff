package main

import (
	"net/http/httptest"
	"testing"
)

// tutorialReplies are the replies of the model in docs/tutorial.md, in order.
const tutorialReplies = `{"text": "", "calls": [{"name": "who_is_on_call", "arguments": {"team": "checkout"}}]}
{"text": "Ada is on call for checkout."}
`

// TestDocsNewcomersPath runs the pages of a newcomer from their own text, with an empty home:
// docs/tutorial.md from an empty folder to an agent with guards, tests and a log, then every section of
// docs/testing.md. With -update it writes the output of the commands into the pages.
func TestDocsNewcomersPath(t *testing.T) {
	t.Run("tutorial", runTutorial)
	t.Run("testing", runTestingPage)
}

func runTutorial(t *testing.T) {
	e, err := newScriptedEndpoint(tutorialReplies)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e)
	defer server.Close()
	const page = "../../docs/tutorial.md"
	p := newPageRun(t, page)
	p.replace("http://127.0.0.1:11434", server.URL)
	p.check(p.blocks(readTestFile(t, page)))
	if e.used != len(e.lines) {
		t.Errorf("got %d requests to the model, want %d", e.used, len(e.lines))
	}
}
