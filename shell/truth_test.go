//go:build unix

package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/testbed"
)

// stub is the script behind each program on the PATH of a truth run. It appends its name and
// words to the log at once, and then does as a wrapper of this name would. STATUS is its exit code.
const stub = `#!/bin/sh
name=${0##*/} dir=${0%/*}
record=$name
for a do record=$record'` + "\x1f" + `'$a; done
printf '%s\036' "$record" >> "$dir/../log"
case $name in
sudo|doas|ionice|chrt)
	while :; do
		case ${1-} in
		-u|-g|-c|-n|-p) case $name$1 in sudo-n|doas-n) shift ;; *) shift 2 ;; esac ;;
		--) shift; break ;;
		-*) shift ;;
		*=*) export "$1"; shift ;;
		*) break ;;
		esac
	done
	[ "$name" = chrt ] && shift
	[ $# -gt 0 ] && exec "$@" ;;
sleep) exec /bin/sleep 0.1 ;;
unbuffer|nsenter|strace|busybox|proot|flock)
	[ "$name" = flock ] && shift
	exec "$@" ;;
ssh)
	while :; do
		case $1 in -p|-l|-i|-o) shift 2 ;; --) shift; break ;; -*) shift ;; *) break ;; esac
	done
	shift; exec sh -c "$*" ;;
watch)
	while :; do
		case $1 in -n) shift 2 ;; -x) x=1; shift ;; --) shift; break ;; -*) shift ;; *) break ;; esac
	done
	[ "${x-}" ] && exec "$@"
	exec sh -c "$*" ;;
su)
	while [ $# -gt 0 ]; do
		case $1 in -c) exec sh -c "$2" ;; esac
		shift
	done ;;
script) [ "$1" = -c ] && exec sh -c "$2" ;;
docker|podman)
	while [ $# -gt 0 ]; do
		case $1 in exec|run) shift; break ;; esac
		shift
	done
	while :; do
		case ${1-} in -u|-e|-w|--name) shift 2 ;; -*) shift ;; *) break ;; esac
	done
	[ $# -gt 1 ] && { shift; exec "$@"; } ;;
kubectl)
	[ "${1-}" = exec ] && while [ $# -gt 0 ]; do
		case $1 in --) shift; exec "$@" ;; esac
		shift
	done ;;
git)
	while [ "${1-}" = -c ]; do
		case $2 in alias.*=!*) text=${2#*!} ;; core.pager=*) text=${2#*=} ;; esac
		shift 2
	done
	case ${1-} in submodule) shift 2; exec sh -c "$*" ;; bisect) shift 2; exec "$@" ;; esac
	[ "${text-}" ] && exec sh -c "$text" ;;
parallel)
	case $* in *:::*) ;; *) exec "$@" ;; esac
	list=
	while [ "$1" != ::: ]; do list="$list $1"; shift; done
	shift
	for a do $list "$a"; done ;;
esac
exit STATUS
`

// realPrograms are the programs that truth runs take from the machine, if it has them.
var realPrograms = strings.Fields("sh bash dash zsh ksh env nice nohup timeout stdbuf setsid xargs find cat base64 sed awk tr rev head tail " +
	"tee cp mv ln chmod mkdir seq python3 perl rm touch")

// interpreters are the real programs that version managers replace by a script of theirs, which runs
// only with the machine's PATH. Each has the flag in front of a program.
var interpreters = map[string]string{"python3": "-c", "perl": "-e"}

// stubbed are the programs whose stubs only write down their words, or follow their command.
var stubbed = strings.Fields("kubectl sudo doas ionice chrt unbuffer nsenter strace busybox proot flock ssh watch su script docker podman git " +
	"parallel grep rg ls go npm npx yarn make jq curl wget gh helm terraform less more which cargo tar pip pytest date diff file du df ps " +
	"uniq sort wc cut stat basename dirname realpath readlink id whoami hostname uname node tsc eslint prettier psql sqlite3 unzip zip " +
	"rsync scp systemctl journalctl lsof ss dig nc fd bat tree yq aws gcloud az rustc clang gcc javac mvn gradle bundle rails php " +
	"sleep composer ruff black mypy uv poetry pnpm bun deno vitest jest")

// truthShells are the shells with which the answers are compared, if the machine has them.
var truthShells = []string{"bash", "zsh", "dash", "mksh", "ksh93", "busybox"}

// A truthRunner runs texts in the shells of this machine, with stubs as the programs on PATH.
type truthRunner struct {
	dir     string // has ok/, bad/ and the log
	shells  []string
	missing []string // real programs that the machine lacks, without which a text may do less
	narrow  bool     // only stubs and shells are on PATH, and the user has few rights
}

// newTruthRunner writes the stubs. It skips the test if the machine has no bash.
func newTruthRunner(t testing.TB, narrow bool) *truthRunner {
	t.Helper()
	r := &truthRunner{narrow: narrow}
	for _, name := range truthShells {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("%s is not installed: nothing is compared with it", name)
			continue
		}
		r.shells = append(r.shells, name)
	}
	testbed.Need(t, "timeout") // it ends the texts
	testbed.Need(t, "bash")
	testbed.Need(t, "sh") // the stubs' interpreter
	dir, err := os.MkdirTemp("", "shell-truth")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r.dir = dir
	for folder, status := range map[string]string{"ok": "0", "bad": "1"} {
		r.writeStubs(t, filepath.Join(dir, folder), strings.Replace(stub, "STATUS", status, 1))
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return r
}

// writeStubs fills one folder of PATH.
func (r *truthRunner) writeStubs(t testing.TB, folder, text string) {
	t.Helper()
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(folder, stubbed[0])
	if err := os.WriteFile(first, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	names := realPrograms
	if r.narrow {
		names = []string{"sh", "bash", "dash", "cat", "find", "xargs"} // not env: "env -" has the machine's PATH
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			if err := os.Symlink(path, filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
			if flag := interpreters[name]; flag != "" { // one that is a script may need what folder lacks
				cmd := exec.CommandContext(t.Context(), filepath.Join(folder, name), flag, "")
				cmd.Env = []string{"PATH=" + folder}
				if err = cmd.Run(); err != nil {
					_ = os.Remove(filepath.Join(folder, name))
				}
			}
		}
		if err != nil && !slices.Contains(r.missing, name) {
			r.missing = append(r.missing, name)
		}
	}
	for _, name := range stubbed[1:] {
		if err := os.Link(first, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// isWhole reports whether this machine has all shells, and all programs that a text names: then a
// text that deletes nothing here does so nowhere.
func (r *truthRunner) isWhole(text string) bool {
	isNamed := func(name string) bool { return strings.Contains(text, name) }
	return slices.Contains(r.shells, "zsh") && slices.Contains(r.shells, "dash") && !slices.ContainsFunc(r.missing, isNamed)
}

// leavesStubs reports whether a text may run the machine's own kubectl instead of the stub: without
// PATH, programs take a default one.
func leavesStubs(text string) bool {
	for _, part := range []string{"command -p k", "unset PATH", "-u PATH", "-uPATH", "/bin/k", "env -i", "env - ", "-S '-i", "-S -i"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// run runs a text in one shell. It returns the words of each program with a stub that ran.
func (r *truthRunner) run(t testing.TB, shellName, folder, text string) [][]string {
	t.Helper()
	if leavesStubs(text) {
		t.Fatalf("%q may leave the stubs: it does not belong to the lines that shells run", text)
	}
	work := filepath.Join(r.dir, "work")
	log := filepath.Join(r.dir, "log")
	if err := os.Mkdir(work, 0o777); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.WriteFile(log, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 6*time.Second)
	defer stop()
	limits, attributes := "4096", &syscall.SysProcAttr{Setpgid: true}
	if r.narrow && os.Getuid() == 0 {
		user := 61000 + os.Getpid()%4000 // a user without a name, so that processes count for this test alone
		limits, attributes.Credential = "64", &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
		for _, name := range []string{work, log} {
			if err := os.Chown(name, user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	// timeout ends the processes even if this test is killed.
	seconds := "5"
	if r.narrow {
		seconds = "2"
	}
	program, err := exec.LookPath(shellName) // the PATH of the run has a stub for busybox
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-s", "KILL", seconds, "bash", "-c", `ulimit -f 100 -t 2 -u "$1"; shift; exec "$@"`, "bash", limits, program}
	switch shellName {
	case "zsh":
		args = append(args, "-f")
	case "busybox":
		args = append(args, "sh")
	}
	cmd := exec.CommandContext(ctx, "timeout", append(args, "-c", text)...)
	cmd.SysProcAttr = attributes
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + filepath.Join(r.dir, folder), "HOME=" + work}
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard // pipes, so that Run waits for jobs that hold them
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // jobs in the background
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited && ctx.Err() == nil && err != exec.ErrWaitDelay {
		if r.narrow {
			return nil // the texts before may still have all processes of their user
		}
		t.Fatalf("%s: %v", shellName, err)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var ran [][]string
	for record := range strings.SplitSeq(string(data), "\x1e") {
		if record != "" {
			ran = append(ran, strings.Split(record, "\x1f"))
		}
	}
	return ran
}

// deletes reports whether a shell of the machine runs "kubectl delete" for a text, and in which.
func (r *truthRunner) deletes(t testing.TB, text string) (where string, ok bool) {
	t.Helper()
	for i := range r.settings() {
		if where, ok = r.deletesIn(t, i, text); ok {
			return where, true
		}
	}
	return "", false
}

// settings returns how many settings there are: a shell, and stubs that succeed or fail.
func (r *truthRunner) settings() int { return 2 * len(r.shells) }

// deletesIn reports whether a text deletes in one of the settings.
func (r *truthRunner) deletesIn(t testing.TB, setting int, text string) (where string, ok bool) {
	t.Helper()
	name, folder := r.shells[setting/2], []string{"ok", "bad"}[setting%2]
	for _, argv := range r.run(t, name, folder, text) {
		if argv[0] == "kubectl" && slices.Contains(argv[1:], "delete") {
			return fmt.Sprintf("%s with stubs that are %s", name, folder), true
		}
	}
	return "", false
}

// TestLeavesStubs checks which texts the truth runs refuse.
func TestLeavesStubs(t *testing.T) {
	for text, want := range map[string]bool{
		"env -i kubectl delete": true, "env - A=b kubectl delete": true, "env -S '-i kubectl' x": true, "command -p kubectl delete": true,
		"unset PATH; kubectl delete": true, "env -u PATH kubectl delete": true, "/usr/bin/kubect? delete": true,
		"env A=b kubectl delete": false, "env -u HOME kubectl delete": false, "command -p true; kubectl delete": false,
	} {
		if got := leavesStubs(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
