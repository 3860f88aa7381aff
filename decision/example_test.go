package decision_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
)

// A host passes each event that a hook answered to the log, and a reader returns the records.
func ExampleLog() {
	dir, err := os.MkdirTemp("", "decisions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	records := decision.New(decision.Options{Dir: dir, Agent: "shop"})
	h := host.New(host.Options{Observe: records.Observe})
	err = h.Add(starhost.Plugin{Name: "freeze", Hooks: []starhost.Hook{{Event: "pre_tool_call",
		Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
			return starhost.Deny("no deploys on Fridays"), nil
		}}}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = h.NewSession(host.SessionConfig{}).Fire(context.Background(), &starhost.Event{Name: "pre_tool_call", Tool: "deploy"})
	if err != nil {
		log.Fatal(err)
	}
	reader, err := decision.NewReader(dir)
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range reader.All() {
		fmt.Println(r.Tool, r.Decision.Action, r.Decision.Reason, err)
	}
	// Output: deploy deny no deploys on Fridays <nil>
}
