package starlark

import (
	"bytes"
	"compress/gzip"
	varint "encoding/binary"
	"strings"
)

// These are the fields that a profile uses from the messages of
// github.com/google/pprof/blob/main/proto/profile.proto.
const (
	profileSampleType, profileSample, profileLocation, profileFunction = 1, 2, 4, 5
	profileStringTable, profilePeriodType, profilePeriod               = 6, 11, 12
	valueType, valueUnit                                               = 1, 2
	sampleLocation, sampleValue                                        = 1, 2
	locationID, locationLine, lineFunction, lineNumber                 = 1, 4, 1, 2
	functionID, functionName, functionSystemName, functionFile         = 1, 2, 3, 4
)

// Pprof returns the counts so far in the format of go tool pprof. It encodes the protocol buffer
// itself. The libraries would slow each start of the program: pprof's compiles twenty regular
// expressions, and that of protocol buffers reads the executable.
func (p *Profile) Pprof() ([]byte, error) {
	w := &profileWriter{strings: map[string]uint64{}, functions: map[[2]string]uint64{}, locations: map[Frame]uint64{}}
	w.text("") // the table must begin with the empty string
	w.message(profileSampleType, w.value("steps", "count"))
	w.message(profileSampleType, w.value("alloc_space", "bytes"))
	w.message(profilePeriodType, w.value("steps", "count"))
	w.out = appendNumber(w.out, profilePeriod, 1)
	for _, s := range p.samples() {
		var m []byte
		for _, f := range s.Stack {
			m = appendNumber(m, sampleLocation, w.location(f))
		}
		m = appendNumber(m, sampleValue, s.Steps)
		m = appendNumber(m, sampleValue, s.Bytes)
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

// A profileWriter writes each text, function and location once, and numbers them for samples.
type profileWriter struct {
	out       []byte
	strings   map[string]uint64
	functions map[[2]string]uint64 // by file and name
	locations map[Frame]uint64
}

// appendNumber appends a numeric field, or another element of a repeated one, to the protocol
// buffer m.
func appendNumber(m []byte, field, n uint64) []byte {
	return varint.AppendUvarint(varint.AppendUvarint(m, field<<3), n)
}

// appendMessage appends a field with a message or a text, or another element of a repeated one,
// to m.
func appendMessage(m []byte, field uint64, text []byte) []byte {
	const ofLength = 2
	m = varint.AppendUvarint(m, field<<3|ofLength)
	return append(varint.AppendUvarint(m, uint64(len(text))), text...)
}

func (w *profileWriter) message(field uint64, m []byte) { w.out = appendMessage(w.out, field, m) }

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
	return appendNumber(appendNumber(nil, valueType, w.text(kind)), valueUnit, w.text(unit))
}

func (w *profileWriter) location(f Frame) uint64 {
	id, ok := w.locations[f]
	if !ok {
		id = uint64(len(w.locations) + 1)
		w.locations[f] = id
		line := appendNumber(appendNumber(nil, lineFunction, w.function(f)), lineNumber, uint64(f.Pos.Line))
		m := appendNumber(nil, locationID, id)
		w.message(profileLocation, appendMessage(m, locationLine, line))
	}
	return id
}

func (w *profileWriter) function(f Frame) uint64 {
	key := [2]string{f.Pos.File, f.Fn}
	id, ok := w.functions[key]
	if !ok {
		id = uint64(len(w.functions) + 1)
		w.functions[key] = id
		name := w.text(strings.Trim(f.Fn, "<>")) // pprof cuts the brackets and their text from a name
		m := appendNumber(nil, functionID, id)
		m = appendNumber(m, functionName, name)
		m = appendNumber(m, functionSystemName, name)
		w.message(profileFunction, appendNumber(m, functionFile, w.text(f.Pos.File)))
	}
	return id
}
