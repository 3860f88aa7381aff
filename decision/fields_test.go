package decision

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// A pointerList collects the pointers that a record shows a visitor.
type pointerList struct{ at []string }

func (p *pointerList) size(int) {}

func (p *pointerList) text(at string, _ *string) { p.at = append(p.at, at) }

func (p *pointerList) raw(at string, _ *json.RawMessage) bool {
	p.at = append(p.at, at)
	return true
}

func (p *pointerList) list(at string, elements int, visit func(at string, i int) bool) int {
	p.at = append(p.at, at)
	for i := range elements {
		visit(at, i)
	}
	return elements
}

// TestFields names the place that a new field of a record lacks: who sets it, and, unless it is short, who
// cuts it if it is too long.
func TestFields(t *testing.T) {
	e := starhost.Event{
		Name: "pre_tool_call", SessionID: "s", Model: "m", Platform: "p", Round: 1, Workspace: "/w", Roles: []string{"r"},
		Tool: "Bash", ToolAlias: "p-Bash", Foreign: true, Agent: "codex", CallID: "c", Plugin: "guard",
		Arguments: json.RawMessage(`{"command":"ls"}`), UserMessage: "hi",
	}
	deny := starhost.Decision{Action: starhost.ActionDeny, Reason: "no", Plugin: "guard"}
	l := New(Options{Starhost: "1", Dir: t.TempDir(), Describe: func(*starhost.Event) *starhost.CallInfo {
		return &starhost.CallInfo{Kinds: []string{"shell"}}
	}})
	r := l.Record(e, host.Outcome{
		Decision: deny, Decisions: []starhost.Decision{deny}, Turn: 1, Duration: time.Second, Lost: errors.New("x"),
		Answer: &host.Answer{By: "user", Asks: []starhost.Decision{deny}},
		Hooks:  []host.HookTrace{{Event: "pre_tool_call", Decision: &deny}},
	})
	r.Input = map[string]json.RawMessage{"x": json.RawMessage(`1`)}
	var seen pointerList
	r.visit(&seen)
	later := []string{"schema", "id", "time", "answered", "set", "context", "masked", "cut", "omitted"} // of Append and of callers
	short := []string{"schema", "id", "starhost", "event", "mode", "masked", "cut", "set", "time"}      // "set" counts whole
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if v.Field(i).IsZero() && !slices.Contains(later, name) {
			t.Errorf("%s: Record in observe.go sets no value", name)
		}
		isPart := func(at string) bool { return at == "/"+name || strings.HasPrefix(at, "/"+name+"/") }
		switch v.Field(i).Kind() {
		case reflect.String, reflect.Slice, reflect.Map, reflect.Struct, reflect.Pointer:
			if !slices.Contains(short, name) && !slices.ContainsFunc(seen.at, isPart) {
				t.Errorf("%s: visit in cut.go does not show it", name)
			}
		}
	}
}
