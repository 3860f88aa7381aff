package main

import (
	"bufio"
	"strings"
	"testing"

	"github.com/starhost/starhost"
)

func TestAskUser(t *testing.T) {
	for input, want := range map[string]bool{
		"y\n": true, " Yes\r\n": true, "n\n": false, "\n": false, "": false, "y": false, "ok\n": false,
		strings.Repeat(" ", maxAnswer+1) + "y\n": false,
	} {
		var out strings.Builder
		got, _ := askUser(bufio.NewReaderSize(strings.NewReader(input), maxAnswer), &out, starhost.ApprovalRequest{
			Plugin: "incident", Call: starhost.ToolCall{Name: "/close"}, Reasons: []string{"Close \u001b[2J?\nNo"},
		})
		if got != want {
			t.Errorf("%.20q: got %v, want %v", input, got, want)
		}
		if want := `incident /close: Close \u001b[2J?\nNo [y/N] `; strings.TrimSuffix(out.String(), "\n") != want {
			t.Errorf("%.20q: got %q, want %q", input, out.String(), want)
		}
	}
}
