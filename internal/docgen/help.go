package docgen

import (
	"strconv"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/markdown"
)

// Markdown about rows of tables, for editors.

// EntryHelp returns the help of a builtin.
func EntryHelp(e call.Entry) string {
	return "```python\n" + Signature(e) + "\n```\n\n" + EntryBody(e)
}

// EventHelp returns the help of an event.
func EventHelp(e starhost.EventSpec) string { return strings.TrimPrefix(EventSection(e), "\n") }

// PermissionHelp returns the help of a kind of permission.
func PermissionHelp(k effects.PermissionKind) string {
	return "```text\n" + PermissionForm(k) + "\n```\n\n" + markdown.Wrap(markdown.Escape(k.Doc)) + "\n" +
		CodeBlock("plugin(permissions = ["+strconv.Quote(k.Example)+"])")
}
