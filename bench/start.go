package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// emptyStart measures the start of the program that agents run, with nothing to do.
func emptyStart(r *rig) {
	used := r.usage(command{argv: []string{r.starhost, "version"}})
	r.add(row{claim: claim{"P2c", "version, minor page faults", atMost(620).withUnit("faults")}, got: used.faults})
	bytes := r.initialBytes(r.starhost, "version")
	r.figure(claim{"P2c", "version, bytes that packages prepare before main", atMost(380).withUnit("KB")}, bytes/1000)
}

// manyPlugins compares the start with 1,000 plugins with other hosts that have as many plugins that do
// the same. Python's first run writes byte code. OPA has no tools.
func manyPlugins(r *rig) {
	dir := r.folder("plugins", many(r.scale(1000), "%03d.star", starPlugin))
	eval := []string{r.starhost, "eval", dir, "-p", "hello", "-F", "text"}
	r.compareAll(r.process(eval...), []versus{
		{claim{"P3", "eval of 1,000 plugins, by pluggy", atMost(1.0 / 2)}, func() side {
			return r.process(must(python("pluggy")), peer("load.py"), r.peerPlugins("py"))
		}},
		{claim{"P3", "eval of 1,000 plugins, by node", atMost(1)}, func() side {
			return r.process(must(node()), peer("load.js"), r.peerPlugins("js"))
		}},
		{claim{"P3", "eval of 1,000 plugins, by opa eval", atMost(1.0 / 3)}, func() side {
			return r.process(r.program(opaProgram), "eval", "--data", r.peerPlugins("rego"), "--format", "raw", "data.p0.runbook")
		}},
	})
	memory := claim{"P3", "eval of 1,000 plugins, peak memory by node", atMost(1)}
	program, err := node()
	if err != nil {
		r.skip(memory, err.Error())
		return
	}
	ours := r.usage(command{argv: eval}).peakMiB.median
	base := r.usage(command{argv: []string{program, peer("load.js"), r.peerPlugins("js")}}).peakMiB.median
	r.add(row{claim: memory, got: exactly(ours / base), sides: fmt.Sprintf("%.0f : %.0f MiB", ours, base)})
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
func starPlugin(i int) string { return pluginOf("star", i) }

// peerPlugins writes plugins that do the same in another language, by the end of its files' names.
func (r *rig) peerPlugins(language string) string {
	return r.folder(language, many(r.scale(1000), "%03d."+language, func(i int) string { return pluginOf(language, i) }))
}

// pluginOf returns the text of a plugin with its number.
func pluginOf(language string, i int) string {
	text := must(os.ReadFile(peer("plugin." + language + ".txt")))
	return strings.ReplaceAll(string(text), "@N@", strconv.Itoa(i))
}
