package mcp

import (
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/fragments"
)

// contents returns a text with its attachments as the protocol has them. There is
// always a text where there is nothing else.
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

// content returns an attachment as the protocol has it: a link, a picture, a sound,
// else a resource of its own.
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

// attachmentURI returns the URI of an attachment: its id, with its name for people.
func attachmentURI(a *fragments.Attachment) string {
	return uriOf("sha256:"+a.ID().String()) + fragmentPart(a.Name)
}

// resourceContent returns an attachment as the contents of a resource: text as text.
func resourceContent(uri string, a *fragments.Attachment) *sdk.ResourceContents {
	c := &sdk.ResourceContents{URI: uri, MIMEType: a.Type}
	if isText(a.Type) {
		c.Text = a.Content
	} else {
		c.Blob = []byte(a.Content)
	}
	return c
}

// isText reports whether data of a MIME type is text. Attachments of such types are
// UTF-8.
func isText(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	return strings.HasPrefix(mime, "text/") || mime == "application/json" || strings.HasSuffix(mime, "+json") || strings.HasSuffix(mime, "+xml")
}
