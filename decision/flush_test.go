package decision

import (
	"errors"
	"os"
	"testing"
)

// TestSync checks that each record is on the disk before the answer if the operator wants that, and
// that a failure is one of the record.
func TestSync(t *testing.T) {
	defer func(own func(*os.File) error) { flush = own }(flush)
	calls, failure := 0, error(nil)
	flush = func(*os.File) error {
		calls++
		return failure
	}
	for _, wants := range []bool{true, false} {
		l := New(Options{Dir: t.TempDir(), Sync: wants})
		calls, failure = 0, nil
		for range 2 {
			if err := l.Append(&Record{Event: "turn_end"}); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{true: 2}[wants]; calls != want {
			t.Errorf("sync %v: got %d calls, want %d", wants, calls, want)
		}
		failure = errors.New("the disk is gone")
		if err := l.Append(&Record{Event: "turn_end"}); (err != nil) != wants {
			t.Errorf("sync %v: got the error %v", wants, err)
		}
	}
}
