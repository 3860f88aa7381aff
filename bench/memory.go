package main

import (
	"fmt"
	"strings"
)

// A usage is the memory, the page faults and the time of processors of whole processes, each from
// its start to its end.
type usage struct{ peakMiB, faults, seconds spread }

// usage runs a process a few times and measures its usage.
func (r *rig) usage(c command) usage {
	parent := r.program(usageProgram)
	c.argv, c.want = append([]string{parent}, c.argv...), ""
	var peaks, faults, seconds []float64
	for range min(r.pairs, 5) {
		out := r.run(c).stdout
		var kib, minor, micros float64
		must(fmt.Sscan(out, &kib, &minor, &micros))
		peaks, faults, seconds = append(peaks, kib/1024), append(faults, minor), append(seconds, micros/1e6)
	}
	return usage{spreadOf(peaks), spreadOf(faults), spreadOf(seconds)}
}

// initialBytes returns the bytes that the packages of a Go program allocate before main begins.
func (r *rig) initialBytes(argv ...string) float64 {
	trace := r.run(command{argv: argv, env: []string{"GODEBUG=inittrace=1"}}).stderr
	return must(initBytes(trace))
}

// initBytes sums the bytes in a trace of GODEBUG=inittrace=1.
func initBytes(trace string) (float64, error) {
	sum := 0
	for line := range strings.Lines(trace) {
		var (
			name      string
			at, clock float64
			bytes     int
		)
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &clock, &bytes); n == 4 {
			sum += bytes
		}
	}
	if sum == 0 {
		return 0, fmt.Errorf("GODEBUG=inittrace=1: got no bytes in %.400q", trace)
	}
	return float64(sum), nil
}
