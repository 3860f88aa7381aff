// Package console reads what a person types: lines with editing, history and completion, until
// ctrl-C or the end of the input. It knows nothing of what the lines mean.
package console

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
)

// Lines returns a reader of lines that come from a pipe or a file.
func Lines(in io.Reader) LineReader {
	lines := bufio.NewReader(in)
	return func(bool) (string, error) {
		line, err := lines.ReadString('\n')
		if line != "" {
			err = nil // the next call returns the end
		}
		return line, err
	}
}

// A Terminal reads lines with editing, history and completion.
type Terminal struct {
	// complete returns the offset of the name at the end of a text, and its possible
	// completions.
	Complete func(text string) (begin int, names []string)

	keys        io.ReadWriter
	makeRaw     func() (restore func(), err error) // makes the terminal pass each key to the program
	size        func() (width, height int)
	editor      *term.Terminal
	history     history
	interrupted bool // ctrl-C was pressed
}

// Open returns the terminal that two streams are, or nil if they are none. The
// history is in a file of the name.
func Open(stdin io.Reader, stdout io.Writer, getenv func(string) string, name string) *Terminal {
	in, ok := stdin.(*os.File)
	out, also := stdout.(*os.File)
	if !ok || !also || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	t := &Terminal{
		keys: struct {
			io.Reader
			io.Writer
		}{in, out},
		makeRaw: func() (func(), error) {
			state, err := term.MakeRaw(int(in.Fd()))
			return func() { term.Restore(int(in.Fd()), state) }, err // no error: the state was valid before
		},
		size: func() (int, int) {
			w, h, err := term.GetSize(int(out.Fd()))
			if err != nil {
				return 80, 24
			}
			return w, h
		},
		history: history{file: historyFile(getenv, name)},
	}
	t.history.load()
	return t
}

// Close saves the history, and ignores errors.
func (t *Terminal) Close() { t.history.save() }

// Read reads keys. It remembers ctrl-C, which the editor reports as the end of the input.
func (t *Terminal) Read(p []byte) (int, error) {
	n, err := t.keys.Read(p)
	t.interrupted = t.interrupted || bytes.IndexByte(p[:n], 3) >= 0
	return n, err
}

func (t *Terminal) Write(p []byte) (int, error) { return t.keys.Write(p) }

// ReadLine reads a line.
func (t *Terminal) ReadLine(more bool) (string, error) {
	if more {
		return t.Ask("... ")
	}
	return t.Ask(">>> ")
}

// Ask reads a line behind a prompt.
func (t *Terminal) Ask(prompt string) (string, error) {
	if t.editor == nil {
		t.editor = term.NewTerminal(t, "")
		t.editor.History = &t.history
		t.editor.AutoCompleteCallback = t.completeKey
	}
	t.editor.SetPrompt(prompt)
	if w, h := t.size(); w > 0 {
		t.editor.SetSize(w, h) // a failing write shows in the next line
	}
	restore, err := t.makeRaw()
	if err != nil {
		return "", errtext.File("standard input", err)
	}
	defer restore()
	line, err := t.editor.ReadLine()
	if err == io.EOF {
		mark := "\r\n"
		if t.interrupted {
			mark, err = "^C\r\n", ErrInterrupted
		}
		t.editor, t.interrupted = nil, false
		io.WriteString(t, mark)
	}
	return line, err
}

// The tab key completes a name. Without a name it indents by spaces.
const (
	tab    = '\t'
	spaces = "    "
)

// completeKey handles the tab key: it extends the name before the cursor as far as all
// candidates agree, else it shows them.
func (t *Terminal) completeKey(line string, pos int, key rune) (string, int, bool) {
	if key != tab {
		return "", 0, false
	}
	before, after := line[:pos], line[pos:]
	if strings.TrimSpace(before) == "" {
		before += spaces
		return before + after, len(before), true
	}
	begin, names := t.Complete(before)
	if len(names) == 0 {
		return line, pos, true
	}
	last := names[len(names)-1] // they are sorted
	name := errtext.CutTo(last, commonPrefix(names[0], last), "")
	if len(names) > 1 && name == before[begin:] {
		io.WriteString(t.editor, strings.Join(names, "  ")+"\n")
	}
	before = before[:begin] + name
	return before + after, len(before), true
}

// commonPrefix returns the length of the longest common prefix, in bytes.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// A history has the lines of this session and earlier ones, the oldest first.
type history struct {
	file  string // "" for nowhere
	lines []string
}

// maxHistory is the most lines of a history.
const maxHistory = 1000

// historyFile returns the file of the history, in the user's folder for state; "" for none.
func historyFile(getenv func(string) string, name string) string {
	state, home := getenv("XDG_STATE_HOME"), getenv("HOME")
	if !filepath.IsAbs(state) && home == "" {
		return ""
	}
	if !filepath.IsAbs(state) {
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "starhost", name)
}

// Add adds a line, unless it is blank or repeats the last one.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	h.lines = h.lines[max(0, len(h.lines)-maxHistory):]
}

// Len returns the number of lines.
func (h *history) Len() int { return len(h.lines) }

// At returns the line that was added i lines before the last.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

func (h *history) load() {
	text, err := disk.Read(h.file)
	if err != nil {
		return // no history yet
	}
	for line := range strings.Lines(string(text)) {
		h.Add(strings.TrimRight(line, "\n"))
	}
}

// save writes the history. Only its owner can read it.
func (h *history) save() error {
	if h.file == "" || len(h.lines) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	return disk.Replace(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
}

// A LineReader reads a line. more is set inside of a statement. The error is io.EOF at the end,
// and errInterrupted after ctrl-C.
type LineReader func(more bool) (string, error)

// ErrInterrupted means that the user pressed ctrl-C while typing.
var ErrInterrupted = fmt.Errorf("cut: %w", context.Canceled)

// ExitWords end a session, as the end of the input does.
var ExitWords = []string{"exit", "exit()", "quit", "quit()"}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// OneByOne returns a reader of lines of a terminal. One line is read at a time: a question
// that nobody answered in time must end before the next line.
func OneByOne(t *Terminal) func(string) (string, error) {
	turn := make(chan struct{}, 1)
	return func(prompt string) (string, error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		return t.Ask(prompt)
	}
}

// BoundedLines returns a reader of lines that come from a pipe or a file, each of at most
// some bytes.
func BoundedLines(in io.Reader, most int) func(string) (string, error) {
	lines := bufio.NewReader(in)
	return func(string) (string, error) {
		var line []byte
		for {
			part, err := lines.ReadSlice('\n')
			if line = append(line, part...); len(line) > most {
				return "", fmt.Errorf("standard input: got a line of more than %d bytes, want less", most)
			}
			switch {
			case err == bufio.ErrBufferFull:
			case err == io.EOF && len(line) > 0:
				return string(line), nil // the next call returns the end
			default:
				return strings.TrimSuffix(string(line), "\n"), err
			}
		}
	}
}
