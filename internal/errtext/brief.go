package errtext

import (
	"fmt"
)

// Brief quotes the first bytes of a text for a message.
func Brief(text string) string { return fmt.Sprintf("%q", CutTo(text, 100, "")) }
