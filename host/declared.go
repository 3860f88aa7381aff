// Which events a program may declare, and which values their handlers may return.

package host

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// appActions are the actions that a declared event may allow.
var appActions = []starhost.Action{starhost.ActionContext, starhost.ActionModify, starhost.ActionDeny, starhost.ActionAsk, starhost.ActionAbort, starhost.ActionValue}

// maxValue is the most bytes of JSON that a handler of a declared event may return.
const maxValue = 64 << 10

// checkValue returns an error if a handler of a declared event cannot return the value.
func checkValue(v json.RawMessage) error {
	switch {
	case len(v) > maxValue:
		return errtext.Errorf("value: got %d bytes of JSON, want at most %d", len(v), maxValue)
	case !json.Valid(v):
		return errtext.Errorf("value: got %s, want JSON", errtext.Clip(string(v)))
	}
	return nil
}

// checkDeclared returns an error if a program cannot declare the event.
func checkDeclared(s *starhost.EventSpec) error {
	switch rest, ok := strings.CutPrefix(s.Name, starhost.AppPrefix); {
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
		if !slices.Contains(s.Args, arg) || !slices.Contains(s.Actions, starhost.ActionModify) {
			return errtext.Errorf("event %s: modify %q: want an argument of an event that may be modified", s.Name, arg)
		}
	}
	if slices.Contains(s.Actions, starhost.ActionValue) && slices.Contains(s.Actions, starhost.ActionContext) {
		return errtext.Errorf("event %s: a string would be both context and a value, so the event may accept only one", s.Name)
	}
	if s.Plugin != "" && !strings.HasPrefix(s.Name, starhost.AppPrefix+s.Plugin+".") {
		return errtext.Errorf("event %q: plugin %s declares only events app.%s.NAME", s.Name, s.Plugin, s.Plugin)
	}
	if s.Guard && !slices.Contains(s.Actions, starhost.ActionDeny) {
		return errtext.Errorf("event %s: a guard's failure denies, so the event must accept a deny", s.Name)
	}
	return nil
}
