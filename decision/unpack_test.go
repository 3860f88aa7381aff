package decision_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/decision"
)

// TestUnpack reads compressed logs by their contents, from a file of any name and from standard input. A file
// that is cut or damaged is an error with its name, and reading can end before the file does.
func TestUnpack(t *testing.T) {
	var lines, packed bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&lines, `{"schema":"starhost.decision/1","id":"R%d","event":"turn_end","starhost":%q}`+"\n", i, strings.Repeat("x", i%700))
	}
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(lines.Bytes())
	w.Close()
	forms := map[string][]byte{"plain": lines.Bytes(), "gzip": packed.Bytes(), "two gzips": append(bytes.Clone(packed.Bytes()), packed.Bytes()...)}
	if _, err := exec.LookPath("zstd"); err == nil {
		cmd := exec.Command("zstd", "-c")
		cmd.Stdin = &lines
		if forms["zstd"], err = cmd.Output(); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for name, content := range forms {
		file := filepath.Join(dir, name)
		save(t, file, content)
		for _, from := range []string{file, "-"} {
			r, err := decision.NewReader(from)
			if err != nil {
				t.Fatal(err)
			}
			r.Stdin = bytes.NewReader(content)
			n := 0
			for _, err := range r.All() {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				n++
			}
			want := 3000
			if name == "two gzips" {
				want = 6000
			}
			if n != want || r.Skipped > 0 {
				t.Errorf("%s: got %d records and %d other lines, want %d", name, n, r.Skipped, want)
			}
			for range r.All() {
				break
			}
		}
		if name == "plain" {
			continue
		}
		save(t, file, content[:len(content)-9])
		r, err := decision.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, err := range r.All() {
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), file+": ") {
			t.Errorf("%s, cut: got %v, want an error with the name", name, failed)
		}
	}
}

func save(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
