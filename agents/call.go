package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Kinds are the kinds of calls. If a call has several, the first of them in this order is its kind.
var Kinds = []string{"shell", "write", "fetch", "read", "search", "agent", "mcp", "other"}

// A Call is a call of a tool, described in words that fit every agent. The caller sets the first group of
// fields, and [Call.Describe] sets the second one.
type Call struct {
	// Agent is the name of the agent that calls the tool, "" if the tool is no agent's.
	Agent string
	// Tool is the tool's name as the agent spells it. Arguments are a JSON object.
	Tool      string
	Arguments json.RawMessage
	// Workspace is the absolute folder that the agent works in, "" if the caller does not know it.
	Workspace string
	// Own is true for a plugin's tool. OwnKinds are the kinds that the plugin registered it with. For the
	// tool of a mounted server, the caller sets Server, whose name the tool's name begins with.
	Own      bool
	OwnKinds []string
	// Decode decodes Arguments, with numbers as [json.Number]. Nil means encoding/json, with which a replay
	// would spend a quarter of its time there (goal P7).
	Decode func(text string) (any, error)

	// Kinds has at least one kind.
	Kinds []string
	// Each of these fields is empty if the call does not have it.
	Command, CWD, Content, URL, Query, Server, ServerTool, Prompt string
	// Paths are absolute and clean. starhost does not follow links in them. If the caller does not know the
	// workspace, relative paths stay relative. If only the agent knows the folder of a command, Paths has a
	// relative path of the command's patch twice: from the workspace, and relative.
	Paths []string

	root                    any             // the decoded arguments
	textPlace               string          // the place in root that arguments have which are texts
	isBroken                bool            // nothing can decode the arguments
	isAdrift                bool            // only the agent knows CWD
	commandSlots, pathSlots []slot          // the places of Command and Paths
	contents                []string        // the texts that Content joins
	patched                 map[string]bool // the paths that the texts of patches name
	used                    map[string]bool // the places that rows have named so far, by field
}

// Describe finds the kinds and the fields of the call. mapped has rows for tools that no table has, by the
// tool's name.
func (c *Call) Describe(mapped map[string]Tool) {
	decode := c.Decode
	if decode == nil {
		decode = decodeJSON
	}
	root, err := decode(string(c.Arguments))
	if c.root = root; err != nil {
		c.root, c.isBroken = nil, true
	}
	c.used = map[string]bool{}
	c.Workspace = withoutRootSlash(c.Workspace)
	c.CWD = c.Workspace
	rows := c.rows(mapped)
	if isTexts(root) {
		rows = c.placeTexts(rows)
	}
	for _, row := range rows {
		c.addRow(&row)
	}
	if strings.Contains(c.Command, patchStart) { // the shell runs the program apply_patch
		c.addKind("write")
		c.addPatch(c.Command)
		if !strings.Contains(c.Content, patchStart) {
			c.addContents([]slot{{text: c.Command}})
		}
	}
	if len(c.Kinds) == 0 {
		c.Kinds = []string{"other"}
	}
	slices.SortFunc(c.Kinds, func(a, b string) int { return slices.Index(Kinds, a) - slices.Index(Kinds, b) })
}

// isTexts reports whether arguments are a text or a list of texts in place of an object.
func isTexts(root any) bool {
	list, isList := root.([]any)
	_, isText := root.(string)
	return isText || isList && len(list) > 0 && len(textsAt(list, nil, nil)) == len(list)
}

// placeTexts makes an object of arguments that are a text, such as a patch in Copilot, or a list of texts.
// The rows name the place of the texts in the object. If no row does, the texts could be commands.
func (c *Call) placeTexts(rows []Tool) []Tool {
	place := ""
	for _, r := range rows {
		place = cmp.Or(place, r.Patch, r.Command, r.URL, r.Query, r.Prompt, r.Content, r.Paths)
	}
	if place == "" {
		place, rows = "command[]", append(rows, Tool{Kind: "shell", Command: "command[]"})
		if strings.Contains(joinTexts(textsAt(c.root, nil, nil)), patchStart) {
			rows = append(rows, Tool{Kind: "write", Patch: "command"})
		}
	}
	place, _, _ = strings.Cut(place, " ")
	place, _, _ = strings.Cut(place, "+")
	c.textPlace = strings.TrimSuffix(place, "[]")
	for _, member := range slices.Backward(strings.Split(c.textPlace, ".")) {
		c.root = map[string]any{member: c.root}
	}
	return rows
}

// decodeJSON decodes a JSON value. Numbers keep their spelling.
func decodeJSON(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// rows returns the rows that describe the call. The agent's own table wins over everything else. If
// it does not list the tool, the rows of mapped, of other agents and of the arguments decide.
func (c *Call) rows(mapped map[string]Tool) []Tool {
	row, isMapped := mapped[c.Tool]
	if c.Own {
		return c.ownRows(row, isMapped)
	}
	agent := Find(c.Agent)
	if own := agent.findTool(c.Tool, c.root); own != nil {
		if own.Kind == "mcp" {
			return append([]Tool{*own}, c.argumentRows(own.Arguments, joinTexts(findTexts(c.root, own.ServerTool)))...)
		}
		if !c.isBroken && own.misses(c.root) { // the agent may have given the arguments other names
			return append([]Tool{*own}, c.argumentRows("", cmp.Or(c.ServerTool, c.Tool))...)
		}
		return []Tool{*own}
	}
	var rows []Tool
	if server, tool, ok := agent.splitServerTool(c.Tool); ok {
		c.Server, c.ServerTool = server, tool
		rows = append(rows, Tool{Kind: "mcp"})
	}
	if isMapped {
		return append(rows, row)
	}
	if len(rows) == 0 {
		for _, other := range All {
			if listed := other.findTool(c.Tool, c.root); listed != nil && listed.Kind != "mcp" {
				rows = append(rows, *listed)
				break
			}
		}
	}
	return append(rows, c.argumentRows("", cmp.Or(c.ServerTool, c.Tool))...)
}

// ownRows returns the rows for a plugin's tool: those of the kinds that it was registered with. If an agent
// calls the tool, it also returns those that follow from the arguments.
func (c *Call) ownRows(row Tool, isMapped bool) (rows []Tool) {
	for i, kind := range c.OwnKinds {
		if !slices.Contains(c.OwnKinds[:i], kind) {
			rows = append(rows, registeredRow(kind))
		}
	}
	switch {
	case len(rows) == 0 && isMapped:
		return []Tool{row}
	case slices.Contains(c.OwnKinds, "mcp"): // the tool is of a mounted server
		c.ServerTool = strings.TrimPrefix(c.Tool, c.Server+"_")
		if isMapped {
			return append(rows, row)
		}
		return append(rows, c.argumentRows("", cmp.Or(c.ServerTool, c.Tool))...)
	}
	if c.Agent != "" { // the name proves nothing, because another server may have such a tool
		rows = append(rows, c.argumentRows("", cmp.Or(c.ServerTool, c.Tool))...)
	}
	return rows
}

// registeredRow returns a row that says where the arguments of a plugin's tool are, if the tool was
// registered with the kind.
func registeredRow(kind string) Tool {
	row := Tool{Kind: kind}
	switch kind {
	case "shell":
		row.Command = "command cmd script"
	case "write":
		row.Paths, row.Content = "path file_path paths", "content new_string"
	case "read":
		row.Paths = "path file_path paths"
	case "search":
		row.Query, row.Paths = "query pattern", "path file_path paths"
	case "fetch":
		row.URL = "url"
	case "agent":
		row.Prompt = "prompt"
	}
	return row
}

// addRow adds to the call the kind of a row, and the fields at its places.
func (c *Call) addRow(row *Tool) {
	c.addKind(row.Kind)
	places, isAdrift := strings.CutSuffix(row.CWD, "?")
	if folders := c.findNew("cwd", places); len(folders) > 0 && (!isAdrift || folders[0].text != "") {
		c.CWD = absolute(c.Workspace, folders[0].text)
	} else if isAdrift {
		c.CWD, c.isAdrift = "", true
	}
	if row.Command != "" {
		c.commandSlots = append(c.commandSlots, findCommands(c.root, c.newPlaces("command", row.Command), row.isGuessed)...)
		c.Command = joinTexts(c.commandSlots)
	}
	for _, s := range c.findNew("paths", row.Paths) {
		c.pathSlots = append(c.pathSlots, s)
		c.Paths = append(c.Paths, absolute(c.CWD, s.text))
	}
	for _, s := range c.findNew("globs", row.Globs) {
		folder := c.CWD
		if len(c.Paths) > 0 {
			folder = c.Paths[0]
		}
		c.pathSlots = append(c.pathSlots, s)
		c.Paths = append(c.Paths, absolute(folder, s.text))
	}
	patches := c.findNew("patch", row.Patch)
	for _, s := range patches {
		c.addPatch(s.text)
	}
	c.addContents(patches)
	c.addContents(c.findNew("content", row.Content))
	for _, f := range []struct {
		field        *string
		name, places string
	}{
		{&c.URL, "url", row.URL}, {&c.Query, "query", row.Query},
		{&c.Prompt, "prompt", row.Prompt}, {&c.Server, "server", row.Server}, {&c.ServerTool, "tool", row.ServerTool},
	} {
		*f.field = joinLines(*f.field, joinTexts(c.findNew(f.name, f.places)))
	}
}

// addContents adds texts of files that the call does not have yet.
func (c *Call) addContents(texts []slot) {
	c.Content = joinLines(c.Content, joinTexts(texts))
	for _, s := range texts {
		c.contents = append(c.contents, s.text)
	}
}

// Contents returns the texts of the arguments that Content joins.
func (c *Call) Contents() []string { return c.contents }

// findNew returns the texts of a field at those places that no earlier row named.
func (c *Call) findNew(field, places string) []slot {
	return findTexts(c.root, c.newPlaces(field, places))
}

// newPlaces returns those places of a field that no earlier row named.
func (c *Call) newPlaces(field, places string) string {
	fresh := slices.DeleteFunc(strings.Fields(places), func(place string) bool { return c.used[field+" "+place] })
	for _, place := range fresh {
		c.used[field+" "+place] = true
	}
	return strings.Join(fresh, " ")
}

func (c *Call) addKind(kind string) {
	if !slices.Contains(c.Kinds, kind) {
		c.Kinds = append(c.Kinds, kind)
	}
}

// Rewrite returns the arguments with another command or with other paths. name is "command" or "paths"; for a
// command, values has one element. If the call has no such field, or the arguments have no place for the new
// value, Rewrite returns an error.
func (c *Call) Rewrite(name string, values []string) (json.RawMessage, error) {
	var targets []slot
	switch {
	case name == "command":
		targets = c.commandSlots
		if len(targets) == 0 {
			return nil, errors.New("the call has no command")
		}
		if len(targets) > 1 || targets[0].set == nil {
			return nil, errors.New("the command is not one text in the arguments: change arguments")
		}
	case len(c.patched) > 0:
		return nil, errors.New("the paths are in the text of a patch: change arguments")
	default:
		if targets = c.pathSlots; len(targets) != len(values) {
			return nil, fmt.Errorf("got %d, and the call has %d", len(values), len(targets))
		}
	}
	for i, s := range targets {
		if name == "paths" && values[i] == c.Paths[i] {
			continue // the path stays as the agent spells it
		}
		if s.set == nil {
			return nil, errors.New("the value has no place in the arguments: change arguments")
		}
		s.set(values[i])
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	root := c.root
	if c.textPlace != "" {
		root = valueAt(c.root, c.textPlace)
	}
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// absolute returns a path as a clean absolute path with slashes. A relative path begins at the folder.
// absolute does not follow links. A path that begins with ~ stays, because only the agent knows the home
// folder.
func absolute(folder, name string) string {
	name = withoutRootSlash(name)
	if isWindows(folder) || isWindows(name) {
		folder, name = strings.ReplaceAll(folder, `\`, "/"), strings.ReplaceAll(name, `\`, "/")
	}
	name = withoutScheme(name)
	if folder == "" || path.IsAbs(name) || isWindows(name) || name == "~" || strings.HasPrefix(name, "~/") {
		return path.Clean(name)
	}
	return path.Join(folder, name)
}

// withoutRootSlash returns a folder of Windows in the form that other paths of the call have, c:/Users, if it
// has the form of a URL's path, /c:/Users.
func withoutRootSlash(name string) string {
	if rest, ok := strings.CutPrefix(name, "/"); ok && isWindows(rest) && rest[1] == ':' {
		return rest
	}
	return name
}

// isWindows reports whether a path begins like one of Windows: with a drive or with two backslashes.
func isWindows(name string) bool {
	if strings.HasPrefix(name, `\\`) {
		return true
	}
	drive := len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/')
	return drive && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}
