package decision

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// Schema is the value of "schema" in each record.
const Schema = "starhost.decision/1"

// MaxRecord is the most bytes of a record in the log. A [Log] cuts larger records.
const MaxRecord = 256 << 10

// ActionNone is the action of a record's decision if no handler made a decision.
const ActionNone = "none"

// A Record is an entry of the log: one event that a host fired, or something else that [host.Options.Observe]
// receives.
type Record struct {
	Schema   string    `json:"schema"`
	ID       string    `json:"id"`       // unique; greater for later records, unless the clock jumps
	Starhost string    `json:"starhost"` // version of the program
	Time     time.Time `json:"time"`     // when the event ended, UTC

	Agent   string `json:"agent,omitempty"` // such as "claude-code", or the name of the adapter: "mcp"
	Session string `json:"session"`
	Turn    int    `json:"turn"` // how many turns of the session have begun
	Round   int    `json:"round,omitempty"`
	Event   string `json:"event"`
	Tool    string `json:"tool,omitempty"`
	// ToolAlias and Foreign are the fields of [starhost.Event]. Plugin is the plugin that has the tool.
	ToolAlias string   `json:"tool_alias,omitempty"`
	Foreign   bool     `json:"foreign,omitempty"`
	Plugin    string   `json:"plugin,omitempty"`
	Kind      string   `json:"kind,omitempty"` // for people; a replay finds the kind again
	CallID    string   `json:"call_id,omitempty"`
	Platform  string   `json:"platform,omitempty"`
	Roles     []string `json:"roles,omitempty"`
	Workspace string   `json:"workspace,omitempty"`
	Model     string   `json:"model,omitempty"`
	Mode      string   `json:"mode"` // "enforce", or "warn" if all plugins that decided only warn

	// Input has the event's other arguments by their names, as the first handler saw them.
	Input map[string]json.RawMessage `json:"input"`
	Set   Set                        `json:"set"`
	// Decision is the host's decision. Answered is the answer that the caller got, which differs if the agent
	// has no form for the decision.
	Decision Decision `json:"decision"`
	Answered string   `json:"answered"`
	// Approval says how a question was answered, in a record of "approval"; otherwise it is nil.
	Approval *Approval `json:"approval,omitempty"`
	// Handlers has an entry for each handler that ran, in the order of the calls. If a handler ran for an
	// event that fired during this one, its entry names that event.
	Handlers []Handler `json:"handlers"`
	// Context are the fragments and attachments that the handlers offered.
	Context []Context `json:"context"`
	// Errors are the failures of handlers. If the record has no handlers, Errors say why plugins did not
	// decide: see [Log.Undecided].
	Errors []string `json:"errors"`

	// Masked, Cut and Omitted are JSON pointers into the record. A masked value is replaced by a placeholder.
	// A cut value is incomplete because of a limit, or a [Digest] replaces it. An omitted value is left out
	// by the operator's choice (see [Options.Include]), or a [Digest] replaces it.
	Masked  []string `json:"masked"`
	Cut     []string `json:"cut"`
	Omitted []string `json:"omitted"`

	DurationUS int64 `json:"duration_us"`
}

// A Set identifies the plugins that decided.
type Set struct {
	Revision string `json:"revision"` // SHA-256 of the plugins, the config and the limits
	// Plugins is nil if it is unknown. A line of the log has no plugins if one in front of it in the same file has
	// the same set; a [Reader] adds them.
	Plugins []Plugin `json:"plugins,omitzero"`
}

// A Plugin identifies one plugin.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	// Mode is "warn" if the plugin only warns, else "".
	Mode string `json:"mode,omitempty"`
	// Granted are the permissions that the plugin has, if it declares any; else nil.
	Granted []string `json:"granted,omitzero"`
	// Config has the values that the operator set for the plugin.
	Config map[string]json.RawMessage `json:"config,omitempty"`
}

// A Decision is a [starhost.Decision] in JSON. Changes have the form of the event's arguments.
type Decision struct {
	Action  string                     `json:"action"` // [ActionNone] if there is no decision
	Reason  string                     `json:"reason,omitempty"`
	Plugin  string                     `json:"plugin,omitempty"`
	Pos     string                     `json:"pos,omitempty"` // "file:line:col"
	Changes map[string]json.RawMessage `json:"changes,omitempty"`
	Result  *Result                    `json:"result,omitempty"`
	Value   json.RawMessage            `json:"value,omitempty"`
}

// A Result is a [starhost.Result] in JSON, with the ids of its attachments in place of the attachments.
type Result struct {
	ForLLM      string    `json:"for_llm"`
	ForUser     string    `json:"for_user,omitempty"`
	Silent      bool      `json:"silent,omitempty"`
	IsError     bool      `json:"is_error,omitempty"`
	Handled     bool      `json:"handled,omitempty"`
	Attachments []Context `json:"attachments,omitempty"`
	// Digest replaces both texts if the operator does not include results. It is the digest of the texts with
	// a NUL between them.
	Digest *Digest `json:"digest,omitempty"`
}

// A Handler is one call of a handler.
type Handler struct {
	Decision
	// Event is the event of the call, if it is not the record's.
	Event string `json:"event,omitempty"`
	// Again is true if the host called the handler again with the final arguments.
	Again bool `json:"again,omitempty"`
	// Error says why the handler failed. The action is then the one that the host takes for the failure.
	Error string `json:"error,omitempty"`
	Steps uint64 `json:"steps"`
	// Effects are the handler's lines of the journal: see Journal in package effects. If a reply is long, its
	// line has the member "digest" in place of "reply".
	Effects []json.RawMessage `json:"effects,omitempty"`
	// Logs are the lines that the handler logged.
	Logs []Line `json:"logs,omitempty"`
	// Context are the handler's entries in the record's Context, by index.
	Context []int `json:"context,omitempty"`
}

// An Approval says who answered a question about a call, and when. The record's Decision is the
// answer: approve, deny, or ask while the turn waits.
type Approval struct {
	By string `json:"by"` // one of host.Answerers, or a word that the program chose
	// Asks say why somebody must approve. An entry without a place is the question of the tool itself, or of
	// a command.
	Asks     []Decision `json:"asks"`
	Asked    time.Time  `json:"asked"`
	Answered time.Time  `json:"answered,omitzero"` // zero while the turn waits
}

// A Line is a [host.LogLine] in JSON.
type Line struct {
	Plugin string          `json:"plugin"`
	Level  string          `json:"level"`
	Text   string          `json:"text"`
	Fields json.RawMessage `json:"fields,omitempty"`
	Pos    string          `json:"pos,omitempty"`
}

// A Context is a fragment or an attachment that a handler offered.
type Context struct {
	ID       string `json:"id"` // SHA-256 of the content
	Bytes    int    `json:"bytes"`
	Plugin   string `json:"plugin,omitempty"`
	Source   string `json:"source,omitempty"`
	Title    string `json:"title,omitempty"`
	Target   string `json:"target,omitempty"` // "system", or "" for the prompt
	Priority int    `json:"priority,omitempty"`
	Type     string `json:"type,omitempty"` // the media type; only for an attachment
	Name     string `json:"name,omitempty"` // only for an attachment
	URL      string `json:"url,omitempty"`  // only for an attachment
	// Content is the fragment's text, if the operator includes prompts.
	Content *string `json:"content,omitempty"`
}

// A Digest replaces a text that the record does not contain.
type Digest struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ParseRecord decodes one line. It returns an error for a line that is no complete record of this
// schema.
func ParseRecord(line []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, err
	}
	if r.Schema != Schema {
		return nil, errtext.Errorf("schema: got %q, want %q", r.Schema, Schema)
	}
	if r.lacks("/set/plugins") {
		r.Set.Plugins = nil
	}
	if !isID(r.ID) || r.Event == "" {
		return nil, errtext.Errorf("got id %q and event %q, want an id of letters, digits and dashes, and an event", r.ID, r.Event)
	}
	return r, nil
}

// isID reports whether a text can be the id of a record. An id is one plain word, because people copy ids
// into command lines.
func isID(id string) bool {
	isOther := func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_'
	}
	const maxID = 100
	return id != "" && len(id) <= maxID && id[0] != '-' && !strings.ContainsFunc(id, isOther)
}

// NewEvent returns the recorded event with the values that the record contains. declared lists the events
// that the program and plugins declare. If the record lacks an argument, it is zero, so callers look at
// Omitted, Cut and Masked.
func (r *Record) NewEvent(declared ...starhost.EventSpec) (*starhost.Event, error) {
	spec, err := starhost.LookupEvent(r.Event, declared...)
	if err != nil {
		return nil, err
	}
	args := map[string]json.RawMessage{}
	for name, value := range r.Input {
		if slices.Contains(spec.Args, name) && !r.lacks("/input/"+name) {
			args[name] = value
		}
	}
	e, err := starhost.NewEvent(r.Event, args, declared...)
	if err != nil {
		return nil, err
	}
	e.SessionID, e.Platform, e.Roles, e.Workspace = r.Session, r.Platform, r.Roles, r.Workspace
	e.Model, e.Round, e.Agent = r.Model, r.Round, r.Agent
	e.Tool, e.ToolAlias, e.Foreign, e.CallID = r.Tool, r.ToolAlias, r.Foreign, r.CallID
	if spec.Tool {
		e.Plugin = r.Plugin
	}
	return e, nil
}

// likeEvents maps the names of records that are about no event to the event that has the same arguments.
var likeEvents = map[string]string{
	"approval": "pre_tool_call", "tool_run": "pre_tool_call", "command_run": "pre_command", "call_ran": "pre_tool_call",
}

// IsEvent reports whether a record is about an event, so that plugins can decide about it again. Other
// records say how a question was answered, or what a tool or a command did.
func (r *Record) IsEvent() bool { return !(&starhost.Event{Name: r.Event}).IsTrace() }

// lacks reports whether the record cuts or omits the value at a pointer as a whole.
func (r *Record) lacks(pointer string) bool {
	return slices.Contains(r.Cut, pointer) || slices.Contains(r.Omitted, pointer)
}
