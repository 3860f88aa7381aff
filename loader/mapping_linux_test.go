package loader_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// TestWriteThroughMapping changes plugins by a shared mapping. On tmpfs that changes no stamp of a
// file, so only its bytes can say that a cached program is stale.
func TestWriteThroughMapping(t *testing.T) {
	const shm = "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shm, &fs); err != nil || fs.Type != 0x01021994 {
		t.Skip("/dev/shm is no tmpfs")
	}
	dir, err := os.MkdirTemp(shm, "starhost-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	files := []string{filepath.Join(dir, "one.star"), filepath.Join(dir, "two", "plugin.star"), filepath.Join(dir, "two", "lib.star")}
	const tool = "def NAME():\n    \"\"\"Says.\"\"\"\n    return OUT\n\nregister_tool(NAME)\n"
	if err := os.Mkdir(filepath.Dir(files[1]), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, files[0], strings.NewReplacer("NAME", "one", "OUT", `"before"`).Replace(tool))
	write(t, files[1], "load(\"lib.star\", \"word\")\n"+strings.NewReplacer("NAME", "two", "OUT", "word").Replace(tool))
	write(t, files[2], `word = "before"`)

	folder := cacheFolder(filepath.Join(t.TempDir(), "cache"))
	memory := new(starlark.Cache)
	outcomes := func() []string {
		var texts []string
		add := func(text string, err error) {
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		add(folder.loaded(t.Context(), loader.Options{Args: []string{dir}}))
		add(loaded(t.Context(), loader.Options{Args: []string{dir}}, memory))
		return texts
	}
	outcomes() // fill the caches
	for i, text := range outcomes() {
		if strings.Count(text, "before") != 2 {
			t.Fatalf("cache %d: got %s, want \"before\" from both tools", i, text)
		}
	}
	for _, file := range []string{files[0], files[2]} {
		replaceByMapping(t, file, "before", "after!")
	}
	for i, text := range outcomes() {
		if strings.Count(text, "after!") != 2 || strings.Contains(text, "before") {
			t.Errorf("cache %d: got %s, want \"after!\" from both tools", i, text)
		}
	}
}

// replaceByMapping replaces bytes of a file by a shared mapping, and checks that no stamp changes.
func replaceByMapping(t *testing.T, file, before, after string) {
	t.Helper()
	var old, stat syscall.Stat_t
	if err := syscall.Stat(file, &old); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := syscall.Mmap(int(f.Fd()), 0, int(old.Size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[strings.Index(string(data), before):], after)
	if err := syscall.Munmap(data); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Stat(file, &stat); err != nil {
		t.Fatal(err)
	}
	if stat.Mtim != old.Mtim || stat.Ctim != old.Ctim || stat.Ino != old.Ino || stat.Size != old.Size {
		t.Logf("this system changes the stamps of %s", file)
	}
}
