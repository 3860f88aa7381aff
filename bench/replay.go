package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// replayGuard is the plugin of a replay.
const replayGuard = `
def guard(call):
    if call.kind == "shell" and "rm -rf" in call.command:
        return deny("no recursive deletes")

register_hook("pre_tool_call", guard)
`

// recordForm is a record of 2 KB. Its verbs are the id, the session and a part of the command.
const recordForm = `{"schema":"starhost.decision/1","id":"%026d","starhost":"1","time":"2026-11-23T10:00:00.123456Z",` +
	`"agent":"claude-code","session":"%d","turn":1,"event":"pre_tool_call","tool":"Bash","foreign":true,"kind":"shell",` +
	`"call_id":"toolu_1","platform":"claude-code","workspace":"/work/project","mode":"enforce",` +
	`"input":{"arguments":{"command":"go test ./... -run %s","description":"Runs tests"}},` +
	`"set":{"revision":"a","plugins":[{"name":"guard","sha256":"b"}]},"decision":{"action":"none"},"answered":"none",` +
	`"handlers":[{"action":"none","plugin":"guard","pos":"guard.star:6:1","steps":20}],"context":[],"errors":[],` +
	`"masked":[],"cut":[],"omitted":["/input/user_message"],"duration_us":310}` + "\n"

// replayedRecords measures replay of a log: the events of one second of a processor, and the memory
// for ten times as many records.
func replayedRecords(r *rig) {
	dir := r.folder("replay", map[string]string{"guard.star": replayGuard})
	records, log := r.scale(100_000), filepath.Join(dir, "log.jsonl")
	writeRecords(log, records)
	args := []string{r.starhost, "replay", filepath.Join(dir, "guard.star")}
	for range 10 {
		args = append(args, "--log", log)
	}
	ten := r.usage(command{argv: args})
	speed := claim{"P7", "replay of records of 2 KB, by a second of a processor", atLeast(20_000).withUnit("events")}
	r.figure(speed, float64(10*records)/ten.seconds.median)
	r.figure(claim{"P7", "replay of 1,000,000 records, peak memory", atMost(64).withUnit("MiB")}, ten.peakMiB.median)
}

// writeRecords writes a log in which each session has four records.
func writeRecords(name string, n int) {
	f := must(os.Create(name))
	w := bufio.NewWriter(f)
	for k := range n {
		fmt.Fprintf(w, recordForm, k, k/4, strings.Repeat("x", 1250)) // Flush returns its error
	}
	try(errors.Join(w.Flush(), f.Close()))
}
