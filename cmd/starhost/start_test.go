package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// maxPrepared is the most bytes that all packages together may allocate before main begins. Every
// run of the program waits for that work. The goal P2c of docs/performance.md is 380 KB; lower this
// bound whenever a package is removed.
const maxPrepared = 370_000 // 360,000 today, and 2 % more with the race detector

// preparing lists the packages that allocate 8 KiB or more before main begins, because they fill
// tables and compile patterns, with the most KiB that each may allocate.
var preparing = map[string]int{
	"encoding/gob":                               48, // imported by the MCP library
	"github.com/BurntSushi/toml/internal":        48, // for the zone of the machine
	"github.com/bazelbuild/buildtools/build":     48,
	"github.com/bazelbuild/buildtools/tables":    16,
	"github.com/google/jsonschema-go/jsonschema": 128,
	"github.com/lib/pq/pqerror":                  24, // the names of errors of PostgreSQL; pgx prepared 60 KiB
	"github.com/modelcontextprotocol/go-sdk/mcp": 16,
	command:                                 32, // includes the tests of this package
	"github.com/starhost/starhost/starlark": 32,
	"go.starlark.net/starlark":              16,
	"go.yaml.in/yaml/v3":                    48,
	"mvdan.cc/sh/v3/fileutil":               16, // 25 µs for two patterns; the printer beside the parser imports it
	"unicode":                               16,
	"vendor/golang.org/x/net/http2/hpack":   16,
}

// command is the package of the program. maxPrepared does not count it, because the test's program
// contains its tests.
const command = "github.com/starhost/starhost/cmd/starhost"

// TestStart bounds the work of packages before main begins, in bytes, because time depends on the
// machine.
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
	count, sum := 0, 0
	for line := range strings.Lines(string(out)) {
		var (
			name      string
			at, clock float64
			size      int
		)
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &clock, &size); n < 4 || !slices.Contains(packages, name) {
			continue // only tests import the package
		}
		count++
		if name != command { // the tests of this package allocate, too
			sum += size
		}
		switch most, listed := preparing[name]; {
		case !listed && size >= 8<<10:
			t.Errorf("%s allocates %d B before main begins, want less than 8 KiB: make what it is when it is needed, or do without the package", name, size)
		case listed && size > most<<10:
			t.Errorf("%s allocates %d B before main begins, want at most %d KiB", name, size, most)
		}
	}
	if count < 50 {
		t.Errorf("got what %d packages prepare, want at least 50:\n%s", count, out)
	}
	if sum > maxPrepared {
		t.Errorf("packages allocate %d B before main begins, want at most %d", sum, maxPrepared)
	}
	t.Logf("%d packages allocate %d B before main begins", count, sum)
}
