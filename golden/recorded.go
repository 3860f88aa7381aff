package golden

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/starnames"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// The cases that starhost eval --record writes, and --replay reads.

// A RecordedTurn is a turn of starhost eval that runs again from its case, effect by effect.
type RecordedTurn struct {
	recorded
	Session host.SessionConfig
	Now     time.Time
	// Prompt is true if the turn builds the prompt of Request.
	Prompt  bool
	Request host.Request
	// Call and Event are the tool that the turn calls and the event that it fires, or "". Arguments are the
	// arguments of either, a JSON object.
	Call, Event string
	Arguments   json.RawMessage
	// Effects are the lines of an [effects.Journal]. Replay answers with them.
	Effects []byte
	Replay  *effects.Replay
}

// A recorded is the section recorded.json.
type recorded struct {
	Seed uint64 `json:"seed"`
	// TimeGiven is true if the user chose the time.
	TimeGiven bool `json:"time_given,omitempty"`
	// Config and Plugins are SHA-256 sums in hexadecimal, of the settings and of each plugin.
	Config  string            `json:"config,omitempty"`
	Plugins map[string]string `json:"plugins,omitempty"`
}

// Case returns the run as the text of a case for the plugins. redact removes secrets from texts.
func (r *RecordedTurn) Case(c *loader.Config, plugins []decision.Plugin, redact func(string) string) (string, error) {
	var w caseWriter
	names := jsontext.List(plugins, func(p *decision.Plugin) string { return p.Name })
	fmt.Fprintf(&w.out, "Recorded by starhost eval with %s.\n", strings.Join(names, ", "))
	script := redact(r.script())
	if err := new(RecordedTurn).readScript([]byte(script)); err != nil {
		return "", errtext.Errorf("a case cannot ask this: %w", err)
	}
	w.section(scriptSection, script)
	w.writeConfig(ownSettings(c), plugins)
	w.section(nowSection, r.Now.Format(time.RFC3339Nano))
	w.section(sessionFile, redact(string(jsontext.Must(startSession{
		ID: r.Session.ID, Platform: r.Session.Platform, Workspace: r.Session.Workspace, Model: r.Session.Model, Roles: r.Session.Roles,
	}))))
	w.section(recordedFile, string(jsontext.Must(r.recorded)))
	w.section(effectsFile, string(r.Effects))
	if w.out.Len() > maxFile {
		return "", errtext.Errorf("the case has %d bytes, want at most %d", w.out.Len(), maxFile)
	}
	return w.out.String(), nil
}

// ownSettings returns the lines of a config that can change a turn, except for those about plugins.
func ownSettings(c *loader.Config) string {
	text := ""
	for _, s := range c.Settings() {
		table, _, _ := strings.Cut(s.Key, ".")
		if slices.Contains([]string{"limits", "prompt", "tools"}, table) && !s.Project && s.Place != (loader.Place{}) {
			text += s.String() + "\n"
		}
	}
	return text
}

// script returns the steps of the run.
func (r *RecordedTurn) script() string {
	var out bytes.Buffer
	if q := &r.Request; r.Prompt {
		out.WriteString("prompt(" + starnames.Quote(q.Text))
		for _, a := range []struct {
			name  string
			value any
		}{
			{"fragments", q.Fragments}, {"system_fragments", q.SystemFragments}, {"system", q.System}, {"tools", q.OnlyTools}, {"model", q.Model},
			{"options", q.Options}, {"template", q.Template}, {"params", q.Params}, {"messages", q.History}, {"client_tools", q.Tools},
		} {
			if raw := jsontext.Must(a.value); !isEmptyJSON(raw) {
				writeArguments(&out, map[string]json.RawMessage{a.name: raw})
			}
		}
		writeAttachments(&out, q.Attachments)
		out.WriteString(")\n")
	}
	if r.Call != "" {
		out.WriteString("call_tool(" + starnames.Quote(r.Call) + ", **" + starnames.TextOfJSON(string(r.Arguments)) + ")\n")
	}
	if r.Event != "" {
		var args map[string]json.RawMessage
		_ = json.Unmarshal(r.Arguments, &args) // no error, because starhost wrote the object
		out.WriteString("fire(" + starnames.Quote(r.Event))
		writeArguments(&out, args)
		out.WriteString(")\n")
	}
	return out.String()
}

// writeAttachments writes the argument attachments, unless there are none.
func writeAttachments(out *bytes.Buffer, list []fragments.Attachment) {
	before := ", attachments = ["
	for _, a := range list {
		out.WriteString(before + "attachment(")
		if a.URL != "" {
			out.WriteString("url = " + starnames.Quote(a.URL))
		} else {
			out.WriteString(`content = base64.decode("` + base64.StdEncoding.EncodeToString([]byte(a.Content)) + `")`)
		}
		for _, member := range [][2]string{{"type", a.Type}, {"name", a.Name}, {"source", a.Source}} {
			if member[1] != "" {
				out.WriteString(", " + member[0] + " = " + starnames.Quote(member[1]))
			}
		}
		out.WriteString(")")
		before = ", "
	}
	if len(list) > 0 {
		out.WriteString("]")
	}
}

// ReadRecorded reads the case of a run from a file.
func ReadRecorded(file string) (*RecordedTurn, error) {
	src, err := readCase(file)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(src, []byte(`{"journal":`)) {
		return nil, errtext.Errorf("got the journal of an earlier starhost, want a case: record the turn again with --record FILE%s", caseSuffix)
	}
	a, err := parseArchive(src)
	if err != nil {
		return nil, err
	}
	if !a.has(recordedFile) {
		return nil, errtext.Errorf("got a text without the section %q, want a case that eval --record wrote", recordedFile)
	}
	r := &RecordedTurn{}
	start, err := a.startSession()
	if err == nil {
		r.Now, err = a.now()
	}
	if err == nil {
		r.Replay, err = effects.ReadJournal(effectsFile, a.text(effectsFile))
	}
	if err == nil {
		err = decodeStrict(a.text(recordedFile), &r.recorded)
	}
	if err != nil {
		return nil, errors.New(jsontext.Explain(err))
	}
	r.Session, r.Session.Seed = start.config(), r.Seed
	return r, r.readScript(a.text(scriptSection))
}

// readScript reads the steps that [RecordedTurn.script] writes.
func (r *RecordedTurn) readScript(src []byte) error {
	box := starlark.New(starlark.Options{Limits: scriptLimits})
	steps := slices.DeleteFunc(builtins.CaseTable(box, runSteps{RecordedTurn: r}), func(e call.Entry) bool {
		return !slices.Contains([]string{"prompt", "call_tool", "fire"}, e.Name)
	})
	if err := builtins.DefineAll(box, slices.Concat(builtins.Table(box), steps)); err != nil {
		return err
	}
	file, err := box.Parse(scriptSection, src)
	if err != nil {
		return err
	}
	if _, _, err = box.Run(context.Background(), file, starlark.Exec{}); err == nil && !r.Prompt && r.Call == "" && r.Event == "" {
		err = errors.New(scriptSection + ": got no step, want prompt, call_tool or fire")
	}
	return err
}

// errOrder says which steps [RecordedTurn.script] writes.
var errOrder = errors.New("got a further step, want at most one prompt, and behind it one call_tool or fire")

// runSteps are the steps of a run, which they do not do: they store their arguments in it. A script of a run
// can use no other step.
type runSteps struct {
	builtins.CaseDriver
	*RecordedTurn
}

func (s runSteps) Prompt(_ context.Context, r host.Request, _ bool) (*host.Prompt, error) {
	if s.RecordedTurn.Prompt || s.Call != "" || s.Event != "" {
		return nil, errOrder
	}
	s.RecordedTurn.Prompt, s.Request = true, r
	return &host.Prompt{}, nil
}

func (s runSteps) CallTool(_ context.Context, call starhost.ToolCall, _ []bool) (host.ToolReply, error) {
	if s.Call != "" || s.Event != "" {
		return host.ToolReply{}, errOrder
	}
	s.Call, s.Arguments = call.Name, call.Arguments
	return host.ToolReply{Call: call}, nil
}

func (s runSteps) Fire(_ context.Context, event string, args map[string]json.RawMessage) (host.Outcome, error) {
	if s.Call != "" || s.Event != "" {
		return host.Outcome{}, errOrder
	}
	s.Event, s.Arguments = event, jsontext.Must(args)
	return host.Outcome{}, nil
}
