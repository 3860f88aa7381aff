package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"runtime/pprof"
	"strings"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/starlark"
)

// A profiling measures one run: what plugins spend by lines, which is exact and the
// same every time, and where the program's own time goes.
type profiling struct {
	plugins starlark.Profile
	host    bytes.Buffer
}

// start begins to measure.
func (p *profiling) start() error { return pprof.StartCPUProfile(&p.host) }

// finish writes what was measured, for go tool pprof: the plugins' steps and bytes to
// the file of that name, the host's time to the one with ".host" behind it.
func (p *profiling) finish(a *app, name string) error {
	pprof.StopCPUProfile()
	plugins, err := encodeProfile(p.plugins.Samples())
	if err != nil {
		return err
	}
	if err := outside(name, effects.ReplaceFile(a.path(name), plugins, 0o666)); err != nil {
		return err
	}
	return outside(name+".host", effects.ReplaceFile(a.path(name+".host"), p.host.Bytes(), 0o666))
}

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

// encodeProfile returns samples in the form that pprof reads. The library that also
// writes it compiles twenty regular expressions whenever the program starts, and that of
// protocol buffers reads the program's own file.
func encodeProfile(samples []starlark.Sample) ([]byte, error) {
	p := &profileWriter{strings: map[string]uint64{}, functions: map[[2]string]uint64{}, locations: map[starlark.Frame]uint64{}}
	p.text("") // the table begins with it
	p.message(profileSampleType, p.value("steps", "count"))
	p.message(profileSampleType, p.value("alloc_space", "bytes"))
	p.message(profilePeriodType, p.value("steps", "count"))
	p.out = number(p.out, profilePeriod, 1)
	for _, s := range samples {
		var m []byte
		for _, f := range s.Stack {
			m = number(m, sampleLocation, p.location(f))
		}
		m = number(m, sampleValue, s.Steps)
		m = number(m, sampleValue, s.Bytes)
		p.message(profileSample, m)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(p.out); err != nil {
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
	locations map[starlark.Frame]uint64
}

// number adds a field with a number, or one more of a repeated field, in the encoding
// of protocol buffers.
func number(m []byte, field, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(m, field<<3), n)
}

// message adds a field with a message or a text, or one more of a repeated field.
func message(m []byte, field uint64, text []byte) []byte {
	const ofLength = 2
	m = binary.AppendUvarint(m, field<<3|ofLength)
	return append(binary.AppendUvarint(m, uint64(len(text))), text...)
}

func (p *profileWriter) message(field uint64, m []byte) { p.out = message(p.out, field, m) }

func (p *profileWriter) text(s string) uint64 {
	n, ok := p.strings[s]
	if !ok {
		n = uint64(len(p.strings))
		p.strings[s] = n
		p.message(profileStringTable, []byte(s))
	}
	return n
}

func (p *profileWriter) value(kind, unit string) []byte {
	return number(number(nil, valueType, p.text(kind)), valueUnit, p.text(unit))
}

func (p *profileWriter) location(f starlark.Frame) uint64 {
	id, ok := p.locations[f]
	if !ok {
		id = uint64(len(p.locations) + 1)
		p.locations[f] = id
		line := number(number(nil, lineFunction, p.function(f)), lineNumber, uint64(f.Pos.Line))
		m := number(nil, locationID, id)
		p.message(profileLocation, message(m, locationLine, line))
	}
	return id
}

func (p *profileWriter) function(f starlark.Frame) uint64 {
	key := [2]string{f.Pos.File, f.Fn}
	id, ok := p.functions[key]
	if !ok {
		id = uint64(len(p.functions) + 1)
		p.functions[key] = id
		name := p.text(strings.Trim(f.Fn, "<>")) // pprof takes <toplevel> for a template's arguments
		m := number(nil, functionID, id)
		m = number(m, functionName, name)
		m = number(m, functionSystemName, name)
		p.message(profileFunction, number(m, functionFile, p.text(f.Pos.File)))
	}
	return id
}
