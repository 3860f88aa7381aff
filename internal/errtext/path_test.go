package errtext

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathError(t *testing.T) {
	var deep error = PathErrorf("got %s", "function")
	for range 20 {
		deep = Under("[0]", deep)
	}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"at the top", PathErrorf("got function"), "got function"},
		{"inside", Under(KeyStep("a"), Under("[3]", PathErrorf("got function"))), "at .a[3]: got function"},
		{"names of keys", Under(KeyStep(""), Under(KeyStep("b c"), PathErrorf("x"))), `at [""]["b c"]: x`},
		{"a long path", deep, "at " + strings.Repeat("[0]", 8) + "…: got function"},
		{"another error", Under("[3]", errors.New("x")), "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
