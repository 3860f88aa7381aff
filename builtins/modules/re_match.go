package modules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
)

// A reMatch is the Starlark value for one match. It is immutable.
type reMatch struct {
	rt      call.Runtime
	pattern *rePattern
	text    string
	at      []int // offsets in bytes: start and end of the match, then of each group; -1 for a group without a match
}

// reMatchMethods are the methods of a match.
var reMatchMethods = map[string]func(*reMatch, call.Call) (starlark.Value, error){
	"end":       ofGroup(func(m *reMatch, n int) starlark.Value { return starlark.MakeInt(m.at[2*n+1]) }),
	"group":     ofGroup(func(m *reMatch, n int) starlark.Value { return m.value(n, starlark.None) }),
	"groupdict": (*reMatch).groupDict,
	"groups":    (*reMatch).groups,
	"span": ofGroup(func(m *reMatch, n int) starlark.Value {
		return starlark.Tuple{starlark.MakeInt(m.at[2*n]), starlark.MakeInt(m.at[2*n+1])}
	}),
	"start": ofGroup(func(m *reMatch, n int) starlark.Value { return starlark.MakeInt(m.at[2*n]) }),
}

var _ starlark.HasAttrs = (*reMatch)(nil)

func (m *reMatch) String() string {
	return fmt.Sprintf("<match span=(%d, %d) match=%s>", m.at[0], m.at[1], errtext.Quote(m.text[m.at[0]:m.at[1]]))
}
func (m *reMatch) Type() string          { return "match" }
func (m *reMatch) Freeze()               {} // immutable
func (m *reMatch) Truth() starlark.Bool  { return true }
func (m *reMatch) Hash() (uint32, error) { return 0, errors.New("unhashable type: match") }
func (m *reMatch) AttrNames() []string   { return slices.Sorted(maps.Keys(reMatchMethods)) }

// Attr returns the method of m with a name.
func (m *reMatch) Attr(name string) (starlark.Value, error) {
	method := reMatchMethods[name]
	if method == nil {
		return nil, nil
	}
	fn := call.NewBuiltin(m.rt, "match."+name, func(c call.Call) (starlark.Value, error) { return method(m, c) })
	return fn.BindReceiver(m), nil
}

// ofGroup returns a method whose argument is the number or the name of a group.
func ofGroup(result func(m *reMatch, n int) starlark.Value) func(*reMatch, call.Call) (starlark.Value, error) {
	return func(m *reMatch, c call.Call) (starlark.Value, error) {
		var group starlark.Value = starlark.MakeInt(0)
		if err := c.Bind("group?", &group); err != nil {
			return nil, err
		}
		if err := c.Pay(1, 64); err != nil {
			return nil, err
		}
		n, err := m.pattern.groupNumber(group)
		if err != nil {
			return nil, c.Fail("E0202", "group: %v", err)
		}
		return result(m, n), nil
	}
}

// groups implements match.groups.
func (m *reMatch) groups(c call.Call) (starlark.Value, error) {
	absent, err := m.unpackDefault(c)
	if err != nil {
		return nil, err
	}
	return m.captures(absent), nil
}

// groupDict implements match.groupdict.
func (m *reMatch) groupDict(c call.Call) (starlark.Value, error) {
	absent, err := m.unpackDefault(c)
	if err != nil {
		return nil, err
	}
	dict := new(starlark.Dict)
	for n, name := range m.pattern.re.SubexpNames() {
		if name == "" {
			continue
		}
		if err := dict.SetKey(starlark.String(name), m.value(n, absent)); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// unpackDefault reads the argument for groups without a match, and pays for all groups.
func (m *reMatch) unpackDefault(c call.Call) (starlark.Value, error) {
	var absent starlark.Value = starlark.None
	if err := c.Bind("default?", &absent); err != nil {
		return nil, err
	}
	return absent, c.Pay(1+len(m.at)/4, 64*len(m.at))
}

// value returns the text of group n, or absent if the group did not match.
func (m *reMatch) value(n int, absent starlark.Value) starlark.Value {
	if m.at[2*n] < 0 {
		return absent
	}
	return starlark.String(m.text[m.at[2*n]:m.at[2*n+1]])
}

// captures returns the texts of all groups, without the whole match.
func (m *reMatch) captures(absent starlark.Value) starlark.Tuple {
	groups := make(starlark.Tuple, len(m.at)/2-1)
	for i := range groups {
		groups[i] = m.value(i+1, absent)
	}
	return groups
}

// groupNumber returns the number of the group that v names by an int or a name.
func (p *rePattern) groupNumber(v starlark.Value) (int, error) {
	switch v := v.(type) {
	case starlark.String:
		if n := p.re.SubexpIndex(string(v)); n > 0 {
			return n, nil
		}
	case starlark.Int:
		if n, ok := v.Int64(); ok && 0 <= n && n <= int64(p.re.NumSubexp()) {
			return int(n), nil
		}
	default:
		return 0, fmt.Errorf("got %s, want the number or name of a group", v.Type())
	}
	return 0, fmt.Errorf("got %s, want %s", call.Show(v), p.groupChoices())
}

// groupChoices lists the groups of the pattern for a message: `0 to 2, "year" or "month"`.
func (p *rePattern) groupChoices() string {
	n := p.re.NumSubexp()
	if n == 0 {
		return "0 (the pattern has no groups)"
	}
	choices := fmt.Sprintf("0 to %d", n)
	var names []string
	for _, name := range p.re.SubexpNames() {
		if name != "" {
			names = append(names, fmt.Sprintf("%q", name))
		}
	}
	if len(names) == 0 {
		return choices
	}
	return choices + " or " + strings.Join(names, ", ")
}
