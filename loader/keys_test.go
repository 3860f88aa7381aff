package loader_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost/loader"
)

// TestKeys compares the reference of the config with the config.
func TestKeys(t *testing.T) {
	builtIn := parseConfig(t, "")
	for _, k := range loader.Keys() {
		t.Run(k.Name, func(t *testing.T) {
			parse := parseConfig
			if strings.HasPrefix(k.Project, "never, nor") {
				parse = parseManaged
			}
			if k.Wants == "" || k.Project == "" || k.Task.Doc == "" || !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("got %+v, want all fields, with sentences in Doc", k)
			}
			for _, part := range strings.Split(strings.ToLower(k.Name), ".") {
				if part != "name" && part != "key" && !strings.Contains(k.Example, part) {
					t.Errorf("the example sets another key: %s", k.Example)
				}
			}
			if same(builtIn, parse(t, k.Example)) {
				t.Errorf("the example changes nothing: %s", k.Example)
			}
			if k.Default == "" || strings.Contains(k.Name, "NAME") {
				return // an absent table has no values
			}
			if !same(builtIn, parse(t, k.Name+" = "+k.Default)) {
				t.Errorf("%s is not the built-in value", k.Default)
			}
		})
	}
}

func parseConfig(t *testing.T, src string) *loader.Config {
	t.Helper()
	c, warnings, err := loader.ParseConfig("starhost.toml", "/project", []byte(src))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%s: %v, warnings %v", src, err, warnings)
	}
	return c
}

// parseManaged is parseConfig for keys that only the managed config may set.
func parseManaged(t *testing.T, src string) *loader.Config {
	t.Helper()
	_, o := managedTree(t, "-- etc/config.toml --\n"+src+"\n-- project/.git/x --\n")
	c, warnings, err := loader.LoadConfig(o)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%s: %v, warnings %v", src, err, warnings)
	}
	c.Status.Place, c.Status.Managed = loader.Place{}, false
	return c
}

func same(x, y *loader.Config) bool {
	return cmp.Equal(x, y, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(loader.Config{}))
}
