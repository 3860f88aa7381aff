package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// A pageRun runs a page of the documentation once: it writes the page's files into an empty folder, runs the
// page's commands there with an empty home, and compares what they print with the page. In a page, "…"
// stands for any text in a line.
type pageRun struct {
	t      *testing.T
	file   string // path of the page
	page   string // text of the page
	dir    string // the folder in which commands run
	home   string
	notRun []string                               // commands that the test does not run
	other  func(p *pageRun, args []string) string // runs commands other than starhost; or nil
	local  *strings.Replacer                      // replaces addresses in files by those of this run; or nil
}

func newPageRun(t *testing.T, file string) *pageRun {
	t.Helper()
	p := &pageRun{t: t, file: file, dir: t.TempDir(), home: t.TempDir()}
	for _, name := range os.Environ() {
		name, _, _ = strings.Cut(name, "=")
		if strings.HasPrefix(name, "STARHOST_") || strings.HasPrefix(name, "XDG_") || name == "CLAUDE_CONFIG_DIR" {
			t.Setenv(name, "")
		}
	}
	t.Setenv("CI", "") // starhost must take this for a reader's terminal, where --update is allowed
	t.Setenv("HOME", p.home)
	return p
}

// replace replaces an address in the page's files by one of this run.
func (p *pageRun) replace(old, local string) { p.local = strings.NewReplacer(old, local) }

// check compares the page with the text that the run returned, or writes that text.
func (p *pageRun) check(got string) {
	p.t.Helper()
	if *update {
		if err := os.WriteFile(p.file, []byte(got), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(readTestFile(p.t, p.file), got); diff != "" {
		p.t.Errorf("%s (-as it is +as it should be; go test ./cmd/starhost -run %s -update writes it):\n%s", p.file, p.t.Name(), diff)
	}
}

// blocks returns the page with the current output of each command.
func (p *pageRun) blocks(src string) string {
	var out strings.Builder
	p.page = src
	for {
		before, rest, ok := strings.Cut(src, "\n```")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		fence := "```" + rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
		info, rest, _ := strings.Cut(rest[len(fence)-3:], "\n")
		body, rest, ok := strings.Cut(rest, fence)
		if !ok {
			p.t.Fatalf("%s: block %q is not closed", p.file, info)
		}
		fmt.Fprintf(&out, "\n%s%s\n%s%s", fence, info, p.block(info, body), fence)
		src = rest
	}
}

// block handles one block by its kind, and returns its expected body.
func (p *pageRun) block(info, body string) string {
	kind, file, _ := strings.Cut(info, " ")
	switch {
	case file != "":
		path := filepath.Join(p.dir, file)
		if rest, inHome := strings.CutPrefix(file, "~/"); inHome {
			path = filepath.Join(p.home, rest)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.t.Fatal(err)
		}
		text := body
		if p.local != nil {
			text = p.local.Replace(body)
		}
		if kind == "base64" { // the block is a picture
			data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(body))
			if err != nil {
				p.t.Fatalf("%s: block %q: %v", p.file, info, err)
			}
			text = string(data)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			p.t.Fatal(err)
		}
	case kind == "console":
		return p.console(body)
	case kind == "go":
		p.example(body)
	case kind == "sh": // the test runs these commands elsewhere
		for line := range strings.Lines(body) {
			line = strings.TrimSpace(line)
			if !slices.Contains(p.notRun, line) && !strings.Contains(p.page, "\n$ "+line+"\n") {
				p.t.Errorf("%s: no block of the page runs %q", p.file, line)
			}
		}
	default:
		p.t.Errorf("%s: block %q: want a file's name, console, go or sh", p.file, info)
	}
	return body
}

// console runs the commands of a block. A command keeps the output in the page if that fits.
func (p *pageRun) console(body string) string {
	var out strings.Builder
	for _, part := range strings.Split("\n"+body, "\n$ ")[1:] {
		line, want, _ := strings.Cut(part, "\n")
		fmt.Fprintf(&out, "$ %s\n", line)
		if slices.Contains(p.notRun, line) {
			continue
		}
		got := p.command(line)
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(want, "\n")), "…", ".*") + "\n$"
		if strings.Contains(want, "…") && regexp.MustCompile(pattern).MatchString(got) {
			got = strings.TrimRight(want, "\n") + "\n"
		}
		out.WriteString(got)
	}
	return out.String()
}

// command runs one command in this process and returns what it prints.
func (p *pageRun) command(line string) string {
	args := words(p.t, line)
	dir := p.dir
	if len(args) > 3 && slices.Equal(args[:3], []string{"go", "run", "./cmd/starhost"}) {
		dir, args = "../..", args[2:]
	} else if args[0] != "starhost" && p.other != nil {
		return p.other(p, args)
	} else if args[0] != "starhost" {
		p.t.Fatalf("%s: command %q: want starhost, or go run ./cmd/starhost", p.file, line)
	}
	var stdin []byte
	if n := len(args); n > 2 && args[n-2] == "<" {
		var err error
		if stdin, err = os.ReadFile(filepath.Join(dir, args[n-1])); err != nil {
			p.t.Fatal(err)
		}
		args = args[:n-2]
	}
	var both bytes.Buffer
	run(context.Background(), append([]string{"-C", dir}, args[1:]...), bytes.NewReader(stdin), &both, &both)
	if both.Len() == 0 {
		return ""
	}
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
				t.Fatalf("a quote is not closed: %s", line)
			}
		} else {
			word, line, _ = strings.Cut(line, " ")
		}
		list = append(list, word)
	}
	return list
}

// example checks that a block of Go is part of an example that the tests run.
func (p *pageRun) example(body string) {
	files, err := filepath.Glob("../../*/example_test.go")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range append(files, "../../example_test.go") {
		src, err := os.ReadFile(file)
		if err != nil {
			p.t.Fatal(err)
		}
		if strings.Contains(unindented(string(src)), unindented(body)) {
			return
		}
	}
	p.t.Errorf("%s: this Go code is not part of any example_test.go:\n%s", p.file, body)
}

// unindented returns text without white space at the beginning of lines.
func unindented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimLeft(line, " \t"))
	}
	return out.String()
}
