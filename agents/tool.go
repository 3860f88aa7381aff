package agents

import (
	"path"
	"slices"
	"strings"
)

// A Tool is a row of the table of tools. It describes one tool of an agent: its kind, and the places of its
// fields in the arguments.
//
// A place names members of objects, with points between them: "edits.path". A list on the way stands for each
// of its elements. A field can have several places, with spaces between them.
type Tool struct {
	// Names are the tool's names, with spaces between them.
	Names string
	// If limits the row to calls whose arguments have a member with that value: "command=view".
	If string
	// Kind is one of [Kinds].
	Kind string
	// Command is the place of a shell command: a text, or a list of arguments. In "NAME[]" each element of
	// the list is a command. In "NAME+ARGS" the list ARGS beside the command has its arguments. CWD is the
	// place of the command's folder. If CWD ends with "?" and a call does not have that place, the agent runs
	// the command in a folder that it tells nobody, such as the last one of a terminal. Otherwise it runs the
	// command in the workspace.
	Command, CWD string
	// Paths are the places of paths. Globs are the places of globs, which begin at the first path. Patch is
	// the place of a patch that names its paths.
	Paths, Globs, Patch string
	// Content, URL, Query and Prompt are places of texts.
	Content, URL, Query, Prompt string
	// Server, ServerTool and Arguments are the places in a call of another server's tool.
	Server, ServerTool, Arguments string

	isGuessed bool // the row follows from the names of the arguments, and from no table
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

// fits reports whether the arguments have what the row's If says.
func (t *Tool) fits(arguments any) bool {
	member, value, conditional := strings.Cut(t.If, "=")
	if !conditional {
		return true
	}
	found := findTexts(arguments, member)
	return len(found) == 1 && found[0].text == value
}

// Matches reports whether a glob matches the name of one of the agent's tools, or begins like the agent's
// names for tools of other servers.
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

// splitServerTool splits the agent's name for another server's tool.
func (a *Agent) splitServerTool(name string) (server, tool string, ok bool) {
	prefix, sep := "mcp__", "__"
	if a != nil {
		prefix, sep = a.MCPPrefix, a.MCPSeparator
	}
	rest, ok := strings.CutPrefix(name, prefix)
	if double, isDouble := strings.CutPrefix(name, "mcp__"); isDouble && prefix == "mcp_" { // Hermes has both prefixes
		rest, sep = double, "__"
	}
	switch {
	case a != nil && len(a.Tools) == 0: // the agent is a gateway, whose tools all belong to other servers
		return "", name, true
	case !ok, prefix+sep == "":
		return "", "", false
	case sep == "":
		return "", rest, true
	case sep == "-": // names of servers contain this separator, too
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

// findTexts returns the texts at places in the arguments.
func findTexts(root any, places string) (found []slot) {
	for place := range strings.FieldsSeq(places) {
		found = append(found, textsAt(root, nil, strings.Split(place, "."))...)
	}
	return found
}

// textsAt returns the texts at one place in a value. set replaces the value.
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

// valueAt returns the value at a place that has no list on the way, or nil.
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
