package main

import "fmt"

// emptyStart measures the start of the program that agents run, with nothing to do.
func emptyStart(r *rig) error {
	used, err := r.usage(command{argv: []string{r.starhost, "version"}})
	if err != nil {
		return err
	}
	r.add(row{claim: claim{"P2c", "version, minor page faults", atMost(620).withUnit("faults")}, got: used.faults})
	bytes, err := r.initialBytes(r.starhost, "version")
	if err != nil {
		return err
	}
	r.figure(claim{"P2c", "version, bytes that packages prepare before main", atMost(380).withUnit("KB")}, bytes/1000)
	return nil
}

// manyPlugins compares the start with 1,000 plugins with other hosts that have as many plugins that do
// the same.
func manyPlugins(r *rig) error {
	dir, err := r.folder("plugins", many(r.scale(1000), "%03d.star", starPlugin))
	if err != nil {
		return err
	}
	eval := []string{r.starhost, "eval", dir, "-p", "hello", "-F", "text"}
	ours := r.process(eval...)
	if err := r.compareAll(ours, []versus{
		{claim{"P3", "eval of 1,000 plugins, by pluggy", atMost(1.0 / 2)}, r.pluggyStart},
		{claim{"P3", "eval of 1,000 plugins, by node", atMost(1)}, r.nodeStart},
		{claim{"P3", "eval of 1,000 plugins, by opa eval", atMost(1.0 / 3)}, r.opaStart},
	}); err != nil {
		return err
	}
	memory := claim{"P3", "eval of 1,000 plugins, peak memory by node", atMost(1)}
	command, err := r.nodeCommand()
	if err != nil {
		r.skip(memory, err.Error())
		return nil
	}
	return r.comparePeaks(memory, eval, command)
}

// many returns n files whose names follow a pattern. write returns the text of a file by its
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

// pluggyStart loads the plugins in Python. Its first run writes their byte code.
func (r *rig) pluggyStart() (side, error) {
	interpreter, err := python("pluggy")
	if err != nil {
		return nil, err
	}
	dir, err := r.folder("pluggy", many(r.scale(1000), "%03d.py", func(i int) string {
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
	return r.process(interpreter, peer("load.py"), dir), nil
}

// nodeStart loads the plugins in JavaScript.
func (r *rig) nodeStart() (side, error) {
	command, err := r.nodeCommand()
	if err != nil {
		return nil, err
	}
	return r.process(command...), nil
}

func (r *rig) nodeCommand() ([]string, error) {
	program, err := node()
	if err != nil {
		return nil, err
	}
	dir, err := r.folder("node", many(r.scale(1000), "%03d.js", func(i int) string {
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
	return []string{program, peer("load.js"), dir}, nil
}

// opaStart loads the guards and texts as policies; OPA has no tools.
func (r *rig) opaStart() (side, error) {
	opa, err := r.program(opaProgram)
	if err != nil {
		return nil, err
	}
	dir, err := r.folder("opa", many(r.scale(1000), "%03d.rego", func(i int) string {
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
	if err != nil {
		return nil, err
	}
	return r.process(opa, "eval", "--data", dir, "--format", "raw", "data.p0.runbook"), nil
}
