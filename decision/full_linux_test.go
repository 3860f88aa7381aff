package decision_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starhost/starhost/decision"
)

// mountDisk mounts a disk of 64 KiB, or skips the test.
func mountDisk(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk checks that a record on a full disk is an error with the file's name, that all
// acknowledged records remain, and that the next record behind a torn one is whole.
func TestFullDisk(t *testing.T) {
	dir := mountDisk(t)
	filler, logs := filepath.Join(dir, "filler"), filepath.Join(dir, "log")
	if err := os.WriteFile(filler, make([]byte, 40<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	l, _ := newLog(t, decision.Options{Dir: logs})
	written := 0
	var err error
	for ; written < 1000; written++ {
		if err = l.Append(&decision.Record{Event: "before"}); err != nil {
			break
		}
	}
	const want = "decisions-2026-11-23.jsonl: no space left on device"
	if err == nil || !strings.Contains(err.Error(), want) || written == 0 {
		t.Fatalf("after %d records: got %v, want %s", written, err, want)
	}
	if err := l.Append(&decision.Record{Event: "full"}); err == nil {
		t.Error("the second record on a full disk: got no error")
	}
	// The counter of lost records grows though nothing can be written.
	if behind, dropped, err := decision.State(logs, -1, true); behind < written || dropped != 2 || err != nil {
		t.Errorf("got %d behind and %d dropped, %v, want at least %d and 2", behind, dropped, err, written)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, l, "after")
	events, skipped := eventsIn(t, time.Time{}, logs)
	if len(events) != written+1 || events[written] != "after" || skipped > 2 {
		t.Errorf("got %d records and %d torn lines, want %d and the last one", len(events), skipped, written+1)
	}
}

// TestReadOnly checks that a record in a read-only folder is an error with the file's name, and
// that the records remain.
func TestReadOnly(t *testing.T) {
	dir := mountDisk(t)
	l, now := newLog(t, decision.Options{Dir: filepath.Join(dir, "log")})
	appendEvents(t, l, "a")
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Skipf("the disk cannot become read-only: %v", err)
		}
	}
	remount(syscall.MS_RDONLY)
	for _, day := range []time.Time{noon, noon.Add(24 * time.Hour)} {
		*now = day
		err := l.Append(&decision.Record{Event: "b"})
		want := day.Format("decisions-2006-01-02.jsonl") + ": read-only file system"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	remount(0)
	appendEvents(t, l, "c")
	events, skipped := eventsIn(t, time.Time{}, filepath.Join(dir, "log"))
	diff(t, "events", []string{"a", "c"}, events)
	diff(t, "skipped", 0, skipped)
}
