//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/fleet"
)

// A uidCounter is a collector that counts how often each record came.
type uidCounter struct {
	mu   sync.Mutex
	got  map[string]int
	last string
}

var uidPattern = regexp.MustCompile(`"log.record.uid","value":\{"stringValue":"([^"]+)"`)

func (c *uidCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range uidPattern.FindAllSubmatch(text, -1) {
		c.got[string(m[1])]++
	}
	c.last = r.Header.Get("Authorization") + " " + string(text)
}

// writeRecords appends n records of 2 KB to a log, and returns their ids.
func writeRecords(t *testing.T, dir string, n int) (ids []string) {
	t.Helper()
	l := decision.New(decision.Options{Dir: dir})
	for i := range n {
		r := &decision.Record{Event: "pre_tool_call", Session: strconv.Itoa(i / 20), Tool: "Bash"}
		r.Input = map[string]json.RawMessage{"arguments": json.RawMessage(fmt.Sprintf(`{"command":%q}`, strings.Repeat("go test ./... ", 110)))}
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// TestSyncLogKilled kills the process that sends with SIGKILL 20 times. The bookmark survives: every record arrives,
// and the duplicates are at most the batches in flight.
func TestSyncLogKilled(t *testing.T) {
	c := &uidCounter{got: map[string]int{}}
	server := httptest.NewServer(c)
	defer server.Close()
	killSenders(t, server.URL, 3000, func() {})
	checkArrived(t, c.got, 3000)
}

// killSenders sends n records, and kills the sender 20 times, after what before does. The last one sends the rest.
func killSenders(t *testing.T, url string, n int, before func()) {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"config.toml": fmt.Sprintf("log = { path = \"log\", send = %q }\n", url)})
	writeRecords(t, filepath.Join(dir, "log"), n)
	peak := int64(0)
	for i := range 21 {
		cmd := exec.Command("starhost", "-C", dir, "-c", "config.toml", "sync", "--log", "-F", "json")
		cmd.Env = append(os.Environ(), "HOME="+dir)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i < 20 {
			before()
			for range 4 * i { // until there is a bookmark, or the first request is on its way
				if time.Sleep(5 * time.Millisecond); i%2 == 0 {
					if _, err := os.Stat(filepath.Join(dir, "log.sent.json")); err == nil {
						break
					}
				}
			}
			_ = cmd.Process.Kill()
		}
		err := cmd.Wait()
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
		if i == 20 && (err != nil || !strings.Contains(out.String(), `"behind": 0`)) {
			t.Fatalf("got %v\n%s%s", err, out.String(), errs.String())
		}
	}
	t.Logf("%d records, at most %d MiB", n, peak>>10)
}

// checkArrived checks that n records came, and few twice.
func checkArrived(t *testing.T, got map[string]int, n int) {
	t.Helper()
	twice := 0
	for _, times := range got {
		twice += times - 1
	}
	t.Logf("%d of %d records, %d duplicates", len(got), n, twice)
	if len(got) != n || twice > 20*512 {
		t.Errorf("got %d records and %d duplicates, want %d and at most %d", len(got), twice, n, 20*512)
	}
}

// TestSyncLogCollector sends 100,000 records to an OpenTelemetry collector. It kills both the collector and the
// sender 20 times. STARHOST_COLLECTOR is that program: testdata/collector has it.
func TestSyncLogCollector(t *testing.T) {
	program := os.Getenv("STARHOST_COLLECTOR")
	if os.Getenv("STARHOST_LONG") == "" || program == "" {
		t.Skip("set STARHOST_LONG=1 and STARHOST_COLLECTOR to the program of testdata/collector")
	}
	dir := t.TempDir()
	const n, config = 100_000, "receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:43189}}}}\nexporters: {sink: {}}\n" +
		"service: {pipelines: {logs: {receivers: [otlp], exporters: [sink]}}, telemetry: {metrics: {level: none}}}\n"
	writeFiles(t, dir, map[string]string{"col.yaml": config})
	start := func() *exec.Cmd {
		cmd := exec.Command(program, "--config", filepath.Join(dir, "col.yaml"))
		cmd.Env = append(os.Environ(), "SINK="+filepath.Join(dir, "sink"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	collector := start()
	defer func() { _ = collector.Process.Kill(); _ = collector.Wait() }()
	killSenders(t, "http://127.0.0.1:43189", n, func() {
		time.Sleep(100 * time.Millisecond)
		_ = collector.Process.Kill()
		_ = collector.Wait()
		collector = start()
		time.Sleep(time.Second)
	})
	text, err := os.ReadFile(filepath.Join(dir, "sink"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range strings.Lines(string(text)) {
		uid, _, ok := strings.Cut(line, "\t")
		if ok && strings.HasSuffix(line, "}\n") { // else the kill tore it
			got[uid]++
		}
	}
	checkArrived(t, got, n)
}

// A userMachine is a machine with three users, one of them root, and a managed config.
type userMachine struct {
	t                *testing.T
	dir, logs, homes string
}

func newUserMachine(t *testing.T, config string) *userMachine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root becomes another user")
	}
	dir, err := os.MkdirTemp("/tmp", "starhost-users") // other users can reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &userMachine{t, dir, filepath.Join(dir, "logs"), filepath.Join(dir, "homes")}
	writeFiles(t, dir, map[string]string{
		"managed.toml": strings.ReplaceAll(config, "DIR", dir),
		"guard.star":   "register_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n", "token": "Bearer hunter2\n", "homes/x": "", "lib/x": "",
	})
	program, err := exec.LookPath("starhost")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "starhost"), text, 0o755)
	}
	for _, folder := range []string{dir, m.homes} {
		err = errors.Join(err, os.Chmod(folder, 0o755))
	}
	for _, user := range []int{4711, 4712, 0} {
		err = errors.Join(err, os.Mkdir(m.home(user), 0o700), os.Chown(m.home(user), user, user))
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *userMachine) home(user int) string { return filepath.Join(m.homes, strconv.Itoa(user)) }

// as runs a command as a user.
func (m *userMachine) as(user int, event string, args ...string) (string, int) {
	m.t.Helper()
	cmd := exec.Command(filepath.Join(m.dir, "starhost"), args...)
	cmd.Dir, cmd.Stdin = m.home(user), strings.NewReader(event)
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "TEST_MANAGED_CONFIG="+filepath.Join(m.dir, "managed.toml"), "TEST_HOMES="+m.homes)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// makeLogFolders makes the folders of the logs of users, as sync does.
func (m *userMachine) makeLogFolders(users ...int) {
	for _, user := range users {
		dir := filepath.Join(m.logs, strconv.Itoa(user))
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o700), os.Chown(dir, user, -1)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// TestSyncLogUsers checks whose log root sends: with a managed path, that of each user, who finds the own folder in
// it. A user without a folder logs at home.
func TestSyncLogUsers(t *testing.T) {
	c := &uidCounter{got: map[string]int{}}
	server := httptest.NewServer(c)
	defer server.Close()
	m := newUserMachine(t, "plugins.paths = [\"guard.star\"]\nlog = { path = \"DIR/logs\", send = \""+server.URL+"\", headers = [\"Authorization=TOKEN\"] }\nsecrets.TOKEN.file = \"token\"\n")
	m.makeLogFolders(0, 4711) // root did not make that of 4712 yet
	for _, user := range []int{4711, 4712, 0} {
		if out, code := m.as(user, callEvents[0].event, "hook", "claude-code"); code != 2 {
			t.Fatalf("user %d: got exit code %d: %s", user, code, out)
		}
		want := filepath.Join(m.logs, strconv.Itoa(user))
		if user == 4712 {
			want = filepath.Join(m.homes, "4712/.local/state/starhost/log")
		}
		if out, _ := m.as(user, "", "hook", "doctor", "-F", "json"); !strings.Contains(out, fmt.Sprintf("\"path\": %q,\n    \"behind\": 1,", want)) {
			t.Errorf("user %d: got no log in %s, with one record\n%s", user, want, out)
		}
	}
	out, code := m.as(0, "", "sync", "--log", "-F", "json")
	if code != 0 || len(c.got) != 2 || strings.Count(out, `"sent": 1`) != 2 || !strings.HasPrefix(c.last, "Bearer hunter2 ") {
		t.Errorf("got exit code %d, %d records and %s\n%s", code, len(c.got), out, c.last)
	}
	if out, _ := m.as(4711, "", "hook", "doctor", "-F", "json"); !strings.Contains(out, `"behind": 0`) {
		t.Errorf("after sync: got %s", out)
	}
}

// TestSyncLogUsersCoverage checks what a round of root says of the agents of its users, and that the status is one
// record of the collector. A user who makes doctor read what only root may read gets nothing of it.
func TestSyncLogUsersCoverage(t *testing.T) {
	c := &uidCounter{got: map[string]int{}}
	server := httptest.NewServer(c)
	defer server.Close()
	m := newUserMachine(t, "plugins.paths = [\"guard.star\"]\nstatus.path = \"DIR/lib/status.json\"\nlog = { path = \"DIR/logs\", send = \""+server.URL+"\", headers = [\"Authorization=TOKEN\"] }\nsecrets.TOKEN.file = \"token\"\n")
	m.makeLogFolders(0, 4711, 4712, 4713) // nobody knows the home of the last one
	if out, code := m.as(4711, "", "hook", "install", "claude-code"); code != 0 {
		t.Fatalf("got %d: %s", code, out)
	}
	const event = `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"ID","tool_input":{}}`
	call := func(id string) string {
		line := fmt.Sprintf(`{"type":"TYPE","sessionId":"s","version":"2.1.332","cwd":"/","timestamp":%q,"message":{"content":[CONTENT]}}`+"\n", time.Now().UTC().Format(time.RFC3339Nano))
		return strings.NewReplacer("TYPE", "assistant", "CONTENT", fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{}}`, id)).Replace(line) +
			strings.NewReplacer("TYPE", "user", "CONTENT", fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"ok"}`, id)).Replace(line)
	}
	m.as(4711, strings.ReplaceAll(event, "ID", "denied"), "hook", "claude-code")
	m.as(0, strings.ReplaceAll(event, "ID", "denied"), "hook", "claude-code")
	transcripts := filepath.Join(m.home(4711), ".claude/projects/-")
	hidden := filepath.Join(m.home(0), "s.jsonl")
	err := errors.Join(os.MkdirAll(transcripts, 0o755), os.WriteFile(filepath.Join(transcripts, "s.jsonl"), []byte(call("denied")+call("unasked")), 0o644),
		os.WriteFile(hidden, []byte(call("a")+call("b")), 0o600), os.MkdirAll(filepath.Join(m.home(4712), ".claude/projects"), 0o755),
		os.Symlink(m.home(0), filepath.Join(m.home(4712), ".claude/projects/-")), os.Mkdir(filepath.Join(m.homes, "+shared"), 0o755),
		os.Symlink(m.home(4711)+"/.claude", filepath.Join(m.homes, "+shared/.claude")), os.Chown(filepath.Join(transcripts, "s.jsonl"), 4711, 4711))
	if err != nil {
		t.Fatal(err)
	}
	out, code := m.as(0, "", "sync", "--once", "-F", "json")
	text, err := os.ReadFile(filepath.Join(m.dir, "lib/status.json"))
	var status struct {
		Coverage []fleet.Coverage
		Logs     []fleet.LogState
	}
	if code != 0 || err != nil || json.Unmarshal(text, &status) != nil || json.Unmarshal([]byte(out), &status) != nil {
		t.Fatalf("got exit code %d, %v, %s\n%s", code, err, text, out)
	}
	want := []fleet.Coverage{
		{User: 4711, Agent: "claude-code", Grade: "can be lifted", Calls: 2, Faults: 2, Counts: map[string]int{"denied but ran": 1, "not asked": 1}},
		{User: 4713, Error: "nobody knows the home folder of this user"},
	}
	if diff := cmp.Diff(want, status.Coverage, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
	inBody, _ := json.Marshal(strings.TrimSuffix(string(text), "\n"))
	if !strings.Contains(c.last, `"body":{"stringValue":`+string(inBody)) || !strings.Contains(c.last, `"host.name"`) || strings.Contains(c.last, "starhost.user") {
		t.Errorf("the collector got %s, want the status, of the host alone", c.last)
	}
	if out, code := m.as(4711, "", "hook", "doctor", "-F", "json"); code != 1 || !strings.Contains(out, `"behind": 0`) {
		t.Errorf("after the round: got %d, %s", code, out)
	}
}
