package fragments

import (
	"fmt"
	"strings"
	"sync"
)

// The xml rendering of a fragment is
//
//	<document index="1" source="a.md" title="A" sha256="...">
//	content
//	</document>
//
// without the title if it is empty. The content is not escaped, so that models read it
// unchanged. If the content contains something like the closing tag, the tag is "document-" and
// enough digits of the hash to be unique, because the author of a content cannot choose its
// hash.
const (
	documentTag = "document"
	tagDigits   = 8 // at least so many digits of the hash are in the longer tag
)

func xmlWrap(f *Row, number int) (before, after string) {
	tag := tagFor(f.Content, f.ID)
	var b strings.Builder
	fmt.Fprintf(&b, `<%s index="%d" source="%s"`, tag, number, attributeEscaper().Replace(f.Source))
	if f.Title != "" {
		fmt.Fprintf(&b, ` title="%s"`, attributeEscaper().Replace(f.Title))
	}
	fmt.Fprintf(&b, " sha256=\"%s\">\n", f.ID)
	return b.String(), closingTag(tag)
}

func closingTag(tag string) string { return "\n</" + tag + ">" }

// tagFor returns a tag name that content does not close.
func tagFor(content string, id Hash) string {
	if !hasClosingTag(content, documentTag) {
		return documentTag
	}
	digits := id.String()
	n := tagDigits
	for n < len(digits) && hasClosingTag(content, documentTag+"-"+digits[:n]) {
		n++
	}
	return documentTag + "-" + digits[:n]
}

// hasClosingTag reports whether content has a closing tag whose name begins with tag, in upper
// or lower case. This includes tags that a parser would not accept, because a model might.
func hasClosingTag(content, tag string) bool {
	for {
		_, rest, ok := strings.Cut(content, "</")
		if !ok {
			return false
		}
		if len(rest) >= len(tag) && strings.EqualFold(rest[:len(tag)], tag) {
			return true
		}
		content = rest
	}
}

// attributeEscapes returns pairs of a byte and its escape: the bytes that have a meaning in an
// attribute or would break its line. Other bytes are copied, so that a parser returns any
// source, even if it is not UTF-8.
func attributeEscapes() []string {
	pairs := []string{"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\x7f", "&#127;"}
	for c := range ' ' {
		pairs = append(pairs, string(c), fmt.Sprintf("&#%d;", c))
	}
	return pairs
}

var attributeEscaper = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(attributeEscapes()...) })
