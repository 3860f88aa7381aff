// Package wire reads server-sent events and counts of tokens, for clients of models and for the
// proxy between others' clients and models.
//
// It keeps the bytes of an event, because the proxy passes them on. What an event means, and
// whether two readers could understand it differently, is for its callers.
package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/starhost/starhost"
)

// ReadEvent returns the bytes of the next event of a stream, with the empty line after it. Bytes
// after the last empty line are an event, too. If an event has more than most bytes, ReadEvent
// returns a start of it that is longer than most, and the caller reads no further.
func ReadEvent(r *bufio.Reader, most int) (raw []byte, err error) {
	for {
		line, err := r.ReadSlice('\n')
		raw = append(raw, line...)
		switch {
		case len(raw) > most, errors.Is(err, io.EOF) && len(raw) > 0:
			return raw, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		if isEnd := len(bytes.TrimRight(line, "\r\n")) == 0; isEnd && endsLine(raw[:len(raw)-len(line)]) {
			return raw, nil
		}
	}
}

// endsLine reports whether a text is empty or ends with a newline.
func endsLine(b []byte) bool { return len(b) == 0 || b[len(b)-1] == '\n' }

// Fields returns the name and the data of an event whose lines end with a newline. hasData is false
// for an event that has no data, not even an empty one.
func Fields(text string) (name, data string, hasData bool) {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			list = append(list, value)
		}
	}
	return name, strings.Join(list, "\n"), list != nil
}

// Usage has the counts of tokens of a reply by the names of all protocols. Messages count cached
// tokens apart, and the other protocols among the input.
type Usage struct {
	Prompt        int64   `json:"prompt_tokens"` // Chat Completions
	Completion    int64   `json:"completion_tokens"`
	PromptDetails details `json:"prompt_tokens_details"`
	Input         int64   `json:"input_tokens"` // Responses and Messages
	Output        int64   `json:"output_tokens"`
	InputDetails  details `json:"input_tokens_details"`    // Responses
	Read          int64   `json:"cache_read_input_tokens"` // Messages
	Create        int64   `json:"cache_creation_input_tokens"`
}

type details struct {
	Cached int64 `json:"cached_tokens"`
}

// Sum returns the counts as one. Some endpoints of Chat Completions repeat their counts by the
// names of Responses.
func (u *Usage) Sum() starhost.Usage {
	return starhost.Usage{
		Input: cmp.Or(u.Prompt, u.Input+u.Read+u.Create), Output: cmp.Or(u.Completion, u.Output),
		Cached: cmp.Or(u.PromptDetails.Cached, u.InputDetails.Cached, u.Read),
	}
}
