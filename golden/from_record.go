package golden

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/starnames"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/report"
)

// A caseMaker makes a golden case of one record of the decision log, for one of the record's plugins.
type caseMaker struct {
	*decision.Record
	caseWriter
	plugin  string
	now     string
	effects []string            // each different effect once, in the order of the record
	answers map[string][]string // lines of effects.jsonl, by effect
}

// CaseOf returns the text of a golden case that passes as long as the plugin decides as it did in the record.
// If the record lacks something that the case needs, the error says what.
func CaseOf(r *decision.Record, plugin string) (string, error) {
	if !r.IsEvent() {
		return "", errtext.Errorf("%s makes no golden case: %s is no event, so that no plugin decides about it", r.ID, r.Event)
	}
	m := caseMaker{Record: r, plugin: plugin, answers: map[string][]string{}}
	if m.plugin == "" {
		m.plugin = r.Decision.Plugin
	}
	for i := range r.Handlers {
		m.plugin = cmp.Or(m.plugin, r.Handlers[i].Plugin)
	}
	want, err := m.want()
	if err == nil {
		err = m.check()
	}
	if err == nil {
		err = m.addEffects()
	}
	if err != nil {
		return "", errtext.Errorf("%s makes no golden case: %w", r.ID, err)
	}
	m.writeProse()
	m.writeScript()
	m.writeConfig("", slices.DeleteFunc(slices.Clone(m.Set.Plugins), func(p decision.Plugin) bool { return p.Name != m.plugin }))
	m.section(nowSection, m.now)
	m.section(sessionFile, m.session())
	m.section(effectsFile, m.answerLines())
	m.section(wantSection, want)
	return m.out.String(), nil
}

// check returns an error if the record lacks something that a case needs.
func (m *caseMaker) check() error {
	switch {
	case len(m.Masked) > 0:
		return errtext.Errorf("%s is masked, and a case must not contain the value", m.Masked[0])
	case len(m.Cut) > 0:
		return errtext.Errorf("%s is cut", m.Cut[0])
	case m.Set.IsUnknown():
		return errors.New("the log does not have the plugins of its set any more")
	case m.ToolAlias != "":
		return errtext.Errorf("the tool %s may also be %s, and a case names one", `"`+m.Tool+`"`, `"`+m.ToolAlias+`"`)
	case m.Input["arguments"] != nil && m.Input["arguments"][0] != '{':
		return errors.New("the call's arguments are no object, and a case has only objects")
	case strings.HasPrefix(m.Event, "app."):
		return errors.New("a program declares its event")
	}
	spec, err := starhost.LookupEvent(m.Event)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Input)) {
		if !slices.Contains(spec.Args, name) {
			return errtext.Errorf("the event %s has no argument %s", m.Event, `"`+name+`"`)
		}
	}
	for _, at := range m.Omitted {
		if strings.HasPrefix(at, "/input/arguments/") {
			return errtext.Errorf(`%s is omitted ([log] include = ["writes"] records it)`, at)
		}
	}
	return nil
}

// want returns the output that the case expects: the decisions of the case's plugin.
func (m *caseMaker) want() (string, error) {
	var out host.Outcome
	var logs []host.LogLine
	found := false
	for i := range m.Handlers {
		h := &m.Handlers[i]
		if h.Plugin != m.plugin {
			if h.Event == "" && len(h.Changes) > 0 {
				return "", errtext.Errorf("the plugin %s changed the event, which a case of %s cannot show", h.Plugin, m.plugin)
			}
			continue
		}
		found = true
		d, err := m.decision(i)
		if err != nil {
			return "", err
		}
		if h.Event == "" && h.Action != decision.ActionNone && (!h.Again || isRefusal(d.Action)) {
			out.Decisions = append(out.Decisions, d)
		}
		for _, line := range h.Logs {
			own := host.LogLine{Plugin: line.Plugin, Level: line.Level, Text: line.Text, Fields: line.Fields}
			logs = append(logs, own)
		}
		if h.Error != "" {
			text := "hook " + cmp.Or(h.Event, m.Event) + ": " + h.Error
			logs = append(logs, host.LogLine{Plugin: h.Plugin, Level: "error", Text: text})
		}
		if h.Action == "end_session" {
			text := "end_session: " + h.Reason + ": no effect, because the host does not own this session"
			logs = append(logs, host.LogLine{Plugin: h.Plugin, Level: "warn", Text: text})
		}
	}
	if !found {
		return "", errtext.Errorf("no handler of the plugin %q answered the event", m.plugin)
	}
	out.Combine()
	if out.Decision.Action == starhost.ActionAbort { // the output of an abort has nothing else
		out = host.Outcome{Decision: out.Decision, Decisions: []starhost.Decision{out.Decision}}
	}
	return fireText(m.Event, m.Tool, &out, logs), nil
}

func isRefusal(a starhost.Action) bool {
	return a == starhost.ActionDeny || a == starhost.ActionAsk || a == starhost.ActionAbort
}

// decision returns the decision of handler i of the record.
func (m *caseMaker) decision(i int) (d starhost.Decision, err error) {
	h := &m.Handlers[i]
	at := fmt.Sprintf("/handlers/%d", i)
	for _, omitted := range m.Omitted {
		if strings.HasPrefix(omitted, at+"/") {
			return d, errtext.Errorf("%s is omitted ([log] include records it)", omitted)
		}
	}
	d = starhost.Decision{Action: starhost.Action(h.Action), Reason: h.Reason, Plugin: h.Plugin, Value: h.Value}
	if h.Action == decision.ActionNone {
		d.Action = starhost.ActionNone
	}
	d.Pos = report.ParsePos(h.Pos)
	if h.Result != nil {
		if d.Result, err = resultOf(h.Result); err != nil {
			return d, err
		}
	}
	for name, raw := range h.Changes {
		if d.Changes == nil {
			d.Changes = map[string]any{}
		}
		if d.Changes[name], err = changeOf(name, raw); err != nil {
			return d, err
		}
	}
	for _, row := range h.Context {
		c := &m.Context[row]
		if c.Content == nil {
			if c.Type != "" {
				return d, errors.New("a handler offered an attachment, of which the record has no bytes")
			}
			return d, errors.New(`it has no text of its context ([log] include = ["prompt"] records it)`)
		}
		f := fragments.Fragment{Content: *c.Content, Source: c.Source, Title: c.Title, Plugin: c.Plugin}
		f.Priority = c.Priority
		if c.Target != "" {
			f.Target, _ = fragments.ParseTarget(c.Target) // no error, because starhost wrote the target
		}
		d.Context.Fragments = append(d.Context.Fragments, f)
	}
	return d, nil
}

// resultOf returns the recorded result of a tool as starhost's type for results.
func resultOf(r *decision.Result) (*starhost.Result, error) {
	if r.Digest != nil || len(r.Attachments) > 0 {
		return nil, errors.New(`it has no text of a result, or the result has attachments ([log] include = ["results"] records texts)`)
	}
	result := &starhost.Result{ForLLM: r.ForLLM, ForUser: r.ForUser, Silent: r.Silent}
	result.IsError, result.Handled = r.IsError, r.Handled
	return result, nil
}

// changeOf returns a recorded change of an argument in the type that a step prints.
func changeOf(name string, raw json.RawMessage) (any, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	switch name {
	case "paths", "args", "tools":
		var list []string
		if json.Unmarshal(raw, &list) == nil {
			return list, nil
		}
		var tools []starhost.Tool
		err := json.Unmarshal(raw, &tools)
		return tools, err
	case "messages":
		var list []starhost.Message
		err := json.Unmarshal(raw, &list)
		return starhost.NewList(list), err
	case "result":
		var r decision.Result
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, err
		}
		result, err := resultOf(&r)
		if err != nil {
			return nil, err
		}
		return *result, nil
	}
	return raw, nil
}

// addEffects adds to the case the effects that it must answer, and the time.
func (m *caseMaker) addEffects() error {
	for i := range m.Handlers {
		for _, line := range m.Handlers[i].Effects {
			var e effects.RecordedEffect
			if json.Unmarshal(line, &e) != nil || m.Handlers[i].Plugin != m.plugin || e.Plugin != m.plugin {
				continue // a line that is no effect asks for no reply
			}
			if err := m.addEffect(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// addEffect adds one recorded effect to the case.
func (m *caseMaker) addEffect(e effects.RecordedEffect) error {
	table, _, _ := strings.Cut(e.Kind, ".")
	switch {
	case e.Kind == "now":
		var now time.Time // the text of a time has no line that begins a section
		err := json.Unmarshal(e.Reply, &now)
		m.now = now.Format(time.RFC3339Nano)
		return err
	case (table == "state" || table == "store") && e.Err == nil, e.Kind == "tools.call", e.Kind == "fire", e.Kind == "fragments.get":
		return nil
	}
	e.Lane, e.Plugin, e.WouldRun = "", "", false
	effect := e.Kind + " " + string(e.Request)
	if m.answers[effect] == nil {
		m.effects = append(m.effects, effect)
	}
	m.answers[effect] = append(m.answers[effect], string(e.Line())+"\n")
	return nil
}

// answerLines returns the lines of effects.jsonl. If all replies to an effect are equal, the effect has one
// line, otherwise one for each reply.
func (m *caseMaker) answerLines() string {
	var all []string
	for _, effect := range m.effects {
		lines := m.answers[effect]
		if same := slices.Compact(slices.Clone(lines)); len(same) == 1 {
			lines = same
		}
		all = append(all, lines...)
	}
	return strings.Join(all, "")
}

// writeProse writes the case's prose. No line of it may begin a section.
func (m *caseMaker) writeProse() {
	line := func(format string, args ...any) {
		m.out.WriteString(texttable.EscapeLine(fmt.Sprintf(format, args...)) + "\n")
	}
	line("The plugin %s in the event %s of %s: record %s.", m.plugin, m.Event, m.Time.Format("2006-01-02 15:04:05 MST"), m.ID)
	if len(m.Omitted) > 0 {
		line("The record does not contain %s.", strings.Join(m.Omitted, ", "))
	}
	for _, p := range m.Set.Plugins {
		if p.Name == m.plugin {
			line("The plugin was %s.", strings.Join(strings.Fields(p.Name+" "+p.Version+" "+p.SHA256), " "))
		}
	}
}

// writeScript writes the step that fires the event.
func (m *caseMaker) writeScript() {
	m.out.WriteString("-- case.star --\nfire(" + starnames.Quote(m.Event))
	args := maps.Clone(m.Input)
	spec, _ := starhost.LookupEvent(m.Event) // it is no app event, because check refuses those
	add := func(name string, value any, isSet bool) {
		if isSet && (slices.Contains(spec.Args, name) || name == "agent") {
			args[name] = jsontext.Must(value)
		}
	}
	add("tool", m.Tool, m.Tool != "")
	add("call_id", m.CallID, m.CallID != "")
	add("roles", m.Roles, len(m.Roles) > 0)
	add("model", m.Model, m.Model != "")
	add("round", m.Round, m.Round != 0)
	add("agent", m.Agent, spec.Tool && m.Foreign && agents.Find(m.Agent) != nil)
	add("plugin", m.Plugin, spec.Tool && m.Plugin != "")
	maps.DeleteFunc(args, func(_ string, raw json.RawMessage) bool { return isEmptyJSON(raw) })
	writeArguments(&m.out, args)
	m.out.WriteString(")\n")
}

// writeArguments writes the arguments of a step by name, each behind a comma.
func writeArguments(out *bytes.Buffer, args map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		out.WriteString(", " + name + " = " + starnames.TextOfJSON(string(args[name])))
	}
}

// isEmptyJSON reports whether a value is one that an argument has if it is absent.
func isEmptyJSON(raw json.RawMessage) bool {
	return slices.Contains([]string{"null", `""`, "0", "false", "{}", "[]"}, string(raw))
}

// A caseWriter writes the text of a case.
type caseWriter struct{ out bytes.Buffer }

// writeConfig writes a config of lines, and of the settings, modes and permissions of plugins.
func (w *caseWriter) writeConfig(lines string, plugins []decision.Plugin) {
	settings, grants := map[string]any{}, map[string]any{}
	for _, p := range plugins {
		own := map[string]any{}
		for key, raw := range p.Config {
			v, _ := jsontext.DecodeValue(string(raw)) // a record's JSON is valid
			own[key] = jsontext.GoNumbers(v)
		}
		if p.Mode != "" {
			own["mode"] = p.Mode
		}
		if len(own) > 0 {
			settings[p.Name] = own
		}
		if p.Granted != nil {
			grants[p.Name] = p.Granted
		}
	}
	config := map[string]any{"plugin": settings, "grants": grants}
	maps.DeleteFunc(config, func(_ string, table any) bool { return len(table.(map[string]any)) == 0 })
	b := bytes.NewBufferString(lines)
	enc := toml.NewEncoder(b)
	enc.Indent = ""
	if len(config) == 0 || enc.Encode(config) == nil {
		w.section(configSection, b.String())
	}
}

// session returns the session at the start of the event.
func (m *caseMaker) session() string {
	state, store := m.Before()
	own := func(all decision.Values) decision.Values {
		values := decision.Values{}
		for key, value := range all[m.plugin] {
			if value != nil {
				if values[m.plugin] == nil {
					values[m.plugin] = map[string]json.RawMessage{}
				}
				values[m.plugin][key] = value
			}
		}
		return values
	}
	return string(jsontext.Must(startSession{
		ID: m.Session, Platform: m.Platform, Workspace: m.Workspace, Turn: m.Turn, BetweenTurns: true,
		State: effects.SavedStates(own(state)), Store: own(store),
	}))
}

// section writes a section of the case, unless its text is empty.
func (w *caseWriter) section(name, text string) {
	if text == "" {
		return
	}
	w.out.WriteString("-- " + name + " --\n" + strings.TrimSuffix(text, "\n") + "\n")
}
