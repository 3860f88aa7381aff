package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestReadMessage(t *testing.T) {
	frame := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	good := frame(`{"method":"a"}`)
	tests := []struct{ name, in, want string }{
		{"one", good, "a"},
		{"two", good + frame(`{"method":"b"}`), "a b"},
		{"another case and header", "X: 1\r\ncontent-length:14\nY: 2\r\n\r\n" + `{"method":"a"}`, "a"},
		{"no JSON", frame("{") + good, "! a"},
		{"no object", frame("[]") + good, "! a"},
		{"empty", frame("") + good, "! a"},
		{"noise", "noise\r\n\r\n" + good, "a"},
		{"a long line", strings.Repeat("x", 10_000) + "\r\n" + good, "a"},
		{"no number", "Content-Length: x\r\n\r\n" + good, "a"},
		{"a negative number", "Content-Length: -1\r\n\r\n" + good, "a"},
		{"a great number", "Content-Length: 99999999999999999999\r\n\r\n" + good, "a"},
		{"too long", frame(strings.Repeat(" ", maxMessage+1)) + good, "! a"},
		{"cut", "Content-Length: 100\r\n\r\n{}", ""},
		{"cut and too long", "Content-Length: 99999999999\r\n\r\n{}", ""},
		{"cut header", "Content-Len", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := bufio.NewReaderSize(strings.NewReader(tt.in), maxHeader)
			var got []string
			for {
				m, err := readMessage(r)
				var skipped *messageError
				if errors.Is(err, io.EOF) {
					break
				} else if errors.As(err, &skipped) {
					got = append(got, "!")
				} else if err != nil {
					t.Fatal(err)
				} else {
					got = append(got, m.Method)
				}
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPositions(t *testing.T) {
	const text = "aé𝄞b\n\nx"
	for _, tt := range []struct {
		utf8               bool
		line, char, offset int
	}{
		{false, 0, 0, 0}, {false, 0, 1, 1}, {false, 0, 2, 3}, {false, 0, 4, 7}, {false, 0, 5, 8}, {false, 1, 0, 9}, {false, 2, 1, 11},
		{true, 0, 3, 3}, {true, 0, 7, 7}, {true, 2, 0, 10},
	} {
		s := newSource(text, 3, tt.utf8)
		p := position{tt.line + 3, tt.char}
		if got := s.offset(p); got != tt.offset {
			t.Errorf("offset of %v: got %d, want %d", p, got, tt.offset)
		}
		if got := s.position(tt.offset); got != p {
			t.Errorf("position of %d: got %v, want %v", tt.offset, got, p)
		}
	}
	s := newSource(text, 0, false)
	for p, want := range map[position]int{{0, 3}: 3, {0, 99}: 8, {9, 9}: 11, {-1, 0}: 0, {1, -5}: 9} {
		if got := s.offset(p); got != want {
			t.Errorf("offset of %v, which does not exist: got %d, want %d", p, got, want)
		}
	}
}
