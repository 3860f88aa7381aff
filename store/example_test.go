package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/store"
)

// An embedding program stores the fragments of its prompts.
func Example() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(store.Options{URL: "sqlite:" + filepath.Join(dir, "agent.db")})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := context.Background()
	h := host.New(host.Options{Fragments: db.Fragments()})
	notes := starhost.Plugin{Name: "notes", FragmentLoaders: []starhost.FragmentLoader{{
		Prefix: "note",
		Load: func(_ context.Context, name string) (starhost.Context, error) {
			return starhost.Context{Fragments: []fragments.Fragment{{Content: "A note about " + name + "."}}}, nil
		},
	}}}
	if err := h.Add(notes); err != nil {
		log.Fatal(err)
	}
	_, err = h.NewSession(host.SessionConfig{}).Prompt(ctx, host.Request{Text: "Why?", Fragments: []string{"note:pods"}})
	if err != nil {
		log.Fatal(err)
	}
	list, _, err := db.List(ctx, store.Filter{})
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range list {
		fmt.Println(item.ID.Short(), item.Source, item.Begin)
	}
	// Output: f5135cb2d4f3 note:pods A note about pods.
}
