package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/report"
)

// openPTY opens a pseudo-terminal, and returns the user's end and the program's end.
func openPTY(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	var number, unlock int32
	for request, value := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlock} {
		raw, err := user.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var failed syscall.Errno
		err = raw.Control(func(fd uintptr) {
			_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value)))
		})
		if err != nil || failed != 0 {
			t.Fatal(err, failed)
		}
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return user, program
}

// A typist types at a terminal, and reads what it shows.
type typist struct {
	t    *testing.T
	keys io.Writer

	mu    sync.Mutex
	shown bytes.Buffer
	seen  int // length of the part of shown up to the last text that the typist waited for
}

// watch reads the terminal until it is closed.
func (y *typist) watch(terminal io.Reader) {
	b := make([]byte, 4096)
	for {
		n, err := terminal.Read(b)
		y.mu.Lock()
		y.shown.Write(b[:n])
		y.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits until the terminal shows a text after the last one.
func (y *typist) wait(text string) {
	y.t.Helper()
	for range 6000 {
		y.mu.Lock()
		i := strings.Index(y.shown.String()[y.seen:], text)
		if i >= 0 {
			y.seen += i + len(text)
		}
		y.mu.Unlock()
		if i >= 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.t.Fatalf("the terminal shows %q, want %q behind it", y.shown.String()[y.seen:], text)
}

// enter types keys, and waits until the terminal shows a text.
func (y *typist) enter(keys, text string) {
	y.t.Helper()
	if _, err := io.WriteString(y.keys, keys); err != nil {
		y.t.Fatal(err)
	}
	y.wait(text)
}

const terminalPlugin = `
def restart(service):
    """Restarts a service.

    Args:
      service (string): The service.
    """
    return service + " restarted"

register_tool(restart, approval = "ask")
`

// TestChatTerminal uses chat at a pseudo-terminal: the line editor, its history and completion,
// !edit, the approvals, and a turn of run that waits for one.
func TestChatTerminal(t *testing.T) {
	testbed.Need(t, "sh") // the editor is a script for sh
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for _, name := range []string{"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "STARHOST_STORE", "STARHOST_MODEL"} {
		t.Setenv(name, "")
	}
	t.Setenv("VISUAL", "sh "+filepath.Join(dir, "edit.sh"))
	call := func(service string) string {
		return `{"name": "restart", "arguments": {"service": "` + service + `"}}`
	}
	e, err := newScriptedEndpoint(`{"text": "", "calls": [` + call("old") + `]}
{"text": "It waited."}
{"text": "First."}
{"text": "Second."}
{"text": "From the editor."}
{"text": "", "calls": [` + call("db") + `, ` + call("cache") + `]}
{"text": "Both run."}
{"text": "", "calls": [` + call("web") + `]}
{"text": "Not the web."}
{"text": "", "calls": [` + call("web") + `]}
{"text": "Again."}
`)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e)
	defer server.Close()
	writeFiles(t, dir, map[string]string{
		"ops.star":    terminalPlugin,
		"config.toml": "[model.m]\nbase_url = \"" + server.URL + "/v1\"\n",
		"edit.sh":     "read line\nprintf '%s, by an editor\\n' \"$line\" >\"$1\"\n",
	})
	var stderr bytes.Buffer
	args := []string{"-C", dir, "-c", "config.toml"}
	later := append(args[:4:4], "run", "ops.star", "-m", "m/x", "-p", "Restart it.", "--session", "s", "--approve", "later")
	if code := run(t.Context(), later, nil, &stderr, &stderr); code != report.ExitLimit {
		t.Fatalf("run: got exit code %d: %s", code, &stderr)
	}
	user, program := openPTY(t)
	y := &typist{t: t, keys: user}
	go y.watch(user)
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), append(args[:4:4], "chat", "ops.star", "-m", "m/x", "--session", "s"), program, program, program)
	}()
	y.wait("tool restart asks for approval")
	y.wait("run it? [y/n/a] ")
	y.enter("y\r", "It waited.")
	y.wait("> ")
	y.enter("helo\x1b[Dl\r", "First.")   // the key moves the cursor one letter back
	y.enter("\x1b[A!\r", "Second.")      // the key shows the line before
	y.enter("!to\t\r", "Restarts a ser") // the line editor completes it to !tools
	y.wait("> ")
	y.enter("!edit\r", "\n")
	y.enter("Words\n", "From the editor.")
	y.enter("Restart both.\r", "run it? [y/n/a] ")
	y.enter("y\r", "run it? [y/n/a] ") // the answer y counts once
	y.enter("a\r", "Both run.")
	y.enter("Restart the web.\r", "run it? [y/n/a] ") // the answer a counts for calls with the same arguments
	y.enter("a\r", "Not the web.")
	y.wait("> ")
	y.enter("Again.\r", "Again.")
	y.wait("> ")
	y.enter("\x04", "\n")
	if code := <-ended; code != report.ExitOK {
		t.Errorf("got exit code %d", code)
	}
	var log bytes.Buffer
	if code := run(t.Context(), append(args[:4:4], "log", "--approval", "any", "-F", "csv"), nil, &log, &log); code != report.ExitOK {
		t.Errorf("log: got exit code %d: %s", code, &log)
	}
	for who, want := range map[string]int{"later": 1, "person": 4, "always": 1} { // calls of old, db, cache and web
		if got := strings.Count(log.String(), ","+who+"\n"); got != want {
			t.Errorf("the log has %d answers by %s, want %d:\n%s", got, who, want, &log)
		}
	}
	requests := e.requests.String()
	for _, want := range []string{
		`{"role":"tool","content":"old restarted"`, `"content":"hello"}`, `"content":"hello!"}`, `"content":"Words, by an editor"}`,
		`"content":"db restarted"`, `"content":"cache restarted"`, `"content":"web restarted"`,
	} {
		if !strings.Contains(requests, want) {
			t.Errorf("the requests lack %s", want)
		}
	}
	history, err := os.ReadFile(filepath.Join(dir, ".local", "state", "starhost", "chat"))
	if err != nil || !bytes.Contains(history, []byte("hello!\n")) {
		t.Errorf("the history is %q, %v", history, err)
	}
}
