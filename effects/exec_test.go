//go:build unix

package effects_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/testbed"
)

// programs returns a world whose plugin may run a shell.
func programs(t interface{ Fatal(...any) }) *effects.World {
	w := plugin(t, "exec:sh **", "exec:echo **", "exec:cat", "exec:/bin/echo hi", "exec:./echo", "exec:no-such-program", "exec:env", "secret:*", "secret:BOUND@a.test")
	w.Exec = &effects.Exec{}
	return w
}

func TestRun(t *testing.T) {
	t.Setenv("LEAKED", "from this process")
	dir := t.TempDir()
	w := programs(t)
	w.Exec = &effects.Exec{Dir: dir, Env: map[string]string{"TEAM": "checkout", "PATH": "/nowhere"}}
	shell := func(script string) effects.Command { return effects.Command{Argv: []string{"sh", "-c", script}} }
	tests := []struct {
		name string
		c    effects.Command
		want effects.Output
	}{
		{"output", effects.Command{Argv: []string{"echo", "a b", "$HOME", "*", ";", "x"}}, effects.Output{Stdout: "a b $HOME * ; x\n"}},
		{"an absolute path", effects.Command{Argv: []string{"/bin/echo", "hi"}}, effects.Output{Stdout: "hi\n"}},
		{"input", effects.Command{Argv: []string{"cat"}, Stdin: effects.Plain("in\xff")}, effects.Output{Stdout: "in\xff"}},
		{"code and errors", shell("echo no >&2; exit 3"), effects.Output{Code: 3, Stderr: "no\n"}},
		{"a signal", shell("kill -TERM $$"), effects.Output{Code: 128 + 15}},
		{"the folder", shell("pwd"), effects.Output{Stdout: dir + "\n"}},
		{"the environment", effects.Command{Argv: []string{"env"}, Env: map[string]effects.Secret{"B": effects.Plain("1")}},
			effects.Output{Stdout: "B=1\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nTEAM=checkout\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			testbed.Need(t, tt.c.Argv[0])
			got, err := w.Run(t.Context(), tt.c)
			got.Stdout = marked.ReplaceAllString(got.Stdout, "")
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("Run (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

func TestRunSecrets(t *testing.T) {
	testbed.Need(t, "sh")
	w := programs(t)
	w.Secrets = secrets(map[string]string{"TOKEN": "s3cret-value", "BOUND": "another-value"})
	token, err := w.Secret(t.Context(), "TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Run(t.Context(), effects.Command{Argv: []string{"sh", "-c", `echo ${#A} $A; cat >&2`}, Stdin: token, Env: map[string]effects.Secret{"A": token}})
	if diff := cmp.Diff(effects.Output{Stdout: "12 <secret TOKEN>\n", Stderr: "<secret TOKEN>"}, got); diff != "" || err != nil {
		t.Errorf("Run (-want +got), %v:\n%s", err, diff)
	}
	w.Declared, w.Granted = grants(t, "exec:cat", "secret:BOUND@a.test"), grants(t, "exec:cat", "secret:*")
	bound, err := w.Secret(t.Context(), "BOUND")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []effects.Command{{Stdin: bound}, {Env: map[string]effects.Secret{"A": bound}}} {
		c.Argv = []string{"cat"}
		_, err := w.Run(t.Context(), c)
		if want := `plugin p has no permission secret:BOUND: add "secret:BOUND" to plugin(permissions = [...])`; message(err) != want {
			t.Errorf("Run: got %v, want %s", err, want)
		}
	}
}

// TestRunPermissions checks that a pattern allows the arguments that it spells, and that "*" does not allow a
// flag.
func TestRunPermissions(t *testing.T) {
	tests := []struct {
		grant string
		argv  []string
		ok    bool
	}{
		{"echo", []string{"echo"}, true},
		{"echo", []string{"echo", "x"}, false},
		{"echo", []string{"/bin/echo"}, false},
		{"echo hi", []string{"echo", "hi"}, true},
		{"echo hi", []string{"echo"}, false},
		{"echo hi", []string{"echo", "hi there"}, false},
		{"echo hi", []string{"echo hi"}, false},
		{"echo *", []string{"echo", "a b;c\n"}, true},
		{"echo *", []string{"echo", ""}, true},
		{"echo *", []string{"echo", "-n"}, false},
		{"echo *", []string{"echo", "--output=/etc/passwd"}, false},
		{"echo *", []string{"echo", "-"}, false},
		{"echo *", []string{"echo", "a", "b"}, false},
		{"echo * *", []string{"echo", "a", "-b"}, false},
		{"echo -n *", []string{"echo", "-n", "a"}, true},
		{"echo get **", []string{"echo", "get"}, true},
		{"echo get **", []string{"echo", "get", "-o", "json"}, true},
		{"echo get **", []string{"echo", "delete", "get"}, false},
		{"echo get **", []string{"echo", "--as=root", "get"}, false},
		{"sh -c *", []string{"SH", "-c", "x"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.grant+" | "+strings.Join(tt.argv, " "), func(t *testing.T) {
			w := plugin(t, "exec:"+tt.grant)
			w.Exec = &effects.Exec{}
			_, err := w.Run(t.Context(), effects.Command{Argv: tt.argv})
			if (err == nil) != tt.ok || err != nil && code(err) != "E0501" {
				t.Errorf("Run: got %v, want allowed %v", err, tt.ok)
			}
		})
	}
}

// TestRunRefusalSuffices checks, for any arguments, that the permission that a refusal prints is enough.
func TestRunRefusalSuffices(t *testing.T) {
	w := plugin(t)
	w.DryRun = &effects.DryRun{}
	arg := rapid.StringMatching(`[-a*é \n]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		c := effects.Command{Argv: append([]string{"echo"}, rapid.SliceOfN(arg, 0, 4).Draw(t, "argv")...)}
		_, err := w.Run(t.Context(), c)
		var refused *effects.PermissionError
		if !errors.As(err, &refused) {
			t.Fatalf("Run(%q): got %v, want a refusal", c.Argv, err)
		}
		enough := *w
		enough.Declared = grants(t, refused.Permission)
		enough.Granted = enough.Declared
		if _, err := enough.Run(t.Context(), c); err != nil {
			t.Errorf("Run(%q) with %q: %v", c.Argv, refused.Permission, err)
		}
	})
}

func TestRunErrors(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{{"broken", "#!/no/such/interpreter\n", 0o755}, {"plain", "x", 0o644}} {
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), f.mode); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name, value string) effects.Command {
		return effects.Command{Argv: []string{"env"}, Env: map[string]effects.Secret{name: effects.Plain(value)}}
	}
	run := func(argv ...string) effects.Command { return effects.Command{Argv: argv} }
	tests := []struct {
		name string
		c    effects.Command
		want string
	}{
		{"nothing", run(), `argv: got no program, want its name and arguments`},
		{"no program", run("", "x"), `argv: got no program, want its name and arguments`},
		{"a NUL", run("echo", "a\x00b"), `argv: got a NUL in "a\x00b"`},
		{"many arguments", run(append([]string{"echo"}, make([]string, 1000)...)...), `argv: got 1001 arguments, 4 bytes with env, want at most 1000, 131072 bytes`},
		{"large arguments", run("echo", strings.Repeat("x", 128<<10)), `argv: got 2 arguments, 131076 bytes with env, want at most 1000, 131072 bytes`},
		{"large variables", effects.Command{Argv: []string{"echo"}, Env: map[string]effects.Secret{"A": effects.Plain(strings.Repeat("x", 128<<10))}}, `argv: got 1 arguments, 131077 bytes with env, want at most 1000, 131072 bytes`},
		{"large input", effects.Command{Argv: []string{"cat"}, Stdin: effects.Plain(strings.Repeat("x", 8<<20+1))}, `stdin: got 8388609 bytes, want at most 8388608`},
		{"a relative path", run("./echo"), `exec ./echo: got a relative path, want a program's name or an absolute path`},
		{"none of the name", run("no-such-program"), `exec no-such-program: there is no such program in ` + dir + `:relative:`},
		{"no file of the path", run(dir + "/gone"), `exec ` + dir + `/gone: there is no such program`},
		{"not executable", run("plain"), `exec plain: there is no such program in ` + dir + `:relative:`},
		{"no interpreter", run("broken"), `exec broken: it did not start: no such file or directory`},
		{"a variable's name", env("A=B", "x"), `env: got name "A=B", want one of A-Z a-z 0-9 _`},
		{"a variable's value", env("A", "x\x00"), `env: A: got a NUL`},
	}
	for _, name := range []string{"PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "IFS", "GIT_SSH_COMMAND", "PYTHONPATH", "NODE_OPTIONS", "KUBECTL_EXTERNAL_DIFF", "MANPAGER", "EDITOR"} {
		tests = append(tests, struct {
			name string
			c    effects.Command
			want string
		}{name, env(name, "x"), "env: got " + name + ", which says what a program runs: it is the operator's to set"})
	}
	w := programs(t)
	w.Declared = append(w.Declared, grants(t, "exec:broken", "exec:plain", "exec:"+dir+"/gone")...)
	w.Granted = w.Declared
	w.Exec = &effects.Exec{Path: dir + ":relative:"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.Run(t.Context(), tt.c)
			if diff := cmp.Diff(tt.want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	for _, name := range []string{"GITHUB_TOKEN", "LDAP_URL", "NODE_NAME", "KUBECONFIG"} {
		other := programs(t)
		if _, err := other.Run(t.Context(), env(name, "x")); err != nil {
			t.Errorf("Run with %s: %v", name, err)
		}
	}
}

// TestRunFindsOnce checks that starhost looks for a program only once.
func TestRunFindsOnce(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	script := func(dir, says string) {
		if err := os.WriteFile(filepath.Join(dir, "hello"), []byte("#!/bin/sh\necho "+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script(second, "second")
	w := plugin(t, "exec:hello")
	w.Exec = &effects.Exec{Path: first + ":" + second}
	for range 2 {
		if got, err := w.Run(t.Context(), effects.Command{Argv: []string{"hello"}}); got.Stdout != "second\n" || err != nil {
			t.Errorf("Run: got %+v, %v", got, err)
		}
		script(first, "planted")
	}
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		_, after, _ := strings.Cut(string(stat), ") ")
		return after[0] != 'Z' && after[0] != 'X'
	}
	return syscall.Kill(pid, 0) == nil
}

// waitGone waits for the end of a process. The system does not report the end at once.
func waitGone(t *testing.T, pidFile string) {
	t.Helper()
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

// TestRunKills checks that all processes that a program started end when starhost kills the program.
func TestRunKills(t *testing.T) {
	testbed.Need(t, "sh")
	w := programs(t)
	pids := filepath.Join(t.TempDir(), "pid")
	sleeper := func(rest string) []string {
		return []string{"sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $! > " + pids + "; " + rest}
	}
	t.Run("timeout", func(t *testing.T) {
		_, err := w.Run(t.Context(), effects.Command{Argv: sleeper("wait"), Timeout: 200 * time.Millisecond})
		if want := "exec sh: it did not end in 200ms"; message(err) != want {
			t.Errorf("Run: got %v, want %s", err, want)
		}
		waitGone(t, pids)
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := w.Run(ctx, effects.Command{Argv: sleeper("wait")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run: got %v, want that of the context", err)
		}
		waitGone(t, pids)
	})
	t.Run("output", func(t *testing.T) {
		for _, redirect := range []string{"", " >&2"} {
			_, err := w.Run(t.Context(), effects.Command{Argv: sleeper("exec yes" + redirect)})
			if want := "exec sh: got more than 1048576 bytes of output, want at most that"; message(err) != want {
				t.Errorf("Run: got %v, want %s", err, want)
			}
			waitGone(t, pids)
		}
	})
	t.Run("left behind", func(t *testing.T) {
		if _, err := w.Run(t.Context(), effects.Command{Argv: sleeper("true")}); err != nil {
			t.Errorf("Run: %v", err)
		}
		waitGone(t, pids)
	})
	t.Run("left behind with its output", func(t *testing.T) {
		_, err := w.Run(t.Context(), effects.Command{Argv: []string{"sh", "-c", "sleep 300 & echo $! > " + pids}})
		if want := "exec sh: it ended, but what it started still writes"; message(err) != want {
			t.Errorf("Run: got %v, want %s", err, want)
		}
		waitGone(t, pids)
	})
}

// marked matches the environment variable by which starhost finds the processes of a program.
var marked = regexp.MustCompile("STARHOST_EXEC=[0-9a-f]{32}\n")

// TestRunKillsDetached checks that a process ends with the program that a plugin ran, even if the process
// left the program's process group.
func TestRunKillsDetached(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what a program left")
	}
	testbed.Need(t, "sh")
	testbed.Need(t, "setsid")
	dir := t.TempDir()
	w := plugin(t, "exec:sh -c **")
	w.Exec = &effects.Exec{Dir: dir}
	script := "setsid sh -c 'echo $$ > pid; exec sleep 600' >/dev/null 2>&1 </dev/null & while ! [ -s pid ]; do sleep 0.01; done"
	if out, err := w.Run(t.Context(), effects.Command{Argv: []string{"sh", "-c", script}}); err != nil || out.Code != 0 {
		t.Fatal(out, err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	// A killed process stays until its parent has waited for it, without an environment.
	environ, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/environ")
	for i := 0; i < 100 && err == nil && len(environ) > 0; i++ {
		time.Sleep(10 * time.Millisecond)
		environ, err = os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/environ")
	}
	if err == nil && len(environ) > 0 {
		t.Errorf("process %s still runs", pid)
	}
}
