package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// The marks enclose the generated part of the page. A person writes the rest.
const (
	beginMark = "<!-- measured: cd bench && go run . -o ../docs/performance.md -->\n"
	endMark   = "<!-- end of what is measured -->\n"
)

// readPage returns what a page has before and after the generated part.
func readPage(file string) (before, after []byte, err error) {
	page, err := os.ReadFile(file)
	before, rest, begins := bytes.Cut(page, []byte(beginMark))
	_, after, ends := bytes.Cut(rest, []byte(endMark))
	if err == nil && (!begins || !ends) {
		err = errors.New(file + ": got no marks, want " + strings.TrimSpace(beginMark) + " and " + strings.TrimSpace(endMark))
	}
	return before, after, err
}

// writePage puts the machine and the table of rows into a page that has the marks.
func writePage(file string, rows []row) error {
	before, after, err := readPage(file)
	if err != nil {
		return err
	}
	text := beginMark + "\n" + machine() + "\n\n" + table(rows) + "\n" + tally(rows) + ".\n\n" + endMark
	return os.WriteFile(file, bytes.Join([][]byte{before, []byte(text), after}, nil), 0o644)
}

// table writes rows as Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| goal | what is measured | wanted | got | spread | ours : base | |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.skipped != "" {
			fmt.Fprintf(&b, "| %s | %s | %s | | | | skipped: %s |\n", r.goal, r.what, r.want, r.skipped)
			continue
		}
		var around string
		if r.got.min != r.got.max {
			around = r.want.format(r.got.min) + " – " + r.want.format(r.got.max)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.goal, r.what, r.want, r.want.format(r.got.median), around, r.sides, r.outcome())
	}
	return b.String()
}

// machine describes the machine and the versions of the peers, one a line.
func machine() string {
	parts := []string{fmt.Sprintf("%d processors (%s), %s %s/%s", runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH)}
	for _, v := range []struct{ name, module string }{{"pluggy", "pluggy"}, {"pytest", "pytest"}} {
		if interpreter, err := python(v.module); err == nil {
			parts = append(parts, v.name+" "+outputOf(interpreter, "-c", "import "+v.module+", platform; print("+v.module+".__version__, 'on CPython', platform.python_version())"))
		}
	}
	if program, err := node(); err == nil {
		parts = append(parts, "node "+strings.TrimPrefix(outputOf(program, "--version"), "v"))
	}
	return strings.Join(append(parts, modules()...), ",\n") + "."
}

// modules returns the versions of the peers that are Go modules.
func modules() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	names := map[string]string{
		"github.com/open-policy-agent/opa": "opa", "cel.dev/cel-go": "cel-go", "github.com/expr-lang/expr": "expr",
		"go.starlark.net": "go.starlark.net",
	}
	var list []string
	for _, m := range info.Deps {
		if name := names[m.Path]; name != "" {
			list = append(list, name+" "+m.Version)
		}
	}
	return list
}

var modelName = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)

// processor returns the name of the machine's processor, or its architecture.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if found := modelName.FindSubmatch(info); err == nil && found != nil {
		return string(found[1])
	}
	return runtime.GOARCH
}

// outputOf returns the output of a program.
func outputOf(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "of an unknown version"
	}
	return strings.TrimSpace(string(out))
}
