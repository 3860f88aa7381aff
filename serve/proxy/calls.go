package proxy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// A callForm says where an item of a request or a reply has the parts of a tool call. A place is a path of
// members: "function.name" is the member name in the member function.
type callForm struct {
	id   string
	name string // the place of the name; without a dot at its start it is the name of the tool itself
	args string
	// isText is true if the arguments are JSON in a string. wrap is the argument that a string becomes if it
	// is no JSON.
	isText bool
	wrap   string
	// list is a member that may have a list in place of the arguments at args. The list is then the only
	// argument.
	list string
}

// callForms are the forms of calls that clients run, by the type of the item. Guards see these calls only,
// because vendors run all others.
var callForms = map[string]*callForm{
	"tool_use":         {id: "id", name: ".name", args: "input"},
	"function":         {id: "id", name: ".function.name", args: "function.arguments", isText: true},
	"custom":           {id: "id", name: ".custom.name", args: "custom.input", wrap: "input"},
	"function_call":    {id: "call_id", name: ".name", args: "arguments", isText: true},
	"custom_tool_call": {id: "call_id", name: ".name", args: "input", wrap: "input"},
	"local_shell_call": {id: "call_id", name: "local_shell", args: "action"},
	"shell_call":       {id: "call_id", name: "shell", args: "action"},
	"apply_patch_call": {id: "call_id", name: "apply_patch", args: "operation"},
	"computer_call":    {id: "call_id", name: "computer", args: "action", list: "actions"},
}

// oldCall is the form of the member function_call of old chat messages.
var oldCall = &callForm{name: ".name", args: "arguments", isText: true}

// otherMembers are members of calls that guards do not see, but that clients or endpoints need. The proxy
// lets no further members of a call reach the client, because a client that collects the parts of a call can
// take any member for one, as __json_buf in a block of Messages.
var otherMembers = []string{
	"type", "id", "call_id", "status", "index", "caller", "namespace", "created_by", "environment", "max_output_length",
	"pending_safety_checks", "cache_control", "extra_content", "thought_signature", "function", "custom",
}

// functionMembers are the members of the part of a chat's call that has the call's name.
var functionMembers = []string{"name", "arguments", "input"}

// knows reports whether a member of a call may reach the client.
func (f *callForm) knows(member string) bool {
	isPlace := func(place string) bool {
		first, _, _ := strings.Cut(strings.TrimPrefix(place, "."), ".")
		return first == member
	}
	return slices.Contains(otherMembers, member) || strings.HasPrefix(f.name, ".") && isPlace(f.name) || isPlace(f.args) ||
		f.list != "" && isPlace(f.list)
}

// formOf returns the form that the type of an item says, and whether the item is a call.
func formOf(d *jsontext.Document, item int) (*callForm, bool) {
	f, ok := callForms[d.PeekAt(d.Member(item, "type"))]
	return f, ok
}

// chatFormOf returns the form of an element of tool_calls. It looks for the part with the call's name,
// because many clients do not read the type. ok is false for an element that two clients could take for two
// calls, or for none.
func chatFormOf(d *jsontext.Document, item int) (form *callForm, ok bool) {
	isFunction, isCustom := d.Member(item, "function") != noNode, d.Member(item, "custom") != noNode
	if isCustom {
		return callForms["custom"], !isFunction
	}
	return callForms["function"], isFunction
}

// at returns the value at a place in an object, or [jsontext.NoNode] if the object has none.
func at(d *jsontext.Document, object int, place string) int {
	for name := range strings.SplitSeq(strings.TrimPrefix(place, "."), ".") {
		if object = d.Member(object, name); object == jsontext.NoNode {
			return object
		}
	}
	return object
}

// place returns the value with the arguments, and whether that is the value of the member list. ok is false
// if the item has arguments in both members, so that two clients could take different ones.
func (f *callForm) place(d *jsontext.Document, item int) (value int, isList, ok bool) {
	isNone := func(value int) bool { return value == jsontext.NoNode || d.TextAt(value) == "null" }
	value = at(d, item, f.args)
	if f.list == "" {
		return value, false, true
	}
	list := d.Member(item, f.list)
	if isList = !isNone(list); isList {
		return list, true, isNone(value)
	}
	return value, false, true
}

// read returns the call that an item contains.
func (f *callForm) read(d *jsontext.Document, item int) starhost.ToolCall {
	c := starhost.ToolCall{Name: f.name, Arguments: json.RawMessage("{}")}
	if f.id != "" {
		c.ID = d.StringAt(d.Member(item, f.id))
	}
	if strings.HasPrefix(f.name, ".") {
		c.Name = d.StringAt(at(d, item, f.name))
	}
	args, isList, ok := f.place(d, item)
	switch {
	case !ok:
		c.Arguments = nil // checkArguments refuses a call without arguments
	case isList:
		c.Arguments = jsontext.Must(dict{f.list: d.CopyAt(args)})
	case args == jsontext.NoNode:
	case (f.wrap != "" || f.isText) && !isTextOrNone(d, args): // some clients take an object instead of a text
		c.Arguments = d.CopyAt(args)
	case f.wrap != "":
		c.Arguments = jsontext.Must(dict{f.wrap: d.StringAt(args)})
	case f.isText:
		if text := d.StringAt(args); strings.TrimSpace(text) != "" {
			c.Arguments = json.RawMessage(text)
		}
	default:
		c.Arguments = d.CopyAt(args)
	}
	return c
}

// write returns the JSON text of arguments for the place args, or for the member list. It returns false if
// the place has no room for these arguments.
func (f *callForm) write(args json.RawMessage, isList bool) (string, bool) {
	switch {
	case isList:
		var o map[string]json.RawMessage
		err := json.Unmarshal(args, &o)
		list, ok := o[f.list]
		return string(list), ok && err == nil && len(o) == 1
	case f.wrap != "":
		var o map[string]string
		err := json.Unmarshal(args, &o)
		text, ok := o[f.wrap]
		return string(jsontext.Must(text)), ok && err == nil && len(o) == 1
	case f.isText:
		return string(jsontext.Must(string(args))), true
	}
	return string(args), true
}

// maxNesting is the deepest nesting of JSON values that the proxy reads.
const maxNesting = 512

// checkArguments returns why guards cannot read the arguments of a call, or nil if they can. A client could
// otherwise read other arguments than a guard.
func checkArguments(c *starhost.ToolCall) error {
	d, err := jsontext.Parse(string(c.Arguments), maxNesting)
	switch {
	case c.Name == "":
		return refuse(0, "starhost: the call has no name")
	case err != nil || !d.HasKind(0, jsontext.Object):
		return refuse(0, "starhost: the arguments of %q are no JSON object", errtext.Clip(c.Name))
	}
	if err := d.Ambiguity(); err != nil {
		return refuse(0, "starhost: the arguments of %q: %v", errtext.Clip(c.Name), err)
	}
	return nil
}
