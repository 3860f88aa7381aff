package golden_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/loader"
)

// guides returns the plugins that are rewritten from the guides of other systems.
func guides(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("plugins/*/plugin.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plugins: %v", err)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

// TestGuides runs the cases of each of these plugins, which show what its guide promises. A plugin without
// cases fails.
func TestGuides(t *testing.T) {
	for _, dir := range guides(t) {
		golden.Run(t, dir)
	}
}

// TestCombining shows how the decisions of several plugins become one.
func TestCombining(t *testing.T) {
	golden.Run(t, "plugins/combining")
}

// TestReferences shows the host's own references.
func TestReferences(t *testing.T) {
	golden.Run(t, "plugins/references")
}

// TestGuidesTogether loads all these plugins, and checks that they do not conflict. The plugin with models
// works after the operator grants what it declares.
func TestGuidesTogether(t *testing.T) {
	tests := []struct {
		name   string
		grants []string
		want   string // the error when a turn chooses the model
	}{
		{"granted", []string{"gptme_full=http:api.example.com", "gptme_full=secret:MY_LLM_API_KEY@api.example.com"}, ""},
		{"the secret is not granted", []string{"gptme_full=http:api.example.com"}, `model my_llm cannot be used: plugin gptme_full has no permission secret:MY_LLM_API_KEY@api.example.com: add to the list gptme_full in [grants] of your config: "secret:MY_LLM_API_KEY@api.example.com" (or --grant gptme_full=secret:MY_LLM_API_KEY@api.example.com)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, err := loader.Load(t.Context(), loader.Options{Args: guides(t), Grants: tt.grants})
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			if err := set.Err(); err != nil {
				t.Fatal(err)
			}
			got := ""
			if _, _, err := set.Host.Endpoint("my_llm/fast"); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("my_llm/fast (-want +got):\n%s", diff)
			}
		})
	}
}
