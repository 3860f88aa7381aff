// Package testbed is what the tests of all packages stand on: a home of their own, and the
// programs that this machine may lack.
//
// go test ./... passes on a machine with Go, git and the programs of coreutils alone, downloads
// nothing, and writes only to temporary folders. So a test that runs another program calls [Need]
// first, one that downloads or takes minutes calls [NeedSet], and TestMain of a package that could
// reach the user's folders runs its tests by [Alone].
package testbed

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Need returns the path of the first program that this machine has. It skips the test if there is
// none of them.
func Need(t testing.TB, programs ...string) string {
	t.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("needs %s, which is not installed", strings.Join(programs, " or "))
	return ""
}

// Lacks skips the test because this system lacks something. On Linux, which has it, the test fails.
func Lacks(t testing.TB, why any) {
	t.Helper()
	if runtime.GOOS == "linux" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// NeedSet skips the test unless an environment variable is 1. why says what the test costs.
//
// The variables are STARHOST_E2E for tests that download programs of others, and STARHOST_LONG for
// tests that take minutes.
func NeedSet(t testing.TB, variable, why string) {
	t.Helper()
	if os.Getenv(variable) != "1" {
		t.Skipf("needs %s=1: %s", variable, why)
	}
}

// A Run is a testing.M, as packages that run tests take it.
type Run interface{ Run() int }

// Alone returns the tests of a package with a home of their own, which they find empty and must
// leave empty: a test that writes there writes into its user's folders, and what it leaves could
// make another test pass.
func Alone(m Run) Run { return alone{m} }

type alone struct{ tests Run }

// Run runs the tests. It fails if they wrote into the home.
func (a alone) Run() int {
	home, err := os.MkdirTemp("", "starhost-test-home-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(home)
	moveTo(home)
	if Race && flag.Lookup(rapidChecks) != nil {
		// The detector slows a property down tenfold, and each of its inputs takes the same locks.
		if err := flag.Set(rapidChecks, "10"); err != nil {
			return failed(err)
		}
	}
	code := a.tests.Run()
	if file := firstFile(home); file != "" {
		return failed(fmt.Errorf(`a test wrote %s into the user's home: want a separate home, as by t.Setenv("HOME", t.TempDir())`, file))
	}
	return code
}

// rapidChecks is the flag of pgregory.net/rapid with the number of inputs of a property.
const rapidChecks = "rapid.checks"

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "FAIL: testbed:", err)
	return 1
}

// moveTo makes this process that of a user with an empty home. Go and npm keep their caches,
// because some tests build programs or install them.
func moveTo(home string) {
	keep := func(variable string, folder func() (string, error), inside string) {
		if dir, err := folder(); err == nil && os.Getenv(variable) == "" {
			os.Setenv(variable, filepath.Join(dir, inside))
		}
	}
	keep("GOENV", os.UserConfigDir, "go/env")
	keep("GOCACHE", os.UserCacheDir, "go-build")
	keep("GOPATH", os.UserHomeDir, "go")
	keep("npm_config_cache", os.UserHomeDir, ".npm")
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "XDG_") || slices.Contains(userVariables, name) {
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", home)
}

// userVariables are settings that a user of starhost may have.
var userVariables = []string{
	"STARHOST_COLOR", "STARHOST_CONFIG", "STARHOST_LOG", "STARHOST_MODEL", "STARHOST_STORE", "STARHOST_TOKEN",
}

// firstFile returns the name of a file in the home, "" if there is none but those that Go writes.
func firstFile(home string) string {
	found := ""
	_ = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(home, path)
		switch {
		case err != nil:
			return err
		case name == filepath.Join(".config", "go"):
			return fs.SkipDir // its telemetry
		case !d.IsDir():
			found = name
			return fs.SkipAll
		}
		return nil
	})
	return found
}
