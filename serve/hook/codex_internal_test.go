package hook

import "testing"

// TestIsTyped checks which commands start a program that runs typed text.
func TestIsTyped(t *testing.T) {
	for line, want := range map[string]bool{
		"bash": true, "sh -i": true, "/bin/bash --norc": true, "env X=1 python3": true, "sudo -E zsh": true, "cd x && node": true,
		"exec $SHELL": true, "bash;": true, "(sh": true, "'bash'": true,
		"": false, "ls": false, "bash -c ls": false, "bash x.sh": false, "python3 -m http.server": false, "python --version": false,
		"bash < x": false, "cat x | sh": false, "python3 - <<E\nprint(1)\nE": false, "bash-completion": false, "git log": false,
	} {
		if got := isTyped(line); got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
}
