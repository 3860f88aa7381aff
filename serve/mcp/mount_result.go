package mcp

import (
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// convertResult returns what a mounted server answered as a tool's result. Nothing in it is
// fetched: links are text.
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
	if len(texts) == 0 && r.StructuredContent != nil {
		data, _ := json.Marshal(r.StructuredContent) // it came as JSON
		texts = append(texts, string(data))
	}
	out.ForLLM = strings.Join(texts, "\n")
	if len(out.ForLLM) > maxText {
		return errorResult("MCP server %s: got a result of %d bytes of text, want at most %d", m.options.Name, len(out.ForLLM), maxText)
	}
	out.ForLLM = truncate(out.ForLLM, maxText)
	return out
}

// fromContent returns a part of a result as text or as an attachment.
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
		if c.Resource == nil || c.Resource.Text != "" {
			return textOfResource(c.Resource), nil
		}
		r := c.Resource
		return "", &fragments.Attachment{Content: string(r.Blob), Type: r.MIMEType, Name: r.URI}
	}
	return "", nil
}

func textOfResource(r *sdk.ResourceContents) string {
	if r == nil {
		return ""
	}
	return r.Text
}
