package main

import (
	"fmt"
	"strings"
)

// A usage is the memory, the page faults and the time of processors of whole processes, each from
// its start to its end.
type usage struct{ peakMiB, faults, seconds spread }

// usage runs a process a few times and measures its usage.
func (r *rig) usage(name string, args ...string) (usage, error) {
	parent, err := r.program(usageProgram)
	if err != nil {
		return usage{}, err
	}
	var peaks, faults, seconds []float64
	for range min(r.pairs, 5) {
		out, err := r.output(nil, parent, append([]string{name}, args...)...)
		if err != nil {
			return usage{}, err
		}
		var kib, minor, micros float64
		if _, err := fmt.Sscan(out, &kib, &minor, &micros); err != nil {
			return usage{}, fmt.Errorf("usage: got %q: %w", out, err)
		}
		peaks, faults, seconds = append(peaks, kib/1024), append(faults, minor), append(seconds, micros/1e6)
	}
	return usage{spreadOf(peaks), spreadOf(faults), spreadOf(seconds)}, nil
}

// comparePeaks adds the peak memory of a process by that of another one.
func (r *rig) comparePeaks(c claim, ours, base []string) error {
	var peaks [2]float64
	for i, command := range [2][]string{ours, base} {
		used, err := r.usage(command[0], command[1:]...)
		if err != nil {
			return err
		}
		peaks[i] = used.peakMiB.median
	}
	r.figure(c, peaks[0]/peaks[1])
	return nil
}

// initialBytes returns the bytes that the packages of a Go program allocate before main begins.
func (r *rig) initialBytes(name string, args ...string) (float64, error) {
	_, trace, err := r.outputs([]string{"GODEBUG=inittrace=1"}, name, args...)
	if err != nil {
		return 0, err
	}
	return initBytes(trace)
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
