package starlark

import (
	"bytes"
	"compress/gzip"
	varint "encoding/binary"
	"strings"
)

// Fields of the messages of github.com/google/pprof/blob/main/proto/profile.proto that
// a profile of plugins has.
const (
	profileSampleType, profileSample, profileLocation, profileFunction = 1, 2, 4, 5
	profileStringTable, profilePeriodType, profilePeriod               = 6, 11, 12
	valueType, valueUnit                                               = 1, 2
	sampleLocation, sampleValue                                        = 1, 2
	locationID, locationLine, lineFunction, lineNumber                 = 1, 4, 1, 2
	functionID, functionName, functionSystemName, functionFile         = 1, 2, 3, 4
)

// Pprof returns what was spent so far in the format of go tool pprof. It writes the
// protocol buffer itself: at each start of the program, pprof's own library compiles
// twenty regular expressions, and the library for protocol buffers reads the executable.
func (p *Profile) Pprof() ([]byte, error) {
	w := &profileWriter{strings: map[string]uint64{}, functions: map[[2]string]uint64{}, locations: map[Frame]uint64{}}
	w.text("") // the table begins with it
	w.message(profileSampleType, w.value("steps", "count"))
	w.message(profileSampleType, w.value("alloc_space", "bytes"))
	w.message(profilePeriodType, w.value("steps", "count"))
	w.out = number(w.out, profilePeriod, 1)
	for _, s := range p.samples() {
		var m []byte
		for _, f := range s.Stack {
			m = number(m, sampleLocation, w.location(f))
		}
		m = number(m, sampleValue, s.Steps)
		m = number(m, sampleValue, s.Bytes)
		w.message(profileSample, m)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(w.out); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// A profileWriter numbers what samples refer to, and writes each once.
type profileWriter struct {
	out       []byte
	strings   map[string]uint64
	functions map[[2]string]uint64 // by file and name
	locations map[Frame]uint64
}

// number adds a field with a number, or one more of a repeated field, in the encoding
// of protocol buffers.
func number(m []byte, field, n uint64) []byte {
	return varint.AppendUvarint(varint.AppendUvarint(m, field<<3), n)
}

// message adds a field with a message or a text, or one more of a repeated field.
func message(m []byte, field uint64, text []byte) []byte {
	const ofLength = 2
	m = varint.AppendUvarint(m, field<<3|ofLength)
	return append(varint.AppendUvarint(m, uint64(len(text))), text...)
}

func (w *profileWriter) message(field uint64, m []byte) { w.out = message(w.out, field, m) }

func (w *profileWriter) text(s string) uint64 {
	n, ok := w.strings[s]
	if !ok {
		n = uint64(len(w.strings))
		w.strings[s] = n
		w.message(profileStringTable, []byte(s))
	}
	return n
}

func (w *profileWriter) value(kind, unit string) []byte {
	return number(number(nil, valueType, w.text(kind)), valueUnit, w.text(unit))
}

func (w *profileWriter) location(f Frame) uint64 {
	id, ok := w.locations[f]
	if !ok {
		id = uint64(len(w.locations) + 1)
		w.locations[f] = id
		line := number(number(nil, lineFunction, w.function(f)), lineNumber, uint64(f.Pos.Line))
		m := number(nil, locationID, id)
		w.message(profileLocation, message(m, locationLine, line))
	}
	return id
}

func (w *profileWriter) function(f Frame) uint64 {
	key := [2]string{f.Pos.File, f.Fn}
	id, ok := w.functions[key]
	if !ok {
		id = uint64(len(w.functions) + 1)
		w.functions[key] = id
		name := w.text(strings.Trim(f.Fn, "<>")) // pprof takes <toplevel> for a template's arguments
		m := number(nil, functionID, id)
		m = number(m, functionName, name)
		m = number(m, functionSystemName, name)
		w.message(profileFunction, number(m, functionFile, w.text(f.Pos.File)))
	}
	return id
}
