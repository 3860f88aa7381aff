package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// An eventReader splits a stream of server-sent events, as the HTML standard describes them.
type eventReader struct {
	lines    *bufio.Reader
	maxEvent int // bytes of an event and of a line
	started  bool
	broken   bool     // the stream ended within the last event
	pending  [][]byte // lines after a carriage return
}

func newEventReader(r io.Reader, maxEvent int) *eventReader {
	return &eventReader{lines: bufio.NewReaderSize(r, 32<<10), maxEvent: maxEvent}
}

// next returns the next event with data. Unlike the standard, it also returns an event whose empty
// line is missing at the end of the stream, because some servers omit the line. The error is io.EOF
// at the end.
func (e *eventReader) next() (name string, data []byte, err error) {
	hasData, size := false, 0
	for {
		line, err := e.line()
		if err != nil {
			if errors.Is(err, io.EOF) && hasData {
				e.broken = true
				return name, data, nil // the next call returns the end
			}
			return "", nil, err
		}
		if len(line) == 0 {
			if hasData {
				return name, data, nil
			}
			name, size = "", 0
			continue
		}
		if size += len(line); size > e.maxEvent {
			return "", nil, errorf("got an event of more than %d bytes, the most that starhost reads", e.maxEvent)
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			data, hasData = append(data, value...), true
		}
	}
}

// line returns the next line without its end. A last line without an end is a line.
func (e *eventReader) line() ([]byte, error) {
	if len(e.pending) > 0 {
		line := e.pending[0]
		e.pending = e.pending[1:]
		return line, nil
	}
	line, err := e.read()
	if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	if !e.started {
		e.started, line = true, bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if bytes.IndexByte(line, '\r') < 0 {
		return line, nil
	}
	parts := bytes.Split(line, []byte("\r"))
	e.pending = parts[1:]
	return parts[0], nil
}

// read reads up to a newline. The bytes belong to the caller.
func (e *eventReader) read() ([]byte, error) {
	var line []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		if len(line)+len(part) > e.maxEvent {
			return nil, errorf("got a line of more than %d bytes, the most that starhost reads", e.maxEvent)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
