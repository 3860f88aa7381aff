package procgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// ProgramOptions select a program.
type ProgramOptions struct {
	// Command is the program and its arguments. The program is an absolute path, or a name in the
	// folders of Path.
	Command []string
	Path    string
	// Dir is the folder that it runs in.
	Dir string
	// Env are its environment variables beside PATH and LANG. It has no others.
	Env map[string]string
}

// errorDelay is how long the end of a program waits for the rest of its standard error.
const errorDelay = 200 * time.Millisecond

// A Program is a running program, which exchanges lines with this one over its standard input and
// output.
type Program struct {
	In  *os.File // its standard input
	Out *os.File // its standard output

	cmd    *exec.Cmd
	exited chan struct{} // closed when the program has ended, with its child processes
	err    error         // how it ended; set before exited is closed
	stderr tail
}

// Start starts a program in its own group of processes. The caller must call Close.
func Start(o ProgramOptions) (*Program, error) {
	file, err := find(o.Command[0], o.Path)
	if err != nil {
		return nil, err
	}
	env := map[string]string{"PATH": o.Path, "LANG": "C.UTF-8"}
	maps.Copy(env, o.Env)
	p := &Program{exited: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: file, Args: o.Command, Dir: o.Dir, Stderr: &p.stderr, Env: []string{}, WaitDelay: errorDelay,
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		p.cmd.Env = append(p.cmd.Env, name+"="+env[name])
	}
	Set(p.cmd)
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout, p.In, p.Out = stdin, stdout, in, out
	err = p.cmd.Start()
	_, _ = stdin.Close(), stdout.Close() // the program has its own copies
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go p.wait()
	return p, nil
}

// wait waits for the program to end, and kills its remaining child processes, so that nobody else
// writes to Out.
func (p *Program) wait() {
	defer close(p.exited)
	err := p.cmd.Wait()
	Kill(p.cmd)
	if !errors.Is(err, exec.ErrWaitDelay) {
		p.err = p.describeEnd(err)
	}
}

// Close ends the program and its child processes: it closes the standard input and kills them after
// a delay. It returns how the program ended, nil for exit code 0.
func (p *Program) Close(delay time.Duration) error {
	_ = p.In.Close() // the program may have ended already
	select {
	case <-p.exited:
	case <-time.After(delay):
		Kill(p.cmd)
		<-p.exited
	}
	_ = p.Out.Close() // a second Close does nothing
	return p.err
}

// describeEnd adds the last line of standard error to the error of a program.
func (p *Program) describeEnd(err error) error {
	if err == nil {
		return nil
	}
	if words := p.stderr.lastLine(); words != "" {
		return fmt.Errorf("%w: %s", err, words)
	}
	return err
}

// find returns the file of a program.
func find(name, path string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	if strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("command: got %q, want a program's name or an absolute path", name)
	}
	for _, dir := range filepath.SplitList(path) {
		file, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) {
			return "", err
		}
	}
	return "", fmt.Errorf("command: no program %q in %s", name, path)
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
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.end), "\uFFFD"))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
