package mcp

import (
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/fragments"
)

// contents returns a text and its attachments as MCP content. If there are neither, it returns an
// empty text, because clients expect one element.
func contents(text string, attachments []fragments.Attachment) []sdk.Content {
	var list []sdk.Content
	if text != "" || len(attachments) == 0 {
		list = append(list, &sdk.TextContent{Text: text})
	}
	for i := range attachments {
		list = append(list, content(&attachments[i]))
	}
	return list
}

// content returns an attachment as MCP content: a link, a picture, a sound or an embedded resource.
func content(a *fragments.Attachment) sdk.Content {
	kind, _, _ := strings.Cut(a.Type, "/")
	switch {
	case a.URL != "":
		return &sdk.ResourceLink{URI: a.URL, Name: descriptionOr(a.Name, a.URL), MIMEType: a.Type}
	case kind == "image":
		return &sdk.ImageContent{Data: []byte(a.Content), MIMEType: a.Type}
	case kind == "audio":
		return &sdk.AudioContent{Data: []byte(a.Content), MIMEType: a.Type}
	}
	return &sdk.EmbeddedResource{Resource: resourceContent(attachmentURI(a), a)}
}

// attachmentURI returns the URI of an attachment: its id, followed by its name for people.
func attachmentURI(a *fragments.Attachment) string {
	return uriOf("sha256:"+a.ID().String()) + fragmentPart(a.Name)
}

// resourceContent returns an attachment as the content of a resource, with text as text.
func resourceContent(uri string, a *fragments.Attachment) *sdk.ResourceContents {
	c := &sdk.ResourceContents{URI: uri, MIMEType: a.Type}
	if isText(a.Type) {
		c.Text = a.Content
	} else {
		c.Blob = []byte(a.Content)
	}
	return c
}

// isText reports whether content of a MIME type is text. Attachments of such types are valid UTF-8.
func isText(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	return strings.HasPrefix(mime, "text/") || mime == "application/json" || strings.HasSuffix(mime, "+json") || strings.HasSuffix(mime, "+xml")
}
