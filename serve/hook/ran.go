package hook

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// Other hooks of an agent run beside starhost on the same call, and may give it other arguments after
// starhost has judged the first ones. No answer of starhost prevents this. But agents report the arguments
// that ran, so starhost compares them with those that it judged.

// A judgedCall is a call that starhost judged, or that ran. It has digests of arguments, because the file of
// a session must not repeat what calls write.
type judgedCall struct {
	ID      string            `json:"id,omitempty"` // the id; "" from agents that give calls no id
	Tool    string            `json:"tool"`
	Args    map[string]string `json:"args,omitempty"` // digests of the arguments that are not empty, by name
	Refused bool              `json:"refused,omitempty"`
}

// maxArgs is the most arguments that have a digest each, and the most bytes of their names.
const maxArgs = 64

// emptyValues are values of an argument that mean the same as no value. Agents add and drop them.
var emptyValues = []string{"null", "false", "0", `""`, "[]", "{}"}

// newJudgedCall describes the call of the event. If the verdict has arguments, the call has these.
func (e *Event) newJudgedCall(v *verdict, refused bool) judgedCall {
	args := v.args
	if args == nil {
		args = e.args
	}
	c := judgedCall{ID: e.callID, Tool: e.tool, Args: map[string]string{}, Refused: refused}
	value, _ := jsontext.DecodeValue(string(args)) // nil if nobody can read the arguments
	members, ok := value.(map[string]any)
	isLong := func(name string) bool { return len(name) > maxArgs }
	if !ok || len(members) > maxArgs || slices.ContainsFunc(slices.Collect(maps.Keys(members)), isLong) {
		members = map[string]any{"arguments": value}
	}
	for name, value := range members {
		text, _ := json.Marshal(value) // no error; this also sorts the members
		if sum := sha256.Sum256(text); !slices.Contains(emptyValues, string(text)) {
			c.Args[name] = hex.EncodeToString(sum[:12])
		}
	}
	return c
}

// difference names the arguments in which the call differs from a call that ran, or returns "". If isSure is
// false, an argument that only one of the two calls has does not count.
func (c *judgedCall) difference(ran *judgedCall, isSure bool) string {
	var names []string
	if c.Tool != ran.Tool {
		names = append(names, "the tool")
	}
	all := maps.Clone(c.Args)
	maps.Copy(all, ran.Args)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, b := c.Args[name], ran.Args[name]
		if a != b && (isSure || a != "" && b != "") {
			names = append(names, errtext.Word(name))
		}
	}
	return strings.Join(names, ", ")
}

// These texts say how a call that ran differs from what starhost let run.
const (
	ranOther   = "ran other arguments"
	ranRefused = "ran though it was refused"
	ranUnasked = "ran, and starhost was not asked"
)

// compareRan looks for the judged call that a call that ran was. If starhost let it run so, compareRan
// returns "". If the agent gives calls no id, it may report them in any order, so all judged calls of the
// tool count.
func compareRan(judged []judgedCall, ran *judgedCall, isSure bool) (what, differs string) {
	what = ranUnasked
	for i := range slices.Backward(judged) {
		c := &judged[i]
		if c.ID != ran.ID || ran.ID == "" && c.Tool != ran.Tool {
			continue
		}
		names := c.difference(ran, isSure)
		switch {
		case names == "" && !c.Refused:
			return "", ""
		case names == "" || c.Refused && ran.ID != "":
			what, differs = ranRefused, ""
		case what == ranUnasked:
			what, differs = ranOther, names
		}
	}
	return what, differs
}

// isGuarded reports whether a host has guards.
func isGuarded(h *host.Host) bool { return len(h.Remember(nil)) > 0 }

// checkRan compares a call that ran with the calls that starhost judged, and records a difference. If the
// difference ends the session's calls, checkRan returns a message to the user, otherwise "".
func (o *Options) checkRan(h *host.Host, e *Event, p *Pin) (notice string) {
	if len(e.args) == 0 || string(e.args) == "null" || !isGuarded(h) {
		return "" // the agent reports no arguments, or no guard judges them
	}
	ran := e.newJudgedCall(&verdict{}, false)
	judged, err := o.States.calls(p)
	what, differs := compareRan(judged, &ran, e.agent.ReportsRan)
	if what == "" {
		return ""
	}
	reason := strings.TrimSuffix(what+": "+differs, ": ")
	if err != nil {
		what, reason = ranUnasked, errtext.Format("nobody can tell what it was judged as: %v", err)
	}
	if what == ranUnasked && !e.agent.ReportsRan {
		return "" // the agent may use another name for the call here
	}
	o.report(h.ReportRun(e.hostEvent(""), reason))
	if what == ranUnasked {
		return ""
	}
	notice = errtext.Format("starhost: %s %s: guards judged another call. Another hook, plugin or setting of %s changed it",
		e.tool, reason, e.agent.Title)
	if !e.agent.ReportsRan {
		return notice
	}
	if err := o.States.setRan(p, errtext.Format("%s %s in this session", e.tool, reason)); err != nil {
		o.report(err)
	}
	notice += ". starhost refuses this session's next calls"
	if o.States.Memory == nil {
		notice += ": a person lets it go on by starhost hook reset " + errtext.Word(p.Session)
	}
	return notice
}

// errRan is the error of a session in which a call ran that starhost had not judged in that form.
type errRan struct{ text string }

func (e *errRan) Error() string { return e.text }

// The judged calls of a session are lines in two files. Events append to the first file without a lock. When
// it is full, it replaces the second file.
const (
	callsEnd    = ".calls"
	oldCallsEnd = ".calls.old"
	maxCalls    = 128 << 10
)

// addCall stores a call that starhost judged.
func (st *States) addCall(p *Pin, c judgedCall) error {
	line, err := json.Marshal(c)
	line = append(line, '\n')
	switch {
	case err != nil:
		return err
	case st.Memory != nil:
		st.Memory.addCall(p.name, line)
		return nil
	case st.Dir == "":
		return nil // sessions remember nothing if there is no folder
	}
	size, err := st.appendFile(p.name+callsEnd, line)
	if err == nil && size > maxCalls {
		err = (&stateFile{states: st, name: p.name}).inShard(func() error {
			name := filepath.Join(st.Dir, p.name)
			if info, err := os.Stat(name + callsEnd); err != nil || info.Size() <= maxCalls {
				return nil // another process has done it already
			}
			return os.Rename(name+callsEnd, name+oldCallsEnd)
		})
	}
	if err != nil {
		return fmt.Errorf("what starhost judged is not remembered: %w", err)
	}
	return nil
}

// appendFile appends a line to a file by one system call, and returns the file's size.
func (st *States) appendFile(name string, line []byte) (size int64, err error) {
	dir, err := st.openDir()
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	if err := checkRegular(dir, st.Dir, name); err != nil {
		return 0, err
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = f.Write(line)
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// checkRegular refuses a special file, because opening a fifo waits for another process.
func checkRegular(dir *os.Root, folder, name string) error {
	info, err := dir.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: got a special file, want a regular file (remove it)", filepath.Join(folder, name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// calls returns the calls that starhost judged at the session's last events, the oldest first.
func (st *States) calls(p *Pin) (list []judgedCall, err error) {
	var text []byte
	if st.Memory != nil {
		text = st.Memory.calls(p.name)
	} else if text, err = st.readCalls(p.name); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var c judgedCall
		if json.Unmarshal(line, &c) == nil { // a process may have died while it wrote a line
			list = append(list, c)
		}
	}
	return list, nil
}

// readCalls returns the lines of both files. It reads the second file last, because the first one may replace
// it meanwhile.
func (st *States) readCalls(name string) (text []byte, err error) {
	dir, err := st.openExisting()
	if dir == nil || err != nil {
		return nil, err
	}
	defer dir.Close()
	for _, file := range []string{name + callsEnd, name + oldCallsEnd} {
		part, _, err := st.readFile(dir, file)
		if err != nil {
			return nil, err
		}
		text = append(part, text...)
	}
	return text, nil
}

// setRan stores why starhost refuses the session's next calls, until a person resets the session.
func (st *States) setRan(p *Pin, why string) error {
	if st.Memory != nil {
		st.Memory.setRan(p.name, why)
		return nil
	}
	return st.writePin(p, func(next *Pin) { next.Ran = cmp.Or(next.Ran, why) })
}
