package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/jsontext"
)

// convertResult converts a mounted server's result. It fetches nothing: a link becomes text.
func (m *Mount) convertResult(r *sdk.CallToolResult) starhost.Result {
	out := starhost.Result{IsError: r.IsError}
	var texts []string
	for _, c := range r.Content {
		text, attachment := fromContent(c)
		if text != "" {
			texts = append(texts, text)
		}
		if attachment != nil {
			out.Attachments = append(out.Attachments, *attachment)
		}
	}
	raw, ok := r.Meta[metaStructured].(string)
	if !ok && r.StructuredContent != nil { // a message in many lines
		data, _ := json.Marshal(r.StructuredContent) // the content came as JSON
		raw, ok = string(data), true
	}
	if ok && !slices.ContainsFunc(texts, func(text string) bool { return sameJSON(text, raw) }) {
		texts = append(texts, raw)
	}
	out.ForLLM = strings.Join(texts, "\n")
	if len(out.ForLLM) > maxText {
		return errorResult("MCP server %s: got a result of %d bytes of text, want at most %d", m.options.Name, len(out.ForLLM), maxText)
	}
	out.ForLLM = truncate(out.ForLLM, maxText)
	return out
}

// metaStructured is the member of a result's _meta with its structured content, as a text.
const metaStructured = "starhost.structured"

// The SDK decodes the structured content of results to floating-point numbers, and so changes
// identifiers over 2^53 and 1.0. So the text of each result moves into its _meta before the SDK
// reads it: by processConn for a program, by rawBody for a server with HTTP.

// A rawBody is the body of an HTTP answer: a message, or a stream of events with one in a line.
type rawBody struct {
	lines *bufio.Reader
	rest  []byte // the last line's part that the caller has not read
	err   error
	take  func() error // counts an event of a stream; nil for a message
	read  int          // lines
}

// eventLines is the most lines of an event in a stream. An answer takes no more than those of two
// events, the first of which gives the stream a name.
const eventLines = 4

// count counts a line of a stream. After the last line that starhost reads, it adds one that is no
// part of any event: the SDK ends the connection and has the line in its error.
func (b *rawBody) count() {
	b.read++
	if b.take == nil || b.read <= 2*eventLines || b.read%eventLines != 0 {
		return
	}
	if err := b.take(); err != nil {
		b.rest, b.err = append(b.rest, "\n"+err.Error()+"\n\n"...), io.EOF
	}
}

// Read implements [io.Reader].
func (b *rawBody) Read(to []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		var line []byte
		for {
			var part []byte
			part, b.err = b.lines.ReadSlice('\n')
			line = append(line, part...)
			if !errors.Is(b.err, bufio.ErrBufferFull) {
				break
			}
			if b.err = nil; len(line) > maxMessage { // the SDK refuses it
				break
			}
		}
		prefix := []byte("data: ")
		text, isEvent := bytes.CutPrefix(line, prefix)
		if !isEvent {
			prefix = nil
		}
		b.rest = slices.Concat(prefix, keepInMessage(text))
		b.count()
	}
	n := copy(to, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// keepInMessage returns a message with keepStructured applied to its result.
func keepInMessage(message []byte) []byte {
	if !bytes.Contains(message, []byte("tructuredContent")) {
		return message
	}
	doc, err := jsontext.Parse(string(message), maxNesting)
	result := jsontext.NoNode
	if err == nil {
		result = doc.Member(0, "result")
	}
	if result == jsontext.NoNode {
		return message
	}
	edits := jsontext.NewEdits(&doc)
	edits.Set(result, string(keepStructured(json.RawMessage(doc.TextAt(result)))))
	return append([]byte(edits.String()), '\n')
}

// keepStructured returns a result with its structured content as a text in its _meta.
func keepStructured(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte("tructuredContent")) && !bytes.Contains(result, []byte(metaStructured)) {
		return result
	}
	doc, err := jsontext.Parse(string(result), maxNesting)
	if err != nil {
		return result
	}
	content, meta := doc.Member(0, "structuredContent"), map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(doc.TextAt(doc.Member(0, "_meta"))), &meta) // another value than an object goes
	delete(meta, metaStructured)
	edits := jsontext.NewEdits(&doc)
	if content != jsontext.NoNode && doc.TextAt(content) != "null" {
		var text bytes.Buffer
		_ = json.Compact(&text, []byte(doc.TextAt(content))) // it is a part of JSON
		meta[metaStructured], _ = json.Marshal(text.String())
		edits.Remove(content)
	}
	raw, _ := json.Marshal(meta)
	edits.SetMember(0, "_meta", string(raw))
	return json.RawMessage(edits.String())
}

// maxNesting is the deepest nesting in a result.
const maxNesting = 512

// sameJSON reports whether two texts are the same JSON, in any order of members.
func sameJSON(a, b string) bool {
	var x, y any
	for text, to := range map[string]*any{a: &x, b: &y} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(to) != nil || d.More() {
			return false
		}
	}
	return a == b || reflect.DeepEqual(x, y)
}

// fromContent converts one part of a result to text or to an attachment.
func fromContent(c sdk.Content) (text string, a *fragments.Attachment) {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text, nil
	case *sdk.ImageContent:
		return "", &fragments.Attachment{Content: string(c.Data), Type: c.MIMEType}
	case *sdk.AudioContent:
		return "", &fragments.Attachment{Content: string(c.Data), Type: c.MIMEType}
	case *sdk.ResourceLink:
		return "[" + c.Name + ": " + c.URI + "]", nil
	case *sdk.EmbeddedResource:
		r := c.Resource
		if r == nil {
			return "", nil
		}
		if r.Text != "" {
			return r.Text, nil
		}
		return "", &fragments.Attachment{Content: string(r.Blob), Type: r.MIMEType, Name: r.URI}
	}
	return "", nil
}
