package model

import (
	"bufio"
	"bytes"
	"io"

	"github.com/starhost/starhost/model/wire"
)

// An eventReader splits a stream of server-sent events, as the HTML standard describes them.
type eventReader struct {
	lines    *bufio.Reader
	maxEvent int // bytes of an event
	started  bool
	broken   bool // the stream ended within the last event
}

func newEventReader(r io.Reader, maxEvent int) *eventReader {
	return &eventReader{lines: bufio.NewReaderSize(&newlines{Reader: r}, 32<<10), maxEvent: maxEvent}
}

// next returns the next event with data. Unlike the standard, it also returns an event whose empty
// line is missing at the end of the stream, because some servers omit the line. The error is io.EOF
// at the end.
func (e *eventReader) next() (name string, data []byte, err error) {
	for {
		raw, err := wire.ReadEvent(e.lines, e.maxEvent)
		switch {
		case err != nil:
			return "", nil, err
		case len(raw)-bytes.LastIndexByte(raw, '\n') > e.maxEvent+1:
			return "", nil, errorf("got a line of more than %d bytes, the most that starhost reads", e.maxEvent)
		case len(raw) > e.maxEvent:
			return "", nil, errorf("got an event of more than %d bytes, the most that starhost reads", e.maxEvent)
		}
		if !e.started {
			e.started, raw = true, bytes.TrimPrefix(raw, []byte("\ufeff"))
		}
		if name, data, ok := wire.Fields(string(raw)); ok {
			e.broken = !bytes.HasSuffix(raw, []byte("\n\n"))
			return name, []byte(data), nil
		}
	}
}

// newlines reads a text in which carriage returns end lines, too, with newlines alone.
type newlines struct {
	io.Reader
	returned bool // the last byte was a carriage return
}

// Read implements [io.Reader].
func (r *newlines) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	kept := p[:0]
	for _, c := range p[:n] {
		if c == '\n' && r.returned {
			r.returned = false
			continue
		}
		if r.returned = c == '\r'; r.returned {
			c = '\n'
		}
		kept = append(kept, c)
	}
	return len(kept), err
}
