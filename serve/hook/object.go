package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// An object is a JSON object whose parts are passed on as they are.
type object map[string]json.RawMessage

// readObject reads a payload into v, a pointer to a struct, and returns all of it. It refuses what
// two readers could read in two ways: see [document.flaw].
func readObject(payload []byte, v any) (object, error) {
	d, ok := readDocument(string(payload))
	switch {
	case d.tooDeep:
		return nil, fmt.Errorf("the event has values more than %d deep in each other", maxNesting)
	case !ok || !d.hasKind(0, objectNode):
		return nil, errors.New("got no JSON object on standard input")
	}
	if err := cmp.Or(d.findAmbiguity(), d.checkNames(0, reflect.TypeOf(v).Elem())); err != nil {
		return nil, fmt.Errorf("the event is not as documented: %w", err)
	}
	var all object
	if err := json.Unmarshal(payload, &all); err != nil {
		return nil, err
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(payload, v); errors.As(err, &wrong) {
		return nil, fmt.Errorf("the event is not as documented: %s: got a %s", wrong.Field, wrong.Value)
	} else if err != nil {
		return nil, err
	}
	return all, nil
}

// textField returns the text of a member, "" if it is none.
func (o object) textField(name string) (s string) {
	_ = json.Unmarshal(o[name], &s) // it stays ""
	return s
}

// withValue returns a copy of the object with a value set.
func (o object) withValue(key string, value any) object {
	next := make(object, len(o)+1)
	for k, v := range o {
		next[k] = v
	}
	next[key] = mustJSON(value)
	return next
}

// mustJSON returns a value as JSON, without the escapes that only HTML needs. It is
// for values that always have one.
func mustJSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// jsonAnswer is an answer of one JSON object; one that is empty says nothing.
func jsonAnswer(o map[string]any) Answer {
	if len(o) == 0 {
		return Answer{}
	}
	return Answer{Out: string(mustJSON(o)) + "\n"}
}

// blockingAnswer is an answer that blocks, for those who read the object and for those
// who read the exit code and standard error.
func blockingAnswer(o map[string]any, reason string) Answer {
	a := jsonAnswer(o)
	a.Err, a.Code = reason+"\n", ExitBlock
	return a
}

// resultText returns what a tool returned as text: a text itself, the texts among
// content blocks, what a command printed; else JSON.
func resultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []object
	if json.Unmarshal(raw, &blocks) == nil && len(blocks) > 0 {
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
		}
	}
	return string(raw)
}

// quoteCommand quotes a command for a shell.
func quoteCommand(argv []string) string {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = arg
		if arg == "" || strings.ContainsFunc(arg, needsQuotes) {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func needsQuotes(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+", r)
}

// formatSettings returns a value as a person writes JSON.
func formatSettings(v any) string {
	var b bytes.Buffer
	_ = json.Indent(&b, mustJSON(v), "", "  ") // it is valid
	return b.String() + "\n"
}
