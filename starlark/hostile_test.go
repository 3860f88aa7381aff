//go:build linux

package starlark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/internal/testbed"
)

// hostileEnv names a hostile file for a child process. Each hostile file runs in its own process,
// so that the test survives and reports a crash.
const hostileEnv = "STARHOST_HOSTILE_FILE"

// HostilePlugin loads a hostile file as a plugin and calls its registrations. Another test package
// sets it, for files that need more than the language.
var HostilePlugin func(path string) (Usage, error)

// hostilePluginEnv is set in child processes that use HostilePlugin.
const hostilePluginEnv = "STARHOST_HOSTILE_PLUGIN"

func TestMain(m *testing.M) {
	if path := os.Getenv(hostileEnv); path != "" {
		hostileChild(path)
		return
	}
	os.Exit(testbed.Alone(m).Run())
}

// An outcome says how a hostile file ended.
type outcome struct {
	Class   string // a limit, "error" or "completed"
	Error   string
	Pos     string
	Steps   uint64
	Seconds float64
	CPU     float64 // seconds of all threads, with the collection of garbage
	MiB     int
}

// hostileSandbox returns a sandbox with the names that the files use beyond the language.
func hostileSandbox() *Sandbox {
	// A busy machine must not end a file by the clock: a file that the clock ends is a failure.
	s := New(Options{Limits: Limits{Timeout: 2 * time.Minute}})
	s.dialect.While = true
	if err := s.Define("struct", starlark.NewBuiltin("struct", starlarkstruct.Make), Cost{Steps: 10, BytesPerArgByte: 1}); err != nil {
		panic(err)
	}
	return s
}

// hostileChild runs one file and prints its outcome.
func hostileChild(path string) {
	debug.SetMemoryLimit(128 << 20)
	// The Go runtime alone reserves up to 6 GiB of address space, so this bounds the address space
	// only roughly. The test measures the used memory as MiB.
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 8 << 30, Max: 8 << 30}); err != nil {
		panic(err)
	}
	info, err := os.Stat(path)
	var text []byte
	if err == nil {
		// A host does not read a file that is too large, either.
		text = make([]byte, min(info.Size(), DefaultLimits().Source+1))
		var f *os.File
		if f, err = os.Open(path); err == nil {
			_, err = io.ReadFull(f, text)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	run := func() (Usage, error) { return runHostile(string(text)) }
	if os.Getenv(hostilePluginEnv) != "" {
		run = func() (Usage, error) { return HostilePlugin(path) }
	}
	start := time.Now()
	usage, err := run()
	o := outcomeOf(usage, err)
	o.Seconds, o.CPU, o.MiB = time.Since(start).Seconds(), cpuSeconds(), peakMiB()
	json.NewEncoder(os.Stdout).Encode(o)
}

// cpuSeconds returns the time that the process has spent.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peakMiB returns the peak memory of the process.
func peakMiB() int {
	status, _ := os.ReadFile("/proc/self/status")
	m := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0
	}
	return atoi(string(m[1])) / 1024
}

func runHostile(src string) (usage Usage, err error) {
	s := hostileSandbox()
	f, err := s.Parse("hostile.star", []byte(src))
	if err != nil {
		return usage, err
	}
	m, usage, err := s.Run(context.Background(), f, Exec{})
	if err == nil {
		err = callHandlers(s, m, &usage)
	}
	return usage, err
}

// outcomeOf returns the outcome of a file that ended with err.
func outcomeOf(usage Usage, err error) outcome {
	o := outcome{Class: "completed", Steps: usage.Steps}
	var limit *LimitError
	var internal *InternalError
	var e *Error
	switch {
	case errors.As(err, &internal):
		o.Class = "panic"
	case errors.As(err, &limit):
		o.Class = limit.Limit
	case err != nil:
		o.Class = "error"
	}
	if err != nil {
		o.Error = err.Error()
	}
	if errors.As(err, &e) {
		o.Error, o.Pos = e.Error(), e.Pos.String()
	}
	return o
}

// callHandlers calls the function handle of a file, if it has one, as a host calls registered
// functions.
func callHandlers(s *Sandbox, m *Module, usage *Usage) error {
	handle, ok := m.Globals["handle"].(starlark.Callable)
	if !ok {
		return nil
	}
	_, u, err := s.Call(context.Background(), handle, nil, nil)
	usage.Steps += u.Steps
	return err
}

var (
	macroRep  = regexp.MustCompile(`@@REP\((\d+),("(?:[^"\\]|\\.)*")\)@@`)
	macroSeq  = regexp.MustCompile(`@@SEQ\((\d+),(\d+),("(?:[^"\\]|\\.)*")\)@@`)
	macroNest = regexp.MustCompile(`@@NEST\((\d+),("(?:[^"\\]|\\.)*")\)@@`)
)

// expandMacros expands the abbreviations of testdata/hostile/README.md.
func expandMacros(src string) string {
	src = macroRep.ReplaceAllStringFunc(src, func(m string) string {
		g := macroRep.FindStringSubmatch(m)
		return strings.Repeat(unquoteString(g[2]), atoi(g[1]))
	})
	src = macroSeq.ReplaceAllStringFunc(src, func(m string) string {
		g := macroSeq.FindStringSubmatch(m)
		var b strings.Builder
		for i := range atoi(g[2]) {
			b.WriteString(strings.ReplaceAll(unquoteString(g[3]), "%d", strconv.Itoa(atoi(g[1])+i)))
		}
		return b.String()
	})
	return macroNest.ReplaceAllStringFunc(src, func(m string) string {
		g := macroNest.FindStringSubmatch(m)
		var b strings.Builder
		n := atoi(g[1])
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + unquoteString(g[2]) + "\n")
		}
		b.WriteString(strings.Repeat(" ", n) + "pass\n")
		return b.String()
	})
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func unquoteString(s string) string {
	t, _ := strconv.Unquote(s)
	return t
}

// hostileFiles returns the attack files below a folder.
func hostileFiles(t testing.TB, dir string) []string {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.star"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// runChild runs one file in a child process.
func runChild(t testing.TB, path string, env ...string) outcome {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = placeHostile(t, filepath.Base(path), string(text))
	if err := os.WriteFile(path, []byte(expandMacros(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), hostileEnv+"="+path), env...)
	out, err := cmd.Output()
	var o outcome
	if err != nil || json.Unmarshal(out, &o) != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = append(out, clip(string(exit.Stderr), 1000)...)
		}
		t.Errorf("%s: the process was lost: %v: %s", path, err, out)
	}
	return o
}

// placeHostile returns the path that a hostile file is copied to. The path has the file's name,
// which a plugin may state. A plugin that uses files gets a folder with files of long names.
func placeHostile(t testing.TB, base, text string) string {
	t.Helper()
	dir := t.TempDir()
	if !strings.Contains(text, "files.") {
		return filepath.Join(dir, base)
	}
	dir = filepath.Join(dir, strings.TrimSuffix(base, ".star"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeLongNames(t, dir)
	return filepath.Join(dir, "plugin.star")
}

// writeLongNames writes files whose names make it expensive to match patterns with many stars.
func writeLongNames(t testing.TB, dir string) {
	t.Helper()
	for i := range 200 {
		name := filepath.Join(dir, fmt.Sprintf("%s%03d", strings.Repeat("a", 200), i))
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// hostileWorkspaceEnv names the workspace of hostile plugins.
const hostileWorkspaceEnv = "STARHOST_HOSTILE_WORKSPACE"

// hostileWorkspace returns a folder with long names, a deep folder, a large file and links to
// folders above.
func hostileWorkspace(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	writeLongNames(t, dir)
	deep := filepath.Join(dir, strings.Repeat("d/", 250))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"loop": ".", "long": strings.Repeat("d/../", 500) + "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// hostileMiB and hostileCPU bound the memory and the CPU of a process that runs a hostile file, in
// MiB and seconds. Other programs slow a process down, but cost it hardly any CPU.
const (
	hostileMiB = 160
	hostileCPU = 8
)

// otherSettings are settings of the Go runtime under which a file must end as it does without them.
var otherSettings = [][]string{{"GOMAXPROCS=1", "GOGC=off"}, {"GOMAXPROCS=8", "GOGC=20"}}

// testHostile runs each file below a folder in a child process. If repeat is true, it runs each file once
// more under one of otherSettings, and checks that the class, the place, the text and the steps of the
// outcome are the same.
func testHostile(t *testing.T, dir string, repeat bool, env ...string) {
	if testing.Short() || testbed.Race {
		t.Skip("a process for each file, in less address space than the race detector takes")
	}
	for i, path := range hostileFiles(t, dir) {
		name := strings.TrimSuffix(strings.TrimPrefix(path, dir+"/"), ".star")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := runChild(t, path, env...)
			if t.Failed() {
				return
			}
			t.Logf("%s %.3f s, %.3f s CPU, %d MiB, %d steps: %s", o.Class, o.Seconds, o.CPU, o.MiB, o.Steps, clip(o.Error, 200))
			switch {
			case o.Class == "panic", o.Class == "time", o.Class == "completed" && !mayComplete(path):
				t.Errorf("got %q, want a limit or an error: %s", o.Class, o.Error)
			case o.MiB > hostileMiB:
				t.Errorf("took %d MiB, want at most %d", o.MiB, hostileMiB)
			case o.CPU > hostileCPU:
				t.Errorf("took %.1f s CPU, want at most %d", o.CPU, hostileCPU)
			}
			if !repeat {
				return
			}
			settings := otherSettings[i%len(otherSettings)]
			again := runChild(t, path, append(settings, env...)...)
			again.Seconds, again.CPU, again.MiB = o.Seconds, o.CPU, o.MiB
			if diff := cmp.Diff(o, again); diff != "" {
				t.Errorf("outcome (-plain +%v):\n%s", settings, diff)
			}
		})
	}
}

// mayComplete reports whether a file declares that its attack may have no effect.
func mayComplete(path string) bool {
	text, _ := os.ReadFile(path)
	expect := regexp.MustCompile(`(?m)^# expect:.*`).FindString(string(text))
	return strings.Contains(expect, "complete")
}

func TestHostileFiles(t *testing.T) { testHostile(t, "testdata/hostile", true) }

// TestHostilePlugins runs attacks on the vocabulary of plugins.
func TestHostilePlugins(t *testing.T) {
	testHostile(t, "../builtins/testdata/hostile", false, hostilePluginEnv+"=1", hostileWorkspaceEnv+"="+hostileWorkspace(t))
}

func TestSharedHostileFiles(t *testing.T) {
	const dir = "../../shared/hostile"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("../shared/hostile is not there")
	}
	testHostile(t, dir, false)
}
