// Package difftext writes the difference of two texts.
package difftext

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Unified returns the unified difference of two texts. It completes their last lines.
func Unified(from, to, old, text string) string {
	return udiff.Unified(from, to, EndLine(old), EndLine(text))
}

// EndLine returns text with a final line break, unless text is empty.
func EndLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
