package starhost

import "strconv"

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
