package users

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/disk"
)

// TestDoctorTime checks that doctors that hang leave time for those of the users behind them.
func TestDoctorTime(t *testing.T) {
	for _, users := range []int{1, 9, 10, 1000} {
		left := maxDoctors
		for i := range users {
			d := doctorTime(left, users-i)
			if d > maxDoctor || d < min(maxDoctors/time.Duration(users), maxDoctor) {
				t.Errorf("user %d of %d: got %s", i, users, d)
			}
			left -= d
		}
	}
}

// TestDoctorAnswers checks that nothing but numbers and known words remains of what a user says.
func TestDoctorAnswers(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{``, `error`}, {`{}`, `error`}, {`{"schema":"starhost.hook-doctor/1","agents":7}`, `error`}, {`{"schema":"starhost.hook-doctor/1"}`, `[]`},
		{`{"schema":"starhost.hook-doctor/1","agents":[{"name":"codex","grade":"` + "\u202e" + `","calls":null}]}`, `[{"user":0,"agent":"codex","grade":"","calls":0,"faults":0,"counts":{},"error":""}]`},
		{
			`{"schema":"starhost.hook-doctor/1","agents":[{"name":"x","grade":"off"},{"name":"codex","grade":"off","calls":{"calls":9,"counts":{"covered":99999,"not asked":-4,"too\nmuch":1,"denied but ran":1}}},{"name":"codex","grade":"holds"}]}`,
			`[{"user":0,"agent":"codex","grade":"off","calls":51,"faults":1,"counts":{"covered":50,"denied but ran":1},"error":""}]`,
		},
		{`{"schema":"starhost.hook-doctor/1","agents":[{"name":"codex","calls":{"counts":{"covered":1e99}}}]}`, `error`},
	} {
		list, err := parseDoctor([]byte(tt.text))
		got, _ := json.Marshal(list)
		if err != nil {
			got = []byte("error")
		}
		if string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestHomesOf checks that folders count as homes of their owner, the first of each, and that a link or a folder
// that is not there counts for nobody.
func TestHomesOf(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(os.Symlink(dir, filepath.Join(dir, "a")), os.Mkdir(filepath.Join(dir, "b"), 0o700), os.Mkdir(filepath.Join(dir, "c"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{disk.Owner(info): filepath.Join(dir, "b")}
	if got := homesOf([]string{filepath.Join(dir, "none"), dir}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
