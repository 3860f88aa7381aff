package loader_test

import (
	"context"
	"fmt"
	"log"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

// A program that loads plugins from files and assembles a prompt.
func ExampleLoad() {
	ctx := context.Background()
	set, err := loader.Load(ctx, loader.Options{Args: []string{"../scripts/runbooks", "../scripts/policy"}})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	session := set.Host.NewSession(host.SessionConfig{Platform: "my-agent"})
	prompt, err := session.Prompt(ctx, host.Request{Text: "May I restart checkout?", Fragments: []string{"policy:change"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(prompt.System)
	for _, row := range prompt.Fragments {
		fmt.Println(row.Status, row.Source, row.Plugin)
	}
	// Output:
	// Changes in production need a change ticket. Say which one you act under.
	// kept change policy policy
	// kept policies/change.md policy
	// kept pre_llm_call runbooks
}
