package agents

import (
	"path"
	"slices"
	"strings"
)

// A Tool is a row of the table of tools: one tool of an agent, its kind, and the places of its
// fields in the arguments.
//
// A place names members of objects, with points between them: "edits.path". A list on the way
// stands for each of its elements. A field can have several places, with spaces between them.
type Tool struct {
	// Names are the tool's names, with spaces between them.
	Names string
	// If limits the row to calls with a member of that value: "command=view".
	If string
	// Kind is one of [Kinds].
	Kind string
	// Command is the place of a shell command: a text, or a list of arguments. In "NAME[]" each
	// element of the list is a command; in "NAME+ARGS" the list ARGS beside it has its arguments.
	// CWD is the place of its folder. If a "?" ends it, the agent runs a command without that place
	// in a folder that it tells nobody, such as the last one of a terminal; else in the workspace.
	Command, CWD string
	// Paths are the places of paths, Globs those of globs from the first path, and Patch is the
	// place of a patch that names its paths.
	Paths, Globs, Patch string
	// Content, URL, Query and Prompt are places of texts.
	Content, URL, Query, Prompt string
	// Server, ServerTool and Arguments are the places of a call of another server's tool.
	Server, ServerTool, Arguments string

	isGuessed bool // the names of the arguments decided, and no table
}

// findTool returns the row of a tool, or nil.
func (a *Agent) findTool(name string, arguments any) *Tool {
	if a == nil {
		return nil
	}
	for i := range a.Tools {
		if row := &a.Tools[i]; slices.Contains(strings.Fields(row.Names), name) && row.fits(arguments) {
			return row
		}
	}
	return nil
}

// fits reports whether the arguments meet the row's condition.
func (t *Tool) fits(arguments any) bool {
	member, value, conditional := strings.Cut(t.If, "=")
	if !conditional {
		return true
	}
	found := findTexts(arguments, member)
	return len(found) == 1 && found[0].text == value
}

// Matches reports whether a glob fits a name of one of the agent's tools, or begins as its names of
// other servers' tools do.
func (a *Agent) Matches(glob string) bool {
	if a.MCPPrefix != "" && strings.HasPrefix(glob, a.MCPPrefix) {
		return true
	}
	for _, row := range a.Tools {
		for name := range strings.FieldsSeq(row.Names) {
			if fits, _ := path.Match(glob, name); fits {
				return true
			}
		}
	}
	return false
}

// splitServerTool splits the name of another server's tool.
func (a *Agent) splitServerTool(name string) (server, tool string, ok bool) {
	prefix, sep := "mcp__", "__"
	if a != nil {
		prefix, sep = a.MCPPrefix, a.MCPSeparator
	}
	rest, ok := strings.CutPrefix(name, prefix)
	if double, isDouble := strings.CutPrefix(name, "mcp__"); isDouble && prefix == "mcp_" { // Hermes has both
		rest, sep = double, "__"
	}
	switch {
	case a != nil && len(a.Tools) == 0: // a gateway: all its tools are other servers'
		return "", name, true
	case !ok, prefix+sep == "":
		return "", "", false
	case sep == "":
		return "", rest, true
	case sep == "-": // names of servers contain it too
		i := strings.LastIndexByte(rest, '-')
		return rest[:max(i, 0)], rest[i+1:], i > 0
	}
	server, tool, ok = strings.Cut(rest, sep)
	return server, tool, ok && server != ""
}

// A slot is a text in decoded arguments.
type slot struct {
	text string
	set  func(any) // replaces the text; nil if no single text can replace it
}

// findTexts returns the texts at places.
func findTexts(root any, places string) (found []slot) {
	for place := range strings.FieldsSeq(places) {
		found = append(found, textsAt(root, nil, strings.Split(place, "."))...)
	}
	return found
}

// textsAt returns the texts at one place under a value. set replaces the value.
func textsAt(v any, set func(any), place []string) (found []slot) {
	switch v := v.(type) {
	case string:
		if len(place) == 0 {
			return []slot{{v, set}}
		}
	case []any:
		for i := range v {
			found = append(found, textsAt(v[i], func(x any) { v[i] = x }, place)...)
		}
	case map[string]any:
		if len(place) > 0 {
			return textsAt(v[place[0]], func(x any) { v[place[0]] = x }, place[1:])
		}
	}
	return found
}

// valueAt returns the value at a place without lists on the way, or nil.
func valueAt(root any, place string) any {
	for name := range strings.SplitSeq(place, ".") {
		object, ok := root.(map[string]any)
		if !ok {
			return nil
		}
		root = object[name]
	}
	return root
}

// quoteWord quotes a word for a shell if it needs quotes.
func quoteWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// joinTexts joins the texts of slots that are not empty, one a line.
func joinTexts(slots []slot) string {
	var texts []string
	for _, s := range slots {
		if s.text != "" {
			texts = append(texts, s.text)
		}
	}
	return strings.Join(texts, "\n")
}

// joinLines joins two texts by a line break, unless one is empty.
func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
