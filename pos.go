package starhost

import (
	"strconv"
	"strings"
)

// A Pos is a place in a plugin's source. Line and Col count from 1; zero means that starhost does
// not have the number. The zero Pos stands for a registration by a Go program.
type Pos struct {
	File string
	Line int
	Col  int
}

// String returns "file:line:col" without numbers that are zero, and "Go" for the zero Pos.
func (p Pos) String() string {
	switch {
	case p == Pos{}:
		return "Go"
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// ParsePos reads what [Pos.String] writes.
func ParsePos(text string) (p Pos) {
	parts := strings.Split(text, ":")
	for _, n := range []*int{&p.Col, &p.Line} {
		number, err := strconv.Atoi(parts[len(parts)-1])
		if len(parts) == 1 || err != nil {
			break
		}
		*n, parts = number, parts[:len(parts)-1]
	}
	if p.Line == 0 { // a line without a column
		p.Line, p.Col = p.Col, 0
	}
	p.File = strings.Join(parts, ":")
	return p
}
