package decision

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// answeredSchema is the value of "schema" in each line of the files of answered calls.
const answeredSchema = "starhost.answered/1"

// An Answered says that an agent asked about a call and got an answer, also if no handler heard the
// event. It has none of the call's contents. The files answered-YYYY-MM-DD.jsonl have one line for
// each, beside the records: a policy about commands would otherwise fill the log with calls that it
// did not look at. Package agents/trace compares them with what agents say that they did.
type Answered struct {
	Schema   string    `json:"schema"`
	ID       string    `json:"id"`   // of the event's record, if it has one
	Time     time.Time `json:"time"` // of the answer, UTC
	Agent    string    `json:"agent"`
	Session  string    `json:"session"`
	CallID   string    `json:"call_id,omitempty"`
	Tool     string    `json:"tool"`
	Answered string    `json:"answered"` // as in a [Record], or [RanOther]
	// Args is [ArgsMark] of the call's arguments, and Changed that of the ones that the answer puts in
	// their place, "" for none.
	Args    string `json:"args"`
	Changed string `json:"changed,omitempty"`
}

// ArgsMark returns 16 bits of the SHA-256 of a call's arguments, in four letters. They tell the calls
// of a session apart. They are too few to find out, by guesses, what the arguments were.
func ArgsMark(arguments json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&v) == nil {
		if v == nil {
			v = map[string]any{}
		}
		arguments = jsontext.EncodeOrNull(v) // with sorted names, without spaces
	}
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:2])
}

// DeliverAnswered appends a line about the answer to a call. It reports a failure, but refuses no call
// for it: a required log is one of decisions. changed are the arguments that the answer puts in the place
// of the call's, nil for none, and id is that of the event's record, "" for none. It does nothing for a
// nil log, and for an event that is no call.
func (l *Log) DeliverAnswered(e *starhost.Event, answered string, changed json.RawMessage, id string) {
	if l == nil || e == nil || e.Name != "pre_tool_call" {
		return
	}
	now := utc(l.o.Clock())
	a := Answered{
		ID: cmp.Or(id, newID(now)), Time: now, Agent: cmp.Or(e.Agent, l.o.Agent), Session: e.SessionID,
		CallID: e.CallID, Tool: e.Tool, Answered: answered, Args: ArgsMark(e.Arguments),
	}
	if changed != nil {
		a.Changed = ArgsMark(changed)
	}
	if err := l.appendAnswered(&a); err != nil && l.o.Report != nil {
		l.o.Report(fmt.Errorf("decision log: %w", err))
	}
}

// RanOther is the answer of a line about a call that ran with other arguments than guards judged.
const RanOther = "ran other arguments"

// appendRan appends a line for a record of a call that ran otherwise than guards judged it.
func (l *Log) appendRan(r *Record) error {
	if r.Event != starhost.EventCallRan || !strings.HasPrefix(r.Decision.Reason, RanOther) {
		return nil
	}
	return l.appendAnswered(&Answered{
		ID: r.ID, Time: r.Time, Agent: r.Agent, Session: r.Session, CallID: r.CallID, Tool: cmp.Or(r.ToolAlias, r.Tool), Answered: RanOther,
		Args: ArgsMark(r.Input["arguments"]),
	})
}

func (l *Log) appendAnswered(a *Answered) error {
	a.Schema = answeredSchema
	line, err := jsontext.Encode(a)
	if err == nil && len(line) > MaxRecord {
		err = errtext.Errorf("a call of %d bytes without its arguments, limit %d", len(line), MaxRecord)
	}
	if err != nil {
		return err
	}
	return l.writeFile(answeredPrefix, append([]byte("\n"), line...), a.Time)
}

// A Gap is a time of which a log has no answers, though agents may have got some. Why is the reason.
type Gap struct {
	From, To time.Time
	Why      string
}

// Gaps returns the times of which a folder's files have no answers. most is [Options.Max].
func Gaps(dir string, most int64) (list []Gap, err error) {
	names, err := filesOf(dir, filePrefix, answeredPrefix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var removed time.Time
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			continue // another process has removed it
		}
		day, _ := dayOf(name)
		end, isAnswers := day.AddDate(0, 0, 1), strings.HasPrefix(name, answeredPrefix)
		if isAnswers && info.Size() == removedSize {
			removed = end
			continue
		}
		if !removed.IsZero() && !day.Before(removed) { // Collect never removes the newest day
			list, removed = append(list, Gap{To: removed, Why: "the decision log of that day was removed ([log] keep, max)"}), time.Time{}
		}
		if isAnswers && info.Size() > cmp.Or(most, DefaultMax)-maxAnswered {
			list = append(list, Gap{info.ModTime(), end, "the decision log of that day is full ([log] max)"})
		}
	}
	return list, nil
}

// removedSize is the size of the newest file of answers that [Log.Collect] removed: the file stays with its first
// byte, which is a newline, so that a day without answers is not taken for one on which nobody asked.
const removedSize = 1

// maxAnswered is more than the bytes of a usual line about an answer: a file with less room counts as full.
const maxAnswered = 4 << 10

// ReadAnswered returns the answers since a time that a folder's files have, by day. A line that is
// none is skipped. An error of a file is the last element.
func ReadAnswered(dir string, since time.Time) iter.Seq2[*Answered, error] {
	return func(yield func(*Answered, error) bool) {
		names, err := filesOf(dir, answeredPrefix)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				yield(nil, err)
			}
			return
		}
		r := &Reader{Since: since}
		for _, name := range names {
			r.files = append(r.files, filepath.Join(dir, name))
		}
		for line, err := range r.Lines() {
			if err != nil {
				yield(nil, err)
				return
			}
			if a := parseAnswered(line); a != nil && !a.Time.Before(since) && !yield(a, nil) {
				return
			}
		}
	}
}

// parseAnswered parses a line in a fifth of the time of encoding/json. It returns nil for another line.
func parseAnswered(line []byte) *Answered {
	d, err := jsontext.Parse(string(line), 1)
	if err != nil {
		return nil
	}
	text := func(name string) string { return d.StringAt(d.Member(0, name)) }
	a := &Answered{
		Schema: text("schema"), ID: text("id"), Agent: text("agent"), Session: text("session"), CallID: text("call_id"),
		Tool: text("tool"), Answered: text("answered"), Args: text("args"), Changed: text("changed"),
	}
	if a.Time, err = time.Parse(time.RFC3339Nano, text("time")); err != nil || a.Schema != answeredSchema {
		return nil
	}
	return a
}
