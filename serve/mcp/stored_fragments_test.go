package mcp_test

import (
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/mcp"
)

// TestStored checks the stored fragments in the list of resources: each client sees the named ones
// and those that its prompts contained. Every client can read a fragment by its whole id.
func TestStored(t *testing.T) {
	store := new(fragments.MemoryStore)
	put := func(text string, names ...string) fragments.Hash {
		id := fragments.Sum(text)
		if err := store.Put(t.Context(), fragments.Content{ID: id, Text: text}); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := store.SetAlias(t.Context(), name, id); err != nil {
				t.Fatal(err)
			}
		}
		return id
	}
	rules := put("Be kind.", "rules", "manners")
	secret := put("No prompt contains this.")
	h := newHost(t, host.Options{Fragments: store}, weather(), effects.HostPlugin(effects.RefOptions{Store: store}))
	s := mcp.NewServer(host.NewLiveHost(h), mcp.Options{Fragments: store})
	asks, other := connect(t, s, nil), connect(t, s, nil)
	if _, err := asks.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "ask", Arguments: map[string]string{"place": "Rome"}}); err != nil {
		t.Fatal(err)
	}
	city := fragments.Sum("Rome is a city.")
	resource := func(id fragments.Hash, name, description string) string {
		return fmt.Sprintf(`{"description":%q,"mimeType":"text/plain","name":%q,"uri":"starhost://sha256/%s"}`, description, name, id)
	}
	named := resource(rules, "manners, rules", "A stored fragment.")
	sent := resource(city, "facts.md", "A fragment of an earlier prompt.")
	skill := `{"description":"Knows clouds.","mimeType":"text/markdown","name":"clouds","uri":"starhost://skill/weather:clouds"}`
	if rules.String() > city.String() {
		t.Fatal("the order of the ids is another")
	}
	diff(t, "of the client with the prompt", "["+named+","+sent+","+skill+"]", resources(t, asks))
	diff(t, "of others", "["+named+","+skill+"]", resources(t, other))
	for id, want := range map[fragments.Hash]string{rules: "Be kind.", city: "Rome is a city.", secret: "No prompt contains this."} {
		r, err := other.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "starhost://sha256/" + id.String()})
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "content", want, r.Contents[0].Text)
	}
	_, err := other.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "starhost://sha256/" + rules.Short()})
	if err == nil {
		t.Error("a part of an id: got no error")
	}
}

// TestStoredBounds checks that the list is bounded, whatever the store contains.
func TestStoredBounds(t *testing.T) {
	store := new(fragments.MemoryStore)
	for i := range 1500 {
		c := fragments.Content{Text: fmt.Sprint(i)}
		c.ID = fragments.Sum(c.Text)
		if err := store.Put(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := store.SetAlias(t.Context(), "n"+c.Text, c.ID); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t, host.Options{Fragments: store})
	c := connect(t, mcp.NewServer(host.NewLiveHost(h), mcp.Options{Fragments: store}), nil)
	list, err := c.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "resources", 1000, len(list.Resources))
}

// resources returns the client's list of resources as JSON.
func resources(t *testing.T, c *sdk.ClientSession) string {
	t.Helper()
	list, err := c.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return asJSON(t, list.Resources)
}
