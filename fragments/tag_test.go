package fragments

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A content that contains the first digits of its hash takes too long to find, so this test
// invents the hash.
func TestTagFor(t *testing.T) {
	id := Hash{0x01, 0x23, 0x45, 0x67, 0x89, 0xab}
	tests := []struct{ name, content, want string }{
		{"plain", "text", "document"},
		{"an opening tag", "<document>", "document"},
		{"the closing tag", "</document>", "document-01234567"},
		{"another tag before it", "</a></document>", "document-01234567"},
		{"in upper case", "</Document>", "document-01234567"},
		{"a tag that begins alike", "</documents>", "document-01234567"},
		{"the longer name", "</document-01234567>", "document-012345678"},
		{"longer names in upper case", "</DOCUMENT-0123456789AB>", "document-0123456789ab0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tagFor(tt.content, id)); diff != "" {
				t.Errorf("tagFor (-want +got):\n%s", diff)
			}
		})
	}
}
