package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// coldStart compares whole processes: starhost with 1,000 plugins, what only reads
// their files, and others with as many plugins that do the same.
func coldStart(r *rig) error {
	starhost, err := r.program(starhostProgram)
	if err != nil {
		return err
	}
	floor, err := r.program(floorProgram)
	if err != nil {
		return err
	}
	dir, err := r.plugins()
	if err != nil {
		return err
	}
	eval := r.process(nil, starhost, "eval", dir, "-p", "hello", "-F", "text")
	for _, c := range []struct {
		claim claim
		start func() (side, error)
	}{
		{claim{"G4", "eval of 1,000 plugins, cache warm, by read + SHA-256", atMost(1.3)}, func() (side, error) { return r.process(nil, floor, "sum", dir), nil }},
		{claim{"G4", "eval of 1,000 plugins, cache warm, by pluggy", atMost(1.0 / 30)}, r.pluggyStart},
		{claim{"G4", "eval of 1,000 plugins, cache warm, by node", atMost(1.0 / 12)}, r.nodeStart},
		{claim{"G4", "eval of 1,000 plugins, cache warm, by opa", atMost(1.0 / 75)}, r.opaStart},
	} {
		if err := r.against(c.claim, eval, c.start); err != nil {
			return err
		}
	}
	if err := r.firstLoad(starhost, dir); err != nil {
		return err
	}
	return r.compare(claim{"G4c", "starhost version, by a Go program that does nothing", atMost(1.6)},
		r.process(nil, starhost, "version"), r.process(nil, floor))
}

// settled is how old files are that starhost need not read again: see sandbox.md. Those
// of people are older.
const settled = 2 * time.Second

// plugins writes a thousand plugins, once, and lets them grow old.
func (r *rig) plugins() (string, error) {
	dir := filepath.Join(r.dir, "plugins")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	dir, err := r.folder("plugins", many(r.size(1000), "%03d.star", starPlugin))
	if !r.quick {
		time.Sleep(settled + 100*time.Millisecond)
	}
	return dir, err
}

// firstLoad compares loading without a cache with parsing alone, and with itself on
// two processors.
func (r *rig) firstLoad(starhost, dir string) error {
	parser, err := r.program(parseProgram)
	if err != nil {
		return err
	}
	args := []string{"eval", dir, "-p", "hello", "-F", "text"}
	if r.has(starhost, "eval", "--no-cache") {
		args = append(args, "--no-cache")
	}
	one, two := []string{"GOMAXPROCS=1"}, []string{"GOMAXPROCS=2"}
	alone := r.process(one, starhost, args...)
	if err := r.compare(claim{"G4b", "eval of 1,000 plugins, no cache, by parsing them", atMost(1.7)}, alone, r.process(one, parser, dir)); err != nil {
		return err
	}
	return r.compare(claim{"G4b", "eval of 1,000 plugins, no cache, 2 processors by 1", atLeast(1.5)}, r.process(two, starhost, args...), alone)
}

// has reports whether a command of starhost has a flag.
func (r *rig) has(starhost, command, flag string) bool {
	help, err := r.output(nil, starhost, command, "--help")
	return err == nil && strings.Contains(help, flag+" ")
}

// many returns n files of a pattern, each of the text that write gives for its
// number.
func many(n int, name string, write func(int) string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files["p"+fmt.Sprintf(name, i)] = write(i)
	}
	return files
}

// starPlugin is a plugin as teams write them: a tool, a guard, a loader.
func starPlugin(i int) string {
	return fmt.Sprintf(`"""Restarts of service %[1]d."""

plugin(version = "1.0.0", owner = "team-%[1]d", config = {"cluster": "staging"})

def restart_%[1]d(service, cluster = config.cluster):
    """Restart a service.

    Args:
      service (string): Name of the service.
      cluster (string): Where it runs.
    """
    return "restarted %%s in %%s" %% (service, cluster)

def guard(arguments):
    if arguments.get("cluster") == "prod":
        return deny("restarts in prod need a change ticket")
    return None

def runbook(arg):
    steps = ["Look at the error rate of %%s." %% arg, "Restart one pod.", "Page team %[1]d."]
    return "\n".join(["%%d. %%s" %% (i + 1, s) for i, s in enumerate(steps)])

register_tool(restart_%[1]d)
register_hook("pre_tool_call", guard, match = "restart_%[1]d")
register_fragment_loader("runbook%[1]d", runbook)
`, i)
}

// pluggyStart loads the plugins in Python; the first run leaves their byte code.
func (r *rig) pluggyStart() (side, error) {
	interpreter, err := python("pluggy")
	if err != nil {
		return nil, err
	}
	dir, err := r.folder("pluggy", many(r.size(1000), "%03d.py", func(i int) string {
		return fmt.Sprintf(`"""Restarts of service %[1]d."""

import pluggy

impl = pluggy.HookimplMarker("bench")


def restart_%[1]d(service: str, cluster: str = "staging") -> str:
    """Restart a service."""
    return "restarted %%s in %%s" %% (service, cluster)


@impl
def register_tools(register):
    register(restart_%[1]d, parameters={"service": "string", "cluster": "string"})


@impl
def pre_tool_call(tool, arguments):
    if tool == "restart_%[1]d" and arguments.get("cluster") == "prod":
        return {"action": "deny", "reason": "restarts in prod need a change ticket"}
    return None


@impl
def load_fragment(prefix, arg):
    if prefix != "runbook%[1]d":
        return None
    steps = ["Look at the error rate of %%s." %% arg, "Restart one pod.", "Page team %[1]d."]
    return "\n".join(["%%d. %%s" %% (i + 1, s) for i, s in enumerate(steps)])
`, i)
	}))
	if err != nil {
		return nil, err
	}
	return r.process(nil, interpreter, peer("load.py"), dir), nil
}

// nodeStart loads the plugins in JavaScript.
func (r *rig) nodeStart() (side, error) {
	program, err := node()
	if err != nil {
		return nil, err
	}
	dir, err := r.folder("node", many(r.size(1000), "%03d.js", func(i int) string {
		return fmt.Sprintf(`// Restarts of service %[1]d.

function restart({ service, cluster = "staging" }) {
  return "restarted " + service + " in " + cluster;
}

function guard(tool, args) {
  if (tool === "restart_%[1]d" && args.cluster === "prod") {
    return { action: "deny", reason: "restarts in prod need a change ticket" };
  }
  return null;
}

function runbook(arg) {
  const steps = ["Look at the error rate of " + arg + ".", "Restart one pod.", "Page team %[1]d."];
  return steps.map((s, i) => i + 1 + ". " + s).join("\n");
}

exports.tools = [{ name: "restart_%[1]d", description: "Restart a service.", parameters: { service: "string", cluster: "string" }, run: restart }];
exports.hooks = [{ event: "pre_tool_call", run: guard }, { event: "load", prefix: "runbook%[1]d", run: runbook }];
`, i)
	}))
	if err != nil {
		return nil, err
	}
	return r.process(nil, program, peer("load.js"), dir), nil
}

// opaStart loads the guards and texts as policies; OPA has no tools.
func (r *rig) opaStart() (side, error) {
	opa, dir, err := r.policies()
	if err != nil {
		return nil, err
	}
	return r.process(nil, opa, "eval", "--data", dir, "--format", "raw", `data.p0.runbook`), nil
}

// policies returns the program of OPA and a folder of its plugins.
func (r *rig) policies() (opa, dir string, err error) {
	if opa, err = r.program(opaProgram); err != nil {
		return "", "", err
	}
	dir, err = r.folder("opa", many(r.size(1000), "%03d.rego", func(i int) string {
		return fmt.Sprintf(`# Restarts of service %[1]d.
package p%[1]d

default cluster := "staging"

cluster := input.arguments.cluster

deny contains "restarts in prod need a change ticket" if {
	input.tool == "restart_%[1]d"
	cluster == "prod"
}

steps := ["Look at the error rate.", "Restart one pod.", "Page team %[1]d."]

runbook := concat("\n", [line |
	some i, step in steps
	line := sprintf("%%d. %%s", [i + 1, step])
])
`, i)
	}))
	return opa, dir, err
}
