// Package trace reads the transcripts that agents write themselves, as calls of tools.
//
// Settings say what should happen, and the decision log says what starhost was asked; only the
// transcripts say what an agent did. A [Reader] returns the [Call]s of an agent one after another,
// however long the files are. [Coverage] joins them with the decision log, and [Reader.Records]
// makes records of them, so that a replay can ask a policy about them.
//
// The package writes nothing and runs nothing. It reads the regular files of the current user only,
// and follows no link. A line that is broken or foreign is counted, and never ends the reading.
//
// Files: trace.go finds and reads files, one file an agent knows its lines, coverage.go and asked.go
// compare with the log, records.go is for a replay.
package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/jsontext"
)

// A Call is one call of a tool in a transcript.
type Call struct {
	Agent   string `json:"agent"`
	Version string `json:"version"` // of the agent, "" if the transcript does not say it
	Session string `json:"session"` // as the agent's hooks get it
	// ID is the call's id, as the transcript has it. [agents.Transcripts] says whether hooks get it.
	ID    string    `json:"call_id"`
	Time  time.Time `json:"time"`  // of the model's request
	Ended time.Time `json:"ended"` // of the result, zero for none
	// Tool and Arguments are those that hooks get. Arguments is nil for a text that is no JSON.
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Folder    string          `json:"folder"` // that the agent works in, "" if the transcript does not say it
	Subagent  bool            `json:"subagent"`
	Result    Result          `json:"result"`
	File      string          `json:"file"`
	Offset    int64           `json:"offset"` // of the line in the file
	Line      int             `json:"line"`   // or the row of a database; 0 if only the end of the file was read

	began time.Time // the session's first time in the file
	start string    // the folder in which it began
}

// A Result says what became of a call, as far as the transcript says it.
type Result string

// The results of calls.
const (
	Ran     Result = "ran"
	Failed  Result = "failed"  // the tool ran, or may have, and answered with an error
	Denied  Result = "denied"  // by a hook, or by a person after the hooks were asked
	Worded  Result = "worded"  // it failed with the words of a denial, which a tool may write, too
	Refused Result = "refused" // by the agent itself, as for a wrong argument: the tool did not run
	None    Result = "none"    // the transcript has no result
	Unknown Result = "unknown" // the transcript has a line about the call that the reader does not know
)

// wordedAs returns [Worded] for an error with the words of a denial of starhost, else another result.
// Some agents say no more of a call that failed.
func wordedAs(text string, other Result) Result {
	for denial := range strings.SplitSeq("denied by policy|aborted by policy|approval is needed and nobody can give it|starhost|refused by starhost", "|") {
		if strings.HasPrefix(text, denial) {
			return Worded
		}
	}
	return other
}

// Bounds of reading.
const (
	maxLine    = 64 << 20 // bytes of a line, or of a document; a longer one is skipped in pieces
	maxOpen    = 10_000   // calls of a file that have no result yet
	maxWaiting = 16 << 20 // bytes of their arguments
	maxSeen    = 1 << 20  // calls of a file that may come again
	maxFiles   = 200_000
	maxBroken  = 20       // places of broken lines that a reader names
	tailBytes  = 1 << 20  // what a reader with Last reads of a file at once
	tailFiles  = 30       // the newest files that it looks at
	tailWhole  = 32 << 20 // after so many bytes of files that it must read whole it looks at no more
	maxNesting = 1000     // of values in a line
	maxValues  = 4 << 20  // in a line
	lineBuffer = 64 << 10 // most lines are shorter
)

// A Reader reads the transcripts of this user. The zero value needs Getenv.
type Reader struct {
	// Getenv returns environment variables, which name the folders.
	Getenv func(string) string
	// Since skips files that did not change since then, and calls before.
	Since time.Time
	// Last makes the reader look at no more than about this many of the last calls of an agent, at the
	// ends of its newest files. 0 means all.
	Last int

	// Broken counts the lines, documents and files that could not be read, or are not of a known form.
	// Places has the first of them.
	Broken int
	Places []Place
	// Bytes counts what was read.
	Bytes int64
}

// A Place is where a transcript is broken.
type Place struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Why    string `json:"why"`
}

// fail counts a broken or foreign part of a transcript.
func (r *Reader) fail(file string, offset int64, why string) {
	if r.Broken++; len(r.Places) < maxBroken {
		r.Places = append(r.Places, Place{file, offset, why})
	}
}

// A format knows the transcripts of one agent.
type format struct {
	// marks are the texts of which each line about a call has one. Other lines are not parsed.
	marks []string
	// first reads the first line of a file, which says whose session it is; nil if each line does.
	first func(*file, *document)
	// line reads a line with a mark. It returns false for a line that it does not know.
	line func(*file, *document) bool
	// whole reads files that are no lines; nil for lines.
	whole func(*file)
}

// formatOf returns the format of an agent, nil if starhost cannot read its transcripts.
func formatOf(agent string) *format {
	switch agent {
	case "claude-code":
		return &format{marks: []string{`"type":"tool_use"`, `"tool_use_id":`}, line: claudeLine}
	case "codex":
		return &format{marks: []string{`_call"`, `_call_output"`, `"turn_context"`}, first: codexFirst, line: codexLine}
	case "gemini":
		return &format{marks: []string{`"toolCalls":`}, first: geminiFirst, line: geminiLine}
	case "qwen":
		return &format{marks: []string{`"functionCall":`, `"functionResponse":`}, line: qwenLine}
	case "copilot":
		return &format{marks: []string{`"type":"tool.execution_`, `"type":"session.`}, first: copilotFirst, line: copilotLine}
	case "opencode":
		return &format{whole: opencodeFile}
	case "cline":
		return &format{whole: clineFile}
	}
	return nil
}

// A document is a parsed line.
type document struct{ jsontext.Document }

// parse parses a line, or another text of JSON.
func parse(text string) (*document, error) {
	d, err := jsontext.ParseFew(text, maxNesting, maxValues)
	return &document{d}, err
}

// at returns the value at a path as "message.content", or jsontext.NoNode.
func (d *document) at(i int, steps string) int {
	for step := range strings.SplitSeq(steps, ".") {
		if i == jsontext.NoNode {
			return i
		}
		i = d.Member(i, step)
	}
	return i
}

// text returns the text at a path, "" for none.
func (d *document) text(i int, steps string) string { return d.StringAt(d.at(i, steps)) }

// time returns the time at a path, zero for none.
func (d *document) time(i int, steps string) time.Time {
	at := d.at(i, steps)
	if t, err := time.Parse(time.RFC3339, d.StringAt(at)); err == nil {
		return t.UTC()
	}
	const milliseconds = 100_000_000_000 // as many seconds are the year 5138
	switch n := d.IntegerAt(at); {
	case n > milliseconds:
		return time.UnixMilli(n).UTC()
	case n > 0:
		return time.Unix(n, 0).UTC()
	}
	return time.Time{}
}

// object returns the JSON of an object at a path, nil for another value.
func (d *document) object(i int, steps string) json.RawMessage {
	at := d.at(i, steps)
	if !d.HasKind(at, jsontext.Object) {
		return nil
	}
	return d.CopyAt(at)
}

// A file is one transcript while it is read.
type file struct {
	*Reader
	agent *agents.Agent
	path  string
	*os.File
	size int64

	session, version, folder string
	start                    string // the first folder
	began                    time.Time
	subagent                 bool

	offset int64 // of the line that is read
	row    int   // its number, from 1; 0 if the reading began inside of the file

	open    map[string]*Call // that have no result, by id
	order   []*Call          // the same and some that have one, the oldest first
	waiting int              // bytes of their arguments
	broken  bool             // a line since the first open call could not be read

	seen  map[uint64]bool // hashes of the calls that may come again
	yield func(*Call) bool
	ended bool
}

// call adds a call. Its result comes later, unless it has one.
func (f *file) call(c Call) {
	c.Agent, c.Version, c.Session = f.agent.Name, cmp.Or(c.Version, f.version), cmp.Or(c.Session, f.session)
	c.Folder, c.Subagent = cmp.Or(c.Folder, f.folder), c.Subagent || f.subagent
	c.File, c.Line, c.Offset = f.path, cmp.Or(c.Line, max(f.row, 0)), cmp.Or(c.Offset, f.offset)
	c.began, c.start = f.began, cmp.Or(f.start, c.Folder)
	if c.Result == "" && c.ID == "" {
		c.Result = Unknown // its result cannot be found
	}
	switch {
	case c.Result != "":
		f.give(&c)
		return
	case f.open[c.ID] != nil:
		if old := f.open[c.ID]; old.Tool != c.Tool || !bytes.Equal(old.Arguments, c.Arguments) { // nothing tells their results apart
			f.close(old, Unknown, time.Time{})
			c.Result = Unknown
			f.give(&c)
		}
		return // the transcript has it twice
	}
	f.open[c.ID], f.order = &c, append(f.order, &c)
	f.waiting += len(c.Arguments)
	for len(f.open) > maxOpen || f.waiting > maxWaiting && len(f.open) > 1 {
		f.close(f.order[0], Unknown, time.Time{})
	}
}

// close ends an open call.
func (f *file) close(c *Call, result Result, ended time.Time) {
	delete(f.open, c.ID)
	f.waiting -= len(c.Arguments)
	c.Result, c.Ended = result, ended
	f.give(c)
	for len(f.order) > 0 && f.order[0].Result != "" {
		f.order = f.order[1:]
	}
	if len(f.order) > 2*len(f.open)+100 {
		f.order = slices.DeleteFunc(f.order, func(c *Call) bool { return c.Result != "" })
	}
}

// result ends the open call with an id.
func (f *file) result(id string, result Result, ended time.Time) {
	if c := f.open[id]; c != nil { // else it is in another file, or before the part that is read
		f.close(c, result, ended)
	}
}

// give passes a call on.
func (f *file) give(c *Call) {
	if !f.ended && (c.Time.IsZero() || !c.Time.Before(f.Since)) {
		f.ended = !f.yield(c)
	}
}

// end passes the calls without a result on.
func (f *file) end() {
	result := None
	if f.broken {
		result = Unknown
	}
	for len(f.open) > 0 {
		f.close(f.order[0], result, time.Time{})
	}
}

// spoil counts a line that cannot be read, which may be the result of each open call.
func (f *file) spoil(why string) {
	f.fail(f.path, f.offset, why)
	f.broken = true
}

// Calls returns the calls of an agent, file by file. A call that has its result comes when the
// result does.
func (r *Reader) Calls(agent *agents.Agent) iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		form := formatOf(agent.Name)
		if form == nil {
			return
		}
		names := r.files(agent)
		if r.Last > 0 {
			r.lastCalls(agent, form, names, yield)
			return
		}
		for _, name := range names {
			if !r.read(agent, form, name, 0, yield) {
				return
			}
		}
	}
}

// lastCalls passes the calls at the ends of the newest files to yield.
func (r *Reader) lastCalls(agent *agents.Agent, form *format, names []string, yield func(*Call) bool) {
	slices.Reverse(names)
	count := 0
	for _, name := range names[:min(len(names), tailFiles)] {
		more := r.read(agent, form, name, tailBytes, func(c *Call) bool { count++; return yield(c) })
		if !more || count >= r.Last || r.Bytes > tailWhole {
			return
		}
	}
}

// files returns the transcripts of an agent that changed since Since, the oldest first.
func (r *Reader) files(agent *agents.Agent) []string {
	type found struct {
		name string
		time time.Time
	}
	var list []found
	for _, root := range r.roots(agent) {
		_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) { // a folder that is missing has no transcripts
					r.fail(name, 0, reason(err))
				}
				return nil
			}
			rel, _ := filepath.Rel(root, name)
			rel = filepath.ToSlash(rel)
			isFile := agent.Transcripts.Matches(rel)
			switch {
			case d.IsDir() && rel != "." && !agent.Transcripts.MayHave(rel):
				return fs.SkipDir
			case d.IsDir() || !isFile && (d.Type()&fs.ModeSymlink == 0 || !agent.Transcripts.MayHave(rel)):
				return nil
			case !d.Type().IsRegular(): // also a link in the place of a folder
				r.fail(name, 0, errSpecial.Error())
				return nil
			case len(list) == maxFiles:
				r.fail(name, 0, fmt.Sprintf("more than %d files", maxFiles))
				return fs.SkipAll
			}
			info, err := d.Info()
			if err == nil && !info.ModTime().Before(r.Since) {
				list = append(list, found{name, info.ModTime()})
			}
			return nil
		})
	}
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Or(a.time.Compare(b.time), strings.Compare(a.name, b.name)) })
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].name
	}
	return names
}

// roots returns the folders of an agent's transcripts. Each of them may be a link of the user, who put
// the folder elsewhere; nothing inside may.
func (r *Reader) roots(agent *agents.Agent) (list []string) {
	for _, root := range agent.Transcripts.Folders(r.Getenv) {
		root = filepath.FromSlash(root)
		if target, err := filepath.EvalSymlinks(root); err == nil {
			root = target
		}
		if !slices.Contains(list, root) {
			list = append(list, root)
		}
	}
	return list
}

// reason returns the cause of an error of a file.
func reason(err error) string {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err.Error()
	}
	return err.Error()
}

// These errors say why a file is not read.
var (
	errForeign = errors.New("got a file of another user")
	errSpecial = errors.New("got a link or a special file")
)

// readOwn returns the beginning of a file of the user, "" for none.
func readOwn(name string, most int64) string {
	f, info, err := openOwn(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, min(info.Size(), most))) // what could be read
	return string(text)
}

// openOwn opens a regular file of the current user for reading. It follows no link and does not wait
// for a pipe.
func openOwn(name string) (*os.File, fs.FileInfo, error) {
	before, err := os.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errSpecial
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(before, info) || !info.Mode().IsRegular():
		err = errors.New("the file was replaced")
	case disk.Owner(info) != os.Geteuid():
		err = errForeign
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// read reads a file, or only its last bytes if tail is not 0. It returns false if yield wants no more.
func (r *Reader) read(agent *agents.Agent, form *format, name string, tail int64, yield func(*Call) bool) bool {
	opened, info, err := openOwn(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.fail(name, 0, reason(err))
		}
		return true
	}
	defer opened.Close()
	f := &file{Reader: r, agent: agent, path: name, File: opened, size: info.Size(), yield: yield, open: map[string]*Call{}, seen: map[uint64]bool{}}
	if form.whole != nil {
		form.whole(f)
	} else {
		f.readLines(form, tail)
	}
	f.end()
	return !f.ended
}

// readLines reads a file of lines. With tail, it reads the first line and the last bytes.
func (f *file) readLines(form *format, tail int64) {
	in := bufio.NewReaderSize(io.LimitReader(f.File, f.size), lineBuffer) // a file that grows is read up to its size now
	l := lines{in: in}
	skip := tail > 0 && f.size > 2*tail
	for f.row = 1; !f.ended; f.row++ {
		f.offset = l.offset
		line, err := l.next()
		f.Bytes += l.offset - f.offset
		f.readLine(form, line, l.tooLong)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				f.spoil(reason(err))
			}
			return
		}
		if skip {
			skip = false
			if _, err := f.Seek(f.size-tail, io.SeekStart); err != nil {
				f.spoil(reason(err))
				return
			}
			in.Reset(io.LimitReader(f.File, tail))
			l.offset = f.size - tail
			_, _ = l.next()  // the rest of a line
			f.row = -1 << 40 // unknown
		}
	}
}

// readLine reads one line.
func (f *file) readLine(form *format, line []byte, tooLong bool) {
	isFirst := f.row == 1
	line = bytes.TrimSpace(line)
	hasMark := slices.ContainsFunc(form.marks, func(mark string) bool { return bytes.Contains(line, []byte(mark)) })
	switch {
	case tooLong:
		f.spoil("a line of more than 64 MiB")
	case len(line) == 0:
	case line[0] != '{' || line[len(line)-1] != '}': // it is not parsed, so more is not known of it
		f.spoil("a line that is no JSON object")
	case hasMark || isFirst && form.first != nil || f.began.IsZero():
		doc, err := parse(string(line))
		if err != nil {
			f.spoil("a line that is no JSON")
			return
		}
		if f.began.IsZero() {
			f.began, f.start = doc.time(0, "timestamp"), doc.text(0, "cwd")
		}
		if isFirst && form.first != nil {
			form.first(f, doc)
		}
		if hasMark && !form.line(f, doc) {
			f.foreign(doc)
		}
	}
}

// foreign counts a line that its reader does not know. The open calls that it names are unknown.
func (f *file) foreign(d *document) {
	const most = 64 << 20 // bytes to compare
	f.fail(f.path, f.offset, "a line of an unknown form")
	if len(f.open)*len(d.Text) > most {
		f.broken = true // so that all of them are
		return
	}
	for _, c := range slices.Clone(f.order) {
		if c.Result == "" && strings.Contains(d.Text, c.ID) {
			f.close(c, Unknown, time.Time{})
		}
	}
}

// lines are the lines of a text.
type lines struct {
	in      *bufio.Reader
	offset  int64 // behind the last line
	long    []byte
	tooLong bool
}

// next returns the next line, which is valid until the one after it. The last line comes with io.EOF.
func (l *lines) next() ([]byte, error) {
	l.tooLong = false
	if cap(l.long) > 1<<20 {
		l.long = nil // one long line must not hold memory for the others
	}
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.offset += int64(len(part))
		isFull := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case !isFull && len(l.long) == 0 && !l.tooLong:
			return part, err
		case l.tooLong:
		case len(l.long)+len(part) > maxLine:
			l.tooLong, l.long = true, nil
		default:
			l.long = append(l.long, part...)
		}
		if !isFull {
			return l.long, err
		}
	}
}
