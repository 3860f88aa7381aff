package fragments

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
)

// A Text is an immutable text in parts, which share memory with their sources. String joins the
// parts at most once, and WriteTo copies nothing. The zero Text is empty. Texts are safe for
// concurrent use. Compare them by [Text.Equal]; == compares the parts' memory.
type Text struct {
	one  string // the text if rope is nil
	rope *rope
}

// A rope is a text of several parts.
type rope struct {
	parts  []string
	size   int
	join   sync.Once
	joined string
}

// NewText returns the concatenation of parts. It retains the slice, which must not be changed
// afterwards.
func NewText(parts ...string) Text {
	switch len(parts) {
	case 0:
		return Text{}
	case 1:
		return Text{one: parts[0]}
	}
	r := &rope{parts: parts}
	for _, part := range parts {
		r.size += len(part)
	}
	return Text{rope: r}
}

// String returns the text as one string.
func (t Text) String() string {
	if t.rope == nil {
		return t.one
	}
	t.rope.join.Do(func() { t.rope.joined = strings.Join(t.rope.parts, "") })
	return t.rope.joined
}

// Len returns the length in bytes.
func (t Text) Len() int {
	if t.rope == nil {
		return len(t.one)
	}
	return t.rope.size
}

// Parts returns strings whose concatenation is the text. The caller must not change the slice.
func (t Text) Parts() []string {
	if t.rope == nil {
		return []string{t.one}
	}
	return slices.Clip(t.rope.parts)
}

// WriteTo writes the text, part by part. It implements [io.WriterTo].
func (t Text) WriteTo(w io.Writer) (n int64, err error) {
	for _, part := range t.Parts() {
		m, err := io.WriteString(w, part)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Equal reports whether both texts have the same bytes, in any division into parts.
func (t Text) Equal(u Text) bool { return t.Len() == u.Len() && t.String() == u.String() }

// MarshalText returns the text, so that JSON has it as a string.
func (t Text) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	b.Grow(t.Len())
	_, err := t.WriteTo(&b)
	return b.Bytes(), err
}

// UnmarshalText sets t to the text.
func (t *Text) UnmarshalText(text []byte) error {
	*t = Text{one: string(text)}
	return nil
}
