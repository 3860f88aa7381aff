package settings

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// A Command is a command line that a settings file has.
type Command struct {
	Line int
	// Text is the line as the file has it.
	Text string
	// Argv has the arguments, or is nil if a shell would do more than run one program.
	Argv []string
}

// Commands returns the command lines among the hooks of a file.
func (f Format) Commands(file []byte) ([]Command, error) {
	text, _, err := f.open(file)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return nil, err
	}
	switch f {
	case JSON:
		e, root, err := parseJSON(text, nil)
		if err != nil {
			return nil, err
		}
		hooks, ok := find(root, hooksName)
		if !ok {
			return nil, nil
		}
		return e.commands(hooks, nil), nil
	case YAML:
		if _, err := f.decode(text); err != nil {
			return nil, err
		}
		root, err := yamlRoot(text)
		if err != nil {
			return nil, err
		}
		_, hooks := yamlMember(root, hooksName)
		return yamlCommands(hooks, nil), nil
	case TOML:
		return nil, nil
	}
	return programCommands(text), nil
}

// commands appends the command lines in a value.
func (e *jsonEditor) commands(v *hujson.Value, list []Command) []Command {
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
		return append(list, Command{lineAt(e.src, v.StartOffset), text, argv})
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

// yamlCommands appends the command lines in a node. Aliases lead to nodes that it visits anyway.
func yamlCommands(n *yaml.Node, list []Command) []Command {
	if n == nil {
		return list
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "command" && c.Kind == yaml.ScalarNode {
			argv, _ := Split(c.Value)
			list = append(list, Command{c.Line, c.Value, argv})
		}
		list = yamlCommands(c, list)
	}
	return list
}

// programCommands returns the command line of a script or of a bridge.
func programCommands(text []byte) []Command {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if run, ok := bytes.CutPrefix(line, []byte("exec ")); ok {
			argv, _ := Split(string(run))
			return []Command{{n, string(run), argv}}
		}
		var argv []string
		if _, list, ok := bytes.Cut(line, []byte("COMMAND = ")); ok && json.Unmarshal(list, &argv) == nil {
			return []Command{{n, strings.Join(argv, " "), argv}}
		}
	}
	return nil
}

// Values decodes a file as JSON, YAML or TOML.
func (f Format) Values(file []byte) (map[string]any, error) {
	text, _, err := f.open(file)
	values := map[string]any{}
	switch {
	case err != nil || len(bytes.TrimSpace(text)) == 0:
		return values, err
	case f != JSON:
		return f.decode(text)
	}
	_, root, err := parseJSON(text, nil)
	if err != nil {
		return nil, err
	}
	return values, decode(*root, &values)
}
