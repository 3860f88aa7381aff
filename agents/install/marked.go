package install

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// No syntax tree of YAML or TOML keeps comments and layout. So starhost puts its lines between two marks. It
// checks each change: the values of the new file must be those of the old file together with starhost's.

const (
	beginMark = "# >>> starhost hook"
	endMark   = "# <<< starhost hook"
)

// maxDots is the most dots on a line of TOML. For each part of a dotted key, the library makes a text of all
// parts before it.
const maxDots = 500

// cutMarked returns the lines that are not between marks, and says whether the text has marks.
func cutMarked(text []byte) (rest []byte, found bool, err error) {
	at := 0 // the line of the mark that is open
	n := 0
	for line := range bytes.Lines(text) {
		n++
		switch mark := string(bytes.TrimSpace(line)); {
		case mark == beginMark && at == 0:
			at, found = n, true
		case mark == endMark && at > 0:
			at = 0
		case mark == beginMark || mark == endMark:
			return nil, true, &mistake{Line: n, Message: fmt.Sprintf("got %q, which has no pair", mark)}
		case at == 0:
			rest = append(rest, line...)
		}
	}
	if at > 0 {
		return nil, true, &mistake{Line: at, Message: fmt.Sprintf("got %q without %q", beginMark, endMark)}
	}
	return rest, found, nil
}

// mark returns lines between two marks, each with an indentation.
func mark(lines []string, indent, newline string) []byte {
	var b bytes.Buffer
	for _, line := range slices.Concat([]string{beginMark}, lines, []string{endMark}) {
		b.WriteString(indent + line + newline)
	}
	return b.Bytes()
}

// removeMarked removes marked lines, unless the marks are in a text value.
func removeMarked(f format, text []byte, own owner) ([]byte, error) {
	values, err := f.decode(text)
	if err != nil {
		return nil, err
	}
	if containsMark(values) {
		return nil, fmt.Errorf("%w: it has the marks of starhost in a text", errByHand)
	}
	rest, found, err := cutMarked(text)
	if err != nil {
		return nil, err
	}
	if found {
		if values, err = f.decode(rest); err != nil {
			return nil, fmt.Errorf("%w: other settings depend on the marked lines: %w", errByHand, err)
		}
	}
	if hasOwn(values, own) {
		return nil, fmt.Errorf("%w: it has lines of starhost without marks", errByHand)
	}
	if !found {
		return text, nil
	}
	return rest, nil
}

// decode decodes a file.
func (f format) decode(text []byte) (map[string]any, error) {
	values := map[string]any{}
	if f == formTOML {
		n := 0
		for line := range bytes.Lines(text) {
			if n++; bytes.Count(line, []byte(".")) > maxDots {
				return nil, &mistake{Line: n, Message: fmt.Sprintf("got more than %d dots", maxDots)}
			}
		}
		err := toml.Unmarshal(text, &values)
		if place, ok := errors.AsType[toml.ParseError](err); ok {
			return nil, &mistake{place.Position.Line, place.Position.Col, place.Message}
		}
		return values, err
	}
	if bytes.Count(text, []byte("\r")) != bytes.Count(text, []byte("\r\n")) {
		return nil, fmt.Errorf("%w: it has lines that end with a lone \\r", errByHand)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, yamlError(err)
	}
	if err := checkKeys(&document); err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&values); err != nil {
		if len(bytes.TrimSpace(text)) == 0 || err.Error() == "EOF" {
			return values, nil // the file has only comments
		}
		return nil, yamlError(err)
	}
	var more any
	if d.Decode(&more) == nil {
		return nil, fmt.Errorf("%w: it has several documents", errByHand)
	}
	return values, nil
}

// checkKeys refuses two keys with one name, because the library would list each pair of them in its error.
func checkKeys(n *yaml.Node) error {
	keys := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Kind == yaml.ScalarNode {
			if keys[c.Value] {
				return &mistake{c.Line, c.Column, fmt.Sprintf("got the key %.60q twice", c.Value)}
			}
			keys[c.Value] = true
		}
		if err := checkKeys(c); err != nil {
			return err
		}
	}
	return nil
}

func yamlError(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	message = strings.TrimPrefix(message, "unmarshal errors:\n  ")
	message, _, _ = strings.Cut(message, "\n")
	if m := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(message); m != nil {
		var line int
		fmt.Sscan(m[1], &line)
		return &mistake{Line: line, Message: m[2]}
	}
	return &mistake{Message: message}
}

// containsMark reports whether a text contains a mark.
func containsMark(v any) bool {
	found := false
	walk(v, func(v any) {
		s, ok := v.(string)
		found = found || ok && (strings.Contains(s, beginMark) || strings.Contains(s, endMark))
	})
	return found
}

// hasOwn reports whether the hooks contain a command line of the owner.
func hasOwn(values map[string]any, own owner) bool {
	found := false
	walk(values[hooksName], func(v any) {
		if s, ok := v.(string); ok && own != nil {
			argv, ok := Split(s)
			found = found || ok && own(argv)
		}
	})
	return found
}

// walk calls visit with a value, and with all keys and values inside it.
func walk(v any, visit func(any)) {
	visit(v)
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			visit(key)
			walk(value, visit)
		}
	case map[any]any:
		for key, value := range v {
			visit(key)
			walk(value, visit)
		}
	case []any:
		for _, value := range v {
			walk(value, visit)
		}
	case []map[string]any:
		for _, value := range v {
			walk(value, visit)
		}
	}
}

// merged returns have with the values of want added. Lists get longer.
func merged(have, want any) any {
	switch w := want.(type) {
	case map[string]any:
		h, _ := have.(map[string]any)
		out := map[string]any{}
		maps.Copy(out, h)
		for key, value := range w {
			out[key] = merged(out[key], value)
		}
		return out
	case []any:
		h, _ := have.([]any)
		return slices.Concat(h, w)
	}
	return want
}

// checked returns the new text, if its values are the old values together with those of want.
func (f format) checked(text []byte, have, want map[string]any) ([]byte, error) {
	got, err := f.decode(text)
	if err != nil || !reflect.DeepEqual(got, merged(have, want)) {
		return nil, errByHand
	}
	return text, nil
}

// unmarked returns a file without its marked lines, its values, and those of the settings in want.
func (f format) unmarked(text, want []byte) (rest []byte, have, wanted map[string]any, err error) {
	rest, err = removeMarked(f, text, nil)
	if err == nil {
		have, err = f.decode(rest)
	}
	if err == nil {
		wanted, err = f.decode(want)
	}
	return rest, have, wanted, err
}

// mergeYAML adds a marked block at the end of the file, or marked lines inside the hooks that the file has.
func mergeYAML(text, want []byte, own owner) ([]byte, error) {
	rest, have, wanted, err := formYAML.unmarked(text, want)
	if err != nil {
		return nil, err
	}
	if hasOwn(have, own) {
		return nil, fmt.Errorf("%w: it has lines of starhost without marks", errByHand)
	}
	newline := newlineOf(text)
	if _, ok := have[hooksName]; !ok {
		return formYAML.checked(appendBlock(rest, want, newline), have, wanted)
	}
	out, err := spliceYAML(rest, want, newline)
	if err != nil {
		return nil, err
	}
	return formYAML.checked(out, have, wanted)
}

// spliceYAML adds marked lines to the hooks of a file, which must be written as a plain block. A new entry
// goes after the entries of its event, and a new event after the last one.
func spliceYAML(text, want []byte, newline string) ([]byte, error) {
	root, err := yamlRoot(text)
	if err != nil {
		return nil, err
	}
	wantRoot, err := yamlRoot(want)
	if err != nil {
		return nil, err
	}
	_, hooks := yamlMember(root, hooksName)
	_, added := yamlMember(wantRoot, hooksName)
	if !isBlock(hooks, yaml.MappingNode) {
		return nil, errByHand
	}
	items, events := map[int][]byte{}, map[int][]byte{} // new lines, by the line that they follow
	lines := slices.Collect(bytes.Lines(text))
	wantLines := strings.Split(strings.TrimRight(string(want), "\n"), "\n")
	column := hooks.Content[0].Column
	for i := 0; i < len(added.Content); i += 2 {
		name, list := added.Content[i], added.Content[i+1]
		end := len(wantLines)
		if i+2 < len(added.Content) {
			end = added.Content[i+2].Line - 1
		}
		key, old := yamlMember(hooks, name.Value)
		if key == nil {
			block := outdent(wantLines[name.Line-1:end], name.Column-1)
			last := lastLine(lines, hooks.Content[len(hooks.Content)-2].Line, column)
			events[last] = append(events[last], mark(block, strings.Repeat(" ", column-1), newline)...)
			continue
		}
		if !isBlock(old, yaml.SequenceNode) {
			return nil, errByHand
		}
		block := outdent(wantLines[list.Line-1:end], list.Column-1)
		last := lastLine(lines, old.Content[len(old.Content)-1].Line, old.Column)
		items[last] = mark(block, strings.Repeat(" ", old.Column-1), newline)
	}
	var out []byte
	for i, line := range lines {
		out = append(out, line...)
		if block := slices.Concat(items[i+1], events[i+1]); block != nil { // events end the lists before them
			out = append(endLine(out, newline), block...)
		}
	}
	return out, nil
}

// isBlock reports whether a node is a list or mapping whose values are on lines of their own.
func isBlock(n *yaml.Node, kind yaml.Kind) bool {
	return n != nil && n.Kind == kind && n.Style&yaml.FlowStyle == 0 && n.Anchor == "" && len(n.Content) > 0
}

// lastLine returns the last line of the value that begins on a line. The lines of the value are indented by
// more than column.
func lastLine(lines [][]byte, line, column int) int {
	last := line
	for i := line; i < len(lines); i++ {
		text := bytes.TrimRight(lines[i], " \t\r\n")
		if len(text) == 0 {
			continue
		}
		if indent := len(text) - len(bytes.TrimLeft(text, " ")); indent < column {
			break
		}
		last = i + 1
	}
	return last
}

// yamlRoot returns the mapping that a file consists of.
func yamlRoot(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, yamlError(err)
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errByHand
	}
	return document.Content[0], nil
}

// yamlMember returns a member of a mapping.
func yamlMember(m *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

// outdent removes n bytes from the beginning of each line.
func outdent(lines []string, n int) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(n, len(line)):]
	}
	return out
}

// appendBlock appends marked lines to a text.
func appendBlock(text, block []byte, newline string) []byte {
	lines := strings.Split(strings.TrimRight(string(block), "\n"), "\n")
	return append(endLine(bytes.Clone(text), newline), mark(lines, "", newline)...)
}

// endLine returns a text with a line end at its end.
func endLine(text []byte, newline string) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return append(text, newline...)
	}
	return text
}

// mergeTOML adds marked lines. Lines of no table go before the file. Lines of a table go after the table's
// header, or with the header to the end of the file.
func mergeTOML(text, want []byte) ([]byte, error) {
	rest, have, wanted, err := formTOML.unmarked(text, want)
	if err != nil {
		return nil, err
	}
	if hasAll(have, wanted) {
		return rest, nil
	}
	newline, out := newlineOf(text), rest
	for _, section := range tomlSections(string(want)) {
		values, err := formTOML.decode([]byte(section))
		if err != nil {
			return nil, err
		}
		if hasAll(have, values) {
			continue
		}
		if out, err = addSection(out, section, have, newline); err != nil {
			return nil, err
		}
	}
	return formTOML.checked(out, have, withoutHad(have, wanted))
}

// tomlSections splits a text of TOML before each header of a table.
func tomlSections(text string) (sections []string) {
	for line := range strings.Lines(text) {
		switch last := len(sections) - 1; {
		case last < 0 || strings.HasPrefix(line, "["):
			sections = append(sections, line)
		default:
			sections[last] += line
		}
	}
	return sections
}

// addSection adds the lines of one section of want.
func addSection(text []byte, section string, have map[string]any, newline string) ([]byte, error) {
	section = strings.TrimRight(section, "\n")
	header, body, isTable := strings.Cut(section, "\n")
	if !strings.HasPrefix(header, "[") {
		return append(mark(strings.Split(section, "\n"), "", newline), text...), nil
	}
	table, exists := have[strings.Trim(header, "[]")]
	switch _, ok := table.(map[string]any); {
	case !exists:
		return appendBlock(text, []byte(section), newline), nil
	case !ok || !isTable:
		return nil, errByHand
	}
	var out []byte
	inserted := false
	for line := range bytes.Lines(text) {
		out = append(out, line...)
		code, _, _ := bytes.Cut(line, []byte("#"))
		if !inserted && string(bytes.TrimSpace(code)) == header {
			out = append(endLine(out, newline), mark(strings.Split(body, "\n"), "", newline)...)
			inserted = true
		}
	}
	return out, nil
}

// withoutHad returns those values of want that have does not have. It does not lengthen a list that have has.
func withoutHad(have, want map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range want {
		w, isTable := value.(map[string]any)
		h, hasTable := have[key].(map[string]any)
		switch {
		case isTable && hasTable:
			out[key] = withoutHad(h, w)
		case !reflect.DeepEqual(have[key], value):
			out[key] = value
		}
	}
	return out
}

// hasAll reports whether have contains all of want. Its lists may have more elements.
func hasAll(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		for key, value := range w {
			ok = ok && hasAll(h[key], value)
		}
		return ok
	case []any:
		h, ok := have.([]any)
		for _, value := range w {
			ok = ok && slices.ContainsFunc(h, func(v any) bool { return reflect.DeepEqual(v, value) })
		}
		return ok
	}
	return reflect.DeepEqual(have, want)
}
