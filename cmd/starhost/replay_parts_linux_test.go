package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReplayParts checks the law of merged reports with processes: eight parts of a log, compressed, make the
// report of the whole byte for byte. With STARHOST_LONG there are 1,000,000 records instead of 2,000, and no
// process takes more than 64 MiB.
func TestReplayParts(t *testing.T) {
	dir, n := t.TempDir(), 2000
	if os.Getenv("STARHOST_LONG") != "" {
		n = 1_000_000
	}
	writeFiles(t, dir, map[string]string{"guard.star": `def guard(call):
    if "rm -rf" in call.command:
        return deny("no " + call.command)

register_hook("pre_tool_call", guard, kind = "shell")
`})
	names := []string{"whole"}
	for i := range 8 {
		names = append(names, fmt.Sprint("part-", i))
	}
	var files []*bufio.Writer
	var ends []func() error
	for _, name := range names {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		z, _ := gzip.NewWriterLevel(f, gzip.BestSpeed)
		w := bufio.NewWriter(z)
		files = append(files, w)
		ends = append(ends, w.Flush, z.Close, f.Close)
	}
	for i := range n { // in the order of sessions, as a database sorts them
		session, command := i/20, []string{"go test ./...", "ls", "rm -rf x", fmt.Sprint("rm -rf /tmp/", i%5000)}[i%4]
		line := fmt.Sprintf(`{"schema":"starhost.decision/1","id":"%026d","time":"2026-11-23T10:00:00Z","agent":"claude-code","session":"%d",`+
			`"turn":1,"event":"pre_tool_call","tool":"Bash","foreign":true,"kind":"shell","mode":"enforce","input":{"arguments":{"command":%q}},`+
			`"set":{"plugins":[{"name":"guard"}]},"decision":{"action":%q,"plugin":"guard","pos":"guard.star:3:%d"},"handlers":[{"action":"none"}],`+
			`"omitted":["/input/user_message"]}`+"\n", i, session, command, []string{"none", "deny"}[i%2], i%3)
		for _, w := range []*bufio.Writer{files[0], files[1+session%8]} {
			if _, err := w.WriteString(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, end := range ends {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	start := func(args ...string) string {
		t.Helper()
		var errs strings.Builder
		cmd := exec.Command("starhost", append([]string{"-C", dir, "--no-config", "replay", "-F", "json"}, args...)...)
		cmd.Stderr = &errs
		out, _ := cmd.Output()
		peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
		t.Logf("%s: %d MiB, %v", args[0], peak, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		// The kernel counts the memory of this process, too, so that the test must run alone to measure.
		isLarge := peak > 64 && os.Getenv("STARHOST_LONG") != ""
		if cmd.ProcessState.ExitCode() != 1 || errs.Len() > 0 || isLarge {
			t.Fatalf("%v: got exit code %d, %d MiB, %s", args, cmd.ProcessState.ExitCode(), peak, errs.String())
		}
		return string(out)
	}
	whole := start("guard.star", "--log", "whole")
	merge := []string{"--merge"}
	for _, name := range names[1:] {
		writeFiles(t, dir, map[string]string{name + ".json": start("guard.star", "--log", name)})
		merge = append(merge, name+".json")
	}
	if merged := start(merge...); merged != whole || !strings.Contains(whole, fmt.Sprintf(`"events": %d,`, n)) {
		t.Errorf("got %d bytes, want the %d of one run\n%.600s\n%.600s", len(merged), len(whole), merged, whole)
	}
}
