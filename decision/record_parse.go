package decision

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/jsontext"
)

// A recordParser decodes the lines of a log in a third of the time of encoding/json, for lines of 2 KB. If
// successive lines have the same set of plugins, as all records of one process do, it decodes the set once.
type recordParser struct {
	setText string
	set     Set
}

// maxDepth is the deepest nesting of values that recordParser decodes itself.
const maxDepth = 200

// errOther says that a line has a form that recordParser leaves to encoding/json.
var errOther = errors.New("another form")

// parse decodes a line as [ParseRecord] does. Nobody may change the record, because others share its set.
func (p *recordParser) parse(line []byte) (*Record, error) {
	doc, err := jsontext.Parse(string(line), maxDepth)
	if err != nil {
		return ParseRecord(line)
	}
	r := new(Record)
	for key, value := range doc.Members(0) {
		name := strings.Trim(doc.TextAt(key), `"`)
		if strings.Contains(name, `\`) || strings.ToLower(name) != name { // encoding/json ignores case
			err = errOther
		}
		if err == nil {
			err = p.setMember(r, name, &doc, value)
		}
	}
	if err != nil || !doc.HasKind(0, jsontext.Object) {
		return ParseRecord(line)
	}
	if r.Schema != Schema || !isID(r.ID) || r.Event == "" {
		return ParseRecord(line) // ParseRecord returns the error
	}
	return r, nil
}

// setMember stores the value of one member of the JSON object in the record.
func (p *recordParser) setMember(r *Record, name string, doc *jsontext.Document, value int) error {
	if text := r.textMember(name); text != nil {
		*text = doc.StringAt(value)
		return want(doc.HasKind(value, jsontext.String))
	}
	raw := doc.TextAt(value)
	switch name {
	case "time":
		var err error
		r.Time, err = time.Parse(time.RFC3339Nano, doc.StringAt(value))
		return err
	case "set":
		if raw != p.setText {
			p.set = Set{}
			if err := json.Unmarshal([]byte(raw), &p.set); err != nil {
				return err
			}
			p.setText = raw
		}
		r.Set = p.set
		return nil
	case "input":
		r.Input = map[string]json.RawMessage{}
		for key, member := range doc.Members(value) {
			r.Input[doc.StringAt(key)] = doc.CopyAt(member)
		}
		return want(doc.HasKind(value, jsontext.Object))
	case "foreign":
		r.Foreign = doc.IsTrue(value)
		return want(raw == "true" || raw == "false")
	}
	switch field := r.member(name).(type) {
	case nil:
		return nil
	case *[]string:
		if raw == "[]" {
			*field = []string{}
			return nil
		}
		return json.Unmarshal([]byte(raw), field)
	default:
		return json.Unmarshal([]byte(raw), field)
	}
}

// want returns errOther if ok is false.
func want(ok bool) error {
	if !ok {
		return errOther
	}
	return nil
}

// textMember returns a pointer to the field of r for the JSON member with this name. It returns nil if the
// field is no string.
func (r *Record) textMember(name string) *string {
	switch name {
	case "schema":
		return &r.Schema
	case "id":
		return &r.ID
	case "starhost":
		return &r.Starhost
	case "agent":
		return &r.Agent
	case "session":
		return &r.Session
	case "event":
		return &r.Event
	case "tool":
		return &r.Tool
	case "tool_alias":
		return &r.ToolAlias
	case "plugin":
		return &r.Plugin
	case "kind":
		return &r.Kind
	case "call_id":
		return &r.CallID
	case "platform":
		return &r.Platform
	case "workspace":
		return &r.Workspace
	case "model":
		return &r.Model
	case "mode":
		return &r.Mode
	case "answered":
		return &r.Answered
	}
	return nil
}

// member returns a pointer to the field of r for the JSON member with this name, if the field is no string.
// It returns nil if the record has no such member.
func (r *Record) member(name string) any {
	switch name {
	case "turn":
		return &r.Turn
	case "round":
		return &r.Round
	case "roles":
		return &r.Roles
	case "decision":
		return &r.Decision
	case "approval":
		return &r.Approval
	case "handlers":
		return &r.Handlers
	case "context":
		return &r.Context
	case "errors":
		return &r.Errors
	case "masked":
		return &r.Masked
	case "cut":
		return &r.Cut
	case "omitted":
		return &r.Omitted
	case "duration_us":
		return &r.DurationUS
	}
	return nil
}
