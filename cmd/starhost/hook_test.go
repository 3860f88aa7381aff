package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestHooks replays the recorded exchanges of golden/hooks. The prose of a record says what it
// shows. Its files are the folder of the agent, and its file exchange has these lines:
//
//	$ starhost hook AGENT ...  the command for the lines below
//	> LINE                     the agent sends the line
//	< LINE                     starhost answers on standard output
//	! LINE                     starhost writes to standard error
//	= CODE                     the exit code, if it is not 0
//
// If an agent keeps the command running, all lines up to the next command go to one process,
// and an answer stands below the line with its id. A line `> ` with \ at its end is sent
// without its end. With -update the test writes the actual answers.
func TestHooks(t *testing.T) {
	files, err := filepath.Glob("../../golden/hooks/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(archive.Comment)) == 0 {
				t.Error("the file does not say what it shows")
			}
			r := newRecord(t, archive)
			got := r.replay()
			if *update {
				r.file.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(r.file.Data), got); diff != "" {
				t.Errorf("exchange (-recorded +now; go test ./cmd/starhost -run TestHooks -update writes it):\n%s", diff)
			}
		})
	}
}

// A record is one file of exchanges, and the folder in which it is replayed.
type record struct {
	t    *testing.T
	dir  string
	file *txtar.File
	out  strings.Builder
}

func newRecord(t *testing.T, archive *txtar.Archive) *record {
	r := &record{t: t, dir: t.TempDir()}
	t.Setenv("HOME", filepath.Join(r.dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	files := map[string]string{}
	for i := range archive.Files {
		if f := &archive.Files[i]; f.Name == "exchange" {
			r.file = f
		} else {
			files[f.Name] = string(f.Data)
		}
	}
	if r.file == nil {
		t.Fatal("there is no file exchange")
	}
	writeFiles(t, r.dir, files)
	return r
}

// replay sends the lines of the record, and returns the record with the actual answers.
func (r *record) replay() string {
	var command string
	var sent []string
	for line := range strings.Lines(string(r.file.Data)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "$ "):
			r.send(command, sent)
			command, sent = line[2:], nil
		case strings.HasPrefix(line, "> "), line == ">":
			sent = append(sent, strings.TrimPrefix(line[1:], " "))
		}
	}
	r.send(command, sent)
	return r.out.String()
}

// send sends lines to a command: all to one process, or each to a separate process.
func (r *record) send(command string, lines []string) {
	if command == "" {
		return
	}
	fmt.Fprintf(&r.out, "$ %s\n", command)
	if strings.HasPrefix(command, "starhost hook picoclaw") {
		r.sendAll(command, lines)
		return
	}
	for _, line := range lines {
		fmt.Fprintf(&r.out, "> %s\n", line)
		out, stderr, code := r.run(command, line+"\n")
		r.lines("<", out)
		r.lines("!", stderr)
		r.code(code)
	}
}

// sendAll sends all lines to one process.
func (r *record) sendAll(command string, lines []string) {
	in := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\\\n", "")
	out, stderr, code := r.run(command, in)
	answers := map[string]string{}
	for line := range strings.Lines(out) {
		answers[idOf(r.t, line)] += line
	}
	for _, line := range lines {
		fmt.Fprintf(&r.out, "> %s\n", line)
		var m struct{ ID json.RawMessage }
		if json.Unmarshal([]byte(strings.TrimSuffix(line, "\\")), &m) == nil {
			r.lines("<", answers[string(m.ID)])
			delete(answers, string(m.ID))
		}
	}
	for id, answer := range answers {
		r.t.Errorf("nobody asked %s: %s", id, answer)
	}
	r.lines("!", stderr)
	r.code(code)
}

func idOf(t *testing.T, line string) string {
	var m struct {
		ID     json.RawMessage
		Result json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Errorf("%q is no JSON: %v", line, err)
	}
	return string(m.ID)
}

// run runs a command in the record's folder.
func (r *record) run(command, in string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	args := append([]string{"-C", r.dir}, strings.Fields(command)[1:]...)
	code = run(r.t.Context(), args, strings.NewReader(in), &out, &errs)
	hide := strings.NewReplacer(r.dir, "$DIR")
	return hide.Replace(out.String()), hide.Replace(errs.String()), code
}

// lines adds lines with a mark to the record.
func (r *record) lines(mark, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(&r.out, "%s %s\n", mark, strings.TrimSuffix(line, "\n"))
	}
}

func (r *record) code(code int) {
	if code != 0 {
		fmt.Fprintf(&r.out, "= %d\n", code)
	}
}
