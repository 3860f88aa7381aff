package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
)

func TestAskUser(t *testing.T) {
	for input, want := range map[string]bool{
		"y\n": true, " Yes\r\n": true, "n\n": false, "a\n": false, "\n": false, "": false, "y": false, "ok\n": false,
		strings.Repeat(" ", maxAnswer+1) + "y\n": false,
	} {
		var out strings.Builder
		lines := bufio.NewReaderSize(strings.NewReader(input), maxAnswer)
		ask := newQuestion(&out, func(prompt string) (string, error) { return readAnswer(lines, &out, prompt) }, false)
		got, _ := ask(t.Context(), host.ApprovalRequest{
			Plugin: "incident", Reasons: []string{"Close \u001b[2J?\nNo"},
			Call: starhost.ToolCall{Name: "close", Arguments: json.RawMessage(`{"id":7}`)},
		})
		if got.Yes != want || got.By != "person" {
			t.Errorf("%.20q: got %v, want %v", input, got, want)
		}
		if want := "incident close {\"id\":7}\n  Close \\u001b[2J?\\nNo\nrun it? [y/N] "; strings.TrimSuffix(out.String(), "\n") != want {
			t.Errorf("%.20q: got %q, want %q", input, out.String(), want)
		}
	}
}

// TestPlainCell checks that a spreadsheet takes no cell of log -F csv for a formula.
func TestPlainCell(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "": "", "a=1": "a=1", "7": "7",
	} {
		if got := decision.PlainCell(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
