package docgen

import (
	"strings"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/page"
)

// The reference as JSON. Lists are never null.
type ReferenceJSON struct {
	Schema      string           `json:"schema"`
	Builtins    []builtinJSON    `json:"builtins"`
	Cases       []casePartJSON   `json:"cases"`
	Events      []eventJSON      `json:"events"`
	Permissions []permissionJSON `json:"permissions"`
	Config      []keyJSON        `json:"config"`
	Errors      []codeJSON       `json:"errors"`
	Topics      []subjectJSON    `json:"topics"`
}

type builtinJSON struct {
	Name       string      `json:"name"`
	Topic      string      `json:"topic"`
	Signature  string      `json:"signature"` // "" for a value that is not called
	Parameters []paramJSON `json:"parameters"`
	Type       string      `json:"type"` // the type of the value or of a call's result; "" if Python defines the name
	Doc        string      `json:"doc"`
	Example    string      `json:"example"`
}

// A casePartJSON is a section of golden cases, a member of one, or a way to run them.
type casePartJSON struct {
	Name    string `json:"name"`
	Topic   string `json:"topic"`
	Doc     string `json:"doc"`
	Example string `json:"example"`
}

type paramJSON struct {
	Name    string `json:"name"` // with the stars of *args and **kwargs
	Type    string `json:"type"`
	Default string `json:"default"` // "" means that there is none
}

type eventJSON struct {
	Name      string    `json:"name"`
	Fires     string    `json:"fires"`
	Arguments []argJSON `json:"arguments"`
	Returns   []string  `json:"returns"`
	Modify    []string  `json:"modify"` // the arguments that modify may replace
	Guard     bool      `json:"guard"`  // a failing handler denies
}

type argJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Doc  string `json:"doc"`
}

type permissionJSON struct {
	Kind    string `json:"kind"`
	Form    string `json:"form"`
	Doc     string `json:"doc"`
	Example string `json:"example"`
}

type keyJSON struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Default   string `json:"default"`   // as TOML; "" means that there is none
	Untrusted string `json:"untrusted"` // when a project's config may set it
	Doc       string `json:"doc"`
	Example   string `json:"example"`
}

type codeJSON struct {
	Code  string `json:"code"`
	Title string `json:"title"`
	Doc   string `json:"doc"`
	Exit  int    `json:"exit"`
	Fails string `json:"fails"`
	Works string `json:"works"`
}

type subjectJSON struct {
	Words []string `json:"words"`
	Doc   string   `json:"doc"`
	Page  string   `json:"page"` // below docs
	See   []string `json:"see"`
}

func (r Reference) WriteJSON(p *page.Page) error {
	out := ReferenceJSON{
		Schema: "starhost.docs/1", Builtins: []builtinJSON{}, Cases: []casePartJSON{}, Events: []eventJSON{},
		Permissions: []permissionJSON{}, Config: []keyJSON{}, Errors: []codeJSON{}, Topics: []subjectJSON{},
	}
	for _, t := range r.Topics {
		for _, e := range t.Entries {
			typ, _ := builtins.TypeOf(e.Name)
			b := builtinJSON{e.Name, t.Name, e.Signature, []paramJSON{}, typ.Result, e.Doc, e.Example}
			for _, param := range ParamsOf(e) {
				b.Parameters = append(b.Parameters, paramJSON(param))
			}
			out.Builtins = append(out.Builtins, b)
		}
	}
	for _, t := range r.Cases {
		for _, e := range t.Entries {
			out.Cases = append(out.Cases, casePartJSON{e.Name, t.Name, e.Doc, e.Example})
		}
	}
	for _, e := range r.Events {
		event := eventJSON{e.Name, e.Fires, []argJSON{}, []string{}, append([]string{}, e.Modify...), e.Guard}
		for _, arg := range argsOf(e) {
			event.Arguments = append(event.Arguments, argJSON(arg))
		}
		for _, act := range e.Actions {
			event.Returns = append(event.Returns, string(act))
		}
		out.Events = append(out.Events, event)
	}
	for _, k := range r.Permissions {
		out.Permissions = append(out.Permissions, permissionJSON{k.Name, k.Form, k.Doc, k.Example})
	}
	for _, k := range r.Keys {
		out.Config = append(out.Config, keyJSON{k.Name, k.Wants, k.Default, k.Project, k.Doc, k.Example})
	}
	for _, c := range r.Codes {
		out.Errors = append(out.Errors, codeJSON{c.Code, c.Title, c.Text, r.Exit(c.Code), c.Bad, c.Good})
	}
	for _, s := range r.Subjects {
		out.Topics = append(out.Topics, subjectJSON{s.Words(), s.text, s.page, append([]string{}, s.See()...)})
	}
	return p.JSON(out)
}

// A Param is a parameter of a builtin.
type Param struct{ Name, Type, Default string }

// ParamsOf returns the parameters of a builtin. Their types are "" if Python defines the
// builtin.
func ParamsOf(e call.Entry) []Param {
	list := strings.TrimSuffix(strings.TrimPrefix(e.Signature, e.Name+"("), ")")
	typ, hasType := builtins.TypeOf(e.Name)
	var params []Param
	for i, text := range builtins.SplitParams(list) {
		var p Param
		p.Name, p.Default, _ = strings.Cut(text, "=")
		if hasType {
			p.Type = typ.Params[i]
		}
		params = append(params, p)
	}
	return params
}
