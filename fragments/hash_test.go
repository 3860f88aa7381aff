package fragments_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/fragments"
)

func TestSum(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"nothing", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"text", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"a million bytes", strings.Repeat("a", 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := fragments.Sum(tt.content)
			if diff := cmp.Diff(tt.want, h.String()); diff != "" {
				t.Errorf("Sum (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want[:12], h.Short()); diff != "" {
				t.Errorf("Short (-want +got):\n%s", diff)
			}
			if h.IsZero() {
				t.Errorf("IsZero: got true for %s", h)
			}
			if back, err := fragments.ParseHash(tt.want); err != nil || back != h {
				t.Errorf("ParseHash: got %s, %v, want %s", back, err, h)
			}
		})
	}
	if !(fragments.Hash{}).IsZero() {
		t.Error("IsZero: got false for the zero Hash")
	}
}

func TestSumDoesNotCopy(t *testing.T) {
	content := strings.Repeat("a", 1<<16)
	if n := testing.AllocsPerRun(10, func() { fragments.Sum(content) }); n > 0 {
		t.Errorf("Sum: got %v allocations, want none", n)
	}
}

func TestParseHashErrors(t *testing.T) {
	digits := strings.Repeat("ab", 32)
	tests := []struct{ name, text, want string }{
		{"empty", "", "hash: got 0 characters, want 64 lower-case hexadecimal digits"},
		{"short", digits[:63], "hash: got 63 characters, want 64 lower-case hexadecimal digits"},
		{"long", digits + "0", "hash: got 65 characters, want 64 lower-case hexadecimal digits"},
		{"other digits", digits[:63] + "g", `hash: got "` + digits[:63] + `g", want 64 lower-case hexadecimal digits`},
		{"upper case", digits[:63] + "B", `hash: got "` + digits[:63] + `B", want 64 lower-case hexadecimal digits`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := fragments.ParseHash(tt.text)
			if diff := cmp.Diff(tt.want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if !h.IsZero() {
				t.Errorf("got %s beside an error", h)
			}
		})
	}
}

func TestHashText(t *testing.T) {
	want := map[fragments.Hash]fragments.Hash{fragments.Sum("a"): fragments.Sum("b")}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"`+fragments.Sum("a").String()+`":"`+fragments.Sum("b").String()+`"}`, string(text)); diff != "" {
		t.Errorf("Marshal (-want +got):\n%s", diff)
	}
	var got map[fragments.Hash]fragments.Hash
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Unmarshal (-want +got):\n%s", diff)
	}
	h := fragments.Sum("a")
	if err := h.UnmarshalText([]byte("no hash")); err == nil || h != fragments.Sum("a") {
		t.Errorf("UnmarshalText of no hash: got %s, %v, want an error and h unchanged", h, err)
	}
}

// message returns the text of err, "" for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
