package main

import (
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// A question is everything that eval is asked. The same plugins, the question and the effects
// of a journal give the same answer again.
type question struct {
	Prompt      bool             `json:"prompt"` // eval assembles a prompt
	Request     requestJSON      `json:"request"`
	Attachments []attachmentData `json:"attachments,omitempty"`
	Session     sessionJSON      `json:"session"`
	Call        *callQuestion    `json:"call,omitempty"`
	Fire        *fireQuestion    `json:"fire,omitempty"`
	Expr        string           `json:"expr,omitempty"`
	Now         string           `json:"now,omitempty"` // --now
}

// A requestJSON is a host.Request with names for JSON.
type requestJSON struct {
	Text            string                 `json:"text"`
	System          string                 `json:"system,omitempty"`
	Template        string                 `json:"template,omitempty"`
	Params          map[string]string      `json:"params,omitempty"`
	Fragments       []string               `json:"fragments,omitempty"`
	SystemFragments []string               `json:"system_fragments,omitempty"`
	Attachments     []fragments.Attachment `json:"-"` // see attachmentData
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
	// Workspace is in journals only if a program sets it.
	Workspace string `json:"workspace,omitempty"`
	Guarded   bool   `json:"-"` // only sessions of agents are
	Seed      uint64 `json:"-"` // see effects.Header
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

// newQuestion returns the question of the flags. e must have its request and arguments.
func (e *evaluation) newQuestion(f *evalFlags) question {
	q := question{
		Prompt: f.wantsPrompt(), Request: requestJSON(e.request), Session: sessionJSON(e.config),
		Expr: f.expr, Now: f.now,
	}
	for _, a := range e.request.Attachments {
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

// apply sets the flags and the request to those of the question.
func (q *question) apply(f *evalFlags, e *evaluation) {
	e.request, e.config = host.Request(q.Request), host.SessionConfig(q.Session)
	for _, a := range q.Attachments {
		e.request.Attachments = append(e.request.Attachments, fragments.Attachment{
			Name: a.Name, Type: a.Type, URL: a.URL, Source: a.Source, Width: a.Width, Height: a.Height,
			Content: string(a.Content),
		})
	}
	for i := range e.request.Tools {
		if t := &e.request.Tools[i]; string(t.Parameters) == "null" { // journals write no parameters as null
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
