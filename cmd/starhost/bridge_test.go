package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bridgeDriver calls the bridge as opencode 1.18.33 does: opencode passes an object of arguments to
// the hook and then runs this very object.
const bridgeDriver = `
import { Starhost } from "./bridge.mjs"
const hooks = await Starhost({ directory: process.cwd() })
const args = { command: "ls", workdir: "/tmp" }
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "1" }, { args })
console.log(JSON.stringify(args))
const after = { output: "the key" }
await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s", callID: "1", args }, after)
console.log(after.output)
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "2" }, { args: { command: "rm x" } }).catch((e) => console.log(e.message))
`

// TestOpencodeBridge runs opencode's bridge in Node.
func TestOpencodeBridge(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node to run opencode's bridge")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	writeFiles(t, dir, map[string]string{"main.mjs": bridgeDriver, "p.star": `
def guard(call):
    if call.command == "ls":
        return modify(arguments = {"command": "ls -la"})
    return deny("not for agents")

register_hook("pre_tool_call", guard)
register_hook("post_tool_call", lambda result: modify(result = result.replace("key", "***")))
`})
	writeFiles(t, dir, map[string]string{"bridge.mjs": runLine(t, "starhost hook opencode p.star --print-config")})
	cmd := exec.Command(node, "main.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+filepath.Join(dir, "home")) // TestMain has put starhost into PATH
	out, err := cmd.CombinedOutput()
	want := "{\"command\":\"ls -la\"}\nthe ***\ndenied by p: not for agents\n"
	if err != nil || string(out) != want {
		t.Errorf("got %v, %s, want %s", err, out, want)
	}
}
