package builtins_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/builtins"
)

func TestClassMembers(t *testing.T) {
	for class, want := range map[string]string{
		"Response": "status: int, headers: dict[str, str], text: str, body: Bytes, json: () -> Any",
		"Secret":   "",
		"str":      "",
		"Tool": "clear: (...) -> Any, get: (...) -> Any, items: (...) -> Any, keys: (...) -> Any, pop: (...) -> Any, popitem: (...) -> Any, " +
			"setdefault: (...) -> Any, update: (...) -> Any, values: (...) -> Any, name: str, description: str, parameters: dict[str, Any], plugin: str",
		"Duration": "hours: float, minutes: float, seconds: float, milliseconds: int, microseconds: int, nanoseconds: int",
	} {
		var got []string
		for _, m := range builtins.ClassMembers(class) {
			got = append(got, m.Name+": "+m.Type)
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", class, diff)
		}
	}
}
