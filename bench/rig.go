package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A rig is the environment of a run of goals: a folder, programs, children.
type rig struct {
	pairs int           // runs of both sides; each gives a ratio
	span  time.Duration // the least time of one run
	quick bool
	rows  []row
	tell  func(row)

	dir   string // scratch
	ends  []func()
	built map[string]string // programs, by package

	starhost string // its program
}

func newRig(quick bool) (*rig, error) {
	dir, err := os.MkdirTemp("", "starhost-bench-")
	if err != nil {
		return nil, err
	}
	r := &rig{pairs: 15, span: 40 * time.Millisecond, quick: quick, dir: dir, tell: func(row) {}, built: map[string]string{}}
	if quick {
		r.pairs, r.span = 1, time.Microsecond
	}
	err = catch(func() { r.starhost = r.program(starhostProgram) })
	return r, err
}

// close ends what a failed goal left, and removes the folder.
func (r *rig) close() {
	r.endGoal()
	os.RemoveAll(r.dir)
}

// endGoal ends children, the last one first, and frees the memory of a goal, so that the next one is measured
// as with -only.
func (r *rig) endGoal() {
	for _, end := range slices.Backward(r.ends) {
		end()
	}
	r.ends = nil
	debug.FreeOSMemory()
}

// scale returns the size of a fixture, which -quick reduces.
func (r *rig) scale(n int) int {
	if r.quick {
		return n / 50
	}
	return n
}

// folder writes files into a new folder.
func (r *rig) folder(name string, files map[string]string) string {
	dir := filepath.Join(r.dir, name)
	for file, text := range files {
		file = filepath.Join(dir, file)
		try(os.MkdirAll(filepath.Dir(file), 0o755))
		try(os.WriteFile(file, []byte(text), 0o644))
	}
	return dir
}

// program builds a static program, once.
func (r *rig) program(pkg string) string {
	if file, ok := r.built[pkg]; ok {
		return file
	}
	file := filepath.Join(r.dir, "bin", filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", file, pkg)
	if pkg == starhostProgram {
		cmd.Dir = ".." // the version is in its module file
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		try(fmt.Errorf("go build %s: %v: %s", pkg, err, out))
	}
	r.built[pkg] = file
	return file
}

// These programs are built.
const (
	starhostProgram = "github.com/starhost/starhost/cmd/starhost"
	usageProgram    = "github.com/starhost/starhost/bench/usage"
	reverseProgram  = "github.com/starhost/starhost/bench/reverse"
	opaProgram      = "github.com/open-policy-agent/opa"
)

// python returns a CPython that has a module; "" is any CPython.
func python(module string) (string, error) {
	code, need := "", "apt install python3"
	if module != "" {
		code, need = "import "+module, need+"-"+module
	}
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", code).Run() == nil {
			return name, nil
		}
	}
	return "", missingPeerError{need}
}

// node returns the program of node.
func node() (string, error) {
	file, err := exec.LookPath("node")
	if err != nil {
		return "", missingPeerError{"apt install nodejs"}
	}
	return file, nil
}

// peer returns the path of a peer's source.
func peer(name string) string {
	file, err := filepath.Abs(filepath.Join("peers", name))
	if err != nil {
		return name
	}
	return file
}

// environment returns the variables of processes: they see no config and no cache of the user.
func (r *rig) environment(more ...string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir,
		"XDG_CACHE_HOME=" + filepath.Join(r.dir, "cache"), "XDG_CONFIG_HOME=" + filepath.Join(r.dir, "config"),
	}
	return append(env, more...)
}

// A command is a process with its input. Its output must contain want.
type command struct {
	argv        []string
	input, want string
	env         []string // beside the rig's
}

// A finished is what a process wrote, and the time that it used the processors.
type finished struct {
	stdout, stderr string
	busy           time.Duration
}

// run runs a command in the rig's folder.
func (r *rig) run(c command) finished {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin = r.environment(c.env...), r.dir, strings.NewReader(c.input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err == nil && !strings.Contains(out.String(), c.want) {
		err = errors.New("want " + c.want)
	}
	if err != nil {
		try(fmt.Errorf("%.200s: %v: %.400s", strings.Join(c.argv, " "), err, errs.String()+out.String()))
	}
	return finished{out.String(), errs.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// process makes a side of a whole process, which must succeed.
func (r *rig) process(argv ...string) side {
	return loop(func() { r.run(command{argv: argv}) })
}

// processors makes a side of the time that a process uses the processors.
func (r *rig) processors(c command) side {
	return func(n int) (sum time.Duration) {
		for range n {
			sum += r.run(c).busy
		}
		return sum
	}
}

// A child is a process that answers lines with lines.
type child struct {
	in  io.Writer
	out *bufio.Reader
}

// start starts a child, which ends with the rig.
func (r *rig) start(name string, args ...string) *child {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = r.environment(), r.dir, os.Stderr
	in := must(cmd.StdinPipe())
	out := must(cmd.StdoutPipe())
	try(cmd.Start())
	r.ends = append(r.ends, func() {
		in.Close()
		cmd.Process.Kill() // a server of HTTP does not read its input
		cmd.Wait()
	})
	return &child{in, bufio.NewReaderSize(out, 1<<20)}
}

// ask sends a line and returns the answer.
func (c *child) ask(line []byte) []byte {
	must(c.in.Write(append(line, '\n')))
	return must(c.out.ReadBytes('\n'))
}

// timedChild makes a side of a child that does its work as often as a line says, and answers
// with the nanoseconds.
func (r *rig) timedChild(name string, args ...string) side {
	c := r.start(name, args...)
	return func(n int) time.Duration {
		answer := c.ask(strconv.AppendInt(nil, int64(n), 10))
		return time.Duration(must(strconv.ParseInt(strings.TrimSpace(string(answer)), 10, 64)))
	}
}

// timedPython is timedChild for a peer in Python that needs a module.
func (r *rig) timedPython(module, script string, args ...string) side {
	interpreter := must(python(module))
	return r.timedChild(interpreter, append([]string{peer(script)}, args...)...)
}
