package install

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// A commandLine is a command line that a settings file has.
type commandLine struct {
	Line int
	// Text is the line in the form that the file has.
	Text string
	// Argv has the arguments of the line, or is nil if a shell would do more than run one program.
	Argv []string
	// Event is the event that runs the line, or "" for a program that runs at all events. In JSON, Group is
	// the index of the line's group in the event's list, and Index the index of the line in the group.
	Event        string
	Group, Index int
}

// Commands returns the command lines that the hooks in a file run.
func (f format) Commands(file []byte) ([]commandLine, error) {
	text, _, err := f.open(file)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return nil, err
	}
	switch f {
	case formJSON:
		e, root, err := parseJSON(text, nil)
		if err != nil {
			return nil, err
		}
		hooks, ok := find(root, hooksName)
		if !ok {
			return nil, nil
		}
		return e.eventCommands(hooks), nil
	case formYAML:
		if _, err := f.decode(text); err != nil {
			return nil, err
		}
		root, err := yamlRoot(text)
		if err != nil {
			return nil, err
		}
		_, hooks := yamlMember(root, hooksName)
		var list []commandLine
		for i := 1; hooks != nil && i < len(hooks.Content); i += 2 {
			for _, c := range yamlCommands(hooks.Content[i], nil) {
				c.Event = hooks.Content[i-1].Value
				list = append(list, c)
			}
		}
		return list, nil
	case formTOML:
		values, err := f.decode(text)
		if err != nil {
			return nil, err
		}
		return tomlCommands(values), nil
	}
	return programCommands(text), nil
}

// tomlCommands returns the command lines that the hooks in a file of TOML run. It does not know on which
// lines they are.
func tomlCommands(values map[string]any) (list []commandLine) {
	hooks, _ := values[hooksName].(map[string]any)
	for _, event := range slices.Sorted(maps.Keys(hooks)) {
		walk(hooks[event], func(v any) {
			table, _ := v.(map[string]any)
			if text, ok := table["command"].(string); ok {
				argv, _ := Split(text)
				list = append(list, commandLine{Text: text, Argv: argv, Event: event})
			}
		})
	}
	return list
}

// eventCommands returns the command lines of the hooks on all events.
func (e *jsonEditor) eventCommands(hooks *hujson.Value) (list []commandLine) {
	events, ok := hooks.Value.(*hujson.Object)
	if !ok {
		return e.commands(hooks, nil)
	}
	for i := range events.Members {
		event := &events.Members[i]
		groups := []hujson.Value{event.Value}
		if array, ok := event.Value.Value.(*hujson.Array); ok {
			groups = array.Elements
		}
		for group := range groups {
			for index, c := range e.commands(&groups[group], nil) {
				c.Event, c.Group, c.Index = memberName(event), group, index
				list = append(list, c)
			}
		}
	}
	return list
}

// commands appends the command lines in a value.
func (e *jsonEditor) commands(v *hujson.Value, list []commandLine) []commandLine {
	if argv, ok := commandOf(*v); ok {
		text := strings.Join(argv, " ")
		for _, name := range []string{"command", "bash"} {
			if member, ok := find(v, name); ok {
				if l, isText := member.Value.(hujson.Literal); isText {
					text = l.String()
				}
				break
			}
		}
		return append(list, commandLine{Line: lineAt(e.src, v.StartOffset), Text: text, Argv: argv})
	}
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			list = e.commands(&c.Members[i].Value, list)
		}
	case *hujson.Array:
		for i := range c.Elements {
			list = e.commands(&c.Elements[i], list)
		}
	}
	return list
}

// yamlCommands appends the command lines in a node. It skips aliases, because they lead to nodes that it
// visits anyway.
func yamlCommands(n *yaml.Node, list []commandLine) []commandLine {
	if n == nil {
		return list
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "command" && c.Kind == yaml.ScalarNode {
			argv, _ := Split(c.Value)
			list = append(list, commandLine{Line: c.Line, Text: c.Value, Argv: argv})
		}
		list = yamlCommands(c, list)
	}
	return list
}

// programCommands returns the command line that a script or a bridge runs.
func programCommands(text []byte) []commandLine {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if run, ok := bytes.CutPrefix(line, []byte("exec ")); ok {
			argv, _ := Split(string(run))
			return []commandLine{{Line: n, Text: string(run), Argv: argv}}
		}
		var argv []string
		if _, list, ok := bytes.Cut(line, []byte("COMMAND = ")); ok && json.Unmarshal(list, &argv) == nil {
			return []commandLine{{Line: n, Text: strings.Join(argv, " "), Argv: argv}}
		}
	}
	return nil
}

// Values decodes a file as JSON, YAML or TOML.
func (f format) Values(file []byte) (map[string]any, error) {
	text, _, err := f.open(file)
	values := map[string]any{}
	switch {
	case err != nil || len(bytes.TrimSpace(text)) == 0:
		return values, err
	case f != formJSON:
		return f.decode(text)
	}
	_, root, err := parseJSON(text, nil)
	if err != nil {
		return nil, err
	}
	return values, decode(*root, &values)
}
