package decision_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/decision"
)

// setOf returns a set of n plugins.
func setOf(revision string, n int) decision.Set {
	set := decision.Set{Revision: strings.Repeat(revision, 64/len(revision)), Plugins: []decision.Plugin{}}
	for i := range n {
		set.Plugins = append(set.Plugins, decision.Plugin{
			Name: fmt.Sprintf("p%03d", i), Version: "1.0.0", SHA256: strings.Repeat(revision, 64/len(revision)), Granted: []string{"net:a.example"},
		})
	}
	return set
}

// appendSet appends a record of a set, whose event is the set's revision.
func appendSet(t *testing.T, l *decision.Log, set decision.Set) {
	t.Helper()
	if err := l.Append(&decision.Record{Event: set.Revision[:1], Set: set}); err != nil {
		t.Fatal(err)
	}
}

// setsIn returns how many records of a log name their plugins, and how many there are. It checks that a reader finds the
// plugins of each: the ones in want by the event.
func setsIn(t *testing.T, dir string, want map[string]decision.Set) (named, all int) {
	t.Helper()
	r, err := decision.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	for record, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want[record.Event], record.Set); d != "" {
			t.Fatalf("record %d (-want +got):\n%s", all, d)
		}
		all++
	}
	for line, err := range r.Lines() {
		if record, wrong := decision.ParseRecord(line); err == nil && wrong == nil && !record.Set.IsUnknown() {
			named++
		}
	}
	return named, all
}

// TestSetOnce checks that one record in each part of a file names the plugins of a set, that the others are short, and
// that a reader from the start gives all records their plugins.
func TestSetOnce(t *testing.T) {
	for _, tt := range []struct {
		plugins, records, most, bytes int
	}{{0, 3, 3, 512}, {4, 20, 20, 1024}, {5, 20, 1, 512}, {20, 100, 1, 512}, {100, 100, 1, 512}, {1000, 4, 1, 512}, {3000, 2, 2, 200_000}} {
		dir := filepath.Join(t.TempDir(), "log")
		l, _ := newLog(t, decision.Options{Dir: dir})
		set := setOf("a", tt.plugins)
		for range tt.records {
			appendSet(t, l, set)
		}
		text, err := os.ReadFile(filepath.Join(dir, "decisions-2026-11-23.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Fields(string(text))
		if n := len(lines[len(lines)-1]); n > tt.bytes {
			t.Errorf("%d plugins: the last record has %d bytes", tt.plugins, n)
		}
		if tt.plugins == 3000 {
			set.Plugins = nil // they never fit into a record: see Cut
		}
		named, all := setsIn(t, dir, map[string]decision.Set{"a": set})
		if all != tt.records || tt.plugins < 3000 && named > tt.most {
			t.Errorf("%d plugins: got %d records of which %d name them, want %d of which %d do", tt.plugins, all, named, tt.records, tt.most)
		}
	}
}

// TestSetNear checks that the plugins of a short record stand in the MaxRecord bytes before it, whatever
// lies between, and that a file of a day needs no other file.
func TestSetNear(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, now := newLog(t, decision.Options{Dir: dir, Keep: 24 * time.Hour})
	sets := map[string]decision.Set{"a": setOf("a", 20), "b": setOf("b", 60), "c": setOf("c", 3)}
	for i := range 1000 {
		if *now = noon.Add(time.Duration(i) * 2 * time.Minute); i%7 == 0 {
			appendSet(t, l, sets["b"])
		}
		appendSet(t, l, sets[[]string{"a", "c"}[i/90%2]])
	}
	names, err := filepath.Glob(filepath.Join(dir, "decisions-*"))
	if err != nil || len(names) != 2 {
		t.Fatalf("got the files %q, %v", names, err)
	}
	setsIn(t, names[1], sets)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		last := map[string]int{}
		for line := range strings.SplitAfterSeq(string(text), "\n") {
			if r, err := decision.ParseRecord([]byte(line)); err == nil {
				if !r.Set.IsUnknown() {
					last[r.Event] = at
				} else if from, ok := last[r.Event]; !ok || at-from > decision.MaxRecord+1 {
					t.Fatalf("%s, byte %d: the plugins stand at %d, %v", name, at, from, ok)
				}
			}
			at += len(line)
		}
	}
}

// TestSetTorn checks that a writer names the plugins again if a crash tore the record that does so at any byte.
func TestSetTorn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, _ := newLog(t, decision.Options{Dir: dir})
	file, set := filepath.Join(dir, "decisions-2026-11-23.jsonl"), setOf("a", 5)
	appendSet(t, l, set)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(text); n += 1 + min(30, max(0, len(text)-n-8)) {
		save(t, file, text[:n])
		appendSet(t, l, set)
		appendSet(t, l, set)
		if named, all := setsIn(t, dir, map[string]decision.Set{"a": set}); named != 1 || all < 2 || all > 3 {
			t.Fatalf("%d bytes stay: %d of %d records name their plugins", n, named, all)
		}
	}
}

// TestSetForged checks that nothing in a log but a whole record of the same set makes a writer leave the plugins out.
func TestSetForged(t *testing.T) {
	set, other := setOf("a", 5), setOf("a", 5)
	other.Plugins[3].SHA256 = strings.Repeat("f", 64)
	plugins := string(raw(set))
	whole := `{"schema":"starhost.decision/1","id":"R1","event":"a","input":{"arguments":` + plugins + `},"set":{"plugins":[]}}`
	for name, line := range map[string]string{
		"in an argument":   whole,
		"another schema":   `{"schema":"starhost.decision/2","id":"R1","event":"a","set":` + plugins + `}`,
		"no record":        plugins,
		"a torn record":    `{"schema":"starhost.decision/1","id":"R1","event":"a","set":` + plugins,
		"another revision": `{"schema":"starhost.decision/1","id":"R1","event":"a","input":{"set":` + plugins + `},"set":{"revision":"b","plugins":[]}}`,
		"other plugins":    `{"schema":"starhost.decision/1","id":"R1","event":"b","set":` + string(raw(other)) + `}`,
		"cut plugins":      `{"schema":"starhost.decision/1","id":"R1","event":"a","input":{"set":` + plugins + `},"set":{"revision":"` + set.Revision + `","plugins":[]},"cut":["/set/plugins"]}`,
	} {
		dir := filepath.Join(t.TempDir(), "log")
		l, _ := newLog(t, decision.Options{Dir: dir})
		appendSet(t, l, setOf("c", 0))
		if err := appendText(filepath.Join(dir, "decisions-2026-11-23.jsonl"), line+"\n"); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(&decision.Record{Event: "last", Set: set}); err != nil {
			t.Fatal(err)
		}
		r, err := decision.NewReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		var last []byte
		for line := range r.Lines() {
			last = slices.Clone(line)
		}
		if record, err := decision.ParseRecord(last); err != nil || record.Event != "last" || cmp.Diff(set, record.Set) != "" {
			t.Errorf("%s: got %.300s, %v", name, last, err)
		}
	}
}

// TestSetUnread checks that a record whose file cannot be read, or has its plugins no more, is written and sent, and says
// nothing about plugins.
func TestSetUnread(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, _ := newLog(t, decision.Options{Dir: dir})
	file, set := filepath.Join(dir, "decisions-2026-11-23.jsonl"), setOf("a", 20)
	appendSet(t, l, set)
	appendSet(t, l, set)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	short := text[len(text)/2+len(text)/3:]
	short = short[slices.Index(short, '\n')+1:]
	save(t, file, short)
	r, err := decision.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	record, err := decision.Find(r, dir, "last")
	if err != nil || !record.Set.IsUnknown() || strings.Contains(string(raw(record)), `"plugins"`) {
		t.Fatalf("got %s, %v, want no plugins", raw(record.Set), err)
	}
	u, err := decision.NewUnsent(dir, -1)
	if err != nil {
		t.Fatal(err)
	}
	if batch, err := u.Next(10, 1<<20); err != nil || len(batch) != 1 || string(batch[0].JSON) != strings.TrimSpace(string(short)) {
		t.Errorf("got %s, %v", raw(batch), err)
	}
}

// TestSetMasked checks that a short record is masked as a whole one, also by the settings that it leaves out, and that a
// reader returns the same record.
func TestSetMasked(t *testing.T) {
	for _, mask := range [][]string{nil, {"/set/plugins/*/config/deep/**"}} {
		set := setOf("a", 20)
		set.Plugins[7].Config = map[string]json.RawMessage{"token": raw("abc123def"), "deep": raw([]string{"xyz987uvw"}), "limit": raw(5)}
		read := func(perDay int) (list []*decision.Record, text []byte) {
			dir := filepath.Join(t.TempDir(), "log")
			l, now := newLog(t, decision.Options{Dir: dir, Mask: mask})
			for i := range 4 {
				*now = noon.AddDate(0, 0, i/perDay)
				r := &decision.Record{ID: fmt.Sprint("R", i), Event: "turn_end", Set: set, Input: map[string]json.RawMessage{
					"arguments": raw(map[string]string{"other": "abc123def xyz987uvw", "password": "hunter2hunter2"}),
				}}
				if err := l.Append(r); err != nil {
					t.Fatal(err)
				}
			}
			reader, err := decision.NewReader(dir)
			if err != nil {
				t.Fatal(err)
			}
			for record, err := range reader.All() {
				if err != nil {
					t.Fatal(err)
				}
				record.Time = noon
				list = append(list, record)
			}
			for line := range reader.Lines() {
				text = append(append(text, line...), '\n')
			}
			return list, text
		}
		whole, _ := read(1)
		short, text := read(4)
		diff(t, "records", whole, short)
		for _, secret := range []string{"abc123def", "hunter2hunter2"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("the log contains %s", secret)
			}
		}
		if lines := strings.Fields(string(text)); strings.Contains(lines[3], `"plugins"`) || len(lines[3]) > 700 {
			t.Errorf("got %s", lines[3])
		}
		if !slices.Contains(short[3].Masked, "/set/plugins/7/config/token") {
			t.Errorf("got masked %q", short[3].Masked)
		}
	}
}

// TestSetOld checks that records of older versions, which all name their plugins, are read as before, and serve the new
// ones.
func TestSetOld(t *testing.T) {
	set := setOf("a", 6)
	old := fmt.Sprintf(`{"schema":"starhost.decision/1","id":"R1","event":"a","set":%s,"masked":[]}`, raw(set))
	r, dir := logOf(t, old, old)
	l, _ := newLog(t, decision.Options{Dir: dir})
	appendSet(t, l, set)
	if named, all := setsIn(t, dir, map[string]decision.Set{"a": set}); named != 2 || all != 3 {
		t.Errorf("%d of %d records name their plugins", named, all)
	}
	if record, err := decision.Find(r, dir, "last"); err != nil || len(record.Set.Plugins) != 6 {
		t.Errorf("got %v, %v", record, err)
	}
}

// TestSetFrom checks who does not read each record from the start: by an id, and in a collector.
func TestSetFrom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, now := newLog(t, decision.Options{Dir: dir})
	sets := map[string]decision.Set{"a": setOf("a", 20), "b": setOf("b", 30)}
	file := filepath.Join(dir, "decisions-2026-11-23.jsonl")
	for i := range 400 {
		*now = noon.Add(time.Duration(i) * time.Second)
		r := &decision.Record{ID: fmt.Sprintf("%026d", i), Event: []string{"a", "b"}[i%2], Set: sets[[]string{"a", "b"}[i%2]]}
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := decision.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 2, 200, 399} {
		record, err := decision.Find(r, dir, fmt.Sprintf("%026d", i))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "found", sets[record.Event], record.Set)
	}
	// A collector gets the lines, among them the plugins of each revision.
	u, err := decision.NewUnsent(dir, -1)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := u.Next(400, 1<<20)
	if err != nil || len(batch) != 400 {
		t.Fatal(len(batch), err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]decision.Set{}
	for _, sent := range batch {
		record, err := decision.ParseRecord(sent.JSON)
		if err != nil || !strings.Contains(string(text), "\n"+string(sent.JSON)+"\n") {
			t.Fatalf("got %s, %v", sent.JSON, err)
		}
		if !record.Set.IsUnknown() {
			named[record.Event] = record.Set
		}
	}
	diff(t, "sent sets", sets, named)
	if info, err := os.Stat(file); err != nil || info.Size() > 400*512+8*8192 {
		t.Errorf("got %d bytes, %v", info.Size(), err)
	}
}

// TestSetsForgotten checks that a reader with a bounded memory finds the plugins of sets that are in use, among thousands
// that are not.
func TestSetsForgotten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, _ := newLog(t, decision.Options{Dir: dir})
	want := map[string]decision.Set{"a": setOf("a", 20), "b": setOf("b", 20)}
	for i := range 130 {
		once := setOf("c", 80)
		once.Revision = fmt.Sprintf("%064d", i)
		want["0"] = once
		appendSet(t, l, want["a"])
		if err := l.Append(&decision.Record{Event: "0", Set: once}); err != nil {
			t.Fatal(err)
		}
		appendSet(t, l, want["b"])
	}
	r, err := decision.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for record, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if got := len(record.Set.Plugins); got != 20 && (record.Event != "0" || got != 80) {
			t.Fatalf("record %d: got %d plugins", n, len(record.Set.Plugins))
		}
		n++
	}
	diff(t, "records", 390, n)
}

// TestSetProcesses checks that many processes that append at once, some of which are killed, leave no record whose
// plugins a reader does not find.
func TestSetProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	sets := map[string]decision.Set{"a": setOf("a", 20), "b": setOf("b", 100)}
	const processes, records = 12, 40
	var wg sync.WaitGroup
	for i := range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "STARHOST_APPEND="+dir, "STARHOST_SET="+[]string{"a", "b"}[i%2], "STARHOST_RECORDS="+strconv.Itoa(records))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if i%4 == 3 {
				time.Sleep(time.Duration(i) * 3 * time.Millisecond)
				_ = cmd.Process.Kill()
			}
			if err := cmd.Wait(); err != nil && i%4 != 3 {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	named, all := setsIn(t, dir, sets)
	if least := processes * 3 / 4 * records; all < least || named > 2*processes {
		t.Errorf("%d of %d records name their plugins, want at least %d records", named, all, least)
	}
	t.Logf("%d of %d records name their plugins", named, all)
}

// runAppend is the process of TestSetProcesses.
func runAppend() error {
	n, _ := strconv.Atoi(os.Getenv("STARHOST_RECORDS"))
	name := os.Getenv("STARHOST_SET")
	set := setOf(name, map[string]int{"a": 20, "b": 100}[name])
	l := decision.New(decision.Options{Dir: os.Getenv("STARHOST_APPEND"), Clock: func() time.Time { return noon }})
	for range n {
		if err := l.Append(&decision.Record{Event: name, Set: set}); err != nil {
			return err
		}
	}
	return nil
}
