package fleet_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/loader"
)

// TestSyncProcess is no test: TestKilled runs it as a process that it kills.
func TestSyncProcess(t *testing.T) {
	managed := os.Getenv("TEST_SYNC_MANAGED")
	if managed == "" {
		t.Skip("TestKilled runs it")
	}
	c, _, err := loader.LoadConfig(loader.ConfigOptions{None: true, Managed: managed})
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := fleet.Sync(t.Context(), fleet.Options{Config: c, Now: time.Now(), Try: fleet.TryOptions{Managed: managed}, Getenv: os.Getenv})
		if err != nil {
			t.Fatal(err)
		}
		if os.Getenv("TEST_SYNC_ONCE") != "" {
			return
		}
	}
}

// TestHTTPS fetches over TLS, from a server that the system trusts, and from no other.
func TestHTTPS(t *testing.T) {
	k, s := newKey(t), newServer(t)
	v1 := pack(t, k, "ops", 1, plain("v1"))
	s.publish(v1)
	secure := httptest.NewTLSServer(s.Config.Handler)
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	m := newMachine(t, ops(secure.URL+"/ops.tar.gz", k))
	roots := filepath.Join(t.TempDir(), "roots.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(roots, certificate, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ roots, want, answer string }{
		{os.DevNull, "certificate signed by unknown authority", "lost"}, {roots, "PASS", "v1"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSyncProcess$")
		cmd.Env = append(os.Environ(), "TEST_SYNC_MANAGED="+m.managed, "TEST_SYNC_ONCE=1", "SSL_CERT_FILE="+tt.roots, "SSL_CERT_DIR="+t.TempDir())
		out, _ := cmd.CombinedOutput() // the text says whether it failed
		if !strings.Contains(string(out), tt.want) || m.answer() != tt.answer {
			t.Errorf("got %s, answer %q, want %q, %q", out, m.answer(), tt.want, tt.answer)
		}
	}
}

// TestKilled kills a sync at random moments, while versions change at each request and a loop of hooks
// asks. Each answer is that of a whole version, and the next round succeeds.
func TestKilled(t *testing.T) {
	kills := 5
	if os.Getenv("STARHOST_LONG") == "1" {
		kills = 200
	}
	k, s := newKey(t), newServer(t)
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k))
	var releases []release
	for i := range 4 {
		releases = append(releases, pack(t, k, "ops", 1, plain(fmt.Sprint("v", i))))
	}
	s.publish(releases[0])
	m.must()
	stop, done := make(chan bool), make(chan error, 2)
	go func() { // the loop of hooks
		defer func() { done <- errors.New("the loop of hooks ended") }() // after m.answer failed the test
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if got := m.answer(); len(got) != 2 || got[0] != 'v' {
				done <- fmt.Errorf("answer %d: got %q, want that of a version", i, got)
				return
			}
			s.publish(releases[i%len(releases)])
		}
	}()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSyncProcess$")
		cmd.Env = append(os.Environ(), "TEST_SYNC_MANAGED="+m.managed)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+random.IntN(120)) * time.Millisecond)
		_ = cmd.Process.Kill() // it may have failed
		_ = cmd.Wait()
		// A new archive beside the signature of the old one is refused, as it must be.
		if text := out.String(); strings.Contains(text, "FAIL") && !strings.Contains(text, "not for these bytes") {
			t.Fatalf("seed %d: a round failed:\n%s", seed, text)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	s.publish(releases[1])
	if b := m.must(); b.Digest != releases[1].digest || m.answer() != "v1" {
		t.Errorf("seed %d: after it all: got %+v, %q", seed, b, m.answer())
	}
	for _, name := range m.tree() {
		if strings.Contains(name, "/.new-") || strings.Contains(name, ".tmp") {
			t.Errorf("seed %d: %s is left", seed, name)
		}
	}
}
