package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
)

// A recorder writes the journal of a turn. The journal begins after the plugins are loaded, because its first
// line describes them.
type recorder struct {
	journal *effects.Journal
	clock   func() time.Time
}

// configureHost makes a host record effects and inputs in the journal.
func (r *recorder) configureHost(o *loader.Options) {
	clock := o.Host.Clock
	if clock == nil {
		clock = time.Now
	}
	r.clock = clock
	o.Host.Clock = func() time.Time { return r.clock() }
	o.Host.Record = func(e host.Entry) { r.journal.Record(e) }
}

// startJournal makes the journal, with its first line.
func (r *recorder) startJournal(h effects.Header) {
	r.journal = effects.NewJournal(h)
	r.clock = r.journal.Clock(r.clock)
}

// openJournal reads the journal of --replay.
func (env Env) openJournal(name string) (*effects.Replay, error) {
	if info, err := os.Stat(env.path(name)); err == nil && info.IsDir() {
		return nil, usagef("--replay: %s is a folder, want a journal that --record wrote", name)
	}
	file, err := disk.Open(env.path(name))
	if err != nil {
		return nil, errtext.File(name, err)
	}
	defer file.Close()
	replay, err := effects.ReadJournal(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return replay, nil
}

// configureReplay makes a host take the replies of effects from a journal. The host gets no secrets, because
// the journal has none and no effect runs.
func configureReplay(r *effects.Replay, o *loader.Options) {
	o.World.Answers = r
	o.World.Secrets = effects.NewSecrets(effects.SecretOptions{Patterns: redactPatterns(o.Config)})
	o.Host.Clock, o.Host.Answer = r.Clock, r.Answer
}

// recordedQuestion returns the question that the journal has, and takes over its seed and time. If flags ask
// a question, too, checkQuestion later compares the two, when the arguments are complete.
func (e *evaluation) recordedQuestion(f *evalFlags) (*question, error) {
	var q question
	if err := json.Unmarshal(e.replay.Header.Input, &q); err != nil {
		return nil, fmt.Errorf("%s: %w", f.replay, &replayError{"E0515", "the first line does not say what was asked"})
	}
	f.seed, f.now = e.replay.Header.Seed, cmp.Or(f.now, q.Now)
	return &q, nil
}

// A replayError says why the first line of a journal cannot be used.
type replayError struct{ code, msg string }

func (e *replayError) Error() string { return e.msg }
func (e *replayError) Code() string  { return e.code }

// journalHeader returns the first line for the journal of this turn.
func (e *evaluation) journalHeader(f *evalFlags, session *host.Session) effects.Header {
	return effects.Header{
		Starhost: version(), Sandbox: dependency("go.starlark.net"),
		Session: session.ID(), Turn: 1, Seed: f.seed,
		Config: configDigest(e.Set.Config, &f.loadFlags), Plugins: pluginDigests(e.Set),
		Input: json.RawMessage(e.Set.Redact(string(jsontext.Must(e.newQuestion(f))))),
	}
}

// configDigest returns the SHA-256 of the settings that can change a turn. It does not depend on where files
// are.
func configDigest(c *loader.Config, f *loadFlags) string {
	var b strings.Builder
	for _, s := range c.Settings() {
		table, _, _ := strings.Cut(s.Key, ".")
		if slices.Contains([]string{"grants", "limits", "plugin", "prompt", "tools"}, table) {
			fmt.Fprintln(&b, s)
		}
	}
	fmt.Fprintln(&b, f.grant, f.set)
	return fragments.Sum(b.String()).String()
}

func pluginDigests(set *loader.Set) map[string]string {
	digests := map[string]string{}
	for _, p := range set.Plugins {
		if p.Status == loader.StatusLoaded {
			digests[p.Name] = p.Digest.String()
		}
	}
	return digests
}

// checkQuestion returns an error if the journal recorded another question.
func (e *evaluation) checkQuestion(f *evalFlags) error {
	return e.replay.CheckInput(jsontext.Must(e.newQuestion(f)))
}

// divergence returns an error if a replay differed from its journal. If a handler failed because of that, it
// returns the handler's failure, which names a place in the plugin. If a permission is missing, it returns
// only that error.
func (e *evaluation) divergence(failures []error) error {
	err := e.replay.End()
	var first *effects.DivergenceError
	if !errors.As(err, &first) {
		return err
	}
	if first.Refused != nil {
		err = first.Refused
	}
	for _, failure := range failures {
		if errors.Is(failure, err) {
			return failure
		}
	}
	return err
}

// changesSinceRecording lists the plugins, and perhaps the config, that are not those of the journal.
func (e *evaluation) changesSinceRecording(f *evalFlags) string {
	h := &e.replay.Header
	now := pluginDigests(e.Set)
	names := maps.Clone(now)
	maps.Copy(names, h.Plugins)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if now[name] != h.Plugins[name] {
			changed = append(changed, "plugin "+name)
		}
	}
	if configDigest(e.Set.Config, &f.loadFlags) != h.Config {
		changed = append(changed, "the config")
	}
	return strings.Join(changed, ", ")
}

// reportDivergence reports that a replay differed from its journal, without results of the turn.
func (res *Result) reportDivergence(f *evalFlags, e *evaluation, err error) {
	e.Turn, e.Prompt, e.Call, e.Fire, e.Expr, res.logs = nil, nil, nil, nil, nil, nil
	e.Now = time.Time{}
	res.addError(err)
	if changed := e.changesSinceRecording(f); changed != "" {
		res.warnings = append(res.warnings, loader.Warning{Place: loader.Place{File: f.replay}, Msg: "not as it was recorded: " + changed})
	}
}

// writeJournal writes the file of --record.
func (env Env) writeJournal(name string, j *effects.Journal) error {
	data, err := j.Bytes()
	if err != nil {
		return err
	}
	const ownerOnly = 0o600 // only the owner may read it, because a journal has everything that the turn read
	return errtext.File(name, disk.Replace(env.path(name), data, ownerOnly))
}

// A question is everything that a user asks of eval. The same plugins, the question and the effects of a
// journal give the same answer again.
type question struct {
	Prompt      bool             `json:"prompt"` // true if eval builds a prompt
	Request     requestJSON      `json:"request"`
	Attachments []attachmentData `json:"attachments,omitempty"`
	Session     sessionJSON      `json:"session"`
	Call        *callQuestion    `json:"call,omitempty"`
	Fire        *fireQuestion    `json:"fire,omitempty"`
	Expr        string           `json:"expr,omitempty"`
	Now         string           `json:"now,omitempty"` // the value of --now
}

// A requestJSON is a host.Request with names for JSON.
type requestJSON struct {
	Text            string                 `json:"text"`
	System          string                 `json:"system,omitempty"`
	Template        string                 `json:"template,omitempty"`
	Params          map[string]string      `json:"params,omitempty"`
	Fragments       []string               `json:"fragments,omitempty"`
	SystemFragments []string               `json:"system_fragments,omitempty"`
	Attachments     []fragments.Attachment `json:"-"` // attachmentData stores them
	Tools           []starhost.Tool        `json:"tools,omitempty"`
	OnlyTools       []string               `json:"only_tools,omitempty"`
	Model           string                 `json:"model,omitempty"`
	Options         json.RawMessage        `json:"options,omitempty"`
	History         []starhost.Message     `json:"history,omitempty"`
}

// A sessionJSON is a host.SessionConfig with names for JSON.
type sessionJSON struct {
	ID       string   `json:"id,omitempty"`
	Platform string   `json:"platform"`
	Model    string   `json:"model,omitempty"`
	Roles    []string `json:"roles,omitempty"`
	// Workspace is in a journal only if a program sets it.
	Workspace string `json:"workspace,omitempty"`
	Guarded   bool   `json:"-"` // always false here: only sessions of agents are guarded
	Seed      uint64 `json:"-"` // the journal's header has it: see effects.Header
}

// An attachmentData is an attachment with its bytes.
type attachmentData struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type,omitempty"`
	URL     string `json:"url,omitempty"`
	Source  string `json:"source,omitempty"`
	Width   int    `json:"width,omitempty"`
	Height  int    `json:"height,omitempty"`
	Content []byte `json:"content,omitempty"` // base64
}

type callQuestion struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

type fireQuestion struct {
	Event     string          `json:"event"`
	Arguments json.RawMessage `json:"arguments"`
}

// newQuestion returns the question that the flags ask. e must already have its request and its arguments.
func (e *evaluation) newQuestion(f *evalFlags) question {
	q := question{
		Prompt: f.wantsPrompt(), Request: requestJSON(e.Request), Session: sessionJSON(e.config),
		Expr: f.expr, Now: f.now,
	}
	for _, a := range e.Request.Attachments {
		data := attachmentData{a.Name, a.Type, a.URL, a.Source, a.Width, a.Height, []byte(a.Content)}
		q.Attachments = append(q.Attachments, data)
	}
	switch {
	case f.callGiven:
		q.Call = &callQuestion{f.call, jsontext.Must(e.arguments)}
	case f.fireGiven:
		q.Fire = &fireQuestion{f.fire, jsontext.Must(e.arguments)}
	}
	return q
}

// apply makes the flags and the request those of the question.
func (q *question) apply(f *evalFlags, e *evaluation) {
	e.Request, e.config = host.Request(q.Request), host.SessionConfig(q.Session)
	for _, a := range q.Attachments {
		e.Request.Attachments = append(e.Request.Attachments, fragments.Attachment{
			Name: a.Name, Type: a.Type, URL: a.URL, Source: a.Source, Width: a.Width, Height: a.Height,
			Content: string(a.Content),
		})
	}
	for i := range e.Request.Tools {
		if t := &e.Request.Tools[i]; string(t.Parameters) == "null" { // journals have null for no parameters
			t.Parameters = nil
		}
	}
	f.promptGiven, f.expr = q.Prompt, q.Expr
	if q.Call != nil {
		f.callGiven, f.call, f.args = true, q.Call.Tool, string(q.Call.Arguments)
	}
	if q.Fire != nil {
		f.fireGiven, f.fire, f.args = true, q.Fire.Event, string(q.Fire.Arguments)
	}
}
