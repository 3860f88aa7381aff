package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGoals runs each goal for a moment: all sides must work, and the peers must give the answer of
// the standard hook. It judges no figure, because machines differ.
func TestGoals(t *testing.T) {
	if testing.Short() {
		t.Skip("builds opa and starhost")
	}
	for _, g := range goals {
		t.Run(g.id, func(t *testing.T) {
			r, err := newRig(true)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			if err := catch(func() { g.run(r) }); err != nil {
				t.Fatal(err)
			}
			if len(r.rows) == 0 {
				t.Error("got no rows")
			}
			for _, row := range r.rows {
				t.Log(row)
				if row.goal != g.id {
					t.Errorf("got a row of %s", row.goal)
				}
			}
		})
	}
}

// sleepSide returns a side whose operations take d each.
func sleepSide(d time.Duration) side {
	return func(n int) time.Duration { return time.Duration(n) * d }
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name       string
		want       limit
		ours, base time.Duration
		row        string
	}{
		{"a share", atMost(1.0 / 80), 10, 1000, "P0 x ≤ 1/80 met 1/100 10ns : 1µs"},
		{"a share that is too great", atMost(1.1), 121, 100, "P0 x ≤ 1.10 NOT MET 1.21 121ns : 100ns"},
		{"a speed", atLeast(8), 10, 90, "P0 x ≥ 8× met 9× 10ns : 90ns"},
		{"a speed that is too small", atLeast(8), 10, 70, "P0 x ≥ 8× NOT MET 7× 10ns : 70ns"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &rig{pairs: 3, span: time.Microsecond, tell: func(row) {}}
			r.compare(claim{"P0", "x", tt.want}, sleepSide(tt.ours), sleepSide(tt.base))
			if diff := cmp.Diff(tt.row, strings.Join(strings.Fields(r.rows[0].String()), " ")); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAgainstWhatIsMissing(t *testing.T) {
	r := &rig{tell: func(row) {}}
	against := func(err error) error {
		return catch(func() {
			r.compareWith(claim{"P0", "x", atMost(1)}, sleepSide(1), func() side { try(err); return nil })
		})
	}
	err := against(missingPeerError{"apt install python3-pluggy"})
	if err != nil || len(r.rows) != 1 || r.rows[0].skipped != "needs apt install python3-pluggy" {
		t.Errorf("got %v, %v, want one row that is skipped", r.rows, err)
	}
	broken := errors.New("broken")
	if err := against(broken); err != broken {
		t.Errorf("got %v, want %v: only what is missing is skipped", err, broken)
	}
}

// TestCatch lets only failures end a goal: another panic is a bug, and ends the program.
func TestCatch(t *testing.T) {
	defer func() {
		if v := recover(); v != "a bug" {
			t.Errorf("got the panic %v, want the bug", v)
		}
	}()
	err := catch(func() { panic("a bug") })
	t.Errorf("got %v, want a panic", err)
}

func TestInitBytes(t *testing.T) {
	got, err := initBytes("init a @1.5 ms, 0.1 ms clock, 100 bytes, 1 allocs\ngc 1\ninit b/c @2 ms, 0 ms clock, 23 bytes, 0 allocs\n")
	if err != nil || got != 123 {
		t.Errorf("got %v, %v, want 123", got, err)
	}
	if _, err := initBytes("no trace"); err == nil {
		t.Error("no trace: got no error")
	}
}

func TestSpread(t *testing.T) {
	got := spreadOf([]float64{4, 1, 2})
	if got != (spread{1, 2, 4}) || got.inverse() != (spread{0.25, 0.5, 1}) {
		t.Errorf("got %v, inverse %v", got, got.inverse())
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose("p2, P9")
	if err != nil || len(chosen) != 2 || chosen[0].id != "P2" || chosen[1].id != "P9" {
		t.Errorf("got %v, %v", chosen, err)
	}
	const want = "-only: got P13, want one of P1, P1b, P2, P2b, P2c, P3, P4, P5, P6, P6b, P7, P8, P9, P10, P11, P12"
	if _, err := choose("P13"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWritePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	rows := []row{
		{claim: claim{"P1", "ours, by theirs", atMost(1)}, got: spread{0.4, 0.5, 0.6}, sides: "1ns : 2ns"},
		{claim: claim{"P2", "ours, by what is not here", atMost(1)}, skipped: "needs it"},
	}
	if err := os.WriteFile(file, []byte("# By hand\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "none.md")
	if err := measure(goals, false, missing, "", io.Discard); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a page that does not exist: got %v", err)
	}
	for _, part := range []error{measure(goals[:1], false, file, "", io.Discard), measure(goals, true, file, "", io.Discard)} {
		if part == nil || !strings.Contains(part.Error(), "neither -only nor -quick") {
			t.Errorf("a part of the goals: got %v", part)
		}
	}
	t.Chdir(t.TempDir())
	if err := measure(goals, true, "", "", io.Discard); err == nil || !strings.Contains(err.Error(), "cd bench") {
		t.Errorf("another folder: got %v", err)
	}
	if err := writePage(file, rows); err == nil || !strings.Contains(err.Error(), "got no marks") {
		t.Errorf("a page without marks: got %v", err)
	}
	if err := os.WriteFile(file, []byte("# By hand\n"+beginMark+"old\n"+endMark+"More.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		if err := writePage(file, rows); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "# By hand\n" + beginMark + "\n" + machine() + `

| goal | what is measured | wanted | got | spread | ours : base | |
|---|---|---|---|---|---|---|
| P1 | ours, by theirs | ≤ 1 | 0.50 | 0.40 – 0.60 | 1ns : 2ns | met |
| P2 | ours, by what is not here | ≤ 1 | | | | skipped: needs it |

1 met, 0 not met, 1 skipped.

` + endMark + "More.\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}
