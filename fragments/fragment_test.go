package fragments_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/fragments"
)

func TestParseTarget(t *testing.T) {
	for _, want := range []fragments.Target{fragments.Prompt, fragments.System} {
		if got, err := fragments.ParseTarget(want.String()); err != nil || got != want {
			t.Errorf("ParseTarget(%q): got %v, %v, want %v", want.String(), got, err, want)
		}
	}
	for _, text := range []string{"", "System", "user"} {
		_, err := fragments.ParseTarget(text)
		if diff := cmp.Diff(`target: got "`+text+`", want prompt or system`, message(err)); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
	}
}

// The ids of URLs are the output of Python's hashlib.sha256(json.dumps({"url":
// url}).encode()).hexdigest().
func TestAttachmentID(t *testing.T) {
	tests := []struct {
		name       string
		attachment fragments.Attachment
		bytes      int
		want       string
	}{
		{"bytes", fragments.Attachment{Content: "abc", Type: "text/plain", Name: "abc.txt"}, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"no bytes", fragments.Attachment{}, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"url", fragments.Attachment{URL: "https://example.com/a.png"}, 0, "4509d135b8dccac5ed703ec3d14f36262fee03820b04a7864208e32be92ebbd4"},
		{"url to escape", fragments.Attachment{URL: "https://x/é?a=<b>&c=\"d\"\\\n\t\x7f\x00"}, 0, "ce609c3e137882fee25a346e7ac3656b51a2540acd0c8422662c05a340f3607c"},
		{"url beyond 16 bits", fragments.Attachment{URL: "https://x/😀/\u2028"}, 0, "4f62a84aafacf71e77efa0ca2a80a44caef9ade8ee58a00144eae52d400357b4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.attachment.ID().String()); diff != "" {
				t.Errorf("ID (-want +got):\n%s", diff)
			}
			if got := tt.attachment.Bytes(); got != tt.bytes {
				t.Errorf("Bytes: got %d, want %d", got, tt.bytes)
			}
		})
	}
}
