package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLogMemory checks that the memory of log and replay does not grow with the log. The long form compares
// 10,000 with 1,000,000 records of 2 KB, the short form 1,000 with 3,000.
func TestLogMemory(t *testing.T) {
	dir := t.TempDir()
	const most = 24 << 20 // bytes that the peak may grow
	few, days, part := 1000, 3, 1000
	if os.Getenv("STARHOST_LONG") != "" {
		few, days, part = 10_000, 10, 100_000
	}
	writeFiles(t, dir, map[string]string{
		"guard.star": "def guard(call):\n    if call.kind == \"shell\" and \"rm -rf\" in call.command:\n        return deny(\"no\")\n\n" +
			"register_hook(\"pre_tool_call\", guard)\n",
		"few/starhost/log/x": "", "many/starhost/log/x": "",
	})
	write := func(name string, n int) {
		t.Helper()
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(f)
		text := strings.Repeat("some words ", 110)
		for i := range n {
			fmt.Fprintf(w, `{"schema":"starhost.decision/1","id":"%026d","starhost":"1","time":"2026-11-23T10:00:00.123456Z",`+
				`"agent":"claude-code","session":"%d","turn":1,"event":"pre_tool_call","tool":"Bash","foreign":true,"kind":"shell",`+
				`"call_id":"toolu_1","platform":"claude-code","workspace":"/work/project","mode":"enforce",`+
				`"input":{"arguments":{"command":"go test ./... -run X","description":%q}},`+
				`"set":{"revision":"a","plugins":[{"name":"guard","sha256":"b"}]},"decision":{"action":"none"},"answered":"none",`+
				`"handlers":[{"action":"none","plugin":"guard","pos":"guard.star:6:1","steps":20}],"context":[],"errors":[],`+
				`"masked":[],"cut":[],"omitted":["/input/user_message"],"duration_us":310}`+"\n\n", i, i/4, text)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	day := func(folder string, n int) string {
		return filepath.Join(dir, folder, fmt.Sprintf("starhost/log/decisions-2026-11-%02d.jsonl", n))
	}
	write(day("few", 1), few)
	write(day("many", 1), part)
	for n := 2; n <= days; n++ {
		if err := os.Link(day("many", 1), day("many", n)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(log string, args ...string) (peak int64, cpu time.Duration) {
		t.Helper()
		cmd := exec.Command("starhost", append([]string{"-C", dir, "--no-config"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, log))
		var errs strings.Builder
		cmd.Stdout, cmd.Stderr = io.Discard, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, errs.String())
		}
		used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		return used.Maxrss << 10, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	for _, args := range [][]string{
		{"log"}, {"log", "-F", "json"}, {"log", "--action", "deny"}, {"log", "show", "last"}, {"replay", "guard.star"},
	} {
		small, _ := run("few", args...)
		large, cpu := run("many", args...)
		for range 2 { // a busy machine can delay the garbage collection
			if large > small+most {
				again, _ := run("many", args...)
				large = min(large, again)
			}
		}
		t.Logf("%s: %d MiB for %d records, %d MiB for %d; %.0f records a CPU second", strings.Join(args, " "),
			small>>20, few, large>>20, days*part, float64(days*part)/cpu.Seconds())
		if large > small+most {
			t.Errorf("%q: got a peak of %d MiB for %d records and of %d MiB for %d", args, small>>20, few, large>>20, days*part)
		}
	}
}
