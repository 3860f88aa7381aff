//go:build unix

package loader_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/starhost/starhost/loader"
)

// TestTrustedCommandFolder checks that a trusted command runs in the folder of the config, whose
// files the operator trusted. In another folder a relative name is another file.
func TestTrustedCommandFolder(t *testing.T) {
	test := newTrustTest(t)
	sub := test.path("repo/sub")
	for file, text := range map[string]string{
		test.path("repo/token.sh"):       "#!/bin/sh\necho trusted\n",
		filepath.Join(sub, "token.sh"):   "#!/bin/sh\necho foreign\n",
		test.path("repo/server.sh"):      "#!/bin/sh\n",
		filepath.Join(sub, "server.sh"):  "#!/bin/sh\n",
		test.path("repo/starhost.toml"):  "[secrets]\nTOKEN = { command = [\"./token.sh\"] }\n[mcp.x]\ncommand = [\"sh\", \"server.sh\"]\n",
		test.path("repo/plugins/a.star"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o755), os.Chmod(file, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	test.trust(false)
	t.Chdir(sub)
	test.Dir = sub
	c, _ := test.config()
	set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: sub})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if got, err := set.Secret("TOKEN"); got != "trusted" || err != nil {
		t.Errorf("the secret: got %q, %v", got, err)
	}
	repo, err := filepath.EvalSymlinks(test.path("repo"))
	if m := c.MCP["x"]; err != nil || m == nil || m.Dir != repo {
		t.Errorf("the server: got %+v, %v, want the folder %s", m, err, repo)
	}
}

// TestTrustOfPipe checks that trust waits for no pipe that a command names.
func TestTrustOfPipe(t *testing.T) {
	p := newTrustTest(t)
	file := p.path("repo/token.sh")
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	p.trust(false)
	if got := p.plan().State; got != loader.Trusted {
		t.Errorf("got %s", got)
	}
}
