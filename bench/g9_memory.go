package main

import (
	"errors"
	"strconv"
	"strings"
)

// peakMemory compares the greatest resident sizes of whole processes.
func peakMemory(r *rig) error {
	starhost, err := r.program(starhostProgram)
	if err != nil {
		return err
	}
	dir, err := r.plugins()
	if err != nil {
		return err
	}
	ours, err := r.peak(starhost, "eval", dir, "-p", "hello", "-F", "text")
	if err != nil {
		return err
	}
	r.add(row{claim: claim{"G9", "peak of 1,000 plugins", atMost(16).of("MiB")}, got: ours})
	if err := r.peakOfOPA(ours); err != nil {
		return err
	}
	return r.peakOfPython(ours)
}

// peakOfOPA adds the row against opa with as many policies.
func (r *rig) peakOfOPA(ours spread) error {
	c := claim{"G9", "peak of 1,000 plugins, by opa", atMost(1.0 / 5)}
	opa, policies, err := r.policies()
	if err != nil {
		return err
	}
	theirs, err := r.peak(opa, "eval", "--data", policies, "--format", "raw", "data.p0.runbook")
	if err != nil {
		return err
	}
	r.figure(c, ours.median/theirs.median)
	return nil
}

// peakOfPython adds the row against one child in Python for each plugin.
func (r *rig) peakOfPython(ours spread) error {
	c := claim{"G9", "peak of 1,000 plugins, by 1,000 Python children", limit{}}
	interpreter, err := python("json")
	if m, ok := errors.AsType[missing](err); ok {
		r.skip(c, m.Error())
		return nil
	}
	one, err := r.peak(interpreter, peer("picoclaw.py"))
	if err != nil {
		return err
	}
	r.figure(c, ours.median/(one.median*float64(r.size(1000))))
	return nil
}

// peak returns the greatest resident size of a process, in MiB.
func (r *rig) peak(name string, args ...string) (spread, error) {
	parent, err := r.program(childProgram)
	if err != nil {
		return spread{}, err
	}
	var sizes []float64
	for range min(r.pairs, 5) {
		out, err := r.output(nil, parent, append([]string{"peak", name}, args...)...)
		if err != nil {
			return spread{}, err
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
		if err != nil {
			return spread{}, err
		}
		sizes = append(sizes, kib/1024)
	}
	return spreadOf(sizes), nil
}
