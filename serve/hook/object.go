package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/internal/texttable"
)

// An object is a JSON object whose members stay encoded.
type object map[string]json.RawMessage

// ReadObject decodes a JSON object into v, a pointer to a struct, and returns all members. It refuses a text
// that two readers could decode differently, because a guard must see what the sender means.
func ReadObject(text []byte, v any) (map[string]json.RawMessage, error) { return readObject(text, v) }

// readObject decodes a payload into v, a pointer to a struct, and returns all members of the
// object. It refuses a payload that two readers could decode differently: see
// [jsontext.Document.Ambiguity].
func readObject(payload []byte, v any) (object, error) {
	d, err := parseEvent(payload)
	if err != nil {
		return nil, err
	}
	if err := d.checkNames(0, reflect.TypeOf(v).Elem()); err != nil {
		return nil, fmt.Errorf("the event is not as documented: %w", err)
	}
	var all object
	if err := json.Unmarshal(payload, &all); err != nil {
		return nil, err
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(payload, v); errors.As(err, &wrong) {
		return nil, fmt.Errorf("the event is not as documented: %s", jsontext.Explain(wrong))
	} else if err != nil {
		return nil, err
	}
	return all, nil
}

// isObjectOrNull reports whether a member is an object, null or missing.
func isObjectOrNull(value json.RawMessage) bool {
	return len(value) == 0 || value[0] == '{' || string(value) == "null"
}

// textField returns the text of a member, "" if the member is not a string.
func (o object) textField(name string) (s string) {
	_ = json.Unmarshal(o[name], &s) // s stays "" if this fails
	return s
}

// withValue returns a copy of the object in which a member has a new value.
func (o object) withValue(key string, value any) object {
	next := make(object, len(o)+1)
	maps.Copy(next, o)
	next[key] = jsontext.Must(value)
	return next
}

// jsonAnswer returns an answer with one JSON object on standard output. For an empty object, the output is
// empty.
func jsonAnswer(o map[string]any) Answer {
	if len(o) == 0 {
		return Answer{}
	}
	return Answer{Out: string(jsontext.Must(o)) + "\n"}
}

// blockingAnswer returns an answer that blocks, in three forms: JSON on standard output, the reason on
// standard error, and the agent's exit code. Each agent reads one of them.
func (a *Agent) blockingAnswer(o map[string]any, reason string) Answer {
	answer := jsonAnswer(o)
	answer.Err, answer.Code = texttable.Hang(reason)+"\n", a.BlockCode
	return answer
}

// resultText returns the text of a tool's result: a string, the texts of content blocks, the output of a
// command, or the content of a file that Claude Code read. For any other result it returns JSON.
func resultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []object
	if json.Unmarshal(raw, &blocks) == nil && len(blocks) > 0 && !slices.ContainsFunc(blocks, hasNoType) {
		var texts []string
		for _, b := range blocks {
			if b.textField("type") == "text" {
				texts = append(texts, b.textField("text"))
			}
		}
		return strings.Join(texts, "\n")
	}
	var output object
	if json.Unmarshal(raw, &output) == nil {
		switch {
		case strings.HasPrefix(string(output["stdout"]), `"`):
			return output.textField("stdout")
		case len(output["content"]) > 0:
			return resultText(output["content"])
		case output.textFile() != nil:
			return output.textFile().textField("content")
		}
	}
	return string(raw)
}

// hasNoType reports whether an object has no type, so that it is no content block.
func hasNoType(o object) bool { return o.textField("type") == "" }

// textFile returns the file in a result that has the form of Claude Code's tool Read for a text, or nil:
// {"type":"text","file":{"content":"..."}}.
func (o object) textFile() (file object) {
	if json.Unmarshal(o["file"], &file) != nil || !strings.HasPrefix(string(file["content"]), `"`) {
		return nil
	}
	return file
}

// quoteCommand joins a command's arguments to a line, and quotes them for a shell.
func quoteCommand(argv []string) string {
	return strings.Join(jsontext.List(argv, func(arg *string) string { return shellwords.Quote(*arg) }), " ")
}

// formatSettings encodes a value as indented JSON for a settings file.
func formatSettings(v any) string {
	var b bytes.Buffer
	_ = json.Indent(&b, jsontext.Must(v), "", "  ") // no error, because the JSON is valid
	return b.String() + "\n"
}

// writeCode writes the answer for an agent that reads only the exit code.
func writeCode(e *Event, v *verdict) (Answer, error) {
	if v.block {
		return e.agent.blockingAnswer(nil, v.reason), nil
	}
	return Answer{}, nil
}
