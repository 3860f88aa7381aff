package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// preparing has the packages that allocate 8 KiB or more before main begins, as
// libraries do that fill tables and compile patterns, and the most KiB that each may.
// Every run of the program waits for them.
var preparing = map[string]int{
	"encoding/gob":                               48, // of the MCP library
	"encoding/xml":                               32,
	"github.com/BurntSushi/toml/internal":        48, // by the time zone
	"github.com/bazelbuild/buildtools/build":     48,
	"github.com/bazelbuild/buildtools/tables":    16,
	"github.com/gabriel-vasile/mimetype":         48,
	"github.com/google/jsonschema-go/jsonschema": 128,
	"github.com/modelcontextprotocol/go-sdk/mcp": 16,
	"github.com/starhost/starhost/cmd/starhost":  32, // with its tests
	"github.com/starhost/starhost/starlark":      32,
	"go.starlark.net/starlark":                   16,
	"go.yaml.in/yaml/v3":                         48,
	"unicode":                                    16,
	"vendor/golang.org/x/net/http2/hpack":        16,
}

// TestStart: the program prepares no more before main begins than it is known to. It is
// a matter of bytes, as time depends on the machine.
func TestStart(t *testing.T) {
	linked, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := strings.Fields(string(linked))
	cmd := exec.Command("starhost", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("starhost version: %v\n%s", err, out)
	}
	told := 0
	for line := range strings.Lines(string(out)) {
		var (
			name      string
			at, clock float64
			size      int
		)
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &clock, &size); n < 4 || !slices.Contains(packages, name) {
			continue // of the tests
		}
		told++
		switch most, known := preparing[name]; {
		case !known && size >= 8<<10:
			t.Errorf("%s allocates %d B before main begins, want less than 8 KiB: make what it is when it is needed, or do without the package", name, size)
		case known && size > most<<10:
			t.Errorf("%s allocates %d B before main begins, want at most %d KiB", name, size, most)
		}
	}
	if told < 50 {
		t.Errorf("got what %d packages prepare, want at least 50:\n%s", told, out)
	}
}
