//go:build !race

// The race detector allocates memory of its own, so these tests would measure too much.

package modules

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
)

// A lookup by a name of megabytes ends before any work that grows with the name, and no message
// quotes the name.
func TestLongNamesAreCheap(t *testing.T) {
	name := starlark.String(strings.Repeat("A/", 1<<20))
	for _, expr := range []string{
		"time.is_valid_timezone(x)",
		"time.time(2020, location = x)",
		`time.parse_time("2020", "2006", x)`,
		`time.parse_time("2020", x)`,
		"time.time(2020).format(x)",
		"time.time(2020).in_location(x)",
		`time.time(1 << 500)`,
		`re.search("a", "a").group(x)`,
		`text.pad("a", 5, align = x)`,
		"re.search(x, '')",
	} {
		t.Run(expr, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v, err := modEval(&modRuntime{}, expr, name)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
				t.Errorf("allocated %d bytes", got)
			}
			if err == nil && v != starlark.False {
				t.Errorf("got %v, want an error", v)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("got a message of %d bytes", len(err.Error()))
			}
		})
	}
}

// The test adds a zone with a long name to the table of zones, because a lookup that hashes the name
// allocates nothing, and the test could not see it.
func TestLongZoneNames(t *testing.T) {
	name := strings.Repeat("A/", maxZoneName)
	zones.Store(name, time.UTC)
	defer zones.Delete(name)
	if _, err := LoadZone(name); err == nil {
		t.Errorf("a name of %d bytes was looked up", len(name))
	}
}
