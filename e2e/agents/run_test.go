//go:build unix

package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/testbed"
)

// limit bounds one run of an agent: an agent that waits for a person would never end.
const limit = 3 * time.Minute

// deadline is starhost's, so that agents wait for one second more.
const deadline = "9s"

// wanted skips a test unless STARHOST_E2E is 1.
func wanted(t *testing.T) {
	t.Helper()
	testbed.NeedSet(t, "STARHOST_E2E", "npm installs eight agents, which run for minutes")
}

// newest has the newest version of each package, for a run with STARHOST_E2E_LATEST.
var newest sync.Map

// pinned returns the version of a package in package.json, or npm's newest one if
// STARHOST_E2E_LATEST is 1.
func pinned(t *testing.T, pkg string) string {
	t.Helper()
	if os.Getenv("STARHOST_E2E_LATEST") == "1" && pkg != "node" {
		if version, ok := newest.Load(pkg); ok {
			return version.(string)
		}
		out, err := exec.CommandContext(t.Context(), testbed.Need(t, "npm"), "view", pkg, "version").Output()
		version := strings.TrimSpace(string(out))
		if err != nil || version == "" {
			t.Fatalf("npm view %s: %v", pkg, err)
		}
		newest.Store(pkg, version)
		return version
	}
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("package.json: %v", err)
	}
	if file.Dependencies[pkg] == "" {
		t.Fatalf("package.json does not pin %s", pkg)
	}
	return file.Dependencies[pkg]
}

// cacheFolder returns the folder of installed agents: STARHOST_E2E_CACHE, or a temporary one that
// stays.
func cacheFolder() string {
	return cmp.Or(os.Getenv("STARHOST_E2E_CACHE"), filepath.Join(os.TempDir(), "starhost-e2e"))
}

// install installs a package by npm, unless an earlier run did, and returns its program.
func install(t *testing.T, pkg, program string) string {
	t.Helper()
	version := pinned(t, pkg)
	dir := filepath.Join(cacheFolder(), strings.NewReplacer("@", "", "/", "_").Replace(pkg)+"-"+version)
	path := filepath.Join(dir, "node_modules", ".bin", program)
	if _, err := os.Stat(filepath.Join(dir, "installed")); err == nil {
		return path
	}
	npm := testbed.Need(t, "npm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--no-audit", "--no-fund", pkg+"@"+version)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install %s@%s: %v\n%s", pkg, version, err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "installed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "starhost-e2e-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir, "../../cmd/starhost").CombinedOutput()
	if err != nil {
		return dir, errors.New(string(out))
	}
	return dir, nil
})

// TestMain removes the built program.
func TestMain(m *testing.M) {
	code := testbed.Alone(m).Run()
	if os.Getenv("STARHOST_E2E") == "1" {
		if dir, _ := built(); dir != "" {
			_ = os.RemoveAll(dir) // a folder that stays harms nothing
		}
	}
	os.Exit(code)
}

// A stage is a fresh home in which an agent runs against a fake model.
type stage struct {
	t       *testing.T
	agent   *agent
	home    string // the agent's home
	work    string // the folder that it works in
	path    string // the folders with programs
	model   *model
	base    string // the URL that the agent takes for the model's
	program string // the agent's program
	output  string // the last run's
	etc     string // the folder over /etc, "" for none
	// moreArgs and moreEnv are the agent's beside those of its driver.
	moreArgs, moreEnv []string
}

// newStage makes a home with the agent's settings, into which hook install writes a line with a
// plugin, and a model with a script.
func newStage(t *testing.T, a *agent, plugin string, replies ...reply) *stage {
	t.Helper()
	s := newHome(t, a, plugin, replies...)
	if a.setup != nil {
		a.setup(s)
	}
	s.install()
	return s
}

// install installs starhost in the settings of the user. The user trusts the hooks.
func (s *stage) install() {
	s.t.Helper()
	s.starhost("hook", "install", s.agent.name, filepath.Join(s.home, "policy.star"), "--deadline", deadline)
	if s.agent.trust != nil {
		s.agent.trust(s)
	}
}

// newHome makes a home with the plugin, but without settings.
func newHome(t *testing.T, a *agent, plugin string, replies ...reply) *stage {
	t.Helper()
	wanted(t)
	program, node := install(t, a.pkg, a.program), install(t, "node", "node")
	home, err := os.MkdirTemp("", "starhost-e2e-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // an agent may still write there
	s := &stage{
		t: t, agent: a, home: home, work: filepath.Join(home, "work"), model: startModel(t, replies), program: program,
		path: strings.Join([]string{filepath.Join(home, "bin"), filepath.Dir(node), os.Getenv("PATH")}, ":"),
	}
	s.write("policy.star", plugin)
	s.write("work/secret.txt", "the key is "+secret+"\n")
	s.write("lab.mjs", labServer)
	s.putProgram()
	s.base = s.model.URL
	return s
}

// putProgram puts starhost where the settings name it.
func (s *stage) putProgram() {
	s.t.Helper()
	dir, err := built()
	if err != nil {
		s.t.Fatalf("go build: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "starhost"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.writeProgram("bin/starhost", string(text))
}

// write writes a file below the home.
func (s *stage) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.home, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// writeProgram writes an executable file below the home. A program that runs stays as it is.
func (s *stage) writeProgram(name, text string) {
	s.t.Helper()
	s.write(name+".new", text)
	path := filepath.Join(s.home, name)
	err := os.Chmod(path+".new", 0o700)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// environment returns a small environment. Addresses other than the fake model's are out of reach:
// their proxy is the fake model, which refuses.
func (s *stage) environment() []string {
	return []string{
		"HOME=" + s.home, "PATH=" + s.path, "TERM=dumb", "NO_COLOR=1", "LANG=C.UTF-8", "TMPDIR=" + s.home, "USER=e2e", "SHELL=/bin/sh",
		"HTTPS_PROXY=" + s.model.URL, "HTTP_PROXY=" + s.model.URL, "https_proxy=" + s.model.URL, "http_proxy=" + s.model.URL,
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}
}

// starhost runs the program and returns its standard output.
func (s *stage) starhost(args ...string) string {
	s.t.Helper()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.home, "bin", "starhost"), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = s.environment(), s.work, &out, &stderr
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("starhost %q: %v\n%s", args, err, stderr.String())
	}
	return out.String()
}

// command runs a program of the agent to prepare the home.
func (s *stage) command(name string, args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Env, cmd.Dir = s.environment(), s.work
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// run gives the agent a prompt, in the session of the last run if resume is true. It ends
// everything that the agent started.
func (s *stage) run(prompt string, resume bool) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), limit)
	defer stop()
	cmd := s.inside(ctx, s.program, slices.Concat(s.agent.args(s, prompt, resume), s.moreArgs)...)
	cmd.Env, cmd.Dir = slices.Concat(s.environment(), s.agent.env(s), s.moreEnv), s.work
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error: nothing is left
	}
	s.output = string(out)
	s.t.Logf("%s %q: %v, %d requests\n%s", s.agent.name, prompt, err, len(s.model.seen()), clip(s.output))
	if ctx.Err() != nil {
		s.t.Logf("%s did not end within %v", s.agent.name, limit)
	}
	if s.agent.needsLogin != nil && s.agent.needsLogin(s.output) {
		s.t.Skipf("%s does not start without a login", s.agent.name)
	}
	if os.Getenv("STARHOST_E2E_SHOW") != "" {
		for _, r := range s.model.seen() {
			s.t.Log(r)
		}
		s.t.Log(s.model.others)
	}
}

// clip shortens a text for the log.
func clip(text string) string {
	const most = 2000
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// has reports whether a file of the work folder exists.
func (s *stage) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.work, name))
	return err == nil
}

// lastRequest returns the body of the last request with tools, "" if there was none.
func (s *stage) lastRequest() string {
	if all := s.model.seen(); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// remove removes a file below the home.
func (s *stage) remove(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.home, name)); err != nil {
		s.t.Error(err)
	}
}
