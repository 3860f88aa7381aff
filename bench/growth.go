package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
)

// A growth is work that grows with one number. Of the three sizes, the first stands for what each
// process costs.
type growth struct {
	what  string
	sizes [3]int
	make  func(r *rig, n int) command
}

// growthTable has the work whose cost must grow with its size only.
var growthTable = []growth{
	{"eval, plugins", [3]int{20, 250, 1000}, withPlugins("eval", "-p", "hello", "-F", "text")},
	{"hook, plugins", [3]int{20, 250, 1000}, withPlugins("hook", "claude-code")},
	{"list, plugins", [3]int{20, 250, 1000}, withPlugins("list")},
	{"check, plugins", [3]int{20, 250, 1000}, withPlugins("check")},
	{"fmt, plugins", [3]int{20, 250, 1000}, withPlugins("fmt", "-l")},
	{"MCP lists, tools", [3]int{20, 250, 1000}, listedTools},
	{"test, cases", [3]int{20, 500, 2000}, func(r *rig, n int) command {
		dir := r.cases(max(n/casesPerFile, 1))
		return command{argv: []string{r.starhost, "test", dir}}
	}},
	{"log, records", [3]int{100, 20_000, 80_000}, withRecords("log")},
	{"replay, records", [3]int{100, 20_000, 80_000}, withRecords("replay")},
	{"replay, calls of transcripts", [3]int{100, 10_000, 40_000}, withTranscript},
	{"prompt, fragments", [3]int{20, 2500, 10_000}, func(r *rig, n int) command {
		source := "register_fragment_loader(\"all\", lambda arg: [fragment(\"ten more words \" * 5 + str(i)) for i in range(%d)])\n"
		dir := r.folder(fmt.Sprint("fragments", n), map[string]string{"all.star": fmt.Sprintf(source, n)})
		return command{argv: []string{r.starhost, "eval", dir, "-p", "hello", "-f", "all:x", "-F", "text"}}
	}},
	{"prompt, references", [3]int{20, 1000, 4000}, func(r *rig, n int) command {
		dir := r.folder("references", map[string]string{"one.star": starPlugin(0)})
		argv := []string{r.starhost, "eval", dir, "-p", "hello", "-F", "text"}
		for i := range n {
			argv = append(argv, "-f", fmt.Sprint("runbook0:", i))
		}
		return command{argv: argv}
	}},
	{"hook, rules of a guard", [3]int{20, 1000, 4000}, func(r *rig, n int) command {
		dir := r.ruleFolder(n)
		return command{argv: []string{r.starhost, "hook", "claude-code", dir}, input: fmt.Sprintf(callForm, usualCall)}
	}},
	{"hook, members of an event", [3]int{20, 10_000, 40_000}, withMembers(`"value"`)},
	{"hook, masked members of an event", [3]int{20, 400, 1600}, withMembers(`"password=hunter2hunter2 token=ghp_0123456789abcdefghijABCDEFGHIJ012345"`)},
	{"run, rounds of a turn", [3]int{10, 300, 1200}, rounds},
}

// growths measures how CPU and memory grow: the exponent between the two largest sizes, both above
// the smallest. Growth below what a start takes is none.
func growths(r *rig) {
	for _, g := range growthTable {
		var cpu, memory [3]float64
		for i, n := range g.sizes {
			used := r.usage(g.make(r, max(r.scale(n), i+1)))
			cpu[i], memory[i] = 1000*used.seconds.min, used.peakMiB.min
		}
		steps := float64(g.sizes[2]) / float64(g.sizes[1])
		for _, of := range []struct {
			unit  string
			taken [3]float64
			least float64
		}{{"ms", cpu, 10}, {"MiB", memory, 8}} {
			exponent := 0.0
			if grown := of.taken[2] - of.taken[0]; grown > of.least {
				exponent = math.Log(grown/max(of.taken[1]-of.taken[0], of.least/steps)) / math.Log(steps)
			}
			what := fmt.Sprintf("%s %d, %d, %d: exponent of %s", g.what, g.sizes[0], g.sizes[1], g.sizes[2], of.unit)
			sides := fmt.Sprintf("%.0f, %.0f, %.0f %s", of.taken[0], of.taken[1], of.taken[2], of.unit)
			r.add(row{claim: claim{"P11", what, atMost(1.1)}, got: exactly(exponent), sides: sides})
		}
	}
}

// withPlugins makes a command of n plugins.
func withPlugins(args ...string) func(*rig, int) command {
	return func(r *rig, n int) command {
		dir := r.folder(fmt.Sprint("plugins", n), many(n, "%03d.star", starPlugin))
		return command{argv: append(append([]string{r.starhost}, args...), dir), input: fmt.Sprintf(callForm, usualCall)}
	}
}

// listedTools asks a server of MCP for all its tools.
func listedTools(r *rig, n int) command {
	c := withPlugins("serve", "--mcp", "stdio")(r, n)
	c.input = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
`
	return c
}

// withRecords makes a command that reads n records of a log.
func withRecords(name string) func(*rig, int) command {
	return func(r *rig, n int) command {
		dir := r.folder(fmt.Sprint("records", n), map[string]string{"guard.star": replayGuard})
		writeRecords(filepath.Join(dir, "decisions-2026-11-23.jsonl"), n)
		if name == "replay" {
			return command{argv: []string{r.starhost, name, filepath.Join(dir, "guard.star"), "--log", dir}}
		}
		config := filepath.Join(dir, "log.toml")
		try(os.WriteFile(config, fmt.Appendf(nil, "[log]\npath = %q\nkeep = \"90d\"\n", dir), 0o600))
		return command{argv: []string{r.starhost, name, "-c", config}}
	}
}

// withTranscript replays the calls of a transcript of Claude Code.
func withTranscript(r *rig, n int) command {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"type":"assistant","sessionId":"s","cwd":"/w","timestamp":"2026-11-26T18:02:05Z","message":{"content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"go test %d"}}]}}`+"\n", i, i)
	}
	dir := r.folder(fmt.Sprint("transcripts", n), map[string]string{"guard.star": replayGuard, ".claude/projects/-w/s.jsonl": text.String()})
	return command{argv: []string{r.starhost, "replay", filepath.Join(dir, "guard.star"), "--transcripts"}, env: []string{"HOME=" + dir}}
}

// withMembers makes a hook whose event has n members of a value.
func withMembers(value string) func(*rig, int) command {
	return func(r *rig, n int) command {
		dir := r.newGuard()
		var members strings.Builder
		for i := range n {
			fmt.Fprintf(&members, `,"m%d":%s`, i, value)
		}
		event := strings.Replace(fmt.Sprintf(callForm, usualCall), `"}}`, `"`+members.String()+"}}", 1)
		return command{argv: []string{r.starhost, "hook", "claude-code", dir}, input: event}
	}
}

// rounds is a turn in which a model calls a tool n times.
func rounds(r *rig, n int) command {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // a client that hangs up ends the measurement
		message := map[string]any{"role": "assistant", "content": "Done."}
		if asked++; asked%(n+1) != 0 { // the model ends each turn of usage
			call := map[string]any{"id": fmt.Sprint("call_", asked), "type": "function", "function": map[string]any{"name": "restart_0", "arguments": `{"service":"checkout"}`}}
			message = map[string]any{"role": "assistant", "content": "", "tool_calls": []any{call}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}}})
	}))
	r.ends = append(r.ends, server.Close)
	config := fmt.Sprintf("[limits]\nrounds = %d\n\n[model.local]\nbase_url = %q\nmodels = [\"m\"]\n", n+1, server.URL+"/v1")
	dir := r.folder(fmt.Sprint("rounds", n), map[string]string{"run.toml": config, "plugins/one.star": starPlugin(0)})
	return command{argv: []string{r.starhost, "run", filepath.Join(dir, "plugins"), "-c", filepath.Join(dir, "run.toml"), "-m", "local/m", "-p", "Go on.", "--no-stream"}}
}

// largestMemory measures the peak memory of long turns and of a large request.
func largestMemory(r *rig) {
	for _, c := range []struct{ rounds, most int }{{300, 16}, {3000, 64}} {
		base := r.usage(rounds(r, 1))
		used := r.usage(rounds(r, r.scale(c.rounds)))
		what := fmt.Sprintf("peak memory of a turn of %d rounds, above one of 1", c.rounds)
		r.figure(claim{"P12", what, atMost(float64(c.most)).withUnit("MiB")}, used.peakMiB.median-base.peakMiB.median)
	}
	proxiedMemory(r)
}
