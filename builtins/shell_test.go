//go:build !race

package builtins_test

import (
	"fmt"
	"testing"
)

// TestShellHeredocCost checks the price of a file of 10 KB that an agent writes with a
// here-document.
func TestShellHeredocCost(t *testing.T) {
	for _, tt := range []struct{ name, start, line string }{
		{"quoted", `cat > src/app.ts <<'EOF'`, "  const total = items.map((i) => i.price * $(i.n)).reduce((a, b) => a + b, 0);"},
		{"unquoted", `mkdir -p src && cat <<EOF > src/app.py`, "    total = sum(item.price for item in items)  # (a, b) {c} [d]"},
	} {
		setup := fmt.Sprintf("s = %q + '\\n' + ((%q + '\\n') * 200)[:10000 - 40] + 'port = $PORT\\n' * 3 + '\\nEOF\\n'", tt.start, tt.line)
		for _, call := range []string{"shell.parse(s)", "shell.runs(s, 'kubectl', 'delete')"} {
			usage := workload{name: "shell", setup: setup, expr: call}.prepare(t, 0)()
			if usage.Steps > 20_000 {
				t.Errorf("%s: %s costs %d steps, want at most 20000", tt.name, call, usage.Steps)
			}
			t.Logf("%s: %s costs %d steps", tt.name, call, usage.Steps)
		}
	}
}
