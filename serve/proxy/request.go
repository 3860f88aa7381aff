package proxy

import (
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// A request is a client's request whose values plugins see and change. Its parts are nodes of the JSON
// document doc.
type request struct {
	*dialect
	doc   jsontext.Document
	edits *jsontext.Edits

	list     int                // the node of the list of messages, or of a text in place of the list
	messages []starhost.Message // the messages in the form that plugins see
	entries  []entry            // the place of each message, in the order of messages
	words    int                // the index in messages of the user's last text; noNode if there is none
	place    int                // the node of the user's last message; noNode if there is none
	system   []text             // the strings of the system text
	tools    []tool             // the tools that the client offers
	emptied  []string           // the lists of tools from which plugins removed all
}

const noNode = jsontext.NoNode

// A text is a string of a request, and the element of a list that contains it. The element is noNode if the
// string stands alone.
type text struct{ value, element int }

// An entry says where a request has a message.
type entry struct {
	element int    // the message's node in the list; noNode for a text in place of the list
	blocks  []int  // the nodes of the element's blocks that belong to the message; nil for all blocks
	texts   []text // the strings of the message's content
}

// A tool is a tool that the client offers.
type tool struct {
	name  string
	value int // the node of the list's element, or of the member
}

// readJSON parses the body of a request. If isStrict is true, a body that two readers could decode
// differently is an error.
func readJSON(body string, isStrict bool) (doc jsontext.Document, err error) {
	doc, err = jsontext.Parse(body, maxNesting)
	if err == nil && !doc.HasKind(0, jsontext.Object) {
		return doc, refuse(400, "starhost: the body: got no JSON object")
	}
	if err == nil && isStrict {
		err = doc.Ambiguity()
	}
	if err != nil {
		return doc, refuse(400, "starhost: the body: %v", err)
	}
	return doc, nil
}

// readNames are the names of the members that plugins see in a request and in its messages.
var readNames = []string{
	"messages", "input", "system", "instructions", "model", "tools", "functions", "previous_response_id",
	"role", "content", "type", "text", "output", "tool_calls", "function_call", "arguments", "name",
}

// checkNames returns an error if a member's name is one of readNames in other letter case, because an
// endpoint written in Go takes both for the same member.
func (q *request) checkNames() error {
	objects := []int{0}
	for _, element := range q.doc.Elements(q.list) {
		objects = append(append(objects, element), q.doc.Elements(q.doc.Member(element, "content"))...)
	}
	for _, object := range objects {
		for key := range q.doc.Members(object) {
			name := q.doc.PeekAt(key)
			if isPlain(name) {
				continue
			}
			for _, want := range readNames {
				if name != want && strings.EqualFold(name, want) {
					return refuse(400, "starhost: the body: got the name %q, want %q", errtext.Clip(name), want)
				}
			}
		}
	}
	return nil
}

// isPlain reports whether a name has only small letters of ASCII and underscores.
func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// newRequest finds the parts of a request that plugins see.
func newRequest(d *dialect, doc jsontext.Document) *request {
	q := &request{dialect: d, doc: doc, words: noNode, place: noNode}
	q.edits = jsontext.NewEdits(&q.doc)
	q.list = q.doc.Member(0, d.list)
	if d.system != "" {
		q.system = textsOf(&q.doc, q.doc.Member(0, d.system))
	}
	if q.doc.HasKind(q.list, jsontext.String) {
		q.place = q.list
		q.addEntry(starhost.RoleUser, noNode, nil, []text{{q.list, noNode}})
	}
	elements := q.doc.Elements(q.list)
	q.entries = make([]entry, 0, len(elements)+1) // a message with results of tools becomes several
	q.messages = make([]starhost.Message, 0, len(elements)+1)
	for _, element := range elements {
		q.addElement(element)
	}
	for i := range q.messages {
		if q.messages[i].Role == starhost.RoleUser {
			q.words = i
		}
	}
	q.findTools()
	return q
}

// textsOf returns the strings of a message's content: the content itself if it is a string, or else the
// strings of its blocks. If blocks are given, it takes only those.
func textsOf(d *jsontext.Document, content int, blocks ...int) (list []text) {
	if d.HasKind(content, jsontext.String) {
		return []text{{content, noNode}}
	}
	if blocks == nil {
		blocks = d.Elements(content)
	}
	for _, block := range blocks {
		if value := d.Member(block, "text"); d.HasKind(value, jsontext.String) {
			list = append(list, text{value, block})
		}
	}
	return list
}

// join returns strings as one text.
func join(d *jsontext.Document, list []text, between string) string {
	return strings.Join(jsontext.List(list, func(t *text) string { return d.StringAt(t.value) }), between)
}

// addEntry adds a message with its place. The caller completes the message.
func (q *request) addEntry(role string, element int, blocks []int, texts []text) *starhost.Message {
	q.entries = append(q.entries, entry{element, blocks, texts})
	q.messages = append(q.messages, starhost.Message{Role: role, Content: fragments.NewText(join(&q.doc, texts, "\n"))})
	return &q.messages[len(q.messages)-1]
}

// addElement adds the messages that one element of the list contains. It adds none if plugins do not see such
// elements, as with reasoning.
func (q *request) addElement(element int) {
	d := &q.doc
	kind, content := d.PeekAt(d.Member(element, "type")), d.Member(element, "content")
	if form, ok := callForms[kind]; ok {
		m := q.addEntry(starhost.RoleAssistant, element, nil, nil)
		m.ToolCalls = []starhost.ToolCall{form.read(d, element)}
		return
	}
	if strings.HasSuffix(kind, "_output") {
		m := q.addEntry(starhost.RoleTool, element, nil, textsOf(&q.doc, d.Member(element, "output")))
		m.CallID = d.StringAt(d.Member(element, "call_id"))
		return
	}
	switch d.PeekAt(d.Member(element, "role")) {
	case "system", "developer":
		for _, t := range textsOf(&q.doc, content) {
			if t.element == noNode {
				t.element = element
			}
			q.system = append(q.system, t)
		}
	case "tool", "function":
		m := q.addEntry(starhost.RoleTool, element, nil, textsOf(&q.doc, content))
		m.CallID, m.ToolName = d.StringAt(d.Member(element, "tool_call_id")), d.StringAt(d.Member(element, "name"))
	case starhost.RoleUser:
		q.place = element
		q.addUser(element, content)
	case starhost.RoleAssistant:
		m := q.addEntry(starhost.RoleAssistant, element, nil, textsOf(&q.doc, content))
		for _, item := range d.Elements(content) {
			if form, ok := formOf(d, item); ok {
				m.ToolCalls = append(m.ToolCalls, form.read(d, item))
			}
		}
		for _, item := range d.Elements(d.Member(element, "tool_calls")) {
			if form, ok := chatFormOf(d, item); ok {
				m.ToolCalls = append(m.ToolCalls, form.read(d, item))
			}
		}
		if call := d.Member(element, "function_call"); d.HasKind(call, jsontext.Object) {
			m.ToolCalls = append(m.ToolCalls, oldCall.read(d, call))
		}
	}
}

// addUser adds the messages that a user's message contains: one for each result of a tool, and one for the
// user's own text, unless the message has results only.
func (q *request) addUser(element, content int) {
	var rest []int
	results := 0
	for _, block := range q.doc.Elements(content) {
		if q.doc.PeekAt(q.doc.Member(block, "type")) != "tool_result" {
			rest = append(rest, block)
			continue
		}
		results++
		m := q.addEntry(starhost.RoleTool, element, []int{block}, textsOf(&q.doc, q.doc.Member(block, "content")))
		m.CallID = q.doc.StringAt(q.doc.Member(block, "tool_use_id"))
		m.IsError = q.doc.IsTrue(q.doc.Member(block, "is_error"))
	}
	switch {
	case results == 0:
		q.addEntry(starhost.RoleUser, element, nil, textsOf(&q.doc, content))
	case len(rest) > 0:
		q.addEntry(starhost.RoleUser, element, rest, textsOf(&q.doc, content, rest...))
	}
}

// toolLists are the members of a request that are lists of tools. toolMembers are members that offer a tool
// of the vendor's, with the tool's name.
var (
	toolLists   = []string{"tools", "functions", "mcp_servers"}
	toolMembers = map[string]string{"web_search_options": "web_search"}
)

// findTools finds the tools that the client offers.
func (q *request) findTools() {
	for key, value := range q.doc.Members(0) {
		name := q.doc.PeekAt(key)
		if own := toolMembers[name]; own != "" && q.doc.HasKind(value, jsontext.Object) {
			q.tools = append(q.tools, tool{own, value})
		}
		if slices.Contains(toolLists, name) {
			for _, element := range q.doc.Elements(value) {
				q.tools = append(q.tools, tool{toolName(&q.doc, element), element})
			}
		}
	}
}

// toolName returns the name of a tool that a request offers. If a vendor's tool has no name, its type is its
// name.
func toolName(d *jsontext.Document, element int) string {
	for _, place := range []string{"name", "function.name", "custom.name"} {
		if name := d.StringAt(at(d, element, place)); name != "" {
			return name
		}
	}
	name := d.StringAt(d.Member(element, "type"))
	if label := d.StringAt(d.Member(element, "server_label")); label != "" {
		name += "_" + label
	}
	return name
}

// describe returns a tool in the form that plugins see.
func (q *request) describe(t tool) starhost.Tool {
	out := starhost.Tool{Name: t.name}
	for _, place := range []string{"description", "function.description", "custom.description"} {
		if text := q.doc.StringAt(at(&q.doc, t.value, place)); text != "" {
			out.Description = text
		}
	}
	for _, place := range []string{"input_schema", "parameters", "function.parameters"} {
		if i := at(&q.doc, t.value, place); q.doc.HasKind(i, jsontext.Object) {
			out.Parameters = q.doc.CopyAt(i)
		}
	}
	return out
}
