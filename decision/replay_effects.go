package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// A pastEffect is a recorded effect.
type pastEffect struct {
	effects.RecordedEffect
	used bool // it has answered a request
}

// hasReply reports whether the record has the reply, or the error, of the effect.
func (e *pastEffect) hasReply() bool { return e.Err != nil || e.Reply != nil }

// readEffects decodes the effects of the record, at its first call.
func (r *pastEvent) readEffects() {
	if r.parsed {
		return
	}
	r.parsed = true
	for i := range r.record.Handlers {
		for _, line := range r.record.Handlers[i].Effects {
			var e effects.RecordedEffect
			if json.Unmarshal(line, &e) == nil { // a line that records no effect answers no request
				r.effects = append(r.effects, pastEffect{RecordedEffect: e})
			}
		}
	}
}

// errNotRecorded ends a handler whose request the record does not answer.
var errNotRecorded = errors.New("the record does not answer this request")

// Resolve answers a plugin's request for an effect from the record. It is an [effects.Resolver].
func (r *Replay) Resolve(plugin, kind string, request json.RawMessage) (effects.RecordedEffect, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.firing {
		return effects.RecordedEffect{}, false, errNotRecorded
	}
	r.readEffects()
	if v, ok := newValueEffect(plugin, kind, request); ok {
		reply, unknown := r.values.answer(&r.pastEvent, &v)
		if unknown != "" {
			return r.refuse(unknown)
		}
		return reply, true, nil
	}
	switch kind {
	case "now":
		return effects.RecordedEffect{}, false, nil // the world asks the clock, which returns the record's time
	case "tools.call":
		return r.callTool(request)
	case "fire", "fragments.get":
		return effects.RecordedEffect{}, false, nil // the effects of the called handlers come here, too
	}
	e := r.find(plugin, kind, request)
	switch {
	case e == nil && r.o.ReadFiles && kind != "fs.write" && strings.HasPrefix(kind, "fs."):
		return effects.RecordedEffect{}, false, nil
	case e == nil:
		return r.refuse(fmt.Sprintf("%s: the record has no reply to %s of %s", kind, errtext.Clip(string(request)), plugin))
	case !e.hasReply() && kind == "process":
		return r.refuse(fmt.Sprintf("%s: [log] include omits the answer of %s", kind, plugin))
	case !e.hasReply():
		return r.refuse(fmt.Sprintf("%s: the reply to %s was too large for the log", kind, plugin))
	}
	e.used = true
	return e.RecordedEffect, true, nil
}

// refuse makes the event count as "cannot tell", and ends the handler.
func (r *Replay) refuse(reason string) (effects.RecordedEffect, bool, error) {
	r.cannotTell(reason)
	return effects.RecordedEffect{}, false, errNotRecorded
}

// callTool lets the host call a tool of a plugin for a handler. The effects of the tool come to Resolve, too.
func (r *Replay) callTool(request json.RawMessage) (effects.RecordedEffect, bool, error) {
	var call struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(request, &call) // no error, because package effects wrote it
	for _, t := range r.host.Tools() {
		if t.Name == call.Name {
			return effects.RecordedEffect{}, false, nil
		}
	}
	return r.refuse(fmt.Sprintf("tools.call: a replay does not have the tool %s", errtext.Clip(call.Name)))
}

// find returns the recorded effect that answers a request: the plugin's next one with the same request, or
// else the plugin's last one, or else one of another plugin. A random draw answers only one request of its
// plugin.
func (r *pastEvent) find(plugin, kind string, request json.RawMessage) *pastEffect {
	var last, foreign *pastEffect
	for i := range r.effects {
		e := &r.effects[i]
		if e.Kind != kind || !sameJSON(e.Request, request) {
			continue
		}
		switch {
		case e.Plugin == plugin && !e.used:
			return e
		case e.Plugin == plugin:
			last = e
		case foreign == nil:
			foreign = e
		}
	}
	switch {
	case kind == "random" || kind == "uuid":
		return nil
	case last != nil:
		return last
	}
	return foreign
}

// sameJSON reports whether a value equals the recorded one. A recorded [Digest] equals the text whose digest
// it is.
func sameJSON(recorded, value json.RawMessage) bool {
	return string(recorded) == string(value) || sameValue(decodeJSON(recorded), decodeJSON(value))
}

// decodeJSON returns JSON as Go values. Numbers keep their spelling.
func decodeJSON(raw json.RawMessage) any {
	v, err := jsontext.DecodeValue(string(raw))
	if err != nil {
		return nil
	}
	return v
}

func sameValue(recorded, value any) bool {
	switch was := recorded.(type) {
	case map[string]any:
		if text, ok := value.(string); ok {
			return isDigestOf(was, text)
		}
		is, ok := value.(map[string]any)
		return ok && maps.EqualFunc(was, is, sameValue)
	case []any:
		is, ok := value.([]any)
		return ok && slices.EqualFunc(was, is, sameValue)
	}
	was, _ := recorded.(string)
	is, isText := value.(string)
	return reflect.DeepEqual(recorded, value) || isText && strings.Contains(was, masked) && fitsMasked(was, is)
}

// fitsMasked reports whether text can be what recorded was before the log masked values in it. If a plugin's
// own constant looks like a key, it is masked in the record and not in the replay.
func fitsMasked(recorded, text string) bool {
	parts := strings.Split(recorded, masked)
	rest, ok := strings.CutPrefix(text, parts[0])
	for _, part := range parts[1:] {
		i := strings.Index(rest, part)
		if ok = ok && i >= 0; !ok {
			return false
		}
		rest = rest[i+len(part):]
	}
	return rest == "" || parts[len(parts)-1] == "" || strings.HasSuffix(text, parts[len(parts)-1])
}

// isDigestOf reports whether an object is the [Digest] of a text.
func isDigestOf(object map[string]any, text string) bool {
	sum := sha256.Sum256([]byte(text))
	return len(object) == 2 && fmt.Sprint(object["bytes"]) == fmt.Sprint(len(text)) && object["sha256"] == hex.EncodeToString(sum[:])
}

// replaceDigests replaces each [Digest] that stands for an omitted text of a call's arguments by a text,
// because tables of tools expect a text there.
func replaceDigests(arguments json.RawMessage, omitted []string) json.RawMessage {
	const maxDepth = 200
	doc, err := jsontext.Parse(string(arguments), maxDepth)
	if err != nil {
		return arguments
	}
	type change struct {
		start, end int
		text       string
	}
	var changes []change
	for _, pointer := range omitted {
		rest, ok := strings.CutPrefix(pointer, "/arguments/")
		if !ok {
			continue
		}
		node := nodeAt(&doc, strings.Split(rest, "/"))
		if node == jsontext.NoNode {
			continue
		}
		text := "omitted " + pointer
		if sum := doc.Member(node, "sha256"); doc.HasKind(sum, jsontext.String) {
			text = "sha256:" + doc.StringAt(sum)
		}
		start, end := doc.Span(node)
		quoted, _ := json.Marshal(text)
		changes = append(changes, change{start, end, string(quoted)})
	}
	slices.SortFunc(changes, func(a, b change) int { return b.start - a.start })
	text := string(arguments)
	for _, c := range changes {
		if c.end <= len(text) { // the pointer leads into a value that is replaced already
			text = text[:c.start] + c.text + text[c.end:]
		}
	}
	return json.RawMessage(text)
}

// nodeAt returns the value at a path in a document, or NoNode if there is none.
func nodeAt(doc *jsontext.Document, path []string) int {
	node := 0
	for _, name := range path {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if doc.HasKind(node, jsontext.Array) {
			elements := doc.Elements(node)
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(elements) {
				return jsontext.NoNode
			}
			node = elements[i]
			continue
		}
		if node = doc.Member(node, name); node == jsontext.NoNode {
			return node
		}
	}
	return node
}
