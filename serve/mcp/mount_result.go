package mcp

import (
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
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
	if len(texts) == 0 && r.StructuredContent != nil {
		data, _ := json.Marshal(r.StructuredContent) // the content came as JSON
		texts = append(texts, string(data))
	}
	out.ForLLM = strings.Join(texts, "\n")
	if len(out.ForLLM) > maxText {
		return errorResult("MCP server %s: got a result of %d bytes of text, want at most %d", m.options.Name, len(out.ForLLM), maxText)
	}
	out.ForLLM = truncate(out.ForLLM, maxText)
	return out
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
