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

// TestShellLine checks that plugins can use the result of shell.parse like any struct. An earlier build had a
// type of its own for it: a comparison was an internal error, and starhost made the text of a value before
// the plugin paid for it.
func TestShellLine(t *testing.T) {
	script{src: `
a = shell.parse("a b")
assert_eq([a == shell.parse("a b"), a == shell.parse("a c"), a == shell.parse("a b", dialect = "zsh"), a == "a b", a == None], [True] + [False] * 4)
assert_eq(([a] == [shell.parse("a b")], a in [1, a], {"k": a} != {"k": a}), (True, True, False))
assert_eq(str(shell.parse("")), "line(commands = [], known = True, ok = True, reason = \"\", unknown = False, unknowns = [])")
assert_eq(json.decode(json.encode(a))["commands"][0]["argv"], ["a", "b"])
assert_eq(json.decode(result(a).for_llm), json.decode(json.encode(a)))
rm = {"k": shell.parse("sudo rm -rf x")}["k"]
assert_eq([shell.runs(rm, "rm"), shell.runs(rm, "ls")], ["yes", "no"])
assert_fails(lambda: a < a, "struct < struct not implemented")
assert_fails(lambda: a + shell.parse("b"), "cannot add structs of different constructors: line + line")
assert_fails(lambda: {a: 1}, "unhashable type: list")
for other in [a.commands[0], struct(ok = True), None]:
    assert_fails(lambda: shell.runs(other, "a"), "want string or the result of shell.parse")
`}.mustLoad(t)
}
