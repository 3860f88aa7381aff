package decision_test

import (
	"context"
	"encoding/json"
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

// TestCollect checks which files of days a log deletes, and that it never deletes the newest one.
func TestCollect(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name, files   string // days before noon's, each of 100 bytes
		keep          time.Duration
		max           int64
		removed, left string
	}{
		{"old days", "40 31 30 29 0", 0, 0, "40 31", "30 29 0"},
		{"the newest day", "50 40", 0, 0, "50", "40"},
		{"a short time", "3 2 1 0", 36 * time.Hour, 0, "3", "2 1 0"},
		{"just enough room", "2 1 0", day * 10, 300, "", "2 1 0"},
		{"too many bytes", "4 3 2 1 0", day * 10, 299, "4 3 2", "1 0"},
		{"one day too large", "1 0", day * 10, 50, "1", "0"},
		{"nothing", "", 0, 0, "", ""},
	} {
		dir := t.TempDir()
		name := func(days string) string {
			ago, err := time.ParseDuration(days + "h")
			if err != nil {
				t.Fatal(err)
			}
			return noon.Add(-24*ago).Format("decisions-2006-01-02") + ".jsonl"
		}
		for _, days := range strings.Fields(tt.files) {
			if err := os.WriteFile(filepath.Join(dir, name(days)), make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, _ := newLog(t, decision.Options{Dir: dir, Keep: tt.keep, Max: tt.max})
		removed, err := l.Collect()
		if err != nil {
			t.Fatal(err)
		}
		var wantRemoved, wantLeft, left []string
		for _, days := range strings.Fields(tt.removed) {
			wantRemoved = append(wantRemoved, name(days))
		}
		for _, days := range strings.Fields(tt.left) {
			wantLeft = append(wantLeft, name(days))
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			left = append(left, e.Name())
		}
		diff(t, tt.name, wantRemoved, removed)
		diff(t, tt.name+" leaves", wantLeft, left)
	}
}

// TestLogRefuses checks where a log writes no record, and that the first record of a day collects.
func TestLogRefuses(t *testing.T) {
	appendTo := func(o decision.Options) error {
		l, _ := newLog(t, o)
		return l.Append(&decision.Record{Event: "e"})
	}
	wants := func(what string, err error, want string) {
		t.Helper()
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	wants("no folder", decision.New(decision.Options{}).Append(&decision.Record{Event: "e"}), "decision log: there is no folder for it")
	dir := t.TempDir()
	file := filepath.Join(dir, "decisions-2026-11-23.jsonl")
	if err := os.Symlink(filepath.Join(dir, "other"), file); err != nil {
		t.Fatal(err)
	}
	wants("a link", appendTo(decision.Options{Dir: dir}), "got a link or a special file")
	old := filepath.Join(dir, "decisions-2026-01-01.jsonl")
	var size int64
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for _, remains := range []bool{false, true} {
		if err := os.WriteFile(old, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		wants("a record", appendTo(decision.Options{Dir: dir}), "")
		_, err := os.Stat(old)
		diff(t, "the old day remains", remains, err == nil)
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size = info.Size()
	}
	wants("room for another", appendTo(decision.Options{Dir: dir, Max: size / 2 * 3}), "")
	wants("no room", appendTo(decision.Options{Dir: dir, Max: size*2 - 1}), "bytes in one day, limit")
}

// TestGaps checks that a log says of which days it removed the answers: of all up to the newest one that it
// removed, however often it collects, and not of days on which nobody asked.
func TestGaps(t *testing.T) {
	const day = 24 * time.Hour
	dir := t.TempDir()
	name := func(prefix string, daysAgo int) string {
		return prefix + noon.AddDate(0, 0, -daysAgo).Format(time.DateOnly) + ".jsonl"
	}
	put := func(daysAgo ...int) {
		t.Helper()
		for _, ago := range daysAgo {
			for _, prefix := range []string{"answered-", "decisions-"} {
				if err := os.WriteFile(filepath.Join(dir, name(prefix, ago)), []byte("\n"+strings.Repeat("x", 98)+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, tt := range []struct {
		name    string
		new     []int // days before noon's, each with two files of 100 bytes
		max     int64
		removed []int // whose files go
		gone    int   // days before noon's of the newest day that is no more whole, -1 for none
		kept    int   // files of answers that stay
	}{
		{"all fits", []int{9, 8, 5}, 600, nil, -1, 3},
		{"days of [log] max", nil, 250, []int{9, 8}, 8, 2},
		{"nothing new", nil, 250, nil, 8, 2},
		{"more days", []int{4, 3}, 401, []int{5}, 5, 3},
		{"room again", []int{0}, 1 << 20, nil, 5, 4},
		{"all but the newest", nil, 1, []int{4, 3}, 3, 2},
	} {
		put(tt.new...)
		l, _ := newLog(t, decision.Options{Dir: dir, Keep: 30 * day, Max: tt.max})
		removed, err := l.Collect()
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, ago := range tt.removed {
			want = append(want, name("answered-", ago), name("decisions-", ago))
		}
		diff(t, tt.name, want, removed)
		gaps, err := decision.Gaps(dir, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		gone := -1
		if len(gaps) > 0 {
			gone = int(noon.Sub(gaps[0].To)/day) + 1
		}
		diff(t, tt.name+": the last day that is gone", tt.gone, gone)
		left, err := filepath.Glob(filepath.Join(dir, "answered-*"))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, tt.name+": files", tt.kept, len(left))
	}
	if err := os.Remove(filepath.Join(dir, name("answered-", 0))); err != nil { // nobody asked on the newest day
		t.Fatal(err)
	}
	gaps, err := decision.Gaps(dir, 1<<20)
	diff(t, "no answers behind those that are gone", []any{1, nil}, []any{len(gaps), err})
}

// TestReadAnswered checks that lines about answers are read as encoding/json reads them, and that others are
// skipped.
func TestReadAnswered(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 11, 26, 18, 2, 5, 123456000, time.UTC)
	want := []*decision.Answered{
		{ID: "a", Time: at, Agent: "codex", Session: "s", CallID: "c", Tool: "Bash", Answered: "deny", Args: "0a1b", Changed: "ffff"},
		{ID: "b", Time: at, Session: "\"\\u00e9\u2028\x00<&>", Tool: "é\n\ufffd", Answered: "none"},
	}
	text := "\x00\n[]\nnull\n{\"schema\":\"starhost.answered/2\",\"time\":\"2026-11-26T18:02:05Z\"}\n{\"schema\":\"starhost.answered/1\",\"time\":7}\n"
	for _, a := range want {
		a.Schema = "starhost.answered/1"
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		text += string(line) + "\n" + string(line[:len(line)/2]) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "answered-2026-11-26.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []*decision.Answered
	for a, err := range decision.ReadAnswered(dir, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a)
	}
	diff(t, "answers", want, got)
}
