package effects

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// MaxJournal is the most bytes of the lines of a recorded turn.
const MaxJournal = 64 << 20

// A RecordedEffect is a line of effects.jsonl in a golden case, or of a record of the decision log: an effect
// of a plugin, or an input of the host,
//
//	{"lane":"3/1","plugin":"oncall","env":{"name":"TEAM"},"reply":"checkout"}
//
// with "error" in place of "reply" if it failed. Kind is the name of the effect, and Request and Reply are
// JSON. Reply is nil if the effect failed, or if the line lacks the reply.
type RecordedEffect struct {
	Lane, Plugin, Kind string
	Request, Reply     json.RawMessage
	Err                *RecordedError
	WouldRun           bool // true if a dry run did not do the effect
	Steps              int  // price of the work that depended on more than the request
}

// A RecordedError is the error of a [RecordedEffect].
type RecordedError struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	Cause   string `json:"cause,omitempty"` // a key of causes, or ""
}

// causes are the errors that callers test for, by their names in journals.
var causes = map[string]error{"not-exist": fs.ErrNotExist, "no-reference": host.ErrNoReference}

// withResult returns a copy of e with a request, and with a reply or an error.
func (e RecordedEffect) withResult(request, reply any, err error) RecordedEffect {
	e.Request = jsontext.EncodeOrNull(request)
	if err == nil {
		e.Reply = jsontext.EncodeOrNull(reply)
		return e
	}
	e.Err = &RecordedError{Message: err.Error()}
	if coded := interface{ Code() string }(nil); errors.As(err, &coded) {
		e.Err.Code = coded.Code()
	}
	for name, cause := range causes {
		if errors.Is(err, cause) {
			e.Err.Cause = name
		}
	}
	return e
}

// Line returns the effect as JSON.
func (e RecordedEffect) Line() []byte {
	var b []byte
	member := func(name string, value any) {
		b = append(append(append(append(b, ','), jsontext.EncodeOrNull(name)...), ':'), jsontext.EncodeOrNull(value)...)
	}
	if e.Lane != "" || e.Plugin != "" {
		member("lane", e.Lane)
		member("plugin", e.Plugin)
	}
	member(e.Kind, e.Request)
	if e.WouldRun {
		member("would_run", true)
	}
	if e.Steps != 0 {
		member("steps", e.Steps)
	}
	if e.Err != nil {
		member("error", e.Err)
	} else {
		member("reply", e.Reply)
	}
	b[0] = '{'
	return append(b, '}')
}

// UnmarshalJSON reads a line of a journal. It ignores members that entries do not have.
func (e *RecordedEffect) UnmarshalJSON(line []byte) error {
	var common struct {
		Lane     string          `json:"lane"`
		Plugin   string          `json:"plugin"`
		Reply    json.RawMessage `json:"reply"`
		Error    *RecordedError  `json:"error"`
		WouldRun bool            `json:"would_run"`
		Steps    uint32          `json:"steps"`
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &common); err != nil {
		return err
	}
	if err := json.Unmarshal(line, &members); err != nil {
		return err
	}
	*e = RecordedEffect{
		Lane: common.Lane, Plugin: common.Plugin, Reply: common.Reply, Err: common.Error, WouldRun: common.WouldRun,
		Steps: int(common.Steps),
	}
	for _, kind := range slices.Concat(kinds(), inputs) {
		request, ok := members[kind]
		switch {
		case ok && e.Kind != "":
			return errtext.Errorf("got both %s and %s, want one effect a line", e.Kind, kind)
		case ok:
			e.Kind, e.Request = kind, request
		}
	}
	if e.Kind == "" {
		return errtext.Errorf("got no effect, want one of %s", strings.Join(kinds(), ", "))
	}
	return nil
}

// knownCode returns the code of an error that an effect can fail with, or "". A file could otherwise claim
// that starhost has a bug.
func (e *RecordedError) knownCode() string {
	isLimit := strings.HasPrefix(e.Code, "E04")
	if isLimit || slices.ContainsFunc(codes, func(c Code) bool { return c.Code == e.Code }) {
		return e.Code
	}
	return ""
}

// decodeReply returns the reply of an entry, or the error.
func decodeReply[T any](e RecordedEffect) (reply T, err error) {
	if e.Err != nil {
		return reply, &Error{Msg: e.Err.Message, code: e.Err.knownCode(), cause: causes[e.Err.Cause]}
	}
	if len(e.Reply) == 0 {
		return reply, nil
	}
	if err := json.Unmarshal(e.Reply, &reply); err != nil {
		return reply, errorf("E0515", "reply to %s: got %s: %s", e.Kind, errtext.Clip(string(e.Reply)), jsontext.Explain(err))
	}
	return reply, nil
}

// blobs are names of files, which may have any bytes.
type blobs []jsontext.Text

func blobsOf(texts []string) blobs {
	list := make(blobs, len(texts))
	for i, t := range texts {
		list[i] = jsontext.Text(t)
	}
	return list
}

// texts returns the blobs as strings, or nil if there are none.
func (list blobs) texts() []string {
	var texts []string
	for _, b := range list {
		texts = append(texts, string(b))
	}
	return texts
}

// A Journal is the record of one turn: every effect of its handlers, every reply of the model and every
// approval, in the order of lanes. A Journal is text, one JSON object a line, with the names of secrets in
// place of their values. [ReadJournal] reads the text. The zero value is empty. A Journal is safe for
// concurrent use.
type Journal struct {
	mu    sync.Mutex
	lines bytes.Buffer
	err   error
}

// Record adds an effect or an input to the journal, unless the journal is full. It is a value for
// host.Options.Record.
func (j *Journal) Record(e host.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lines.Len()+len(e.Line)+1 > MaxJournal {
		j.err = errorf("E0506", "journal: got more than %d bytes, want at most that", MaxJournal)
		return
	}
	j.lines.Write(e.Line)
	j.lines.WriteByte('\n')
}

// Bytes returns the journal so far. If lines are missing, the error says why.
func (j *Journal) Bytes() ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines.Bytes()), j.err
}

// readEntries calls f with each line that is not blank, and its number.
func readEntries(name string, b []byte, f func(number int, e RecordedEffect)) error {
	number := 0
	for line := range bytes.Lines(b) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e RecordedEffect
		err := json.Unmarshal(line, &e)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			err = errtext.Errorf("got no JSON from byte %d on, want an object", syntax.Offset)
		}
		if err == nil {
			err = e.checkMembers(line)
		}
		if err != nil {
			return errorf("E0515", "%s: line %d: %s", name, number, jsontext.Explain(err))
		}
		f(number, e)
	}
	return nil
}
