package starhost

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// New returns an Event with zero arguments, or null arguments if the program declares the event.
func (s *EventSpec) New() *Event {
	return &Event{Name: s.Name, App: s.blank()}
}

// blank returns the arguments of a declared event, all null.
func (s *EventSpec) blank() []AppArg {
	if !strings.HasPrefix(s.Name, AppPrefix) {
		return nil
	}
	args := make([]AppArg, len(s.Args))
	for i, name := range s.Args {
		args[i] = AppArg{Name: name, Value: json.RawMessage("null")}
	}
	return args
}

// Complete sorts the arguments of a declared event into their order, and adds null for missing
// ones.
func (s *EventSpec) Complete(e *Event) error {
	given := e.App
	e.App = s.blank()
	for _, a := range given {
		i := slices.Index(s.Args, a.Name)
		switch {
		case i < 0 || len(e.App) == 0:
			return errtext.Errorf("%s: unknown argument %q%s", s.Name, a.Name, near.DidYouMean(a.Name, s.Args))
		case len(a.Value) == 0:
		case !json.Valid(a.Value):
			return errtext.Errorf("%s: argument %q: got %s, want JSON", s.Name, a.Name, errtext.Clip(string(a.Value)))
		default:
			e.App[i].Value = a.Value
		}
	}
	return nil
}
