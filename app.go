package starhost

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// New returns an Event with zero arguments, or null arguments if the program declares the event.
func (s *EventSpec) New() *Event {
	return &Event{Name: s.Name, App: s.blank()}
}

// blank returns the arguments of a declared event, all null.
func (s *EventSpec) blank() []AppArg {
	if !strings.HasPrefix(s.Name, appPrefix) {
		return nil
	}
	args := make([]AppArg, len(s.Args))
	for i, name := range s.Args {
		args[i] = AppArg{Name: name, Value: json.RawMessage("null")}
	}
	return args
}

// complete sorts the arguments of a declared event into their order, and adds null for missing
// ones.
func (s *EventSpec) complete(e *Event) error {
	given := e.App
	e.App = s.blank()
	for _, a := range given {
		i := slices.Index(s.Args, a.Name)
		switch {
		case i < 0 || len(e.App) == 0:
			return errtext.Errorf("%s: unknown argument %q%s", s.Name, a.Name, near.DidYouMean(a.Name, s.Args))
		case len(a.Value) == 0:
		case !json.Valid(a.Value):
			return errtext.Errorf("%s: argument %q: got %s, want JSON", s.Name, a.Name, jsontext.Clip(string(a.Value)))
		default:
			e.App[i].Value = a.Value
		}
	}
	return nil
}

// appActions are the actions that a declared event may allow.
var appActions = []Action{ActionContext, ActionModify, ActionDeny, ActionAsk, ActionAbort, ActionValue}

// maxValue is the most bytes of JSON that a handler of a declared event may return.
const maxValue = 64 << 10

// checkValue returns why a handler cannot return a value, or nil.
func checkValue(v json.RawMessage) error {
	switch {
	case len(v) > maxValue:
		return errtext.Errorf("value: got %d bytes of JSON, want at most %d", len(v), maxValue)
	case !json.Valid(v):
		return errtext.Errorf("value: got %s, want JSON", jsontext.Clip(string(v)))
	}
	return nil
}

// checkApp returns why a program cannot declare the event, or nil.
func (s *EventSpec) checkApp() error {
	switch rest, ok := strings.CutPrefix(s.Name, appPrefix); {
	case !ok || !appName.MatchString(rest):
		return errtext.Errorf("event %q: want app. and a lower-case letter, then a-z 0-9 _ . -", s.Name)
	case s.Tool || s.Command:
		return errtext.Errorf("event %q: only the host's own events are about a tool or a command", s.Name)
	}
	for i, arg := range s.Args {
		if !argName.MatchString(arg) || slices.Contains(s.Args[:i], arg) {
			return errtext.Errorf("event %s: argument %q: want a lower-case letter, then a-z 0-9 _, each once", s.Name, arg)
		}
	}
	for _, a := range s.Actions {
		if !slices.Contains(appActions, a) {
			return errtext.Errorf("event %s: action %q: want %s", s.Name, a, actionNames(appActions))
		}
	}
	for _, arg := range s.Modify {
		if !slices.Contains(s.Args, arg) || !slices.Contains(s.Actions, ActionModify) {
			return errtext.Errorf("event %s: modify %q: want an argument of an event that may be modified", s.Name, arg)
		}
	}
	if slices.Contains(s.Actions, ActionValue) && slices.Contains(s.Actions, ActionContext) {
		return errtext.Errorf("event %s: a string would be both context and a value, so the event may accept only one", s.Name)
	}
	if s.Plugin != "" && !strings.HasPrefix(s.Name, appPrefix+s.Plugin+".") {
		return errtext.Errorf("event %q: plugin %s declares only events app.%s.NAME", s.Name, s.Plugin, s.Plugin)
	}
	if s.Guard && !slices.Contains(s.Actions, ActionDeny) {
		return errtext.Errorf("event %s: a guard's failure denies, so the event must accept a deny", s.Name)
	}
	return nil
}
