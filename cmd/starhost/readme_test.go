package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const readme = "../../README.md"

// notRun are commands of the README that this test does not run, because it is one of them.
var notRun = []string{"go test ./..."}

// TestREADME runs every block of the README: it writes the files, compares the output of each
// command with the text below the command, and finds Go code in an example that the tests run.
// With -update it writes the output of the commands.
func TestREADME(t *testing.T) {
	src, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	r := readmeRun{t: t, dir: t.TempDir()}
	got := r.blocks(string(src))
	if *update {
		if err := os.WriteFile(readme, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(string(src), got); diff != "" {
		t.Errorf("README.md (-as it is +as it should be; go test ./cmd/starhost -run README -update writes it):\n%s", diff)
	}
}

// A readmeRun is one pass over the README, with a folder for its files.
type readmeRun struct {
	t   *testing.T
	dir string
}

// blocks returns the README with the current output of each command.
func (r *readmeRun) blocks(src string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(src, "\n```")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		info, rest, _ := strings.Cut(rest, "\n")
		body, rest, ok := strings.Cut(rest, "```")
		if !ok {
			r.t.Fatalf("README.md: block %q is not closed", info)
		}
		fmt.Fprintf(&out, "\n```%s\n%s```", info, r.block(info, body))
		src = rest
	}
}

// block handles one block by its kind, and returns its expected body.
func (r *readmeRun) block(info, body string) string {
	kind, file, _ := strings.Cut(info, " ")
	switch {
	case file != "":
		path := filepath.Join(r.dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			r.t.Fatal(err)
		}
	case kind == "console":
		return r.console(body)
	case kind == "go":
		r.example(body)
	default:
		r.t.Errorf("README.md: block %q: want a file's name, console or go", info)
	}
	return body
}

// console runs the commands of a block.
func (r *readmeRun) console(body string) string {
	var out strings.Builder
	for line := range strings.Lines(body) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !ok {
			continue
		}
		fmt.Fprintf(&out, "$ %s\n", command)
		if !slices.Contains(notRun, command) {
			out.WriteString(r.command(command))
		}
	}
	return out.String()
}

// command runs one command in this process and returns what it prints.
func (r *readmeRun) command(line string) string {
	args := words(r.t, line)
	dir := r.dir
	if len(args) > 3 && slices.Equal(args[:3], []string{"go", "run", "./cmd/starhost"}) {
		dir, args = "../..", args[2:]
	} else if args[0] != "starhost" {
		r.t.Fatalf("README.md: command %q: want starhost, or go run ./cmd/starhost", line)
	}
	var stdin []byte
	if n := len(args); n > 2 && args[n-2] == "<" {
		var err error
		if stdin, err = os.ReadFile(filepath.Join(dir, args[n-1])); err != nil {
			r.t.Fatal(err)
		}
		args = args[:n-2]
	}
	r.t.Setenv("CI", "") // like the terminal of a reader, so that --update is allowed
	r.t.Setenv("XDG_STATE_HOME", filepath.Join(r.dir, "state"))
	r.t.Setenv("HOME", filepath.Join(r.dir, "home")) // hook install writes there
	r.t.Setenv("CLAUDE_CONFIG_DIR", "")
	var both bytes.Buffer
	run(context.Background(), append([]string{"-C", dir}, args[1:]...), bytes.NewReader(stdin), &both, &both)
	return strings.TrimRight(both.String(), "\n") + "\n"
}

// words splits a command line at spaces outside of both kinds of quotes.
func words(t *testing.T, line string) []string {
	var list []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		var word string
		if q := line[0]; q == '"' || q == '\'' {
			var ok bool
			if word, line, ok = strings.Cut(line[1:], string(q)); !ok {
				t.Fatalf("README.md: a quote is not closed: %s", line)
			}
		} else {
			word, line, _ = strings.Cut(line, " ")
		}
		list = append(list, word)
	}
	return list
}

// example checks that a block of Go is part of an example that the tests run.
func (r *readmeRun) example(body string) {
	files, err := filepath.Glob("../../*/example_test.go")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range append(files, "../../example_test.go") {
		src, err := os.ReadFile(file)
		if err != nil {
			r.t.Fatal(err)
		}
		if strings.Contains(unindented(string(src)), unindented(body)) {
			return
		}
	}
	r.t.Errorf("README.md: this Go code is not part of any example_test.go:\n%s", body)
}

// unindented returns text without white space at the beginning of lines.
func unindented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimLeft(line, " \t"))
	}
	return out.String()
}
