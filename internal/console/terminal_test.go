package console

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// keyboard returns a terminal that reads the keys, and a buffer of its output.
func keyboard(keys string) (*Terminal, *bytes.Buffer) {
	var screen bytes.Buffer
	return &Terminal{
		keys: struct {
			io.Reader
			io.Writer
		}{iotest.OneByteReader(strings.NewReader(keys)), &screen},
		makeRaw: func() (func(), error) { return func() {}, nil },
		size:    func() (int, int) { return 80, 24 },
		Complete: func(text string) (int, []string) {
			begin := strings.LastIndexAny(text, " (") + 1
			var names []string
			for _, name := range []string{"page", "pager", "prompt", "né", "nè"} {
				if strings.HasPrefix(name, text[begin:]) && text[begin:] != "" {
					names = append(names, name)
				}
			}
			return begin, names
		},
	}, &screen
}

func TestTerminal(t *testing.T) {
	const up, left = "\x1b[A", "\x1b[D"
	tests := []struct {
		name, keys string
		lines      []string
		end        error // the error behind the lines
	}{
		{"lines", "1\r2\r\x04", []string{"1", "2"}, io.EOF},
		{"history", "first\r" + up + "!\r" + up + up + "\r\x04", []string{"first", "first!", "first"}, io.EOF},
		{"one candidate", "pro\t('x')\r", []string{"prompt('x')"}, io.EOF},
		{"several candidates", "pa\tr\r", []string{"pager"}, io.EOF},
		{"candidates that differ in a byte of a letter", "n\té\r", []string{"né"}, io.EOF},
		{"no candidate", "zz\t\r", []string{"zz"}, io.EOF},
		{"within a line", "f(pr)" + left + "\t\r", []string{"f(prompt)"}, io.EOF},
		{"a tab at the beginning", "\treturn 1\r", []string{"    return 1"}, io.EOF},
		{"ctrl-C", "half\x03", nil, ErrInterrupted},
		{"ctrl-D", "\x04", nil, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			term, _ := keyboard(tt.keys)
			var lines []string
			line, err := term.ReadLine(false)
			for ; err == nil; line, err = term.ReadLine(true) {
				lines = append(lines, line)
			}
			if diff := cmp.Diff(tt.lines, lines); diff != "" || err != tt.end {
				t.Errorf("lines, then %v, want %v (-want +got):\n%s", err, tt.end, diff)
			}
		})
	}
}

// TestTerminalGoesOn checks that a new line begins after ctrl-C, and that the history remains.
func TestTerminalGoesOn(t *testing.T) {
	term, screen := keyboard("one\rtw\x03\x1b[A\r")
	if line, err := term.ReadLine(false); line != "one" || err != nil {
		t.Fatalf("got %q and %v", line, err)
	}
	if _, err := term.ReadLine(false); err != ErrInterrupted {
		t.Fatalf("got %v, want that it is cut", err)
	}
	if line, err := term.ReadLine(false); line != "one" || err != nil {
		t.Errorf("got %q and %v, want the line from before", line, err)
	}
	if !strings.Contains(screen.String(), "tw^C\r\n>>> ") {
		t.Errorf("got the screen %q, want ^C and a new line", screen)
	}
}

// TestTerminalShowsCandidates checks that tab shows the candidates if there are several.
func TestTerminalShowsCandidates(t *testing.T) {
	term, screen := keyboard("page\t\r")
	if line, err := term.ReadLine(false); line != "page" || err != nil {
		t.Errorf("got %q and %v", line, err)
	}
	if !strings.Contains(screen.String(), "page  pager\r\n") {
		t.Errorf("got the screen %q, want both names", screen)
	}
}

func TestHistory(t *testing.T) {
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	if got := historyFile(getenv, "history"); got != "" {
		t.Errorf("got %q without a home, want none", got)
	}
	dir := t.TempDir()
	env["HOME"] = filepath.Join(dir, "home")
	if got, want := historyFile(getenv, "history"), filepath.Join(dir, "home", ".local", "state", "starhost", "history"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	env["XDG_STATE_HOME"] = dir
	h := history{file: historyFile(getenv, "history")}
	h.load()
	for i := range maxHistory + 5 {
		h.Add(fmt.Sprint("line ", i))
	}
	for _, line := range []string{"again", "again", "", "  "} {
		h.Add(line)
	}
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	again := history{file: h.file}
	again.load()
	if diff := cmp.Diff(h.lines, again.lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	got, want := []string{again.At(0), again.At(1), again.At(again.Len() - 1)}, []string{"again", "line 1004", "line 6"}
	if !cmp.Equal(got, want) || again.Len() != maxHistory {
		t.Errorf("got %v and %d lines, want %v and %d", got, again.Len(), want, maxHistory)
	}
	info, err := os.Stat(h.file)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("got mode %o, want 600", mode)
	}
}

// TestBoundedLines checks the limit of a line.
func TestBoundedLines(t *testing.T) {
	read := BoundedLines(io.MultiReader(strings.NewReader("a\nb\r\n\n"), strings.NewReader("last")), 100)
	for _, want := range []string{"a", "b\r", "", "last"} {
		if line, err := read(""); line != want || err != nil {
			t.Errorf("got %q, %v, want %q", line, err, want)
		}
	}
	if _, err := read(""); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
	if _, err := BoundedLines(&endlessLine{}, 10)(""); err == nil || !strings.Contains(err.Error(), "a line of more than 10 bytes") {
		t.Errorf("got %v, want the limit", err)
	}
}

type endlessLine struct{}

func (*endlessLine) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
