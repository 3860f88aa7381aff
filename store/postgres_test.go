package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A server is a PostgreSQL server in a temporary folder, which listens on a socket there.
type server struct {
	dir     string // contains data, and the socket
	binary  func(name string) string
	account *syscall.Credential // the user postgres, if the tests run as root
	why     string              // the reason why there is none
	process *exec.Cmd
	log     bytes.Buffer
}

var (
	shared        server
	startShared   sync.Once
	databaseCount atomic.Int64
)

// newDatabase returns the URL of an empty database on the shared server.
func newDatabase(t *testing.T) string {
	t.Helper()
	startShared.Do(shared.start)
	if shared.why != "" {
		t.Skip(shared.why)
	}
	return shared.newDatabase(t)
}

// newDatabase returns the URL of an empty database.
func (s *server) newDatabase(t *testing.T) string {
	t.Helper()
	db, err := sql.Open("postgres", s.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name := fmt.Sprintf("test%d", databaseCount.Add(1))
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}

func (s *server) url(database string) string {
	q := url.Values{"host": {s.dir}, "user": {"postgres"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + q.Encode()
}

// start makes a server and starts it, or says why it does not.
func (s *server) start() {
	if err := s.prepare(); err != nil {
		s.why = "no PostgreSQL: " + err.Error()
		return
	}
	if err := s.run(); err != nil {
		s.why = "PostgreSQL does not start: " + err.Error()
	}
}

// prepare finds the programs and makes the folder of the server.
func (s *server) prepare() error {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		file, err := exec.LookPath("initdb")
		if err != nil {
			return err
		}
		found = []string{file}
	}
	bin := filepath.Dir(found[len(found)-1])
	s.binary = func(name string) string { return filepath.Join(bin, name) }
	dir, err := os.MkdirTemp("/tmp", "starhost-pg") // the path of a socket has at most 107 bytes
	if err != nil {
		return err
	}
	s.dir = dir
	if os.Getuid() == 0 {
		account, err := user.Lookup("postgres")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(account.Uid)
		gid, _ := strconv.Atoi(account.Gid)
		s.account = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			return err
		}
	}
	out, err := s.command("initdb", "-D", dir+"/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %v: %s", err, out)
	}
	return nil
}

// command returns a command of the server's account.
func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(s.binary(name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account}
	return cmd
}

// run starts the server and waits until it answers.
func (s *server) run() error {
	s.process = s.command("postgres", "-D", s.dir+"/data", "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=60")
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.process.Start(); err != nil {
		return err
	}
	for range 200 {
		time.Sleep(50 * time.Millisecond)
		db, err := sql.Open("postgres", s.url("postgres"))
		if err == nil {
			err = db.PingContext(context.Background())
			db.Close()
		}
		if err == nil {
			return nil
		}
	}
	s.stop()
	return fmt.Errorf("it does not answer: %s", strings.TrimSpace(s.log.String()))
}

// signal sends a signal to all processes of the server, which are in different process groups.
func (s *server) signal(t *testing.T, name string) {
	t.Helper()
	pids, err := exec.Command("pgrep", "-P", strconv.Itoa(s.process.Process.Pid)).Output()
	if err != nil {
		t.Skip("no pgrep:", err)
	}
	args := append([]string{"-" + name, strconv.Itoa(s.process.Process.Pid)}, strings.Fields(string(pids))...)
	if out, err := exec.Command("kill", args...).CombinedOutput(); err != nil {
		t.Fatalf("kill %q: %v: %s", args, err, out)
	}
}

// stop stops the server at once.
func (s *server) stop() {
	if s.process != nil {
		s.process.Process.Signal(syscall.SIGINT)
		s.process.Wait()
		s.process = nil
	}
}

// remove stops the server and deletes its folder.
func (s *server) remove() {
	s.stop()
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}
