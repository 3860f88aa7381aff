package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A role is the set of the things that the name of an argument may stand for.
type role uint8

const (
	commandRole role = 1 << iota
	folderRole
	pathRole
	targetRole
	contentRole
	patchRole
	addressRole
)

// argumentRoles has the names of arguments of tools that no table lists, in lower case and without
// "_" and "-".
var argumentRoles = sync.OnceValue(func() map[string]role {
	roles := map[string]role{}
	for _, row := range []struct {
		role  role
		names string
	}{
		{commandRole, "command commands cmd cmds script commandline shellcommand bashcommand bash program executable argv"},
		{folderRole, "cwd workdir workingdir workingdirectory"},
		{pathRole, "path paths filepath file files filename absolutepath targetfile notebookpath source src uri"},
		{targetRole, "destination dest dst newpath target"},
		{contentRole, "content contents newstring newstr newtext filetext codeedit edits diff patch patchtext"},
		{patchRole, "patch patchtext diff"},
		{addressRole, "url urls href"},
	} {
		for name := range strings.FieldsSeq(row.names) {
			roles[name] |= row.role
		}
	}
	return roles
})

// roleOf returns an argument's name as argumentRoles has it, and its role, 0 for none.
func roleOf(key string) (name string, r role) {
	if len(key) > 24 {
		return "", 0
	}
	name = strings.Map(func(c rune) rune {
		if c == '_' || c == '-' {
			return -1
		}
		return unicode.ToLower(c)
	}, key)
	return name, argumentRoles()[name]
}

// Bounds of the arguments that the guesses look at.
const (
	maxPlaces     = 64
	maxPlaceDepth = 64
)

// guesses are the places in arguments whose names say what is there.
type guesses struct {
	commands, folders, paths, targets, contents, patches, addresses []string
	seen                                                            map[string]bool
	tooMany                                                         bool
}

// argumentRows returns the rows that the arguments of an unlisted tool stand for. If place is not
// "", they are in a member of the call's arguments.
func (c *Call) argumentRows(place string) (rows []Tool) {
	if c.isBroken { // a guard must see too many calls rather than too few
		return []Tool{{Kind: "shell"}, {Kind: "write"}}
	}
	root, prefix := c.root, ""
	if place != "" {
		root, prefix = valueAt(c.root, place), place+"."
	}
	g := guesses{seen: map[string]bool{}}
	g.walk(root, prefix, 0)
	if g.tooMany {
		c.commandSlots = append(c.commandSlots, slot{text: jsonText(root)})
		c.Command = joinTexts(c.commandSlots)
		return []Tool{{Kind: "shell"}, {Kind: "write"}}
	}
	if len(g.commands) > 0 {
		rows = append(rows, Tool{
			Kind: "shell", Command: strings.Join(g.commands, " "), CWD: strings.Join(g.folders, " "), isGuessed: true,
		})
	}
	paths := strings.Join(slices.Concat(g.paths, g.targets), " ")
	switch {
	case len(g.patches) > 0, paths != "" && (len(g.contents) > 0 || len(g.targets) > 0):
		rows = append(rows, Tool{
			Kind: "write", Paths: paths, Content: strings.Join(g.contents, " "), Patch: strings.Join(g.patches, " "),
		})
	case paths != "":
		rows = append(rows, Tool{Kind: "read", Paths: paths})
	}
	if len(g.addresses) > 0 {
		rows = append(rows, Tool{Kind: "fetch", URL: strings.Join(g.addresses, " ")})
	}
	return rows
}

// walk adds the members of a value at a place.
func (g *guesses) walk(v any, prefix string, depth int) {
	if depth > maxPlaceDepth || g.tooMany {
		g.tooMany = true
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			g.walk(e, prefix, depth)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if strings.ContainsAny(key, ". \t\n") {
				continue // no place can name it
			}
			if name, r := roleOf(key); r != 0 {
				g.add(name, r, prefix+key, v[key])
			}
			switch inner := v[key].(type) {
			case []any, map[string]any:
				g.walk(inner, prefix+key+".", depth+1)
			}
		}
	}
}

// add adds one member whose name has a role.
func (g *guesses) add(name string, r role, place string, value any) {
	if g.seen[place] {
		return
	}
	texts := textsAt(value, nil, nil)
	if len(texts) == 0 && !(r&commandRole != 0 && hasText(value)) {
		return
	}
	if name == "uri" && !strings.HasPrefix(strings.ToLower(texts[0].text), "file:") {
		r = addressRole
	}
	g.seen[place] = true
	for _, list := range []struct {
		role   role
		places *[]string
	}{
		{commandRole, &g.commands}, {folderRole, &g.folders}, {pathRole, &g.paths}, {targetRole, &g.targets},
		{contentRole, &g.contents}, {patchRole, &g.patches}, {addressRole, &g.addresses},
	} {
		if r&list.role != 0 {
			*list.places = append(*list.places, place)
		}
	}
	g.tooMany = g.tooMany || len(g.seen) > maxPlaces
}

// hasText reports whether a text is somewhere in a value.
func hasText(v any) bool {
	switch v := v.(type) {
	case string:
		return true
	case []any:
		return slices.ContainsFunc(v, hasText)
	case map[string]any:
		for _, e := range v {
			if hasText(e) {
				return true
			}
		}
	}
	return false
}

// misses reports whether the arguments have nothing at the places of a row that says what the tool
// does.
func (t *Tool) misses(root any) bool {
	switch t.Kind {
	case "shell":
		return len(findCommands(root, t.Command, false)) == 0
	case "read", "write":
		return len(findTexts(root, t.Paths)) == 0 && len(findTexts(root, t.Patch)) == 0
	}
	return false
}

// findCommands returns the commands at places. A list of arguments becomes one text in the quotes
// of a shell, which no text can replace.
func findCommands(root any, places string, isGuessed bool) (found []slot) {
	for place := range strings.FieldsSeq(places) {
		found = append(found, commandsAt(root, nil, strings.Split(place, "."), isGuessed)...)
	}
	return found
}

// commandsAt returns the commands at one place under a value. set replaces the value.
func commandsAt(v any, set func(any), place []string, isGuessed bool) (found []slot) {
	if len(place) == 0 {
		return commandOf(v, set)
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			found = append(found, commandsAt(v[i], func(x any) { v[i] = x }, place, isGuessed)...)
		}
	case map[string]any:
		value, ok := v[place[0]]
		if !ok {
			return nil
		}
		found = commandsAt(value, func(x any) { v[place[0]] = x }, place[1:], isGuessed)
		list, isList := value.([]any)
		if isGuessed && len(place) == 1 && isList && strings.HasSuffix(place[0], "s") { // perhaps several commands
			found = append(found, textsAt(list, nil, nil)...)
		}
		if isGuessed && len(place) == 1 && len(found) == 1 && !isList {
			if words := argumentsOf(v); words != "" {
				return []slot{{text: found[0].text + " " + words}}
			}
		}
	}
	return found
}

// argumentsOf returns the arguments that stand beside a program, quoted for a shell.
func argumentsOf(object map[string]any) string {
	for _, name := range []string{"args", "arguments", "argv", "parameters", "params"} {
		if list, ok := object[name].([]any); ok {
			if words, ok := quoteWords(list); ok {
				return words
			}
			return jsonText(list)
		}
	}
	return ""
}

// commandOf returns the command that a value is. A guard sees the JSON of a value that is neither a
// text nor a list of words, because a program may make a text of it. For the module shell, such a
// command is unknown.
func commandOf(v any, set func(any)) []slot {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []slot{{v, set}}
	case []any:
		if len(v) == 0 {
			return nil
		}
		first, _ := v[0].(string) // with a space, it may be a text for a shell
		if words, ok := quoteWords(v); ok && !strings.ContainsAny(first, " \t\n") {
			return []slot{{text: words}}
		}
	}
	return []slot{{text: jsonText(v)}}
}

// quoteWords joins words and numbers, quoted for a shell. ok is false if the list has other values.
func quoteWords(list []any) (joined string, ok bool) {
	words := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case string:
			words[i] = quoteWord(v)
		case json.Number, bool, float64:
			words[i] = quoteWord(jsonText(v))
		default:
			return "", false
		}
	}
	return strings.Join(words, " "), true
}

// jsonText returns the JSON of a decoded value.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?" // a decoded value has JSON, so this does not happen
	}
	return string(text)
}
