package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
)

// disk mounts a file system of 64 KiB in memory, and writes a plugin and a case that needs an update to it.
// It skips the test if the process may not mount.
func disk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a file system in memory cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(filepath.Join(dir, "golden"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// cannotUpdate checks that starhost test --update fails with one clear line, and changes nothing.
func cannotUpdate(t *testing.T, dir, why string) {
	t.Helper()
	before := readFiles(t, dir)
	_, got := test(t, golden.Options{Dir: dir, Update: true})
	want := "FAILED p.star::p_case (golden/p_case.txtar:1)\n  Capitals.\ngolden/p_case.txtar cannot be written: " + why + "\n\n1 case: 1 failed\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Test (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

func TestFullDisk(t *testing.T) {
	dir := disk(t)
	fill, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = fill.WriteString(strings.Repeat("x", 4096))
	}
	fill.Close() // the disk is full
	cannotUpdate(t, dir, "no space left on device")
}

func TestReadOnlyDisk(t *testing.T) {
	dir := disk(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	cannotUpdate(t, dir, "read-only file system")
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("no folder is read-only for root")
	}
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase})
	folder := filepath.Join(dir, "golden")
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(folder, 0o755) }) // allows the test to remove the folder
	cannotUpdate(t, dir, "permission denied")
}
