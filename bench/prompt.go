package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starhost/starhost/host"
)

const (
	question = "Why is checkout slow?"
	plugins  = 10
)

// Loaders of these sources give 5 fragments each. The first makes the text of each fragment, which
// contains the argument; the second gives texts that the plugin made when it was loaded.
const (
	makingLoader = `
BODY = "0123456789abcde\n" * %[1]d

def load_%[2]d(arg):
    return [fragment("%%s %%d\n" %% (arg, (%[2]d * 5 + j) %% 40) + BODY, source = "%[2]d/%%d.md" %% j) for j in range(5)]
` + registrations
	holdingLoader = `
BODY = "0123456789abcde\n" * %[1]d
TEXTS = ["fixed %%d\n" %% ((%[2]d * 5 + j) %% 40) + BODY for j in range(5)]

def load_%[2]d(arg):
    return [fragment(TEXTS[j], source = "%[2]d/%%d.md" %% j) for j in range(5)]
` + registrations
	registrations = `
register_fragment_loader("ref%[2]d", load_%[2]d)
register_hook("pre_llm_call", lambda: "remember %[2]d")
`
)

// wholePrompts compares whole prompts: 10 plugins, each with a hook and a loader of 5 fragments of
// 4 KiB, of which 40 of 50 are unique, joined into one text.
func wholePrompts(r *rig) {
	for _, c := range []struct {
		what   string
		source string
		want   limit
	}{
		{"new content", makingLoader, atLeast(0.7)},
		{"content that plugins hold", holdingLoader, atLeast(1.6)},
	} {
		prompt := r.prompts(c.what, c.source, 4<<10)
		ours := claim{"P4", "prompts of " + c.what + ", speed by pluggy", c.want}
		kind, _, _ := strings.Cut(c.what, " ")
		start := func() side { return r.timedPython("pluggy", "prompt.py", kind) }
		r.compareWith(ours, loop(prompt).onProcessors(1), start)
	}
	r.promptTail()
}

// promptTail adds the 99th percentile of the time of prompts, divided by the median. The plugins made the
// content when they were loaded.
func (r *rig) promptTail() {
	prompt := r.prompts("small", holdingLoader, 4<<10)
	took := make([]time.Duration, r.scale(5000))
	for i := range took {
		start := time.Now()
		prompt()
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	tail := float64(took[len(took)*99/100]) / float64(took[len(took)/2])
	r.figure(claim{"P4", "prompts of content that plugins hold, p99 by p50", atMost(3)}, tail)
}

// prompts loads plugins, and makes work that builds the first prompt of a session and writes
// its text into a buffer. Each prompt asks the loaders for another argument, so that no answer
// can come from a cache; all arguments have one length, so that prompts cost the same.
func (r *rig) prompts(folder, source string, size int) func() {
	sources := map[string]string{}
	for i := range plugins {
		sources["p"+strconv.Itoa(i)] = fmt.Sprintf(source, size/16-1, i)
	}
	set := r.load(folder, sources)
	var out bytes.Buffer
	n, least := 10_000_000, int64(unique*(size-16))
	return func() {
		n++
		refs := make([]string, plugins)
		for i := range refs {
			refs[i] = "ref" + strconv.Itoa(i) + ":" + strconv.Itoa(n)
		}
		session := set.Host.NewSession(host.SessionConfig{ID: "bench"})
		p := must(session.Prompt(context.Background(), host.Request{Text: question, Fragments: refs}))
		out.Reset()
		if got, err := p.Text.WriteTo(&out); err != nil || got < least {
			try(fmt.Errorf("got a prompt of %d B (%v), want at least %d", got, err, least))
		}
	}
}
