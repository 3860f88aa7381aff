// Package fragments defines the pieces that a prompt is built from, and merges them.
//
// A [Fragment] is identified by its content alone: two fragments with the same bytes are one
// fragment, wherever they came from. [Merge] relies on this to send, store and bill each piece
// once, and records every origin as provenance. The caller then marks in the resulting [Set]
// what the session contains already ([Set.InSession]), cuts the set to a [Budget] ([Set.Fit]),
// and writes it as text ([Set.Render]), in this order. Each step marks rows and removes none,
// so that a report can list everything that was offered, and what happened to it.
//
// Everything here is a function of its arguments: the same offers in the same order give the
// same bytes. A Set belongs to one goroutine.
//
// This is the lowest package of the module. It imports only the standard library, and has no
// notion of a plugin's code. It opens no files and does not decode contents: the types and
// sizes of pictures come with the [Attachment].
package fragments

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// A Target is the part of a request where a fragment goes. The zero value is [Prompt].
type Target uint8

// The targets.
const (
	Prompt Target = iota // in front of the user's words
	System               // in front of the system text
)

var targetNames = [...]string{Prompt: "prompt", System: "system"}

// ParseTarget reads the texts of [Target.String]: "prompt" and "system".
func ParseTarget(text string) (Target, error) {
	for target, name := range targetNames {
		if text == name {
			return Target(target), nil
		}
	}
	return Prompt, fmt.Errorf("target: got %q, want %s", text, strings.Join(targetNames[:], " or "))
}

// String returns "prompt" or "system".
func (t Target) String() string { return targetNames[t] }

// An Origin is the source and the plugin of an offer.
type Origin struct {
	Source string `json:"source,omitempty"` // a path, a reference, an event; "" if unnamed
	Plugin string `json:"plugin,omitempty"` // "" for an offer of the user
}

// A Fragment is a piece of text offered for a prompt.
type Fragment struct {
	Content string `json:"content"`          // UTF-8; identifies the fragment
	Source  string `json:"source,omitempty"` // its name in reports and renderings; "" if unnamed
	Title   string `json:"title,omitempty"`  // a caption for renderings that have one; "" for none
	Plugin  string `json:"plugin,omitempty"` // the plugin that offered it; "" for the user
	Pos     string `json:"pos,omitempty"`    // "file:line:col" of the registration that offered it

	Priority int    `json:"priority,omitempty"` // lower comes first; any number
	Target   Target `json:"target,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"` // typed by the user: no budget drops it

	Digest *Digest `json:"-"` // its text is Content; set by a [HashCache], or nil
}

// An Attachment is data other than text offered for a prompt. Exactly one of Content and URL is
// set.
type Attachment struct {
	Content string `json:"content,omitempty"` // bytes
	URL     string `json:"url,omitempty"`     // the model fetches it; starhost does not
	Type    string `json:"type,omitempty"`    // MIME type
	Name    string `json:"name,omitempty"`    // a file name, for people
	Source  string `json:"source,omitempty"`  // as in Fragment
	Plugin  string `json:"plugin,omitempty"`  // as in Fragment
	Pos     string `json:"pos,omitempty"`     // as in Fragment

	Width  int  `json:"width,omitempty"` // pixels; 0 if it is no picture
	Height int  `json:"height,omitempty"`
	Pinned bool `json:"pinned,omitempty"` // typed by the user; the limits hold for it too
}

// Bytes returns the size of the content: 0 for a URL.
func (a Attachment) Bytes() int { return len(a.Content) }

// ID returns the hash of the attachment's bytes or, for a URL, of the JSON text {"url":
// "<url>"} as Python writes it. The llm tool has the same rule, so both tools find each other's
// attachments.
func (a Attachment) ID() Hash {
	if a.URL == "" {
		return Sum(a.Content)
	}
	return Sum(`{"url": ` + pythonJSON(a.URL) + `}`)
}

// pythonJSON quotes text as Python's json.dumps does: it escapes everything except printable
// ASCII, and does not escape <, > and &.
func pythonJSON(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch escape, ok := pythonEscapes[r]; {
		case ok:
			b.WriteString(escape)
		case ' ' <= r && r <= '~':
			b.WriteRune(r)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

var pythonEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}
