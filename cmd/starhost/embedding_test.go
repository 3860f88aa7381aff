package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/testbed"
)

// TestDocsEmbedding compiles and runs the program of docs/embedding.md, and its test, in a module
// outside of this one. With -update it writes the output.
func TestDocsEmbedding(t *testing.T) {
	testbed.Need(t, "go")
	const page = "../../docs/embedding.md"
	gocache := goEnv(t, "GOCACHE", "GOMODCACHE", "GOPATH")
	p := newPageRun(t, page)
	for name, value := range gocache { // the test's home is empty, so the go command needs its caches
		t.Setenv(name, value)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off") // all modules that the page needs are modules of starhost
	p.notRun = []string{"go mod init example.com/shop", "go get github.com/starhost/starhost"}
	p.other = goCommand
	writeFiles(t, p.dir, map[string]string{"go.mod": shopModule(t), "go.sum": readTestFile(t, "../../go.sum")})
	p.check(p.blocks(readTestFile(t, page)))
}

// goCommand runs the go command in the page's folder and returns what it prints.
func goCommand(p *pageRun, args []string) string {
	cmd := exec.CommandContext(p.t.Context(), args[0], args[1:]...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Errorf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// goEnv returns settings of the go command.
func goEnv(t *testing.T, names ...string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, name := range names {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		values[name] = strings.TrimSpace(string(out))
	}
	return values
}

// shopModule returns a go.mod that requires this module at its place, and the versions of its
// dependencies.
func shopModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`(?m)^(module|ignore|tool) .*\n`)
	const module = "github.com/starhost/starhost"
	return "module example.com/shop\n" + own.ReplaceAllString(string(src), "") +
		"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n"
}
