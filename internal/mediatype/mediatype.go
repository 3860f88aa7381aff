// Package mediatype says how the content of an attachment goes into a request.
package mediatype

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// IsText reports whether a content of a media type can be sent as text.
func IsText(typ, content string) bool {
	switch typ {
	case "application/json", "application/xml", "application/yaml", "application/toml", "application/x-ndjson":
	default:
		if !strings.HasPrefix(typ, "text/") {
			return false
		}
	}
	return utf8.ValidString(content)
}

// Address returns a URL, or a data URL with the content if there is none.
func Address(url, typ, content string) string {
	if url != "" {
		return url
	}
	return "data:" + typ + ";base64," + base64.StdEncoding.EncodeToString([]byte(content))
}

// Label returns the first text that is not empty: a URL, a name or, at last, an id, which takes
// time to compute.
func Label(url, name string, id func() string) string {
	switch {
	case url != "":
		return url
	case name != "":
		return name
	}
	return id()
}
