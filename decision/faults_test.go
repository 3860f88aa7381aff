package decision_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/decision"
)

// TestClockJumps checks that a clock that jumps back, or forward and back, loses no record, and
// that replay gets the records in the order of each file.
func TestClockJumps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, now := newLog(t, decision.Options{Dir: dir})
	at := func(d time.Duration, event string) {
		t.Helper()
		*now = noon.Add(d)
		appendEvents(t, l, event)
	}
	at(0, "a")
	at(-time.Hour, "b")     // back within the day
	at(-48*time.Hour, "c")  // to an earlier day
	at(240*time.Hour, "d")  // forward
	at(time.Minute, "e")    // and back again
	at(-49*time.Hour, "f")  // behind a record of the same day
	at(-240*time.Hour, "g") // the first record of a day collects
	want := []string{"g", "c", "f", "a", "b", "e", "d"}
	events, skipped := eventsIn(t, time.Time{}, dir)
	diff(t, "events", want, events)
	diff(t, "skipped", 0, skipped)
	removed, err := l.Collect()
	diff(t, "removed", []string(nil), removed)
	diff(t, "error", nil, err)
	events, _ = eventsIn(t, noon, dir)
	diff(t, "events since noon", []string{"a", "e", "d"}, events)
}

// TestFollow checks that a reader that follows a log gets each record once: from before, in a file
// of the same and of another day, behind a torn line, and after the clock jumped back.
func TestFollow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, now := newLog(t, decision.Options{Dir: dir})
	r, err := decision.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	rounds := 0
	file := func(day string) string { return filepath.Join(dir, "decisions-2026-11-"+day+".jsonl") }
	steps := []func() error{
		func() error { return nil }, // there is no folder yet
		func() error { appendEvents(t, l, "a", "b"); return nil },
		func() error { return appendText(file("23"), "\n{\"schema\":\"starhost.decision/1\",\"id\":\"torn") },
		func() error { appendEvents(t, l, "c"); return nil },
		func() error { *now = noon.Add(24 * time.Hour); appendEvents(t, l, "d"); return nil },
		func() error { *now = noon; appendEvents(t, l, "e"); return nil },
		func() error { return os.Remove(file("24")) },
		func() error { appendEvents(t, l, "f"); return nil },
		func() error { return errEnough },
	}
	wait := func() error { rounds++; return steps[rounds-1]() }
	for record, err := range r.Follow(ctx, dir, wait) {
		if err != nil {
			if !errors.Is(err, errEnough) {
				t.Error(err)
			}
			break
		}
		got = append(got, record.Event)
	}
	diff(t, "events", []string{"a", "b", "c", "d", "e", "f"}, got)
}

// errEnough ends a reader that follows a log.
var errEnough = errors.New("enough")

// appendText appends a text to a file.
func appendText(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// TestTornAnywhere checks that a record that a crash cut at any byte costs only this record.
func TestTornAnywhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, _ := newLog(t, decision.Options{Dir: dir})
	appendEvents(t, l, "a")
	file := filepath.Join(dir, "decisions-2026-11-23.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		torn := strings.Replace(string(whole), `"event":"a"`, `"event":"t"`, 1)[:n]
		if err := os.WriteFile(file, append([]byte(nil), string(whole)+torn...), 0o600); err != nil {
			t.Fatal(err)
		}
		appendEvents(t, l, "b")
		want, lost := []string{"a", "b"}, 1
		if n == len(whole)-1 { // only the last newline is missing
			want, lost = []string{"a", "t", "b"}, 0
		} else if n <= 1 {
			lost = 0
		}
		events, skipped := eventsIn(t, time.Time{}, dir)
		diff(t, "events", want, events)
		diff(t, "skipped", lost, skipped)
	}
}
