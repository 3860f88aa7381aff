package builtins_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestToolDescriptions checks that a docstring reaches the model whole, except for the section that
// the derived schema contains.
func TestToolDescriptions(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"one line", `"""Adds."""`, "Adds."},
		{"the first paragraph is one line", "\"\"\"Adds\n    numbers.\n    \"\"\"", "Adds numbers."},
		{"paragraphs", "\"\"\"Adds.\n\n    Supports + and -,\n    and sqrt.\n\n\n    Use it.\n    \"\"\"", "Adds.\n\nSupports + and -,\nand sqrt.\n\nUse it."},
		{"a list", "\"\"\"Adds.\n\n    - one\n      * more\n    - two\n    \"\"\"", "Adds.\n\n- one\n  * more\n- two"},
		{"Args in the middle", "\"\"\"Adds.\n\n    First.\n\n    Args:\n      x (string): Text.\n\n        More.\n\n    Returns:\n      The sum.\n    \"\"\"",
			"Adds.\n\nFirst.\n\nReturns:\n  The sum."},
		{"Args at the end", "\"\"\"Adds.\n\n    Args:\n      x: Text.\n    \"\"\"", "Adds."},
		{"Args without a blank line", "\"\"\"Adds.\n    Args:\n      x: Text.\n    \"\"\"", "Adds."},
		{"Windows line ends", "\"\"\"Adds.\r\n\r\n    Second.\r\n\r\n    Args:\r\n      x: Text.\r\n    \"\"\"", "Adds.\n\nSecond."},
		{"odd white space", "\"\"\"Adds.\n\n        Deep.\n \u00a0\n    Less.\n    \"\"\"", "Adds.\n\n    Deep.\n\nLess."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := script{src: "def add(x):\n    " + tt.src + "\n    return x\n\nregister_tool(add)"}.mustLoad(t)
			if diff := cmp.Diff(tt.want, l.plugin.Tools[0].Description); diff != "" {
				t.Errorf("description (-want +got):\n%s", diff)
			}
		})
	}
	given := script{src: "def add(x):\n    \"\"\"Adds.\n\n    Args:\n      x: Text.\n    \"\"\"\n    return x\n\n" +
		`register_tool(add, parameters = {"type": "object", "properties": {"x": {"type": "string"}}})`}.mustLoad(t)
	if got, want := given.plugin.Tools[0].Description, "Adds.\n\nArgs:\n  x: Text."; got != want {
		t.Errorf("with a given schema: got %q, want %q", got, want)
	}
}
