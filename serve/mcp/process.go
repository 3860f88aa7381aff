package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/procgroup"
)

// endDelay is the time for a program to end after its input has ended.
var endDelay = 2 * time.Second

// A processTransport starts a server's program and speaks to it.
type processTransport struct {
	options MountOptions
}

// A processConn is the connection to a running program.
type processConn struct {
	*lineConn
	cmd    *exec.Cmd
	in     io.WriteCloser
	once   sync.Once
	err    error // how the program ended, nil for exit code 0
	stderr *tail
}

// Connect implements [sdk.Transport].
func (p *processTransport) Connect(context.Context) (sdk.Connection, error) {
	file, err := lookUp(p.options.Command[0])
	if err != nil {
		return nil, err
	}
	env := map[string]string{"PATH": effects.DefaultPath, "LANG": "C.UTF-8"}
	maps.Copy(env, p.options.Env)
	c := &processConn{stderr: new(tail)}
	c.cmd = &exec.Cmd{Path: file, Args: p.options.Command, Dir: p.options.Dir, Stderr: c.stderr, WaitDelay: endDelay}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.cmd.Env = append(c.cmd.Env, name+"="+env[name])
	}
	procgroup.Set(c.cmd)
	out, outErr := c.cmd.StdoutPipe()
	in, inErr := c.cmd.StdinPipe()
	if err := cmp.Or(outErr, inErr); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.in, c.lineConn = in, newLineConn(out, in)
	c.pipe, _ = in.(*os.File)
	go c.readLines()
	return c, nil
}

// Close implements [sdk.Connection]. It ends the program and its child processes.
func (c *processConn) Close() error {
	c.once.Do(func() {
		_ = c.lineConn.Close()
		_ = c.in.Close() // the program may have ended already
		late := time.AfterFunc(endDelay, func() { procgroup.Kill(c.cmd) })
		err := c.cmd.Wait()
		late.Stop()
		procgroup.Kill(c.cmd) // its remaining child processes
		c.err = c.describeEnd(err)
	})
	return c.err
}

// describeEnd adds the last line of standard error to the error of a program.
func (c *processConn) describeEnd(err error) error {
	if err == nil {
		return nil
	}
	if words := c.stderr.lastLine(); words != "" {
		return fmt.Errorf("%w: %s", err, words)
	}
	return err
}

// lookUp returns the file of a program: an absolute path, or a name in the folders where starhost
// finds plugins' programs.
func lookUp(name string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	if strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("command: got %q, want a program's name or an absolute path", name)
	}
	for _, dir := range filepath.SplitList(effects.DefaultPath) {
		file, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) {
			return "", err
		}
	}
	return "", fmt.Errorf("command: no program %q in %s", name, effects.DefaultPath)
}

// A tail stores the last bytes of a program's standard error.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(b []byte) (int, error) {
	const most = 2 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if over := len(t.end) - most; over > 0 {
		t.end = append([]byte(nil), t.end[over:]...)
	}
	return len(b), nil
}

// lastLine returns the last line.
func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(truncate(string(t.end), len(t.end)))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
