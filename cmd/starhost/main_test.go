package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/editor/check"
	"github.com/starhost/starhost/editor/format"
	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
)

var update = flag.Bool("update", false, "rewrite the expected output in golden/cli")

// TestMain makes the test binary the program starhost if it gets a command. The canary of an installation
// runs the program of the process that installs, which is the test binary here: without this, it would run
// all tests, and they would run the canary again.
func TestMain(m *testing.M) {
	managedConfig = os.Getenv("TEST_MANAGED_CONFIG") // the managed config of this machine has no effect in tests
	managedRoot = os.Getenv("TEST_MANAGED_ROOT")
	homeFolders = filepath.SplitList(os.Getenv("TEST_HOMES"))
	homeOf = func(user int) string {
		if homes := os.Getenv("TEST_HOMES"); homes != "" && user == 0 {
			return filepath.Join(homes, "0")
		}
		return ""
	}
	doctorEnv = []string{"TEST_MANAGED_CONFIG=" + managedConfig}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
		return
	}
	testscript.Main(testbed.Alone(m), map[string]func(){"starhost": main})
}

// TestCLI runs the scripts in golden/cli. They have the commands of testscript, and:
//
//	exit CODE COMMAND…  runs a command, which must end with this exit code; starhost runs in the
//	                    test's process, unless the script sets the variable PROCESS to say why not
//	input FILE          is the standard input of the next exit CODE starhost
//	write FILE "TEXT"   writes a Go string, for bytes that a script cannot show
//	sparse FILE BYTES   makes a file that big
//	image FILE W H      makes a PNG
//	endpoint FILE FILE  starts a scripted model at $ENDPOINT: see scriptedEndpoint
//	envsubst FROM TO    copies a file, with $ENDPOINT replaced
//
// The condition [root] holds if the user can read every file. The scripts run at the same time.
func TestCLI(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "../../golden/cli",
		UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exit": cmdExit, "write": cmdWrite, "sparse": cmdSparse, "image": cmdImage,
			"endpoint": cmdEndpoint, "envsubst": cmdEnvsubst, "input": cmdInput,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			env.Values[inputKey{}] = new(scriptInput)
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each process of a race build waits a second at its end
			return nil
		},
	})
}

func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND...")
	}
	got := 0
	var failed *exec.ExitError
	if args[1] == "starhost" && ts.Getenv("PROCESS") == "" && !slices.Contains(args, "-C") {
		got = runInScript(ts, args[2:])
	} else if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code: got %d, want %s", got, args[0])
	}
}

// run runs starhost in the test's own process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newProgram(stdin, stdout, stderr).run(ctx, args)
}

// runInScript runs starhost in the test's own process, which takes a fifth of a process's CPU, with
// the folder and the variables of the script.
func runInScript(ts *testscript.TestScript, args []string) int {
	var mu sync.RWMutex
	over := false // a hook that was late may go on, and finds no variables then, while the script sets some
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	}()
	getenv := func(name string) string {
		mu.RLock()
		defer mu.RUnlock()
		if over {
			return ""
		}
		return ts.Getenv(name)
	}
	lookup := func(name string) (string, bool) {
		v := getenv(name)
		return v, v != ""
	}
	input := ts.Value(inputKey{}).(*scriptInput)
	p := &program{env: Env{
		stdin: strings.NewReader(input.take()), stdout: ts.Stdout(), stderr: ts.Stderr(),
		getenv: withHome(getenv, userHome), lookupEnv: lookup, managed: ts.Getenv("TEST_MANAGED_CONFIG"),
		deadline: hook.Deadline,
	}}
	return p.run(context.Background(), append([]string{"-C", ts.MkAbs(".")}, args...))
}

// A scriptInput is the standard input of a script's next command.
type scriptInput struct{ text string }

type inputKey struct{}

func (i *scriptInput) take() string {
	text := i.text
	i.text = ""
	return text
}

func cmdInput(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: input FILE")
	}
	ts.Value(inputKey{}).(*scriptInput).text = ts.ReadFile(args[0])
}

func cmdWrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: write FILE TEXT")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

func cmdSparse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sparse FILE BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o666))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

func cmdImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: image FILE WIDTH HEIGHT")
	}
	width, err := strconv.Atoi(args[1])
	ts.Check(err)
	height, err := strconv.Atoi(args[2])
	ts.Check(err)
	var b bytes.Buffer
	ts.Check(png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o666))
}

// TestRunOddFlags checks that the program ends with one of its exit codes and a message, and
// without a bug, for any arguments.
func TestRunOddFlags(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // some commands write files
	if err := os.WriteFile(dir+"/a.star", []byte(`register_hook("pre_llm_call", lambda: "hi")`), 0o666); err != nil {
		t.Fatal(err)
	}
	words := []string{
		"eval", "list", "docs", "version", "completion", "test", "check", "fmt", "new", "plugin", "repl", "--as=a", "--help", "a.star", "b.star", ".", "", "-", "--", "-p", "-p=", "-pé\x00", "-i", "--input=-",
		"-f", "-f=-", "-f=a.star", "-fx:y", "--sf", "-a", "-a=a.star", "-a=;type=", "-s", "-T", "-T[", "--call", "--call=x", "--fire", "--fire=pre_send",
		"--arg", "--arg=tool=1", "--arg==", "--args", "--args={}", "--args=[", "--args=@a.star", "-F", "-Fjson", "-Ftext", "-Fopenai", "-Fanthropic", "-Fx",
		"--explain", "--against", "--against=a.star", "--now=2026-01-01", "--now=x", "--seed=1", "--seed=-1", "--set=x", "--set=a.x=1", "--grant=fs.read:**",
		"--grant=x", "--max-steps=1", "--timeout=1ns", "--timeout=x", "--strict", "-q", "-v", "--log-format=json", "--log-format=x", "-c", "-c=a.star", "--no-config=x",
		"tools", "hooks", "E0203", "register_tool", "bash", "--run=(", "--lint", "--stdin-path=a.star", "--check", "--diff", "-l", "--kind=tool", "--kind=x", "__complete", "-z", "--zz", "---", "-C",
		"command", "list", "commands", "-e", "-e=1", "-e=a:ctx", "-t", "-t=x:y", "--param=x=1", "--param", "--allow-effects", "--record=j", "--replay=j", "--replay=a.star", "--max-memory=1KiB", "--max-memory=x",
	}
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "args")
		stdin := rapid.SampledFrom([]string{"", "{}", "[", "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", "\x00"}).Draw(t, "stdin")
		var out, diagnostics bytes.Buffer
		code := run(t.Context(), append([]string{"-C", dir}, args...), strings.NewReader(stdin), &out, &diagnostics)
		if code < 0 || code > report.ExitFile {
			t.Fatalf("exit code %d\n%s%s", code, out.String(), diagnostics.String())
		}
		if code > report.ExitNegative && out.Len()+diagnostics.Len() == 0 {
			t.Fatalf("exit code %d without a word", code)
		}
	})
}

// TestMergedPrompt checks that --explain shows no change of the request if a pre_send hook returns
// the request that it got.
func TestMergedPrompt(t *testing.T) {
	const plugin = `
register_hook("session_start", lambda: [fragment(" Be careful. ", target = "system"), fragment("  ", target = "system")])
register_hook("turn_start", lambda user_message: modify(user_message = user_message.upper()))
register_hook("pre_llm_call", lambda: ["one", fragment("zero", priority = -1), "one", attachment(content = "x" * 100)])
register_hook("pre_send", lambda messages, system: modify(messages = messages, system = system))
register_fragment_loader("note", lambda arg: [arg, "ends\n"])
`
	const history = `{"messages": [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "now"}]}`
	for _, render := range []string{"plain", "xml", "markdown"} {
		tests := []struct {
			name string
			args requestFlags
		}{
			{"words", requestFlags{prompt: "hi", promptGiven: true}},
			{"no words", requestFlags{promptGiven: true}},
			{"references and a system text", requestFlags{prompt: "hi", promptGiven: true, fragments: []string{"note:a", "note:b"}, systemFragments: []string{"note:rule"}, system: "Be brief."}},
			{"history", requestFlags{input: "request.json"}},
		}
		for _, tt := range tests {
			t.Run(render+"/"+tt.name, func(t *testing.T) {
				dir := t.TempDir()
				writeFiles(t, dir, map[string]string{
					"a.star": plugin, "request.json": history,
					"starhost.toml": "[prompt]\nmax_attachment = 10\nrender = \"" + render + "\"\n",
				})
				env, res := Env{dir: dir, format: "pretty", getenv: func(string) string { return "" }}.fresh(), new(Result)
				f := evalFlags{requestFlags: tt.args, approve: "never", explain: true}
				e := evaluation{flags: &f}
				if err := evaluate(t.Context(), env, res, &f, []string{"a.star"}, &e); err != nil {
					t.Fatal(err)
				}
				defer e.Set.Close()
				if err := printEvaluation(env, res, &f, &e); err != nil {
					t.Fatal(err)
				}
				out := res.out.String()
				if step := "pre_send a: modify messages, system"; !strings.Contains(out, step) || strings.Contains(out, "--- messages") || strings.Contains(out, "--- system") {
					t.Errorf("got\n%s\nwant %s without a difference", out, step)
				}
			})
		}
	}
}

// TestWriteError checks that the program reports a result that it cannot write.
func TestWriteError(t *testing.T) {
	var diagnostics bytes.Buffer
	code := run(t.Context(), []string{"version"}, nil, brokenWriter{}, &diagnostics)
	if want := "standard output: closed [E0708]\n  help: starhost docs E0708\n"; code != report.ExitFile || diagnostics.String() != want {
		t.Errorf("got exit code %d, %q; want %d, %q", code, diagnostics.String(), report.ExitFile, want)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("closed") }

// TestPanic checks that a panic of the program ends it with exit code 70 and a stack.
func TestPanic(t *testing.T) {
	var out, diagnostics bytes.Buffer
	stdin := readerFunc(func([]byte) (int, error) { panic("boom") })
	code := run(t.Context(), []string{"eval", "-i", "-", "--no-config", "-C", t.TempDir()}, stdin, &out, &diagnostics)
	want := "internal error: boom; this is a bug of starhost (-v shows where) [E0111]\n  help: starhost docs E0111\n"
	if code != report.ExitBug || diagnostics.String() != want {
		t.Errorf("got exit code %d, %q; want %d, %q", code, diagnostics.String(), report.ExitBug, want)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestCodes checks that every code is explained once and that its examples fail and work.
func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range allCodes() {
		if seen[c.Code] || c.Title == "" || c.Text == "" {
			t.Errorf("%s: explained twice, or not", c.Code)
		}
		seen[c.Code] = true
	}
	for _, c := range slices.Concat(report.Codes, format.Codes, check.Codes, lint.Codes) {
		if c.Bad == "" {
			continue
		}
		t.Run(c.Code, func(t *testing.T) {
			if stderr := tryWith(t, commandOf(c.Code), c.Bad); !strings.Contains(stderr, "["+c.Code+"]") {
				t.Errorf("the bad example does not fail with it:\n%s", stderr)
			}
			if stderr := tryWith(t, commandOf(c.Code), c.Good); strings.Contains(stderr, "["+c.Code+"]") {
				t.Errorf("the good example fails:\n%s", stderr)
			}
		})
	}
}

// TestCodesExplained checks that docs explains every code in a golden.
func TestCodesExplained(t *testing.T) {
	files, err := filepath.Glob("../../golden/cli/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	names := topics()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\[(E\d{4})\]\n`).FindAllSubmatch(text, -1) {
			if !slices.Contains(names, string(m[1])) {
				t.Errorf("%s: nothing explains %s", filepath.Base(file), m[1])
			}
		}
	}
}

// try runs an example, which is a command line, a config, or a plugin that assembles a prompt.
// It returns the diagnostics.
func try(t *testing.T, example string) string {
	return tryWith(t, []string{"eval", "-p", "hi"}, example)
}

// commandOf returns the command that reports a code about plugins.
func commandOf(code string) []string {
	switch {
	case code == "E0711":
		return []string{"fmt"}
	case strings.HasPrefix(code, "E08"), strings.HasPrefix(code, "E09"):
		return []string{"check", "--lint"}
	}
	return []string{"eval", "-p", "hi"}
}

// tryWith runs an example as try does, with another command for a plugin. If the result of a command consists
// of findings, tryWith returns it too.
func tryWith(t *testing.T, args []string, example string) string {
	dir := t.TempDir()
	files := map[string]string{
		"oncall.star":    `register_fragment_loader("runbook", lambda arg: "read " + arg)`,
		"logs/today.log": "quiet\n",
		"logs/old.log":   strings.Repeat("noise\n", 1000),
		"starhost.toml":  "[prompt]\nmax_bytes = 4000\n",
	}
	switch {
	case strings.HasPrefix(example, "starhost "):
		command := strings.ReplaceAll(example, `"Why is p99 up?"`, "Why is p99 up?")
		args = strings.Split(strings.TrimPrefix(command, "starhost "), " ")
		if i := strings.Index(command, "Why"); i >= 0 {
			args = append(strings.Fields(command[:i])[1:], command[i:])
		} else if !strings.Contains(command, "-p") {
			args = append(args, "-p", "hi")
		}
	case strings.HasPrefix(example, "-- "):
		for _, f := range txtar.Parse([]byte(example)).Files {
			files[f.Name] = string(f.Data)
		}
		if files["config.toml"] != "" {
			args = append(args, "-c", "config.toml")
		}
	case strings.HasPrefix(example, "["):
		files["starhost.toml"] = example
		args = append(args, "--strict")
	default:
		files["oncall.star"] = example
	}
	writeFiles(t, dir, files)
	var out, stderr bytes.Buffer
	run(t.Context(), append([]string{"-C", dir}, args...), strings.NewReader(""), &out, &stderr)
	if args[0] != "eval" {
		return stderr.String() + out.String() // the findings are the command's result
	}
	return stderr.String()
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(file), 0o777)
		if err = errors.Join(err, os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}
