package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/bundle"
)

var built = time.Date(2026, 11, 26, 21, 30, 0, 0, time.UTC)

// policy is a small folder of plugins.
var policy = map[string]string{
	"starhost.toml":             "[plugin.guard]\nsay = \"no\"\n",
	"plugins/guard.star":        "register_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n",
	"plugins/golden/guard_x.md": "x",
	"plugins/a/plugin.star":     "",
	"plugins/ä.md":              strings.Repeat("long ", 1000),
}

func writeFolder(t testing.TB, dir string, names []string, files map[string]string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func names(files map[string]string) (list []string) {
	for name := range files {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func build(t testing.TB, dir string) ([]byte, bundle.Digest) {
	t.Helper()
	archive, _, digest, err := bundle.Build(dir, bundle.BuildOptions{Name: "ops", Sequence: 7, Created: built, Required: []string{"guard"}})
	if err != nil {
		t.Fatal(err)
	}
	return archive, digest
}

// Law: the bytes of a bundle follow from the names and contents of its files alone: not from the order
// in which they were made, their modes and times, the zone, hidden files, or the number of processors.
func TestBuildIsDeterministic(t *testing.T) {
	first := t.TempDir()
	writeFolder(t, first, names(policy), policy)
	want, digest := build(t, first)
	zone, procs := time.Local, runtime.GOMAXPROCS(0)
	defer func() { time.Local = zone; runtime.GOMAXPROCS(procs) }()
	time.Local = time.FixedZone("far", 13*3600)
	runtime.GOMAXPROCS(1)
	second := t.TempDir()
	order := names(policy)
	slices.Reverse(order)
	writeFolder(t, second, order, policy)
	writeFolder(t, second, []string{".git/HEAD", ".hidden", "plugins/.x.swp"}, nil)
	err := filepath.WalkDir(second, func(name string, d fs.DirEntry, err error) error {
		mode := fs.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		if err == nil {
			err = os.Chmod(name, mode)
		}
		if err == nil {
			err = os.Chtimes(name, time.Unix(1, 0), time.Unix(2, 0))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	archive, _, got, err := bundle.Build(second, bundle.BuildOptions{Name: "ops", Sequence: 7, Created: built.In(time.Local), Required: []string{"guard"}})
	if err != nil || got != digest || !bytes.Equal(archive, want) {
		t.Errorf("got %s, %v, want %s, and the same bytes", got, err, digest)
	}
}

// Law: what Unpack writes is what Build read, and each reader gives the same digest.
func TestRoundTrip(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	writeFolder(t, dir, names(policy), policy)
	archive, digest := build(t, dir)
	m, got, err := bundle.Unpack(archive, to)
	if err != nil || got != digest {
		t.Fatalf("Unpack: got %s, %v, want %s", got, err, digest)
	}
	files := map[string]string{}
	again, folder, err := bundle.ReadFolder(to, bundle.Contents(func(bundle.File) bool { return true }, files))
	if err != nil || folder != digest {
		t.Fatalf("ReadFolder: got %s, %v, want %s", folder, err, digest)
	}
	if diff := cmp.Diff(policy, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(m, again); diff != "" {
		t.Errorf("manifests (-archive +folder):\n%s", diff)
	}
	for name, spoil := range map[string]func() error{
		"changed": func() error { return os.WriteFile(filepath.Join(to, "plugins", "guard.star"), []byte("pass\n"), 0o644) },
		"missing": func() error { return os.Remove(filepath.Join(to, "plugins", "guard.star")) },
		"extra":   func() error { return os.WriteFile(filepath.Join(to, ".more"), nil, 0o644) },
		"link":    func() error { return os.Symlink("/etc/passwd", filepath.Join(to, "plugins", "link")) },
	} {
		to = t.TempDir()
		if _, _, err := bundle.Unpack(archive, to); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := bundle.ReadFolder(to, nil); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// An entry is an entry of a hostile archive.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}, content}
}

// manifest returns a manifest as Build writes it, for any files.
func manifest(files ...entry) string {
	m := bundle.Manifest{Schema: "starhost.bundle/1", Name: "ops", Sequence: 1, Created: "2026-11-26T21:30:00Z", Required: []string{}, Files: []bundle.File{}}
	for _, f := range files {
		sum := sha256.Sum256([]byte(f.content))
		m.Files = append(m.Files, bundle.File{Path: f.Name, Size: int64(len(f.content)), SHA256: hex.EncodeToString(sum[:])})
	}
	return string(m.Encode())
}

// archive packs entries as they are.
func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for _, e := range entries {
		h := e.Header
		if err := out.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileArchives(t *testing.T) {
	good := file("a.star", "x = 1\n")
	other := file("a.star", "x = 2\n")
	honest := archive(t, file("bundle.json", manifest(good)), good)
	with := func(entries ...entry) []byte {
		return archive(t, append([]entry{file("bundle.json", manifest(entries...))}, entries...)...)
	}
	typed := func(kind byte, name, link string) []byte {
		e := entry{Header: tar.Header{Name: name, Linkname: link, Typeflag: kind, Mode: 0o644}}
		return archive(t, file("bundle.json", manifest(file(name, ""))), e)
	}
	text := func(from, to string) []byte {
		return archive(t, file("bundle.json", strings.Replace(manifest(good), from, to, 1)), good)
	}
	var many []entry
	for i := range 10_001 {
		many = append(many, file(fmt.Sprintf("%05d", i), ""))
	}
	huge := manifest(good)
	huge = strings.Replace(huge, `"size": 6`, `"size": 67108865`, 1)
	bomb := file("bundle.json", strings.Replace(manifest(good), `"size": 6`, `"size": 10`, 1))
	tests := []struct {
		name    string
		archive []byte
		want    string // a part of the error
	}{
		{"nothing", nil, "no gzip"},
		{"a page of HTML", []byte("<html>sign in</html>"), "no gzip"},
		{"gzip of nothing", gzipped(t, nil), "end of the archive"},
		{"gzip of a text", gzipped(t, bytes.Repeat([]byte("text "), 1000)), "bundle.json"},
		{"half of it", honest[:len(honest)/2], "unexpected EOF"},
		{"without its last byte", honest[:len(honest)-1], "checksum"},
		{"bytes behind it", append(slices.Clone(honest), 0), "more bytes"},
		{"two gzips", append(slices.Clone(honest), honest...), "more bytes"},
		{"no manifest", archive(t, good), `want "bundle.json"`},
		{"the manifest second", archive(t, good, file("bundle.json", manifest(good))), `want "bundle.json"`},
		{"a manifest that is a link", archive(t, entry{Header: tar.Header{Name: "bundle.json", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}}), "got a link"},
		{"a manifest over 1 MiB", archive(t, file("bundle.json", strings.Repeat(" ", 1<<20+1))), "at most 1048576"},
		{"a manifest that is no JSON", archive(t, file("bundle.json", "{")), "unexpected end"},
		{"another schema", text("bundle/1", "bundle/2"), "schema"},
		{"an unknown key", text(`"name"`, `"x": 1, "name"`), "another form"},
		{"a key twice", text(`"name": "ops"`, `"name": "evil", "name": "ops"`), "another form"},
		{"another layout", text("\n", " "), "another form"},
		{"a name of a folder", text(`"ops"`, `"../ops"`), "name:"},
		{"a negative sequence", text(`"sequence": 1`, `"sequence": -1`), "sequence"},
		{"a time that is none", text("2026-11-26T21:30:00Z", "today"), "created"},
		{"a required plugin that is a text", text(`"required": []`, "\"required\": [\n  \"a b\"\n ]"), "required"},
		{"no list of files", archive(t, file("bundle.json", manifest()[:strings.Index(manifest(), `"files"`)]+"\"files\": null\n}\n")), "null"},
		{"other contents", archive(t, file("bundle.json", manifest(good)), other), "contents"},
		{"more bytes than declared", archive(t, file("bundle.json", manifest(good)), file("a.star", "x = 1\n\n")), "got 7 bytes, want 6"},
		{"fewer bytes than declared", archive(t, bomb, good), "got 6 bytes, want 10"},
		{"a missing file", archive(t, file("bundle.json", manifest(good))), "end of the archive"},
		{"an extra file", archive(t, file("bundle.json", manifest()), good), "does not list"},
		{"an extra file behind", archive(t, file("bundle.json", manifest(good)), good, file("b.star", "")), "does not list"},
		{"a file twice", archive(t, file("bundle.json", manifest(good)), good, good), "does not list"},
		{"a file listed twice", with(good, good), "sorted"},
		{"files in another order", archive(t, file("bundle.json", manifest(file("a", ""), file("b", ""))), file("b", ""), file("a", "")), "order"},
		{"unsorted", with(file("b", ""), file("a", "")), "sorted"},
		{"up", with(file("../a", "")), "inside the bundle"},
		{"up in the middle", with(file("x/../../a", "")), "inside the bundle"},
		{"absolute", with(file("/etc/cron.d/a", "")), "inside the bundle"},
		{"a folder's own name", archive(t, file("bundle.json", manifest(file("a/", ""))), file("a", "")), "inside the bundle"},
		{"empty name", with(file("", "")), "inside the bundle"},
		{"a backslash", with(file(`..\a`, "")), "printable"},
		{"a drive", with(file("C:a", "")), "printable"},
		{"a NUL", archive(t, file("bundle.json", manifest(file("a\x00b", ""))), good), "printable"},
		{"a line break", with(file("a\nb", "")), "printable"},
		{"a name that turns the text", with(file("a\u202eb", "")), "printable"},
		{"a dot at the end", with(file("a./b", "")), "dot"},
		{"a long name", with(file(strings.Repeat("a", 241), "")), "at most 240"},
		{"a second manifest", with(file("Bundle.JSON", "")), "second manifest"},
		{"two cases of a file", with(file("A.star", ""), file("a.star", "")), "one on some file systems"},
		{"two cases of a folder", with(file("A/x", ""), file("a/y", "")), "one on some file systems"},
		{"two spellings of k", with(file("k", ""), file("\u212a", "")), "one on some file systems"},
		{"a letter with a mark in one character and in two", with(file("e\u0301.star", ""), file("\u00e9.star", "")), "one on some file systems"},
		{"such a folder, in another case", with(file("J\u030c/x", ""), file("\u01f0/y", "")), "one on some file systems"},
		{"a compatible ideograph", with(file("\u8c48", ""), file("\uf900", "")), "one on some file systems"},
		{"a file that is a folder", with(file("a", ""), file("a/b", "")), "one on some file systems"},
		{"a symbolic link", typed(tar.TypeSymlink, "a", "/etc/passwd"), "got a link"},
		{"a hard link", typed(tar.TypeLink, "a", "/etc/passwd"), "got a link"},
		{"a device", typed(tar.TypeChar, "a", ""), "got a link, a folder or a device"},
		{"a pipe", typed(tar.TypeFifo, "a", ""), "got a link, a folder or a device"},
		{"a folder", typed(tar.TypeDir, "a", ""), "got a link, a folder or a device"},
		{"over 10,000 files", with(many...), "at most"},
		{"a file over 64 MiB", archive(t, file("bundle.json", huge), good), "67108864"},
		{"64 MiB in two files", archive(t, file("bundle.json", twice(huge)), good), "67108864"},
		{"a bomb behind the end", gzipped(t, append(tarOf(t, honest), make([]byte, 8<<20)...)), "more bytes"},
		{"an archive over 64 MiB", make([]byte, 64<<20+1), "67108865 bytes"},
	}
	if len(tests) < 40 {
		t.Errorf("got %d hostile archives, want at least 40", len(tests))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			to := filepath.Join(dir, "to")
			if err := os.Mkdir(to, 0o755); err != nil {
				t.Fatal(err)
			}
			_, _, err := bundle.Unpack(tt.archive, to)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			if err != nil && len(err.Error()) > 600 {
				t.Errorf("got an error of %d bytes", len(err.Error()))
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 1 {
				t.Errorf("got %v outside of the folder", entries)
			}
			if _, _, read := bundle.Read(tt.archive, nil); fmt.Sprint(read) != fmt.Sprint(err) {
				t.Errorf("Read: got %v, want %v", read, err)
			}
		})
	}
	if _, _, err := bundle.Unpack(honest, t.TempDir()); err != nil {
		t.Errorf("the honest archive: %v", err)
	}
}

// twice makes the only file of a manifest two files of 40 MiB.
func twice(m string) string {
	m = strings.Replace(m, "67108865", "41943040", 1)
	at := strings.Index(m, "  {")
	one := strings.TrimSuffix(m[at:strings.Index(m, "\n ]")], "\n")
	return m[:at] + one + ",\n" + strings.Replace(one, "a.star", "b.star", 1) + m[strings.Index(m, "\n ]"):]
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, archive []byte) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(zip); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBuildErrors(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(dir string) error
		want  string
	}{
		{"a link", func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "link")) }, "\"link\": got a link"},
		{"a manifest", func(dir string) error { return os.WriteFile(filepath.Join(dir, "bundle.json"), nil, 0o644) }, "second manifest"},
		{"a dot at the end", func(dir string) error { return os.WriteFile(filepath.Join(dir, "a."), nil, 0o644) }, "dot"},
	}
	if runtime.GOOS == "windows" {
		t.Skip("Windows makes no such files")
	}
	for _, tt := range tests {
		dir := t.TempDir()
		if err := tt.spoil(dir); err != nil {
			t.Fatal(err)
		}
		_, _, _, err := bundle.Build(dir, bundle.BuildOptions{Name: "ops", Created: built})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A key signs for the archive's bytes and no others; during a rotation two keys hold.
func TestSignature(t *testing.T) {
	dir := t.TempDir()
	writeFolder(t, dir, names(policy), policy)
	data, _ := build(t, dir)
	a, secretA := newKey(t)
	b, secretB := newKey(t)
	sign := func(secret []byte) []byte {
		signature, err := bundle.Sign(data, secret, "")
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	byA, byB := sign(secretA), sign(secretB)
	spoiled := append(slices.Clone(data), 0)
	for _, tt := range []struct {
		name            string
		data, signature []byte
		keys            []string
		want            string // "" if it holds
	}{
		{"A", data, byA, []string{a}, ""},
		{"A of A and B", data, byA, []string{a, b}, ""},
		{"B of A and B", data, byB, []string{a, b}, ""},
		{"A of B", data, byA, []string{b}, "got a signature of key " + id(t, a) + ", want one of " + id(t, b)},
		{"other bytes", spoiled, byA, []string{a}, "not for these bytes"},
		{"none", data, nil, []string{a}, "no signature of minisign"},
		{"a page", data, []byte("<html>"), []string{a}, "no signature of minisign"},
		{"no key", data, byA, []string{"RWx"}, "want a public key"},
	} {
		got, err := bundle.Verify(tt.data, tt.signature, tt.keys)
		if tt.want == "" && (err != nil || len(got) != 16) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	if _, err := bundle.Sign(data, []byte("x"), ""); err == nil {
		t.Error("a key that is none: got no error")
	}
	if _, err := bundle.Sign(spoiled, secretA, ""); err == nil {
		t.Error("a broken archive: got a signature")
	}
}

func newKey(t testing.TB) (public string, secret []byte) {
	t.Helper()
	pub, key, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err = key.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return pub.String(), secret
}

func id(t *testing.T, key string) string {
	t.Helper()
	k, err := bundle.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.KeyID(k)
}

// Debian's minisign verifies what Sign signs, with a key of minisign, encrypted or not, and Verify what
// minisign signs.
func TestMinisign(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign is not installed: apt-get install minisign")
	}
	dir := t.TempDir()
	writeFolder(t, dir, names(policy), policy)
	data, _ := build(t, dir)
	run := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("minisign %q: %v\n%s", args, err, out)
		}
	}
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write("ops.tar.gz", data)
	run("", "-G", "-W", "-p", "plain.pub", "-s", "plain.key")
	kinds := map[string]string{"plain": ""}
	if os.Getenv("STARHOST_LONG") != "" { // deriving the key takes a second and a gigabyte
		run("secret\nsecret\n", "-G", "-p", "locked.pub", "-s", "locked.key")
		kinds["locked"] = "secret"
	}
	for key, password := range kinds {
		signature, err := bundle.Sign(data, read(key+".key"), password)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		write("ops.tar.gz.minisig", signature)
		run("", "-V", "-m", "ops.tar.gz", "-p", key+".pub")
		run(password+"\n", "-S", "-m", "ops.tar.gz", "-s", key+".key", "-x", "theirs.minisig")
		if _, err := bundle.Verify(data, read("theirs.minisig"), []string{string(read(key + ".pub"))}); err != nil {
			t.Errorf("%s: minisign's signature: %v", key, err)
		}
	}
}

func TestDiff(t *testing.T) {
	dir := t.TempDir()
	writeFolder(t, dir, names(policy), policy)
	old, _ := build(t, dir)
	if err := os.Remove(filepath.Join(dir, "starhost.toml")); err != nil {
		t.Fatal(err)
	}
	writeFolder(t, dir, []string{"plugins/guard.star", "b.png"}, map[string]string{"plugins/guard.star": "pass\n", "b.png": "\x89PNG\xff"})
	changed, _ := build(t, dir)
	reader := func(data []byte) bundle.Reader {
		at := filepath.Join(t.TempDir(), "x.tar.gz")
		if err := os.WriteFile(at, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := bundle.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	_, _, changes, err := bundle.Diff(reader(old), reader(changed))
	if err != nil {
		t.Fatal(err)
	}
	want := []bundle.Change{
		{Op: "+", Path: "b.png"},
		{Op: "~", Path: "plugins/guard.star", Diff: "--- a/plugins/guard.star\n+++ b/plugins/guard.star\n@@ -1 +1 @@\n-register_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n+pass\n"},
		{Op: "-", Path: "starhost.toml", Diff: "--- a/starhost.toml\n+++ b/starhost.toml\n@@ -1,2 +0,0 @@\n-[plugin.guard]\n-say = \"no\"\n"},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// Law: Read accepts only what Build writes, byte for byte in its meaning, and never panics.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	writeFolder(f, dir, names(policy), policy)
	data, _ := build(f, dir)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		files := map[string]string{}
		m, digest, err := bundle.Read(data, bundle.Contents(func(bundle.File) bool { return true }, files))
		if err != nil {
			return
		}
		dir := t.TempDir()
		writeFolder(t, dir, names(files), files)
		created, _ := time.Parse(time.RFC3339, m.Created)
		_, _, again, err := bundle.Build(dir, bundle.BuildOptions{Name: m.Name, Sequence: m.Sequence, Created: created, Required: m.Required})
		if err != nil || again != digest && slices.IsSorted(m.Required) {
			t.Errorf("got %s, %v, want %s", again, err, digest)
		}
	})
}
