package decision

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Values are the values of plugins, by plugin and then by key. nil stands for a key that was absent.
type Values map[string]map[string]json.RawMessage

// set sets the value of a key, unless the key has one already.
func (v Values) set(plugin, key string, value json.RawMessage) {
	if v[plugin] == nil {
		v[plugin] = map[string]json.RawMessage{}
	}
	if _, ok := v[plugin][key]; !ok {
		v[plugin][key] = value
	}
}

// Before returns the values of ctx.state and ctx.store at the start of the event, as far as handlers read
// them before they changed them. The effects ctx.state.keys, delete and a swap that fails show only that a
// key has a value; a made-up text then stands for the value.
func (r *Record) Before() (state, store Values) {
	b := beforeEvent{Values{}, Values{}, map[string]bool{}}
	for i := range r.Handlers {
		for _, line := range r.Handlers[i].Effects {
			b.add(line)
		}
	}
	return b.state, b.store
}

// A beforeEvent collects from an event's effects the values that were there before the event.
type beforeEvent struct {
	state, store Values
	changed      map[string]bool // the values that a handler has changed, by store, plugin and key
}

// A valueRequest is the request of an effect on a value.
type valueRequest struct {
	Key string          `json:"key"`
	N   int64           `json:"n"`
	Old json.RawMessage `json:"old"`
}

var (
	null   = json.RawMessage("null")
	unseen = json.RawMessage(`"a value that the record does not show"`)
)

// add reads the line of an effect.
func (b *beforeEvent) add(line json.RawMessage) {
	var members map[string]json.RawMessage
	var plugin string
	if json.Unmarshal(line, &members) != nil || members["reply"] == nil || json.Unmarshal(members["plugin"], &plugin) != nil {
		return
	}
	for kind, raw := range members {
		where, verb, _ := strings.Cut(kind, ".")
		values := b.state
		if where == "store" {
			values = b.store
		} else if where != "state" {
			continue
		}
		var request valueRequest
		if json.Unmarshal(raw, &request) == nil {
			b.addEffect(values, where+"\x00"+plugin+"\x00", plugin, verb, request, members["reply"])
		}
	}
}

// addEffect reads one effect on values. prefix and the key together identify a value.
func (b *beforeEvent) addEffect(
	values Values, prefix, plugin, verb string, request valueRequest, reply json.RawMessage,
) {
	if verb == "keys" {
		var keys []string
		_ = json.Unmarshal(reply, &keys) // a golden case cannot have a key that is not UTF-8
		for _, key := range keys {
			if !b.changed[prefix+key] {
				values.set(plugin, key, unseen)
			}
		}
		return
	}
	if id := prefix + request.Key; !b.changed[id] {
		if old, ok := oldValue(verb, request, reply); ok {
			if values[plugin] != nil && bytes.Equal(values[plugin][request.Key], unseen) {
				delete(values[plugin], request.Key)
			}
			values.set(plugin, request.Key, old)
		}
		b.changed[id] = verb != "get" && (verb != "swap" || string(reply) == "true")
	}
}

// oldValue returns the value before an effect, or nil if there was none. ok is false if the effect does not
// show it.
func oldValue(verb string, request valueRequest, reply json.RawMessage) (old json.RawMessage, ok bool) {
	switch verb {
	case "get":
		var f struct {
			Value json.RawMessage `json:"value"`
			Found bool            `json:"found"`
		}
		err := json.Unmarshal(reply, &f)
		return f.Value, err == nil
	case "delete":
		if string(reply) == "true" {
			return unseen, true
		}
		return nil, true
	case "add":
		sum, err := strconv.ParseInt(string(reply), 10, 64)
		if err != nil || sum == request.N { // 0 and no value have the same sum
			return nil, err == nil
		}
		return strconv.AppendInt(nil, sum-request.N, 10), true
	case "swap":
		isAbsent := string(request.Old) == "null"
		switch {
		case string(reply) != "true":
			return unseen, isAbsent
		case isAbsent:
			return nil, true
		}
		return request.Old, true
	}
	return nil, false // the verb is set, which shows nothing
}
