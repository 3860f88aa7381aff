package effects

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/procgroup"
)

// DefaultPath is the list of folders in which starhost looks for programs if [Exec].Path is "".
const DefaultPath = "/usr/local/bin:/usr/bin:/bin"

// Bounds of one program.
const (
	maxOutput    = 1 << 20     // bytes of each of its outputs
	maxStdin     = 8 << 20     // bytes of its standard input
	maxArguments = 1000        // number of its arguments
	maxCommand   = 128 << 10   // bytes of all arguments and variables
	waitDelay    = time.Second // how long starhost waits for more output after the program's end
)

// An Exec runs the programs of worlds. The zero value searches [DefaultPath] and runs programs
// in the current folder. A program's environment contains PATH, LANG, STARHOST_EXEC, and the
// variables of Env and of the plugin. It has no HOME and no other variable of this process.
type Exec struct {
	// Path is a list of folders in the form of the variable PATH. Exec ignores relative folders.
	Path string
	// Dir is the folder that programs run in; "" is the current one.
	Dir string
	// Env are further variables of every program, by name.
	Env map[string]string

	lookups sync.Map // program's name → programLookup
}

// A programLookup is the result of looking for a program. An Exec stores it, so that a file that somebody
// puts into a folder of Path later never runs in place of the first one.
type programLookup struct {
	file string
	err  error
}

// A Command is a program that a plugin runs, without a shell.
type Command struct {
	// Argv are the program's name and its arguments.
	Argv []string
	// Stdin is what the program reads from its standard input.
	Stdin Secret
	// Env are variables by name. A plugin must not set variables that change which program runs, such as PATH
	// and LD_PRELOAD.
	Env map[string]Secret
	// Timeout is bounded as the Timeout of a [Request]. When the time is over, starhost kills the program and
	// everything that it started.
	Timeout time.Duration
}

// An Output is the result of a Command. A dry run runs no program, and its Output is the zero value.
type Output struct {
	Code           int // exit code; 128 plus the signal's number if a signal ended the program
	Stdout, Stderr string
}

// outputJSON is the form of an Output in a journal.
type outputJSON struct {
	Code   int           `json:"code"`
	Stdout jsontext.Text `json:"stdout"`
	Stderr jsontext.Text `json:"stderr"`
}

// MarshalJSON writes an output that is not UTF-8 as {"base64": ...}.
func (o Output) MarshalJSON() ([]byte, error) {
	return jsontext.EncodeOrNull(outputJSON{o.Code, jsontext.Text(o.Stdout), jsontext.Text(o.Stderr)}), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Output) UnmarshalJSON(b []byte) error {
	var j outputJSON
	err := json.Unmarshal(b, &j)
	*o = Output{j.Code, string(j.Stdout), string(j.Stderr)}
	return err
}

func (o Output) redact(remove redaction) Output {
	o.Stdout, o.Stderr = remove(o.Stdout), remove(o.Stderr)
	return o
}

// Run runs a program that a permission of the plugin allows, and waits for the program's end. A nonzero exit
// code is no error; more than 1 MiB of output is one.
func (w *World) Run(ctx context.Context, c Command) (Output, error) {
	type request struct {
		Argv  []jsontext.Text   `json:"argv"`
		Stdin jsontext.Text     `json:"stdin,omitempty"`
		Env   map[string]string `json:"env,omitempty"`
	}
	if err := c.check(); err != nil {
		return Output{}, err
	}
	if err := payForCommand(ctx, w, c); err != nil {
		return Output{}, err
	}
	r := request{Stdin: jsontext.Text(c.Stdin.String()), Env: secretTexts(c.Env)}
	for _, arg := range c.Argv {
		r.Argv = append(r.Argv, jsontext.Text(arg))
	}
	effect := effectCall{
		kind: "exec", request: r, subject: strings.Join(c.Argv, " "), refusal: mayRun(w, c),
		writes: true, persistent: true, external: true,
	}
	return do(ctx, w, effect, func(ctx context.Context) (Output, error) { return w.run(ctx, c) })
}

// check refuses a command that no system can run, or that exceeds a limit.
func (c Command) check() error {
	if err := c.checkSize(); err != nil {
		return err
	}
	for _, arg := range c.Argv {
		if strings.Contains(arg, "\x00") {
			return errorf("E0512", "argv: got a NUL in %s", errtext.Quote(arg))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		switch value := c.Env[name].String(); {
		case !envName().MatchString(name):
			return errorf("E0512", "env: got name %s, want one of A-Z a-z 0-9 _", errtext.Quote(name))
		case controlVariables().MatchString(name):
			return errorf("E0512", "env: got %s, which says what a program runs: it is the operator's to set", name)
		case strings.Contains(value, "\x00"):
			return errorf("E0512", "env: %s: got a NUL", name)
		}
	}
	return nil
}

// checkSize refuses a command without a program, or over a limit. It looks at lengths only, so that it costs
// little for long texts.
func (c Command) checkSize() error {
	size := 0
	for _, arg := range c.Argv {
		size += len(arg)
	}
	for name, value := range c.Env {
		size += len(name) + value.size()
	}
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return errorf("E0512", "argv: got no program, want its name and arguments")
	case len(c.Argv) > maxArguments || size > maxCommand:
		return errorf("E0506", "argv: got %d arguments, %d bytes with env, want at most %d, %d bytes", len(c.Argv), size, maxArguments, maxCommand)
	case c.Stdin.size() > maxStdin:
		return errorf("E0506", "stdin: got %d bytes, want at most %d", c.Stdin.size(), maxStdin)
	}
	return nil
}

var (
	envName = lazyRegexp(`^[A-Za-z_][A-Za-z0-9_]{0,255}$`)
	// controlVariables are variables that make a loader, a shell or an interpreter run the
	// program or library that they name.
	controlVariables = lazyRegexp(`^(PATH|HOME|XDG_.*|LD_.*|DYLD_.*|GLIBC_TUNABLES|MALLOC_.*|IFS|ENV|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|PS4|PROMPT_COMMAND` +
		`|SHELL|BROWSER|.*EDITOR|VISUAL|.*PAGER|.*ASKPASS|.*_EXTERNAL_DIFF|LESSOPEN|LESSCLOSE|GIT_.*` +
		`|PYTHON.*|PERL5.*|RUBYOPT|RUBYLIB|NODE_OPTIONS|NODE_PATH|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS)$`)
)

// allowsArgv returns a function that reports whether a permission allows a command.
func allowsArgv(argv []string) func(Permission) bool {
	return func(p Permission) bool {
		return p.Kind == "exec" && matchArgv(strings.Fields(p.Pattern), argv)
	}
}

// matchArgv reports whether a pattern allows arguments: a word allows itself, "*" allows one
// argument that is no flag, and a final "**" allows the rest.
func matchArgv(pattern, argv []string) bool {
	for i, word := range pattern {
		switch {
		case word == "**":
			return true
		case i >= len(argv):
			return false
		case word == "*":
			if strings.HasPrefix(argv[i], "-") {
				return false
			}
		case word != argv[i]:
			return false
		}
	}
	return len(pattern) == len(argv)
}

// argvPattern returns the narrowest pattern that allows exactly these arguments.
func argvPattern(argv []string) string {
	var words []string
	for i, arg := range argv {
		needsWildcard := func(r rune) bool { return r == '*' || r <= ' ' || r >= 0x7f }
		spelled := arg != "" && !strings.ContainsFunc(arg, needsWildcard)
		switch {
		case spelled:
			words = append(words, arg)
		case i > 0 && strings.HasPrefix(arg, "-"):
			return strings.Join(append(words, "**"), " ")
		default:
			words = append(words, "*")
		}
	}
	return strings.Join(words, " ")
}

// run runs a command that check accepted.
func (w *World) run(ctx context.Context, c Command) (Output, error) {
	if w.Exec == nil {
		return Output{}, errorf("E0512", "exec %s: no programs can be run here", errtext.Word(c.Argv[0]))
	}
	file, err := w.Exec.find(c.Argv[0])
	if err != nil {
		return Output{}, err
	}
	env := map[string]string{"LANG": "C.UTF-8"}
	maps.Copy(env, w.Exec.Env)
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if env[name], err = w.reveal(c.Env[name], thisMachine); err != nil {
			return Output{}, err
		}
	}
	env["PATH"] = w.Exec.path()
	marker := newMarker()
	env[markerName] = marker
	stdin, err := w.reveal(c.Stdin, thisMachine)
	if err != nil {
		return Output{}, err
	}
	return runProgram(ctx, &exec.Cmd{
		Path: file, Args: c.Argv, Env: environment(env), Dir: w.Exec.Dir, Stdin: strings.NewReader(stdin),
	}, timeoutOf(c.Timeout), marker)
}

// markerName is the environment variable by which starhost finds the processes of a program that have left
// the program's process group.
const markerName = "STARHOST_EXEC"

// newMarker returns a random text that the environment of no other program contains.
func newMarker() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// runProgram runs a program within the limits of time and output.
func runProgram(outer context.Context, cmd *exec.Cmd, timeout time.Duration, marker string) (Output, error) {
	ctx, cancel := context.WithTimeout(outer, timeout)
	defer cancel()
	stdout, stderr := &boundedWriter{max: maxOutput, onExceed: cancel}, &boundedWriter{max: maxOutput, onExceed: cancel}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = waitDelay
	procgroup.Set(cmd)
	if err := cmd.Start(); err != nil {
		return Output{}, errorf("E0512", "exec %s: it did not start: %v", cmd.Args[0], plainError(err))
	}
	stop := context.AfterFunc(ctx, func() {
		procgroup.Kill(cmd)
		procgroup.KillMarked(markerName + "=" + marker)
	})
	err := cmd.Wait()
	stop()
	// The processes that the program left running still use the group's number, so no other
	// group can have it.
	procgroup.Kill(cmd)
	procgroup.KillMarked(markerName + "=" + marker)
	exited := (*exec.ExitError)(nil)
	switch {
	case outer.Err() != nil:
		return Output{}, outer.Err()
	case stdout.exceeded || stderr.exceeded:
		return Output{}, errorf("E0506", "exec %s: got more than %d bytes of output, want at most that", cmd.Args[0], maxOutput)
	case ctx.Err() != nil:
		return Output{}, errorf("E0512", "exec %s: it did not end in %s", cmd.Args[0], timeout)
	case errors.Is(err, exec.ErrWaitDelay):
		return Output{}, errorf("E0512", "exec %s: it ended, but what it started still writes", cmd.Args[0])
	case err != nil && !errors.As(err, &exited):
		return Output{}, errorf("E0512", "exec %s: %v", cmd.Args[0], plainError(err))
	}
	return Output{
		Code: procgroup.ExitCode(cmd.ProcessState), Stdout: string(stdout.content), Stderr: string(stderr.content),
	}, nil
}

// plainError returns the innermost cause of an error, which names no path.
func plainError(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

func (e *Exec) path() string {
	if e.Path == "" {
		return DefaultPath
	}
	return e.Path
}

// find returns the path of a program's file, from an earlier lookup if there was one.
func (e *Exec) find(name string) (string, error) {
	if lookup, ok := e.lookups.Load(name); ok {
		p := lookup.(programLookup)
		return p.file, p.err
	}
	var p programLookup
	p.file, p.err = e.lookUp(name)
	lookup, _ := e.lookups.LoadOrStore(name, p)
	p = lookup.(programLookup)
	return p.file, p.err
}

// lookUp looks for a program in the folders of Path, or at the absolute path that name is.
func (e *Exec) lookUp(name string) (string, error) {
	if filepath.IsAbs(name) {
		if file, err := exec.LookPath(name); err == nil {
			return file, nil
		}
		return "", errorf("E0512", "exec %s: there is no such program", errtext.Word(name))
	}
	if strings.ContainsAny(name, `/\`) {
		return "", errorf("E0512", "exec %s: got a relative path, want a program's name or an absolute path", errtext.Word(name))
	}
	for _, dir := range filepath.SplitList(e.path()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return file, nil
		}
	}
	return "", errorf("E0512", "exec %s: there is no such program in %s", errtext.Word(name), e.path())
}
