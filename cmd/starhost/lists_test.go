package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

// TestDialects checks that a config can name each protocol that has a client, and no other one.
func TestDialects(t *testing.T) {
	var apis []string
	for _, d := range dialects {
		apis = append(apis, d.API)
	}
	if !slices.Equal(apis, host.EndpointAPIs) {
		t.Errorf("protocols of models: dialects in conversation.go has %q, and EndpointAPIs in host/endpoint_check.go has %q", apis, host.EndpointAPIs)
	}
}

// TestStoreForms checks that the program opens each form of store.url that the config accepts, and that the
// config accepts each form that the package store opens.
func TestStoreForms(t *testing.T) {
	env := Env{dir: t.TempDir(), stores: new(databases), getenv: func(string) string { return "" }}
	keys := loader.Keys()
	wants := keys[slices.IndexFunc(keys, func(k loader.Key) bool { return k.Name == "store.url" })].Wants
	open := func(url string) error {
		_, err := env.fragmentDatabase(&loader.Config{Store: loader.StoreConfig{URL: url}})
		return err
	}
	for _, form := range regexp.MustCompile(`[^, ]+`).FindAllString(strings.ReplaceAll(wants, " or ", " "), -1) {
		if err := open(form); err != nil {
			t.Errorf("%s: loader/settings.go accepts it, and store/store.go refuses it: %v", form, err)
		}
	}
	for _, form := range regexp.MustCompile(`\b(?:[a-z]+:PATH|[a-z]+://|[a-z]+:,)`).FindAllString(open("no such URL").Error(), -1) {
		if !strings.Contains(wants, form) {
			t.Errorf("%s: store/store.go opens it, and loader/settings.go refuses it: want %s", form, wants)
		}
	}
}
