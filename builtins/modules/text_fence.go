package modules

import (
	"strings"

	"github.com/starhost/starhost/internal/errtext"
)

// A codeFence is the opening line of a fenced Markdown code block.
type codeFence struct {
	start, end int    // where the line begins and ends, without its line break
	indent     string // the white space before the marker
	marker     string // the sequence of backticks or tildes
}

// cutMarkdown returns the beginning of text, in at most size bytes. If the cut is inside a fenced code block,
// cutMarkdown closes the block, or omits it if none of its lines would fit.
func cutMarkdown(text string, size int) string {
	cut := text[:errtext.RuneStart(text, size)]
	fence, open := openFence(cut)
	if !open {
		return cut
	}
	closing := "\n" + fence.indent + fence.marker + "\n"
	room := size - len(closing)
	if room <= fence.end {
		return cut[:fence.start]
	}
	cut = cut[:errtext.RuneStart(cut, room)]
	if _, open := openFence(cut); !open { // the line that was cut looks like the end of the block
		return cut
	}
	return strings.TrimSuffix(cut, "\n") + closing
}

// openFence returns the fence of the code block that is still open at the end of a text.
func openFence(text string) (fence codeFence, open bool) {
	at := 0
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		line = strings.TrimRight(line, "\r\n")
		indent, marker, info := splitFence(line)
		switch {
		case marker == "":
		case !open:
			open = marker[0] != '`' || !strings.Contains(info, "`")
			fence = codeFence{start, start + len(line), indent, marker}
		case marker[0] == fence.marker[0] && len(marker) >= len(fence.marker) && strings.TrimSpace(info) == "":
			open = false
		}
	}
	return fence, open
}

// splitFence splits a line that begins with three or more backticks or tildes. For other lines, marker is
// empty.
func splitFence(line string) (indent, marker, info string) {
	rest := strings.TrimLeft(line, " \t")
	indent = line[:len(line)-len(rest)]
	if !strings.HasPrefix(rest, "```") && !strings.HasPrefix(rest, "~~~") {
		return indent, "", rest
	}
	info = strings.TrimLeft(rest, rest[:1])
	return indent, rest[:len(rest)-len(info)], info
}
