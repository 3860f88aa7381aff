package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/loader"
)

// TestDialects checks that a config can name each protocol that has a client, and no other one, and that the
// texts about the protocols of a plugin's and a config's endpoints name each of them. With -update, it writes
// EndpointAPIs, because the package host lies below the clients.
func TestDialects(t *testing.T) {
	var apis []string
	for _, d := range dialects {
		apis = append(apis, d.API)
	}
	const path = "../../host/endpoint_check.go"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^var EndpointAPIs = .*$`)
	want := fmt.Sprintf("var EndpointAPIs = %#v", apis)
	switch {
	case string(row.Find(old)) == want:
	case !*update:
		t.Errorf("%s: got %s\nwant %s\ngo test ./cmd/starhost -run TestDialects -update writes it", path, row.Find(old), want)
	default:
		if err := os.WriteFile(path, row.ReplaceAllLiteral(old, []byte(want)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	keys, rows := loader.Keys(), builtins.Table(nil)
	docs := []string{
		keys[slices.IndexFunc(keys, func(k loader.Key) bool { return k.Name == "model.NAME.api" })].Doc,
		rows[slices.IndexFunc(rows, func(e call.Entry) bool { return e.Name == "register_model" })].Doc,
	}
	for _, api := range apis {
		for _, text := range docs {
			if !strings.Contains(text, api) {
				t.Errorf("this text does not name the protocol %s: %s", api, text)
			}
		}
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
