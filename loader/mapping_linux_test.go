package loader_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// TestWriteThroughMapping changes plugins by a shared mapping. In older versions of Linux that
// changes no stamp of a file on tmpfs, so only its bytes can say that a cached program is stale.
// Newer versions change the stamps, so the test also checks that each load reads the files again.
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

	cache := new(starlark.Cache)
	outcome := func() string {
		text, err := loaded(t.Context(), loader.Options{Args: []string{dir}}, cache)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	outcome() // fills the cache
	text := ""
	read := filesRead(t, files, func() { text = outcome() })
	if strings.Count(text, "before") != 2 {
		t.Fatalf("got %s, want \"before\" from both tools", text)
	}
	if len(read) != len(files) {
		t.Errorf("loading read %q, want all of %q", read, files)
	}
	for _, file := range []string{files[0], files[2]} {
		replaceByMapping(t, file, "before", "after!")
	}
	if text := outcome(); strings.Count(text, "after!") != 2 || strings.Contains(text, "before") {
		t.Errorf("got %s, want \"after!\" from both tools", text)
	}
}

// filesRead returns the files whose contents do reads.
func filesRead(t *testing.T, files []string, do func()) (read []string) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer syscall.Close(fd)
	names := map[int32]string{}
	for _, file := range files {
		watch, err := syscall.InotifyAddWatch(fd, file, syscall.IN_ACCESS)
		if err != nil {
			t.Skip(err)
		}
		names[int32(watch)] = file
	}
	do()
	events := make([]byte, 64<<10)
	n, err := syscall.Read(fd, events)
	if err != nil && err != syscall.EAGAIN {
		t.Fatal(err)
	}
	for at := 0; at+syscall.SizeofInotifyEvent <= n; at += syscall.SizeofInotifyEvent { // without names
		watch := int32(binary.NativeEndian.Uint32(events[at:]))
		if name := names[watch]; name != "" && !slices.Contains(read, name) {
			read = append(read, name)
		}
	}
	return read
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
