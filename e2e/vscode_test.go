package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVSCode activates the extension for VS Code with the real client of the protocol, the real
// server and a stub of the editor, and looks at the findings that the editor would show.
func TestVSCode(t *testing.T) {
	node := clients(t)
	program := build(t)
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "plugins"), 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "vscode.cjs", "../editors/vscode/extension.js", program, dir)
	cmd.Env = append(emptyHome(t), "NODE_PATH="+modules)
	out, err := cmd.CombinedOutput()
	const want = "0:0 undefined: register_tol (did you mean register_tool?)\n" +
		"0:0 the file has no docstring: say first what it is for\n"
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Errorf("findings: %v (-want +got):\n%s", err, diff)
	}
}
