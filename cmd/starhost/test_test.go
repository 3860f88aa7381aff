package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/report"
)

const (
	helloPlugin = `register_hook("pre_llm_call", lambda: "hello")`
	helloCase   = "A hello.\n-- case.star --\nfire(\"pre_llm_call\")\n"
	helloWant   = "-- want --\n== fire pre_llm_call\n  1  2cf24dba5fb0  pre_llm_call  5 B\n     | hello\n"
)

// junitRules are the rules of Jenkins' junit-10.xsd: the attributes that each element must and
// may have, and its possible children. An element without children may contain text.
var junitRules = map[string]struct{ must, may, children []string }{
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "errors"}, []string{"testsuite"}},
	"testsuite": {[]string{"name", "tests", "failures", "errors"},
		[]string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
		[]string{"testsuite", "properties", "testcase", "system-out", "system-err"}},
	"testcase": {[]string{"name"}, []string{"time", "classname", "group"},
		[]string{"skipped", "error", "failure", "rerunFailure", "rerunError", "flakyFailure", "flakyError", "system-out", "system-err"}},
	"failure": {nil, []string{"type", "message"}, nil},
	"error":   {nil, []string{"type", "message"}, nil},
	"skipped": {nil, []string{"type", "message"}, nil},
}

// checkJUnit compares a report with the rules.
func checkJUnit(t *testing.T, report []byte) {
	t.Helper()
	open := []string{}
	for d := xml.NewDecoder(bytes.NewReader(report)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, report)
		}
		switch token := token.(type) {
		case xml.StartElement:
			checkJUnitElement(t, open, token)
			open = append(open, token.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && junitRules[open[len(open)-1]].children != nil && len(bytes.TrimSpace(token)) > 0 {
				t.Errorf("%s: got text %q, want elements", open, token)
			}
		}
	}
}

func checkJUnitElement(t *testing.T, open []string, e xml.StartElement) {
	t.Helper()
	rule, ok := junitRules[e.Name.Local]
	inRoot := len(open) == 0 && e.Name.Local == "testsuites"
	inParent := len(open) > 0 && slices.Contains(junitRules[open[len(open)-1]].children, e.Name.Local)
	if !ok || !inRoot && !inParent {
		t.Errorf("%s: got an element %s", open, e.Name.Local)
	}
	var got []string
	for _, a := range e.Attr {
		got = append(got, a.Name.Local)
		if !slices.Contains(slices.Concat(rule.must, rule.may), a.Name.Local) {
			t.Errorf("%s: got an attribute %s", e.Name.Local, a.Name.Local)
		}
	}
	for _, name := range rule.must {
		if !slices.Contains(got, name) {
			t.Errorf("%s: got no attribute %s", e.Name.Local, name)
		}
	}
}

// TestJUnit checks reports with cases of all statuses, and with characters that XML cannot
// contain.
func TestJUnit(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.star":                   helloPlugin,
		"golden/a_hello.txtar":     helloCase + helloWant,
		"golden/a_odd.txtar":       "-- case.star --\nprint(\"<&]]>\\x00\\x1b\\x7f\")\n",
		"golden/a_broken.txtar/it": "",
		"golden/a_fails.txtar":     "-- case.star --\nfail(\"no\")\n",
	})
	t.Setenv("CI", "") // --update is refused in CI
	for _, args := range [][]string{nil, {"--fail-fast"}, {"--run", "nothing"}, {"--update"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var out, diagnostics bytes.Buffer
			run(t.Context(), append([]string{"test", "-C", dir, "-F", "junit"}, args...), nil, &out, &diagnostics)
			want := ""
			if slices.Contains(args, "nothing") {
				want = "no case whose name matches --run nothing [E0724]\n  help: starhost docs E0724\n"
			}
			if got := diagnostics.String(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			checkJUnit(t, out.Bytes())
		})
	}
}

// TestTestWatch checks that cases run again when a plugin or a case changes, when a folder is
// new, and when the config is broken and repaired.
func TestTestWatch(t *testing.T) {
	t.Setenv("CI", "") // --update is refused in CI
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"plugins/a.star": helloPlugin, "plugins/golden/a_hello.txtar": helloCase + helloWant})
	ctx, cancel := context.WithCancel(t.Context())
	stderr, code := make(tap), make(chan int)
	go func() { code <- run(ctx, []string{"test", "--watch", "-C", dir, "--update"}, nil, stderr, stderr) }()
	steps := []struct {
		name  string
		files map[string]string
		want  string // the last lines of the diagnostics
	}{
		{"the first run", nil, "1 case: 1 passed\n"},
		{"a plugin", map[string]string{"plugins/a.star": strings.Replace(helloPlugin, "hello", "bye", 1)}, "1 case: 1 updated\n"},
		{"what that wrote", nil, "1 case: 1 passed\n"},
		{"a broken config", map[string]string{"starhost.toml": "x = 1\n"}, "help: starhost docs E0602\n"},
		{"a mended config", map[string]string{"starhost.toml": ""}, "1 case: 1 passed\n"},
		{"a new folder", map[string]string{"plugins/b/plugin.star": helloPlugin}, "1 case: 1 passed\n"},
		{"a case in it", map[string]string{"plugins/b/golden/hello.txtar": helloCase + helloWant}, "2 cases: 2 passed\n"},
	}
	for _, step := range steps {
		writeFiles(t, dir, step.files)
		for got := ""; !strings.HasSuffix(got, step.want); {
			select {
			case got = <-stderr:
				t.Logf("%s: %s", step.name, got)
			case got := <-code:
				t.Fatalf("%s: it ended with exit code %d, want %q", step.name, got, step.want)
			}
		}
	}
	cancel()
	for {
		select {
		case got := <-stderr:
			if got != "" {
				t.Errorf("at the end: got %q, want nothing", got)
			}
		case got := <-code:
			if got != report.ExitInterrupted {
				t.Errorf("exit code: got %d, want %d", got, report.ExitInterrupted)
			}
			return
		}
	}
}

// TestTestInterrupted checks that an interrupted run says so and has no result, in all formats.
func TestTestInterrupted(t *testing.T) {
	t.Setenv("CI", "") // --update is refused in CI
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.star": helloPlugin, "golden/a_hello.txtar": helloCase})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, format := range []string{"pretty", "junit", "github"} {
		var out, diagnostics bytes.Buffer
		code := run(ctx, []string{"test", "-C", dir, "--update", "-F", format, "-o", "out"}, nil, &out, &diagnostics)
		want := "interrupted [E0709]\n  help: starhost docs E0709\n"
		if code != report.ExitInterrupted || out.Len() > 0 || diagnostics.String() != want {
			t.Errorf("%s: got exit code %d, %q, %q; want %d, nothing, %q", format, code, out.String(), diagnostics.String(), report.ExitInterrupted, want)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "golden", "a_hello.txtar"))
	got := []string{string(text), filepath.Base(strings.Join(names, ", "))}
	if diff := cmp.Diff([]string{helloCase, "a_hello.txtar"}, got); diff != "" || err != nil {
		t.Errorf("files (-want +got): %v\n%s", err, diff)
	}
}

// TestClosedPipe checks that the program writes one clear line if the reader of its output is gone.
func TestClosedPipe(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.star": helloPlugin, "golden/a_hello.txtar": helloCase})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var diagnostics bytes.Buffer
	code := run(t.Context(), []string{"test", "-C", dir}, nil, w, &diagnostics)
	want := "standard output: broken pipe [E0708]\n  help: starhost docs E0708\n"
	if code != report.ExitFile || diagnostics.String() != want {
		t.Errorf("got exit code %d, %q; want %d, %q", code, diagnostics.String(), report.ExitFile, want)
	}
}
