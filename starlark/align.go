package starlark

import (
	"bytes"
	varint "encoding/binary"
	"fmt"
	"sort"

	"go.starlark.net/starlark"
)

// The compiler fills the address of a conditional jump up to four bytes with
// instructions that do nothing. Where the jump is not taken they run, and are
// steps: three behind an address below 128, two behind a greater one. Probes move
// addresses, so this file puts as many of them behind each jump of an instrumented
// program as the program has without probes. It reads what Program.Write writes,
// version 14; upstream describes it in internal/compile/serial.go.
const encodingVersion = 14

// The jumps among the operations. They are the first that have an operand.
const (
	opJump     = 43
	opIterJump = 45 // the last; both others than opJump are conditional
)

// jumpSize is the size of a jump: its operation, and an address of four bytes.
const jumpSize = 5

// aligned returns the program that was instrumented with the steps of the plain one.
func aligned(plain, instrumented *starlark.Program) (*starlark.Program, error) {
	var fills [][]int // of each function of the plain program
	_, err := transcode(plain, func(code []byte, lines []int64) ([]byte, []int64) {
		fills = append(fills, fillsOf(code))
		return code, lines
	})
	if err != nil {
		return nil, err
	}
	out, err := transcode(instrumented, func(code []byte, lines []int64) ([]byte, []int64) {
		fill := fills[0] // both have the same functions
		fills = fills[1:]
		return refill(code, lines, fill)
	})
	if err != nil {
		return nil, err
	}
	return starlark.CompiledProgram(bytes.NewReader(out))
}

// jumps calls f for each jump in code.
func jumps(code []byte, f func(pc int, op byte)) {
	for pc := 0; pc < len(code); {
		op := code[pc]
		switch {
		case op < opJump:
			pc++
		case op <= opIterJump:
			f(pc, op)
			pc += jumpSize
		default:
			_, size := readOperand(code[pc+1:])
			pc += 1 + size
		}
	}
}

// readOperand reads an operand, and returns its size.
func readOperand(code []byte) (x uint32, size int) {
	v, n := varint.Uvarint(code)
	return uint32(v), n
}

// fillsOf returns how many instructions that do nothing follow each conditional jump.
func fillsOf(code []byte) []int {
	var list []int
	jumps(code, func(pc int, op byte) {
		if op != opJump {
			_, size := readOperand(code[pc+1:])
			list = append(list, jumpSize-1-size)
		}
	})
	return list
}

// refill returns a function's code, and the table of its positions, with other
// numbers of instructions that do nothing behind its conditional jumps.
func refill(code []byte, lines []int64, fills []int) ([]byte, []int64) {
	var ends []int            // of jumps, and
	shift, sum := []int{0}, 0 // what is put in up to there
	jumps(code, func(pc int, op byte) {
		if op != opJump {
			sum += fills[0]
			fills = fills[1:]
		}
		ends, shift = append(ends, pc+jumpSize), append(shift, sum)
	})
	if len(fills) > 0 {
		panic("probes changed the jumps of a function")
	}
	moved := func(pc int) int { return pc + shift[sort.SearchInts(ends, pc+1)] }
	out := make([]byte, 0, len(code)+sum)
	from := 0
	for i, end := range ends {
		to, _ := readOperand(code[end-jumpSize+1:])
		out = append(out, code[from:end-jumpSize+1]...)
		out = appendAddress(out, uint32(moved(int(to))))
		out = append(out, make([]byte, shift[i+1]-shift[i])...) // operation 0 does nothing
		from = end
	}
	return append(out, code[from:]...), moveLines(lines, moved)
}

// appendAddress appends an operand of four bytes.
func appendAddress(code []byte, x uint32) []byte {
	return append(code, byte(x)|0x80, byte(x>>7)|0x80, byte(x>>14)|0x80, byte(x>>21)&0x7f)
}

// moveLines changes the addresses in a table of positions. Its rows have the
// difference of two addresses in four bits; the lowest bit says that one goes on.
func moveLines(lines []int64, moved func(pc int) int) []int64 {
	const most, goesOn = 15, 1
	var out []int64
	pc, at := 0, 0
	for _, row := range lines {
		pc += int(row >> 12)
		for ; moved(pc)-at > most; at += most {
			out = append(out, most<<12|goesOn)
		}
		out = append(out, int64(moved(pc)-at)<<12|row&0xfff)
		at = moved(pc)
	}
	return out
}

// transcode returns an encoded program with f applied to the code and the positions
// of each function.
func transcode(p *starlark.Program, f func(code []byte, lines []int64) ([]byte, []int64)) (_ []byte, err error) {
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return nil, err
	}
	const head = 8
	data := b.Bytes()
	split := varint.LittleEndian.Uint32(data[4:head])
	t := transcoder{ints: data[head:split], texts: data[split:], outInts: bytes.Clone(data[:head])}
	if v := t.int(); v != encodingVersion {
		return nil, fmt.Errorf("coverage knows programs of version %d, got %d", encodingVersion, v)
	}
	t.text()
	t.idents()
	t.each(t.text)
	t.each(t.constant)
	t.idents()
	t.function(f)
	t.each(func() { t.function(f) })
	t.int() // recursion
	varint.LittleEndian.PutUint32(t.outInts[4:head], uint32(len(t.outInts)))
	return append(t.outInts, t.outTexts...), nil
}

// A transcoder copies the parts of a program: integers, and texts, of which the
// integers have the lengths.
type transcoder struct {
	ints, texts       []byte
	outInts, outTexts []byte
}

func (t *transcoder) read() int64 {
	x, n := varint.Varint(t.ints)
	t.ints = t.ints[n:]
	return x
}

func (t *transcoder) write(x int64) { t.outInts = varint.AppendVarint(t.outInts, x) }

func (t *transcoder) int() int64 {
	x := t.read()
	t.write(x)
	return x
}

func (t *transcoder) readText() []byte {
	n := t.read()
	text := t.texts[:n]
	t.texts = t.texts[n:]
	return text
}

func (t *transcoder) writeText(text []byte) {
	t.write(int64(len(text)))
	t.outTexts = append(t.outTexts, text...)
}

func (t *transcoder) text() { t.writeText(t.readText()) }

func (t *transcoder) each(f func()) {
	for range t.int() {
		f()
	}
}

func (t *transcoder) ident() {
	t.text()
	t.int() // line
	t.int() // column
}

func (t *transcoder) idents() { t.each(t.ident) }

func (t *transcoder) constant() {
	switch t.int() {
	case 0, 1, 4: // string, bytes, large integer
		t.text()
	case 2:
		t.int()
	case 3: // float
		x, n := varint.Uvarint(t.ints)
		t.ints = t.ints[n:]
		t.outInts = varint.AppendUvarint(t.outInts, x)
	}
}

func (t *transcoder) function(f func(code []byte, lines []int64) ([]byte, []int64)) {
	t.ident()
	t.text() // doc
	code := t.readText()
	lines := make([]int64, t.read())
	for i := range lines {
		lines[i] = t.read()
	}
	code, lines = f(code, lines)
	t.writeText(code)
	t.write(int64(len(lines)))
	for _, row := range lines {
		t.write(row)
	}
	t.idents()                 // locals
	t.each(func() { t.int() }) // cells
	t.idents()                 // free variables
	for range 5 {              // stack, parameters, and their kinds
		t.int()
	}
}
