package model

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzEvents checks that the events of a stream do not depend on the sizes of its reads, and that
// no event is longer than the limit.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"", "data: a\n\n", "data: a\r\ndata:b\r\n\r\n", "event: x\ndata\n\n", "\ufeffdata: a", ": c\n\ndata: a\rdata: b\r\r", "data: a\n\ndata: [DONE]",
		"id: 1\nretry: 5\n\nevent: e\n\ndata: {}\n\n", strings.Repeat("data: x\n", 40),
	} {
		f.Add([]byte(seed))
	}
	const most = 200
	f.Fuzz(func(t *testing.T, in []byte) {
		read := func(r io.Reader) (list []string, end error) {
			e := newEventReader(r, most)
			for {
				name, data, err := e.next()
				if err != nil {
					return list, err
				}
				if len(data) > most {
					t.Fatalf("got an event of %d bytes, limit %d", len(data), most)
				}
				list = append(list, name+"\x00"+string(data))
			}
		}
		whole, end := read(bytes.NewReader(in))
		bytewise, other := read(iotest.OneByteReader(bytes.NewReader(in)))
		if strings.Join(whole, "\x01") != strings.Join(bytewise, "\x01") || end.Error() != other.Error() {
			t.Errorf("got %q, %v in one read and %q, %v byte by byte", whole, end, bytewise, other)
		}
		if errors.Is(end, io.EOF) && len(in) > 0 && len(whole) > len(in)/5+1 {
			t.Errorf("got %d events of %d bytes", len(whole), len(in))
		}
	})
}
