//go:build unix

package fleet_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/bundle"
	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// A key is a pair of keys of minisign.
type key struct {
	public string
	secret []byte
}

func newKey(t testing.TB) key {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return key{public.String(), secret}
}

// A release is a signed bundle.
type release struct {
	archive, signature []byte
	digest             string
}

// files returns a bundle whose guard denies with a word, and which has a golden case of that.
func files(word string) map[string]string {
	return map[string]string{
		"plugins/guard.star": "register_hook(\"pre_tool_call\", lambda: deny(\"" + word + "\"))\n",
		"plugins/golden/guard_denies.txtar": "The guard denies.\n-- case.star --\ncall_tool(\"x\")\n-- plugins/x.star --\nregister_tool(lambda: 1, name = \"x\", description = \"X.\")\n" +
			"-- want --\n== call_tool x\ndeny: " + word + " (guard.star:1:44)\nhooks        pre_tool_call: guard (deny " + word + ")\n",
	}
}

// plain is files without a case.
func plain(word string) map[string]string {
	f := files(word)
	delete(f, "plugins/golden/guard_denies.txtar")
	return f
}

func pack(t testing.TB, k key, name string, sequence int64, contents map[string]string) release {
	t.Helper()
	dir := t.TempDir()
	for name, text := range contents {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive, _, digest, err := bundle.Build(dir, bundle.BuildOptions{Name: name, Sequence: sequence, Created: time.Unix(0, 0), Required: []string{"guard"}})
	if err != nil {
		t.Fatal(err)
	}
	signature, err := bundle.Sign(archive, k.secret, "")
	if err != nil {
		t.Fatal(err)
	}
	return release{archive, signature, string(digest)}
}

// A server has the files of an HTTP server on this machine, with their ETags.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	files   map[string][]byte
	answer  http.HandlerFunc // answers in place of the files; or nil
	written atomic.Int64     // bytes that the server sent and got
	asked   []string
}

func newServer(t testing.TB) *server {
	s := &server{files: map[string][]byte{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		content, ok := s.files[req.URL.Path]
		answer := s.answer
		s.asked = append(s.asked, req.URL.Path)
		s.mu.Unlock()
		switch {
		case answer != nil:
			answer(w, req)
		case !ok:
			http.NotFound(w, req)
		default:
			w.Header().Set("ETag", fmt.Sprintf("\"%x\"", sha256.Sum256(content)))
			http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(content))
		}
	}))
	s.Listener = countingListener{s.Listener, &s.written}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

type countingListener struct {
	net.Listener
	n *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.n}, err
}

type countingConn struct {
	net.Conn
	n *atomic.Int64
}

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func (c countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.n.Add(int64(n))
	return n, err
}

func (s *server) publish(r release) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files["/ops.tar.gz"], s.files["/ops.tar.gz.minisig"], s.answer = r.archive, r.signature, nil
}

func (s *server) answers(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// A machine has a managed config.
type machine struct {
	t       testing.TB
	managed string
	state   string
	now     time.Time
	wait    time.Duration
}

func newMachine(t testing.TB, config string) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{t: t, managed: filepath.Join(dir, "etc", "config.toml"), state: filepath.Join(dir, "lib"), now: time.Unix(1_800_000_000, 0), wait: 10 * time.Second}
	for _, folder := range []string{"etc", "lib"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.configure(config)
	return m
}

func (m *machine) configure(config string) {
	m.t.Helper()
	text := fmt.Sprintf("[status]\npath = %q\n%s", filepath.Join(m.state, "status.json"), config)
	if err := os.WriteFile(m.managed, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func ops(url string, keys ...key) string {
	var list []string
	for _, k := range keys {
		list = append(list, fmt.Sprintf("%q", k.public))
	}
	return fmt.Sprintf("[bundles.ops]\nurl = %q\nkeys = [%s]\n", url, strings.Join(list, ", "))
}

func (m *machine) config() *loader.Config {
	m.t.Helper()
	c, _, err := loader.LoadConfig(loader.ConfigOptions{None: true, Managed: m.managed})
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

// sync does a round and returns the state of the bundle ops and the exit code.
func (m *machine) sync() (fleet.BundleStatus, int, error) {
	m.t.Helper()
	m.now = m.now.Add(time.Hour)
	status, err := fleet.Sync(m.t.Context(), fleet.Options{
		Config: m.config(), Wait: m.wait, Now: m.now, Try: fleet.TryOptions{Managed: m.managed}, Getenv: os.Getenv,
	})
	exit := 0
	if err != nil {
		exit = report.Describe(err).Exit
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			exit = report.Describe(joined.Unwrap()[0]).Exit
		}
	}
	if status == nil {
		return fleet.BundleStatus{}, exit, err
	}
	stored := fleet.ReadStatus(m.config())
	if diff := cmp.Diff(status, stored); diff != "" {
		m.t.Errorf("the status and its file (-want +got):\n%s", diff)
	}
	return status.Bundles[0], exit, err
}

// must is sync of a round that must succeed.
func (m *machine) must() fleet.BundleStatus {
	m.t.Helper()
	b, _, err := m.sync()
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

// answer returns what the guards of the machine say about a call.
func (m *machine) answer() string {
	m.t.Helper()
	set, err := loader.Load(m.t.Context(), loader.Options{Config: m.config(), Dir: filepath.Dir(m.managed), AllowMissing: true})
	if err != nil {
		return err.Error()
	}
	defer set.Close()
	out, err := set.Host.NewSession(host.SessionConfig{}).Fire(m.t.Context(), &starhost.Event{Name: "pre_tool_call", Tool: "x"})
	if err != nil {
		return err.Error()
	}
	if out.Lost != nil {
		return "lost"
	}
	return out.Decision.Reason
}

// tree returns the files of the state folder, without the status and the lock.
func (m *machine) tree() (list []string) {
	m.t.Helper()
	err := filepath.WalkDir(m.state, func(name string, d fs.DirEntry, err error) error {
		if base := filepath.Base(name); err == nil && base != "status.json" && base != "sync.lock" {
			list = append(list, strings.TrimPrefix(name, m.state))
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

// TestSync goes from nothing to a bundle, to a newer one, to one that did not change, and back.
func TestSync(t *testing.T) {
	k, s := newKey(t), newServer(t)
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k))
	if got := m.answer(); got != "lost" {
		t.Errorf("before the first round: got %q, want a refusal", got)
	}
	v1, v2 := pack(t, k, "ops", 1, files("v1")), pack(t, k, "ops", 2, files("v2"))
	s.publish(v1)
	b := m.must()
	if b.Digest != v1.digest || b.Sequence != 1 || b.Age == nil || *b.Age != 0 || b.LastError != "" || m.answer() != "v1" {
		t.Errorf("the first round: got %+v, answer %q", b, m.answer())
	}
	before := s.written.Load()
	b = m.must()
	if n := s.written.Load() - before; n >= 2048 || b.Digest != v1.digest {
		t.Errorf("an unchanged bundle: got %d bytes and %+v, want less than 2,048", n, b)
	} else {
		t.Logf("304 costs %d bytes", n)
	}
	s.publish(v2)
	if b = m.must(); b.Digest != v2.digest || b.Highest != 2 || m.answer() != "v2" {
		t.Errorf("the second: got %+v, answer %q", b, m.answer())
	}

	// An older one is refused, unless it is pinned. A version that is still here needs no server.
	s.publish(v1)
	before1 := m.tree()
	if b, exit, err := m.sync(); exit != 6 || b.LastCode != "E1003" || m.answer() != "v2" {
		t.Errorf("an older one: got exit %d, %v", exit, err)
	}
	if diff := cmp.Diff(before1, m.tree()); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
	s.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	m.configure(ops(s.URL+"/ops.tar.gz", k) + fmt.Sprintf("pin = %q\n", v1.digest))
	if b = m.must(); b.Digest != v1.digest || b.Highest != 2 || m.answer() != "v1" {
		t.Errorf("a pinned one: got %+v, answer %q", b, m.answer())
	}
	m.configure(ops(s.URL+"/ops.tar.gz", k))
	s.publish(v1) // what is active is not older than itself, and an attacker gets nothing below the highest
	if _, exit, err := m.sync(); exit != 6 {
		t.Errorf("an older one after the pin is gone: got exit %d, %v", exit, err)
	}
	s.publish(v2)
	if b = m.must(); b.Digest != v2.digest {
		t.Errorf("after the pin is gone: got %+v", b)
	}

	// The last three stay.
	for i := range 4 {
		s.publish(pack(t, k, "ops", int64(3+i), plain(fmt.Sprint("v", 3+i))))
		m.must()
	}
	entries, err := os.ReadDir(m.config().BundleFolder("ops"))
	if err != nil || len(entries) != 4 || m.answer() != "v6" {
		t.Errorf("got %v, %v, want three versions and the file current; answer %q", entries, err, m.answer())
	}
	pinned := pack(t, k, "ops", 1, files("v1")) // fetched again: it is no longer here
	s.publish(pinned)
	m.configure(ops(s.URL+"/ops.tar.gz", k) + fmt.Sprintf("pin = %q\n", pinned.digest))
	if b = m.must(); b.Digest != pinned.digest {
		t.Errorf("a pinned one that must be fetched: got %+v", b)
	}
}

// TestSyncFailures has a row for each way to fail. The active version stays, its answers too, no file is
// left, and the next good bundle arrives.
func TestSyncFailures(t *testing.T) {
	k, other := newKey(t), newKey(t)
	v1, v2 := pack(t, k, "ops", 1, files("v1")), pack(t, k, "ops", 2, files("v2"))
	v3 := pack(t, k, "ops", 3, files("v3"))
	foreign := newServer(t)
	foreign.publish(v2)
	spoiled := release{slices.Clone(v2.archive), v2.signature, ""}
	spoiled.archive[len(spoiled.archive)/2] ^= 1
	signed := func(archive []byte) release {
		return release{archive, sign(t, k, archive), ""}
	}
	with := func(name, text string) release {
		f := files("v2")
		f[name] = text
		return pack(t, k, "ops", 2, f)
	}
	code := func(n int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) } }
	tests := []struct {
		name    string
		publish release
		answer  http.HandlerFunc
		config  string
		exit    int
		want    string // a part of the error
	}{
		{name: "404", answer: code(404), exit: 5, want: "got status 404 Not Found"},
		{name: "500", answer: code(500), exit: 5, want: "got status 500"},
		{name: "304 that nobody asked for", answer: code(304), config: "v2", exit: 5, want: "got status 304"},
		{name: "slow", answer: func(w http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, exit: 5, want: "it took more than"},
		{name: "slow in the middle", answer: func(w http.ResponseWriter, req *http.Request) {
			w.Write(v2.archive[:100])
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		}, exit: 5, want: "it took more than"},
		{name: "a redirect to another host", answer: func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, strings.Replace(foreign.URL, "127.0.0.1", "localhost", 1)+req.URL.Path, 302)
		}, exit: 5, want: "got a redirect to localhost"},
		{name: "redirects without end", answer: func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, req.URL.Path, 302) }, exit: 5, want: "more than 5 redirects"},
		{name: "a page of HTML", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<html>sign in</html>"))
		}, exit: 5, want: `got "text/html", want a tar.gz: does this network ask for a log-in?`},
		{name: "partial", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(v2.archive)))
			w.Write(v2.archive[:100])
		}, exit: 5, want: "unexpected EOF"},
		{name: "over 64 MiB", answer: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "67108865") }, exit: 5, want: "at most 67108864"},
		{name: "no server", config: ops("http://127.0.0.1:1/ops.tar.gz", k), exit: 5, want: "refused"},
		{name: "no file", config: ops("file:///no/such.tar.gz", k), exit: 5, want: "no such file"},
		{name: "no signature", publish: release{v2.archive, nil, ""}, exit: 6, want: "got no signature"},
		{name: "of another key", publish: release{v2.archive, sign(t, other, v2.archive), ""}, exit: 6, want: "got a signature of key " + id(t, other) + ", want one of " + id(t, k)},
		{name: "over other bytes", publish: spoiled, exit: 6, want: "not for these bytes"},
		{name: "signed, and no bundle", publish: signed(append(slices.Clone(v2.archive), 0)), exit: 6, want: "more bytes"},
		{name: "another name", publish: pack(t, k, "ring2", 2, files("v2")), exit: 6, want: `got the bundle "ring2", want ops`},
		{name: "an older sequence", publish: pack(t, k, "ops", 0, files("v0")), exit: 6, want: "got sequence 0, want at least 1"},
		{name: "not the pinned one", publish: v2, config: "pin = \"sha256:" + strings.Repeat("0", 64) + "\"\n", exit: 6, want: "which pin names"},
		{name: "it does not load", publish: with("plugins/bad.star", "def\n"), exit: 7, want: "bad.star:2:1: not an identifier"},
		{name: "a case fails", publish: with("plugins/guard.star", "register_hook(\"pre_tool_call\", lambda: None)\n"), exit: 7, want: "the golden case plugins/guard.star::guard_denies does not pass"},
		{name: "a required plugin is missing", publish: pack(t, k, "ops", 2, map[string]string{"plugins/other.star": ""}), exit: 7, want: `the plugin "guard" is required`},
		{name: "it grants itself something", publish: with("starhost.toml", "grants.guard = [\"env:HOME\"]\n"), exit: 7, want: "starhost.toml:1: grants: a bundle cannot set it"},
		{name: "it raises a limit", publish: with("starhost.toml", "limits.steps = 9_000_000\n"), exit: 7, want: "starhost.toml:1: limits.steps"},
		{name: "the machine's program refuses it", publish: v2, config: "verify = [\"false\"]\n", exit: 6, want: `verify: "false": exit status 1`},
		{name: "there is no such program", publish: v2, config: "verify = [\"starhost-no-such-program\"]\n", exit: 6, want: "executable file not found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			base := ops(s.URL+"/ops.tar.gz", k)
			m := newMachine(t, base)
			s.publish(v1)
			m.must()
			before := m.tree()
			switch {
			case tt.config == "v2":
				os.Remove(filepath.Join(m.state, "status.json")) // so that the round asks for no ETag
			case strings.HasPrefix(tt.config, "["):
				m.configure(tt.config)
			default:
				m.configure(base + tt.config)
			}
			if tt.publish.archive != nil {
				s.publish(tt.publish)
				if tt.publish.signature == nil {
					s.mu.Lock()
					delete(s.files, "/ops.tar.gz.minisig")
					s.mu.Unlock()
				}
			}
			if tt.answer != nil {
				s.answers(tt.answer)
			}
			if strings.HasPrefix(tt.name, "slow") {
				m.wait = 200 * time.Millisecond
			}
			b, exit, err := m.sync()
			if exit != tt.exit || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got exit %d, %v; want %d, %q", exit, err, tt.exit, tt.want)
			}
			if b.Digest != v1.digest || !strings.Contains(b.LastError, tt.want) || b.LastCode == "" || tt.config != "v2" && (b.Age == nil || *b.Age != 3600) {
				t.Errorf("status: got %+v", b)
			}
			if diff := cmp.Diff(before, m.tree()); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
			m.configure(base)
			if got := m.answer(); got != "v1" {
				t.Errorf("the guard's answer: got %q, want v1", got)
			}
			s.publish(v3)
			if b := m.must(); b.Digest != v3.digest || m.answer() != "v3" {
				t.Errorf("the next good bundle: got %+v", b)
			}
		})
	}
}

func sign(t testing.TB, k key, data []byte) []byte {
	t.Helper()
	var private minisign.PrivateKey
	if err := private.UnmarshalText(k.secret); err != nil {
		t.Fatal(err)
	}
	return minisign.Sign(private, data)
}

func id(t testing.TB, k key) string {
	t.Helper()
	public, err := bundle.ParseKey(k.public)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.KeyID(public)
}

// A server may redirect to the hosts that the config names.
func TestRedirect(t *testing.T) {
	k, s, storage := newKey(t), newServer(t), newServer(t)
	v1 := pack(t, k, "ops", 1, plain("v1"))
	storage.publish(v1)
	there := strings.Replace(storage.URL, "127.0.0.1", "localhost", 1)
	s.answers(func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, there+req.URL.Path, 302) })
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k)+fmt.Sprintf("redirects = [%q]\n", strings.TrimPrefix(there, "http://")))
	if b := m.must(); b.Digest != v1.digest {
		t.Errorf("got %+v", b)
	}
}

// A broken version does not stop the server's ETag from bringing the next one: the ETag counts for the
// active version only.
func TestBrokenThenFixed(t *testing.T) {
	k, s := newKey(t), newServer(t)
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k))
	s.publish(pack(t, k, "ops", 1, files("v1")))
	m.must()
	broken := plain("v2")
	broken["plugins/bad.star"] = "def\n"
	s.publish(pack(t, k, "ops", 2, broken))
	for range 2 {
		if _, exit, err := m.sync(); exit != 7 {
			t.Fatalf("got exit %d, %v", exit, err)
		}
	}
	v3 := pack(t, k, "ops", 3, files("v3"))
	s.publish(v3)
	if b := m.must(); b.Digest != v3.digest {
		t.Errorf("got %+v", b)
	}
}

// Keys change from A to A and B to B without a round that refuses the bundle.
func TestKeyRotation(t *testing.T) {
	a, b, s := newKey(t), newKey(t), newServer(t)
	url := s.URL + "/ops.tar.gz"
	m := newMachine(t, ops(url, a))
	for i, step := range []struct {
		keys   []key
		signer key
	}{
		{[]key{a}, a}, {[]key{a, b}, a}, {[]key{a, b}, b}, {[]key{b}, b},
	} {
		m.configure(ops(url, step.keys...))
		s.publish(pack(t, step.signer, "ops", int64(i), plain(fmt.Sprint("v", i))))
		m.must()
		if got := m.answer(); got != fmt.Sprint("v", i) {
			t.Errorf("step %d: got %q", i, got)
		}
	}
	m.configure(ops(url, b))
	s.publish(pack(t, a, "ops", 9, plain("v9")))
	if _, exit, _ := m.sync(); exit != 6 {
		t.Errorf("the old key: got exit %d", exit)
	}
}

// A machine installs what somebody changed or removed again, and says what is wrong before that.
func TestTampered(t *testing.T) {
	k, s := newKey(t), newServer(t)
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k)+"max_age = \"2h\"\n")
	v1 := pack(t, k, "ops", 1, files("v1"))
	s.publish(v1)
	m.must()
	home := m.config().BundleFolder("ops")
	folder := filepath.Join(home, strings.Replace(v1.digest, ":", "-", 1))
	for name, spoil := range map[string]func() error{
		"a changed file": func() error { return os.WriteFile(filepath.Join(folder, "plugins", "guard.star"), nil, 0o644) },
		"a missing file": func() error { return os.Remove(filepath.Join(folder, "plugins", "guard.star")) },
		"a new file":     func() error { return os.WriteFile(filepath.Join(folder, "plugins", "x.star"), nil, 0o644) },
		"no folder":      func() error { return os.RemoveAll(folder) },
		"no current":     func() error { return os.Remove(filepath.Join(home, "current")) },
		"nothing":        func() error { return os.RemoveAll(home) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if list := fleet.Examine(m.config(), m.now); len(list) != 1 || list[0].Problem == "" {
			t.Errorf("%s: got %+v, want a problem", name, list)
		}
		m.must()
		if list := fleet.Examine(m.config(), m.now); list[0].Problem != "" || list[0].Old || m.answer() != "v1" {
			t.Errorf("%s: after a round: got %+v, answer %q", name, list, m.answer())
		}
	}
	list := fleet.Examine(m.config(), m.now.Add(3*time.Hour))
	if !list[0].Old || *list[0].Age != 3*3600 {
		t.Errorf("three hours later: got %+v", list[0])
	}
	if list := fleet.Examine(m.config(), m.now.Add(-time.Hour)); list[0].Age != nil || list[0].Old {
		t.Errorf("a clock that went back: got %+v, want an unknown age", list[0])
	}
}

// A bundle that asks for a permission is installed, and the status says what it lacks.
func TestNeeds(t *testing.T) {
	k, s := newKey(t), newServer(t)
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k))
	f := plain("v1")
	f["plugins/guard.star"] = "plugin(permissions = [\"env:TEAM\"])\n" + f["plugins/guard.star"]
	s.publish(pack(t, k, "ops", 1, f))
	if b := m.must(); !slices.Equal(b.Needs, []string{"guard: env:TEAM"}) {
		t.Errorf("got %q", b.Needs)
	}
	m.configure(ops(s.URL+"/ops.tar.gz", k) + "[grants]\nguard = [\"env:TEAM\"]\n")
	s.publish(pack(t, k, "ops", 2, f))
	if b := m.must(); len(b.Needs) != 0 {
		t.Errorf("with the grant: got %q", b.Needs)
	}
}

// Two bundles do not wait for each other, and one round at a time changes them.
func TestTwoBundles(t *testing.T) {
	k, s := newKey(t), newServer(t)
	s.publish(pack(t, k, "ops", 1, plain("v1")))
	web := pack(t, k, "web", 1, map[string]string{"plugins/web.star": ""})
	s.files["/web.tar.gz"] = web.archive
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k)+strings.Replace(ops(s.URL+"/web.tar.gz", k), "ops", "web", 1))
	if b, exit, _ := m.sync(); exit != 6 || b.Sequence != 1 {
		t.Errorf("one without a signature: got exit %d, %+v", exit, b)
	}
	started, block := make(chan bool, 10), make(chan bool)
	s.answers(func(w http.ResponseWriter, _ *http.Request) { started <- true; <-block })
	done := make(chan bool)
	go func() { m.sync(); close(done) }()
	<-started
	_, err := fleet.Sync(t.Context(), fleet.Options{Config: m.config(), Now: m.now, Getenv: os.Getenv})
	if err == nil || !strings.Contains(err.Error(), "another starhost sync") {
		t.Errorf("a second round: got %v", err)
	}
	close(block)
	<-done
}

// TestFile fetches from a folder that the system mounts.
func TestFile(t *testing.T) {
	k, dir := newKey(t), t.TempDir()
	v1 := pack(t, k, "ops", 1, files("v1"))
	at := filepath.Join(dir, "ops.tar.gz")
	if err := errors.Join(os.WriteFile(at, v1.archive, 0o644), os.WriteFile(at+".minisig", v1.signature, 0o644)); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, ops("file://"+filepath.ToSlash(at), k)+"verify = [\"test\", \"-s\"]\n")
	if b := m.must(); b.Digest != v1.digest {
		t.Errorf("got %+v", b)
	}
}
