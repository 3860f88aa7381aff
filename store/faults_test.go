package store_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/store"
)

func TestMain(m *testing.M) {
	if task := os.Getenv("STARHOST_STORE_TASK"); task != "" {
		if err := runTask(task, os.Getenv("STARHOST_STORE_URL")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := testbed.Alone(m).Run()
	shared.remove()
	os.Exit(code)
}

// runTask is the work of another process: "add N" adds 1 to a counter N times, "llm NAME" stores
// fragments in llm's file, "read" reads a key, "turns NAME N" takes N turns of a session, "turn N"
// takes one and prints its request, "pause" takes one that waits for an approval, "resume VERSION"
// goes on with it in that version of the plugin, "write NAME" writes one key after the other, and
// prints each that is stored.
func runTask(task, url string) error {
	if name, ok := strings.CutPrefix(task, "llm "); ok {
		return putMany(store.OpenLLM(url), name)
	}
	db, err := store.Open(store.Options{URL: url})
	if err != nil {
		return err
	}
	ctx := context.Background()
	var n int
	if _, err := fmt.Sscanf(task, "add %d", &n); err == nil {
		for range n {
			err := addOne(ctx, db)
			if err != nil {
				return err
			}
		}
		return db.Close()
	}
	if task == "read" {
		_, _, err := db.Get(ctx, "p", "k")
		return err
	}
	if task == "pause" || strings.HasPrefix(task, "resume") {
		return runPaused(ctx, db, strings.TrimPrefix(task, "resume"))
	}
	if name, ok := strings.CutPrefix(task, "turn"); ok {
		return runTurns(ctx, db, name)
	}
	name := strings.TrimPrefix(task, "write ")
	for i := range 1000 {
		key := fmt.Sprintf("%s/%d", name, i)
		if err := db.Set(ctx, "p", key, json.RawMessage(`"`+strings.Repeat(key, 20)+`"`)); err != nil {
			return err
		}
		fmt.Println(key)
	}
	return nil
}

// runTurns takes turns of the session "a".
func runTurns(ctx context.Context, db *store.DB, task string) error {
	h := host.New(host.Options{Sessions: db, Prompt: host.PromptOptions{Render: fragments.XML}})
	if err := h.Add(counter()); err != nil {
		return err
	}
	var name string
	var n int
	if _, err := fmt.Sscanf(task, "s %s %d", &name, &n); err == nil {
		return takeTurns(ctx, h, "a", name, n)
	}
	text, err := takeTurn(ctx, h, "a", "words"+task)
	fmt.Print(text)
	return err
}

// addOne adds 1 to a counter.
func addOne(ctx context.Context, db *store.DB) error {
	return db.Update(ctx, "p", "n", func(old json.RawMessage) (json.RawMessage, error) {
		was := 0
		if old != nil {
			if err := json.Unmarshal(old, &was); err != nil {
				return nil, err
			}
		}
		return json.Marshal(was + 1)
	})
}

// putMany stores 20 fragments.
func putMany(l *store.LLM, name string) error {
	for i := range 20 {
		text := fmt.Sprintf("%s/%d", name, i)
		if err := l.Put(context.Background(), fragments.Content{ID: fragments.Sum(text), Text: text}); err != nil {
			return err
		}
	}
	return l.Close()
}

// other returns a process that does a task.
func other(t *testing.T, task, url string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STARHOST_STORE_TASK="+task, "STARHOST_STORE_URL="+url)
	cmd.Stderr = os.Stderr
	return cmd
}

// isLong reports whether the long forms run.
func isLong() bool { return os.Getenv("STARHOST_LONG") != "" }

// Eight processes count together, and lose nothing.
func TestProcessesAdd(t *testing.T) {
	each := 50
	if isLong() {
		each = 1000
	}
	test := func(t *testing.T, url string) {
		var wg sync.WaitGroup
		for range 8 {
			cmd := other(t, fmt.Sprintf("add %d", each), url)
			wg.Go(func() {
				if err := cmd.Run(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		value, _, err := open(t, store.Options{URL: url}).Get(t.Context(), "p", "n")
		if string(value) != fmt.Sprint(8*each) || err != nil {
			t.Errorf("got %s, %v, want %d", value, err, 8*each)
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, newDatabase(t)) })
}

// killWriters starts four processes that write, kills them at a random moment, and returns the keys
// whose writes they acknowledged. In the first round the moment comes after an acknowledgement.
func killWriters(t *testing.T, url string, round int) (keys []string) {
	t.Helper()
	var (
		mu  sync.Mutex
		wg  sync.WaitGroup
		all []*exec.Cmd

		acknowledged = make(chan struct{})
		begun        = sync.OnceFunc(func() { close(acknowledged) })
	)
	for i := range 4 {
		cmd := other(t, fmt.Sprintf("write %d.%d", round, i), url)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
		wg.Go(func() {
			for lines := bufio.NewReader(out); ; {
				line, err := lines.ReadString('\n')
				if err != nil {
					return // a line without its end is no acknowledgement
				}
				mu.Lock()
				keys = append(keys, strings.TrimSpace(line))
				mu.Unlock()
				begun()
			}
		})
	}
	if round == 0 {
		<-acknowledged
	}
	time.Sleep(time.Duration(30+rand.IntN(300)) * time.Millisecond)
	for _, cmd := range all {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	for _, cmd := range all {
		cmd.Wait() // it was killed
	}
	return keys
}

// A killed process loses no acknowledged write, and leaves no lock.
func TestKill(t *testing.T) {
	rounds := 3
	if isLong() {
		rounds = 200
	}
	url := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	acknowledged := 0
	for round := range rounds {
		keys := killWriters(t, url, round)
		db := open(t, store.Options{URL: url})
		for _, key := range keys {
			value, ok, err := db.Get(t.Context(), "p", key)
			if want := `"` + strings.Repeat(key, 20) + `"`; string(value) != want || !ok || err != nil {
				t.Fatalf("round %d: key %s: got %q, %v, %v", round, key, value, ok, err)
			}
		}
		if err := db.Set(t.Context(), "p", "after", json.RawMessage("1")); err != nil {
			t.Fatalf("round %d: a write after the kill: %v", round, err)
		}
		for _, key := range keys { // the next rounds stay small
			if _, err := db.Delete(t.Context(), "p", key); err != nil {
				t.Fatal(err)
			}
		}
		db.Close()
		acknowledged += len(keys)
	}
	if acknowledged == 0 {
		t.Error("no write was acknowledged")
	}
	t.Logf("%d rounds, %d acknowledged writes, none lost", rounds, acknowledged)
}

// A damaged database is an error with its name, and stays as it is.
func TestDamagedFile(t *testing.T) {
	tests := map[string]string{
		"text":   strings.Repeat("This is not a database.\n", 1000),
		"header": "SQLite format 3\x00" + strings.Repeat("\xff", 8192),
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.db")
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			refuses(t, file, file)
			if got, err := os.ReadFile(file); string(got) != content || err != nil {
				t.Errorf("the file changed: %v", err)
			}
		})
	}
}

// A database whose end or middle was lost is an error, or its values are right. starhost never
// returns wrong values, and never replaces the file.
func TestTornFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	db := open(t, store.Options{URL: "sqlite:" + file})
	valueOf := func(i int) string { return `"` + strings.Repeat(fmt.Sprint(i), 100) + `"` }
	for i := range 200 {
		if err := db.Set(t.Context(), "p", fmt.Sprint(i), json.RawMessage(valueOf(i))); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n := range 20 {
		torn := bytes.Clone(whole)
		if at := (n + 1) * len(torn) / 22; n%2 == 0 {
			torn = torn[:at]
		} else {
			copy(torn[at:], make([]byte, 5000))
		}
		if err := os.WriteFile(file, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		db := open(t, store.Options{URL: "sqlite:" + file})
		for i := range 200 {
			value, ok, err := db.Get(t.Context(), "p", fmt.Sprint(i))
			switch {
			case err != nil && !strings.Contains(err.Error(), file):
				t.Errorf("%d: got %v, want the file in it", n, err)
			case err != nil:
				failed++
			case ok && string(value) != valueOf(i):
				t.Errorf("%d: key %d has the value %.50q", n, i, value)
			}
		}
		db.Close()
		if info, err := os.Stat(file); err != nil || info.Size() != int64(len(torn)) {
			t.Errorf("%d: the file changed: %v", n, err)
		}
	}
	t.Logf("%d of 4000 reads failed", failed)
}

// refuses checks that reads and writes of a file fail with a message.
func refuses(t *testing.T, file, want string) {
	t.Helper()
	db := open(t, store.Options{URL: "sqlite:" + file})
	_, _, err := db.Get(t.Context(), "p", "k")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Get: got %v, want an error with %q", err, want)
	}
	err = db.Set(t.Context(), "p", "k", json.RawMessage("1"))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Set: got %v, want an error with %q", err, want)
	}
	if err := db.Fragments().Put(t.Context(), fragments.Content{ID: fragments.Sum("x"), Text: "x"}); err == nil {
		t.Error("Put: got no error")
	}
}

// execute runs statements on a file as another program does.
func execute(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// An older program refuses the schema of a newer one, and names both versions.
func TestNewerSchema(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	db := open(t, store.Options{URL: "sqlite:" + file})
	if err := db.Set(t.Context(), "p", "k", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	db.Close()
	execute(t, file, "UPDATE starhost_schema SET version = 99")
	refuses(t, file, "the database has version 99, and this starhost knows versions up to ")
	execute(t, file, "DELETE FROM starhost_schema")
	refuses(t, file, "the database has no version")
}

// A database of another program stays as it is.
func TestForeignDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "logs.db")
	execute(t, file, "CREATE TABLE a (b INT)")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, file, "is a database of another program")
	if after, err := os.ReadFile(file); string(after) != string(before) || err != nil {
		t.Errorf("the file changed: %v", err)
	}
}

// A file is made at the first write only, for its owner only.
func TestFileAppearsOnWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "starhost")
	db := open(t, store.Options{URL: "sqlite:", Default: filepath.Join(dir, "starhost.db")})
	if _, ok, err := db.Get(t.Context(), "p", "k"); ok || err != nil {
		t.Errorf("Get: got %v, %v", ok, err)
	}
	if names, err := db.Aliases(t.Context()); len(names) > 0 || err != nil {
		t.Errorf("Aliases: got %q, %v", names, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Fatal("a read made the folder")
	}
	if err := db.Set(t.Context(), "p", "k", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "starhost.db": 0o600, "starhost.db-wal": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%q: got %v, %v, want mode %v", name, info, err, want)
		}
	}
}

// A write beyond the limit of a file's size is an error that names the file, and data remains.
func TestFileLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	db := open(t, store.Options{URL: "sqlite:" + file})
	if err := db.Set(t.Context(), "p", "k", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	db.Close()
	full := exec.Command(testbed.Need(t, "sh"), "-c", `ulimit -f 200; trap '' XFSZ; exec "$0"`, os.Args[0])
	full.Env = append(os.Environ(), "STARHOST_STORE_TASK=write full", "STARHOST_STORE_URL=sqlite:"+file)
	out, err := full.CombinedOutput()
	if err == nil || !strings.Contains(string(out), file) {
		t.Errorf("got %v, want an error with the file:\n%.500s", err, out)
	}
	db = open(t, store.Options{URL: "sqlite:" + file})
	if value, _, err := db.Get(t.Context(), "p", "k"); string(value) != "1" || err != nil {
		t.Errorf("got %s, %v, want 1", value, err)
	}
}

// A folder that cannot be made is an error.
func TestNoFolder(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(parent, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, store.Options{URL: "sqlite:" + filepath.Join(parent, "a.db")})
	if err := db.Set(t.Context(), "p", "k", json.RawMessage("1")); err == nil || !strings.Contains(err.Error(), parent) {
		t.Errorf("got %v, want an error with the path", err)
	}
}

// Without a folder for the default file, a use fails, and nothing before it.
func TestNoDefault(t *testing.T) {
	db := open(t, store.Options{URL: "sqlite:"})
	want := "store sqlite:: there is no folder for the database: want HOME or XDG_DATA_HOME"
	if _, _, err := db.Get(t.Context(), "p", "k"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, url := range []string{"", "none", "mysql://x", "postgres://%zz"} {
		if _, err := store.Open(store.Options{URL: url}); err == nil {
			t.Errorf("%q: got no error", url)
		}
	}
}

// If the server restarts, the next use connects again. If it is away, the use fails soon, and the
// message has no password.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	var s server
	t.Cleanup(s.remove)
	s.start()
	if s.why != "" {
		t.Skip(s.why)
	}
	db := open(t, store.Options{URL: s.newDatabase(t)})
	set := func() error { return db.Set(t.Context(), "p", "k", json.RawMessage("1")) }
	if err := set(); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	if err := set(); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	s.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := db.Set(ctx, "p", "k", json.RawMessage("1")); err == nil {
		t.Error("without a server: got no error")
	}
	away := open(t, store.Options{URL: "postgres://me:hunter2@127.0.0.1:1/x"})
	if _, _, err := away.Get(ctx, "p", "k"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

// A restart of the server in the middle of writes loses no acknowledged write.
func TestServerRestartsMidway(t *testing.T) {
	t.Parallel()
	var s server
	t.Cleanup(s.remove)
	s.start()
	if s.why != "" {
		t.Skip(s.why)
	}
	url := s.newDatabase(t)
	var done, failed atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		db := open(t, store.Options{URL: url})
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := addOne(t.Context(), db); err != nil {
					failed.Add(1)
				} else {
					done.Add(1)
				}
			}
		})
	}
	for range 3 {
		time.Sleep(200 * time.Millisecond)
		s.stop()
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(200 * time.Millisecond)
	close(stop)
	wg.Wait()
	value, _, err := open(t, store.Options{URL: url}).Get(t.Context(), "p", "n")
	var n int64
	if err == nil {
		err = json.Unmarshal(value, &n)
	}
	if err != nil || n < done.Load() || n > done.Load()+failed.Load() || done.Load() == 0 {
		t.Errorf("got %d, %v, want at least the %d acknowledged writes and at most %d more", n, err, done.Load(), failed.Load())
	}
	t.Logf("%d acknowledged writes, %d failed, counter %d", done.Load(), failed.Load(), n)
}

// If the server stops answering, a use fails, and does not wait for it.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	var s server
	t.Cleanup(s.remove)
	s.start()
	if s.why != "" {
		t.Skip(s.why)
	}
	db := open(t, store.Options{URL: s.newDatabase(t)})
	if err := db.Set(t.Context(), "p", "k", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	s.signal(t, "STOP")
	defer s.signal(t, "CONT")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // without it, 8 s
	defer cancel()
	if err := db.Set(ctx, "p", "k", json.RawMessage("1")); err == nil {
		t.Error("got no error")
	}
}

// If nothing answers, uses at the same time all fail in the time of one.
func TestServerSilent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	db := open(t, store.Options{URL: "postgres://me:hunter2@" + l.Addr().String() + "/x?sslmode=disable"})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 30 { // one after the other would take 2 minutes
		wg.Go(func() {
			if _, _, err := db.Get(ctx, "p", "k"); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want an error without the password", err)
			}
		})
	}
	wg.Wait()
}
