package starhost

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// NewEvent builds an event from arguments in JSON, so that a program can fire it. Missing arguments
// are zero, or null if the program declares the event; an unknown argument is an error. An event
// about a tool also takes the argument agent. The tool is Foreign if the arguments have an agent
// and no plugin, or an empty plugin.
func NewEvent(name string, args map[string]json.RawMessage, declared ...EventSpec) (*Event, error) {
	spec, err := LookupEvent(name, declared...)
	if err != nil {
		return nil, err
	}
	e := spec.New()
	for _, arg := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(spec.Args, arg) && !(spec.Tool && arg == "agent") {
			takes := slices.DeleteFunc(slices.Clone(spec.Args), func(arg string) bool { return arg == "call" })
			if spec.Tool {
				takes = append(takes, "agent")
			}
			return nil, errtext.Errorf("%s: unknown argument %q%s, want %s", name, arg, near.DidYouMean(arg, takes), strings.Join(takes, ", "))
		}
		p := e.Arg(arg)
		switch arg {
		case "agent":
			p = &e.Agent
		case "call":
			return nil, errtext.Errorf("%s: argument \"call\": starhost makes it from agent, tool, arguments and workspace", name)
		}
		if decodeArg(p, args[arg]) != nil {
			return nil, errtext.Errorf("%s: argument %q: got %s, want %s", name, arg, errtext.Clip(string(args[arg])), wantedType(p))
		}
	}
	_, given := args["plugin"]
	e.Foreign = spec.Tool && e.Plugin == "" && (given || e.Agent != "")
	e.Result.IsError = e.IsError
	return e, nil
}

// decodeArg decodes JSON into an argument's field. Callers replace its error, whose text names Go
// types.
func decodeArg(p any, raw json.RawMessage) error {
	switch p := p.(type) {
	case **Messages:
		return decodeList(p, raw)
	case **Tools:
		return decodeList(p, raw)
	case **List[fragments.Row]:
		return decodeList(p, raw)
	case *Result:
		return json.Unmarshal(raw, &p.ForLLM)
	case *AppArg:
		return json.Unmarshal(raw, &p.Value)
	case *json.RawMessage:
		*p = slices.Clone(raw)
		_, err := jsontext.DecodeObject(raw)
		return err
	}
	return json.Unmarshal(raw, p)
}

func decodeList[T any](p **List[T], raw json.RawMessage) error {
	var items []T
	if err := json.Unmarshal(raw, &items); err != nil {
		return err
	}
	*p = NewList(items)
	return nil
}

// Modify applies all changes of a handler or none.
func (e *Event) Modify(spec *EventSpec, changes map[string]any) error {
	next := *e
	next.App = slices.Clone(e.App)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if !slices.Contains(spec.Modify, name) {
			return errtext.Errorf("modify: %s cannot change %q%s, it can change %s", spec.Name, name, near.DidYouMean(name, spec.Modify), errtext.Or(spec.Modify))
		}
		if err := next.change(spec, name, changes[name]); err != nil {
			return err
		}
	}
	*e = next
	return nil
}

// change applies one change. A tool's command and paths are in its arguments.
func (e *Event) change(spec *EventSpec, name string, value any) error {
	if !spec.Tool || name != "command" && name != "paths" {
		return e.setArg(name, value)
	}
	values, ok := value.([]string)
	if text, isText := value.(string); isText && name == "command" {
		values, ok = []string{text}, true
	}
	info := e.CallInfo()
	switch {
	case !ok:
		return errtext.Errorf("modify: %s: got %T, want a string or, for paths, a list of strings", name, value)
	case info == nil || info.Rewrite == nil:
		return errtext.Errorf("modify: %s: the host cannot describe calls: change arguments", name)
	}
	arguments, err := info.Rewrite(name, values)
	if err != nil {
		return errtext.Errorf("modify: %s: %w", name, err)
	}
	e.Arguments = arguments
	changed := e.CallInfo()
	if name == "command" && changed.Command != values[0] || name == "paths" && !slices.Equal(changed.Paths, values) {
		return errtext.Errorf("modify: %s: the tool %s would read something else: change arguments", name, e.Tool)
	}
	return nil
}

// setArg replaces an argument by the value of a modify. It refuses a value of another type.
func (e *Event) setArg(name string, value any) error {
	ok := false
	switch p := e.arg(name).(type) {
	case *string:
		ok = assign(p, value)
	case *[]string:
		ok = assign(p, value)
	case **Messages:
		ok = assign(p, value)
	case *json.RawMessage:
		v, isJSON := value.(json.RawMessage)
		if !isJSON {
			break
		}
		if len(v) == 0 {
			v = emptyObject
		}
		if _, err := jsontext.DecodeObject(v); err != nil {
			return errtext.Errorf("modify: %s: %w", name, err)
		}
		*p, ok = v, true
	case *AppArg:
		v, _ := value.(json.RawMessage)
		ok = json.Valid(v) && assign(&p.Value, value)
		p.view = nil
	case *Result:
		if ok = assign(&p.ForLLM, value); !ok && assign(p, value) {
			e.IsError, ok = p.IsError, true
		}
	case **Tools:
		ok = assign(p, value) // Turn.chooseTools made it
	}
	if !ok {
		return errtext.Errorf("modify: %s: got %T, want %s", name, value, wantedType(e.arg(name)))
	}
	if len(e.Omitted) > 0 {
		e.supply(name)
	}
	return nil
}

// assign sets *p if value has its type.
func assign[T any](p *T, value any) bool {
	v, ok := value.(T)
	if ok {
		*p = v
	}
	return ok
}

// wantedType describes the type of an argument's field for a message.
func wantedType(p any) string {
	switch p.(type) {
	case *string, *Result:
		return "a string"
	case *bool:
		return "true or false"
	case *int:
		return "an integer"
	case *json.RawMessage, *Usage:
		return "an object"
	case *AppArg:
		return "JSON"
	}
	return "a list"
}
