package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A role is a set of meanings that the name of an argument may have.
type role uint16

const (
	commandRole role = 1 << iota
	codeRole         // a program's text, which the tool runs or writes
	inputRole        // text for a program that runs
	wordsRole        // the arguments of a program, in a list
	folderRole       // the folder of a command, or a path
	pathRole
	targetRole  // a path that is written
	contentRole // the text that is written
	textRole    // a text that is written, or that the tool looks for
	patchRole
	addressRole
	queryRole
	promptRole
)

// argumentRoles has the roles of arguments by their names, in lower case and without "_" and "-", for tools
// that no table lists. The names come from tools of public servers, which testdata/servers.txt lists.
var argumentRoles = sync.OnceValue(func() map[string]role {
	return readNames([]nameRow[role]{
		{commandRole, `command commands cmd cmds script commandline shellcommand bashcommand bash program executable argv
			shellscript scriptcontent cmdstring sendtext clicommand powershellscript applescript`},
		{codeRole, "code pythoncode codesnippet cellsource javascript jscode expression function"},
		{inputRole, "input keys text chars stdin data"},
		{wordsRole, "args arguments"},
		{folderRole, `cwd workdir workingdir workingdirectory workfolder directory dir folder directorypath dirpath folderpath
			projectpath projectdir projectfolder projectdirectory projectroot repopath repositorypath repodir rootpath rootdir basepath
			basedir searchpath directorytosearch`},
		{pathRole, `path paths filepath file files filename absolutepath targetfile notebookpath source src uri
			relativepath relativeworkspacepath pathinproject filepaths absolutepaths fileabsolutepath absolutepathtocurrentfile fullpath
			inputpath inputdirectory inputfile inputfiles inputfilepath localfile localfilepath sourcepath sourcefile sourcefilename sourcefilepath
			frompath oldpath path1 path2 documentpath imagepath scriptpath scenepath texturepath assetpath manifestpath configpath
			zipfile archivepath pdfpath attachmentpath sourceuri fileuri notebook
			localpath remotepath templatepath imagesource referencedoc defaultsfile apppath packagepath workspacepath deriveddatapath
			dockerfile`},
		{targetRole, `destination dest dst newpath target outputpath outputfile outputfilepath outputfilename outputdir
			outputdirectory outputdirpath outputfolder savepath saveto savedir targetpath targetdir targetdirectory targetfolder destinationpath
			destinationfilename destinationfilepath destpath destinationfolder topath downloadpath downloaddir downloadsdir
			downloaddirectory exportpath newfilepath newfilename targetzipfile tofile`},
		{contentRole, `content contents newstring newstr newtext filetext codeedit edits diff patch patchtext newcontent
			filecontent filecontents newcontents newsource textorsearchreplaceblocks updates blocks`},
		{textRole, "text data body lines value values repl replace replacement replacewith markdown"},
		{patchRole, "patch patchtext diff unifieddiff"},
		{addressRole, "url urls href link pageurl fileurl repourl repositoryurl remoteurl websiteurl"},
		{queryRole, `query queries pattern regex search searchtext searchquery searchterm substring substringpattern
			globpattern sql statement keyword keywords needle regexpattern jql cql`},
		{promptRole, "prompt task goal instructions message"},
	})
})

// A verb is a set of things that a tool may do, as the words of its name say.
type verb uint8

const (
	readVerb verb = 1 << iota
	writeVerb
	runVerb
	terminalNoun // the tool sends text to a program that runs
	agentNoun    // the tool starts another agent
)

var toolVerbs = sync.OnceValue(func() map[string]verb {
	return readNames([]nameRow[verb]{
		{readVerb, `read get list ls view show cat load fetch find search grep glob tree stat info describe inspect check diff
			status log head tail count query lookup browse analyze analyse summarize validate lint scan parse preview watch resolve
			exists hash explain index detect extract measure calculate compare diagnostics locate metadata outline symbols overview`},
		{writeVerb, `write create add append insert edit update modify replace delete remove rm move mv rename copy cp mkdir make
			save set put patch apply overwrite touch chmod chown download export generate convert zip unzip compress store commit
			import install format truncate link symlink unlink trash purge drop refactor fix init initialize new scaffold clone
			checkout restore merge revert reset clean exclude record str manage change rewrite sync transform split draw render`},
		{runVerb, "run exec execute eval evaluate start spawn launch invoke shell bash sudo powershell build test"},
		{terminalNoun, "terminal tmux repl stdin pty console tty pane interact"},
		{agentNoun, "agent agents subagent subagents delegate claude codex gemini teammate"},
	})
})

// A nameRow gives some names, with spaces between them, one meaning.
type nameRow[T ~uint8 | ~uint16] struct {
	meaning T
	names   string
}

// readNames returns the meaning of each name in the rows.
func readNames[T ~uint8 | ~uint16](rows []nameRow[T]) map[string]T {
	meanings := map[string]T{}
	for _, row := range rows {
		for name := range strings.FieldsSeq(row.names) {
			meanings[name] |= row.meaning
		}
	}
	return meanings
}

// verbsOf returns what the words of a tool's name say about it. A word ends before a mark and before a
// capital letter.
func verbsOf(tool string) (all verb) {
	var word []rune
	end := func() {
		all |= toolVerbs()[strings.ToLower(string(word))]
		word = word[:0]
	}
	for _, r := range tool {
		isUpper := unicode.IsUpper(r)
		if !unicode.IsLetter(r) || isUpper && len(word) > 0 && unicode.IsLower(word[len(word)-1]) {
			end()
		}
		if unicode.IsLetter(r) && len(word) < 24 {
			word = append(word, r)
		}
	}
	end()
	return all
}

// maxRoleName is the most bytes of a name that can have a role.
const maxRoleName = 32

// roleOf returns the name of an argument in the form of argumentRoles, and its role, which is 0 if it has
// none.
func roleOf(key string) (name string, r role) {
	if len(key) > maxRoleName {
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

// Bounds of the arguments that starhost looks at when it guesses what a tool does.
const (
	maxPlaces     = 64
	maxPlaceDepth = 64
)

// guesses are the places in arguments whose names say what is there, by the role of the name.
type guesses struct {
	places  map[role][]string
	seen    map[string]bool
	tooMany bool
}

// at returns the places whose role is one of roles, with spaces between them.
func (g *guesses) at(roles role) string {
	var all []string
	for r := commandRole; r <= promptRole; r <<= 1 {
		if roles&r != 0 {
			all = append(all, g.places[r]...)
		}
	}
	return strings.Join(all, " ")
}

// argumentRows returns rows for a tool that no table lists, which follow from the names of its arguments. If
// place is not "", the arguments are in that member of the call's arguments. The tool's name decides whether
// it reads or writes; if the name does not say, the tool counts as both.
func (c *Call) argumentRows(place, tool string) []Tool {
	if c.isBroken { // guards should rather see too many calls than too few
		return []Tool{{Kind: "shell"}, {Kind: "write"}}
	}
	root, prefix := c.root, ""
	if place != "" {
		root, prefix = valueAt(c.root, place), place+"."
		if text, isText := root.(string); isText { // the arguments are JSON in a text
			v, err := decodeJSON(text)
			object, isObject := c.root.(map[string]any)
			if err != nil || !isObject {
				return []Tool{{Kind: "shell", Command: place}, {Kind: "write"}}
			}
			root, object[place] = v, v
		}
	}
	g := guesses{places: map[role][]string{}, seen: map[string]bool{}}
	g.walk(root, prefix, 0)
	if g.tooMany {
		c.commandSlots = append(c.commandSlots, slot{text: jsonText(root)})
		c.Command = joinTexts(c.commandSlots)
		return []Tool{{Kind: "shell"}, {Kind: "write"}}
	}
	return g.rows(verbsOf(tool))
}

// rows returns the rows of a tool whose name has these verbs.
func (g *guesses) rows(v verb) (rows []Tool) {
	does := v & (readVerb | writeVerb | runVerb)
	commands, contents := commandRole, contentRole
	hasPath := g.at(pathRole|targetRole|folderRole) != ""
	if does&runVerb != 0 || does&^writeVerb == 0 && !(does == writeVerb && hasPath) {
		commands |= codeRole
	}
	if v&terminalNoun != 0 {
		commands |= inputRole
	}
	if g.at(commands) == "" {
		commands |= wordsRole
	}
	command := g.at(commands)
	if hasPath && does != readVerb {
		contents |= textRole | codeRole
	}
	paths := pathRole | targetRole
	if command == "" {
		paths |= folderRole
	} else {
		rows = append(rows, Tool{Kind: "shell", Command: command, CWD: g.at(folderRole), isGuessed: true})
	}
	rows = append(rows, g.fileRows(does, g.at(paths), g.at(contents))...)
	if where := g.at(paths); where != "" && does == runVerb && command == "" { // the tool runs a file
		rows = append(rows, Tool{Kind: "shell", Command: where, isGuessed: true})
	}
	if where := g.at(addressRole); where != "" {
		rows = append(rows, Tool{Kind: "fetch", URL: where})
	}
	if where := g.at(queryRole); where != "" {
		rows = append(rows, Tool{Kind: "search", Query: where})
	}
	if where := g.at(promptRole); where != "" && v&agentNoun != 0 {
		rows = append(rows, Tool{Kind: "agent", Prompt: where})
	}
	return rows
}

// walk adds the members of a value. prefix is the place of the value.
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
				continue // a place cannot name such a member
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
	if _, isList := value.([]any); r&wordsRole != 0 && !isList {
		r &^= wordsRole
	}
	if len(texts) == 0 && !(r&commandRole != 0 && hasText(value)) {
		return
	}
	if name == "uri" && !strings.HasPrefix(strings.ToLower(texts[0].text), "file:") {
		r = addressRole
	}
	g.seen[place] = true
	for one := commandRole; one <= promptRole; one <<= 1 {
		if r&one != 0 {
			g.places[one] = append(g.places[one], place)
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

// misses reports whether the arguments have nothing at the places by which a row says what the tool does.
func (t *Tool) misses(root any) bool {
	switch t.Kind {
	case "shell":
		return len(findCommands(root, t.Command, false)) == 0
	case "read", "write":
		return len(findTexts(root, t.Paths)) == 0 && len(findTexts(root, t.Patch)) == 0
	}
	return false
}

// fileRows returns the rows of a tool that reads or writes the files at places.
func (g *guesses) fileRows(does verb, where, content string) (rows []Tool) {
	patch := g.at(patchRole)
	if where == "" && patch == "" {
		return nil
	}
	isWrite := g.at(patchRole|targetRole) != "" || does == writeVerb
	mayWrite := isWrite || does != readVerb && (does == 0 || does&writeVerb != 0) || content != ""
	if mayWrite {
		rows = append(rows, Tool{Kind: "write", Paths: where, Content: content, Patch: patch})
	}
	if !isWrite && (!mayWrite || content == "" || does&readVerb != 0) {
		rows = append(rows, Tool{Kind: "read", Paths: where})
	}
	return rows
}

// findCommands returns the commands at places. A list of arguments becomes one text, quoted as for a shell,
// which nobody can replace by another text.
func findCommands(root any, places string, isGuessed bool) (found []slot) {
	for place := range strings.FieldsSeq(places) {
		found = append(found, commandsAt(root, nil, strings.Split(place, "."), isGuessed)...)
	}
	return found
}

// commandsAt returns the commands at one place in a value. set replaces the value.
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
		return commandsIn(v, place, isGuessed)
	}
	return found
}

// commandsIn returns the commands at one place in an object.
func commandsIn(v map[string]any, place []string, isGuessed bool) (found []slot) {
	name, args, _ := strings.Cut(place[0], "+")
	name, isEach := strings.CutSuffix(name, "[]")
	value, ok := v[name]
	if !ok {
		return nil
	}
	list, isList := value.([]any)
	if _, isObject := value.(map[string]any); isEach && isObject {
		return nil // another place of the row leads into this value
	}
	if isEach && isList {
		for i, e := range list {
			if _, isObject := e.(map[string]any); !isObject {
				found = append(found, commandOf(e, func(x any) { list[i] = x })...)
			}
		}
		return found
	}
	found = commandsAt(value, func(x any) { v[name] = x }, place[1:], isGuessed)
	if len(place) > 1 {
		return found
	}
	if words, ok := v[args].([]any); ok && args != "" && len(words) > 0 && len(found) == 1 {
		return []slot{{text: found[0].text + " " + argumentText(words)}}
	}
	_, r := roleOf(name)
	switch {
	case !isGuessed:
	case isList && r&commandRole != 0 && strings.HasSuffix(name, "s"):
		found = append(found, textsAt(list, nil, nil)...)
	case !isList && len(found) == 1:
		if words := argumentsOf(v); words != "" {
			return []slot{{text: found[0].text + " " + words}}
		}
	}
	return found
}

// argumentsOf returns the arguments that an object has beside a program, quoted as for a shell.
func argumentsOf(object map[string]any) string {
	for _, name := range []string{"args", "arguments", "argv", "parameters", "params"} {
		if list, ok := object[name].([]any); ok {
			return argumentText(list)
		}
	}
	return ""
}

// argumentText returns arguments quoted as for a shell, or as JSON if they are no words.
func argumentText(list []any) string {
	if words, ok := quoteWords(list); ok {
		return words
	}
	return jsonText(list)
}

// commandOf returns the command that a value stands for. If the value is neither a text nor a list of words,
// a guard sees its JSON, because a program may make a text of it. The module shell answers that it does not
// know such a command.
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
		first, _ := v[0].(string) // if it has a space, it may be a text for a shell
		if words, ok := quoteWords(v); ok && !strings.ContainsAny(first, " \t\n") {
			return []slot{{text: words}}
		}
	}
	return []slot{{text: jsonText(v)}}
}

// quoteWords joins words and numbers, quoted as for a shell. If the list has other values, ok is false.
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
		return "?" // not reached, because a decoded value has JSON
	}
	return string(text)
}
