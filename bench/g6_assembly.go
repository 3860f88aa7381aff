package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

const (
	question = "Why is checkout slow?"
	plugins  = 10
)

// assembly compares whole prompts: 10 plugins, each with a hook and a loader of 5
// fragments of 4 KiB, of which 40 of 50 are unique, joined into one text.
func assembly(r *rig) error {
	impure, err := r.assembler("impure", made, "ctx, arg", "    ctx.now\n", 4096) // which no memo may answer
	if err != nil {
		return err
	}
	holding, err := r.assembler("holding", constants, "ctx, arg", "    ctx.now\n", 4096)
	if err != nil {
		return err
	}
	pure, err := r.assembler("pure", made, "arg", "", 4096)
	if err != nil {
		return err
	}
	inGo, err := goAssembler()
	if err != nil {
		return err
	}
	ours := map[string]side{
		"new": loop(impure.prompt(fresh())), "known": loop(impure.prompt(fixed)),
		"held": loop(holding.prompt(fixed)), "pure": loop(pure.prompt(fixed)),
	}
	for _, c := range []struct {
		claim       claim
		ours, peers string
	}{
		{claim{"G6", "prompts of new content, speed by pluggy", atLeast(1.2)}, "new", "new"},
		{claim{"G6", "prompts of known content, speed by pluggy", atLeast(3.5)}, "known", "known"},
		{claim{"G6", "prompts of known content that plugins hold, speed by pluggy", atLeast(3.5)}, "held", "held"},
		{claim{"G6", "prompts of pure loaders, speed by pluggy", atLeast(6)}, "pure", "known"},
	} {
		start := func() (side, error) { return r.timedPython("pluggy", "assembly.py", c.peers) }
		if err := r.against(c.claim, ours[c.ours].on(1), start); err != nil {
			return err
		}
	}
	closures := loop(inGo.prompt(fixed)).on(1)
	if err := r.compare(claim{"G6", "prompts of pure loaders, speed by Go closures", atLeast(0.45)}, ours["pure"].on(1), closures); err != nil {
		return err
	}
	known := func() side { return loop(impure.prompt(fixed)) }
	if err := r.compare(claim{"G6b", "prompts of known content, 2 processors by 1", atLeast(1.9)}, both(known(), known()).on(2), known().on(1)); err != nil {
		return err
	}
	return r.assemblyCosts(impure, holding)
}

// assemblyCosts adds the tail of prompts of known content, and the memory of those
// whose texts plugins hold.
func (r *rig) assemblyCosts(made, held *assembler) error {
	large, err := r.assembler("large", constants, "ctx, arg", "    ctx.now\n", 16<<10)
	if err != nil {
		return err
	}
	ratio, err := r.tail(made.prompt(fixed))
	if err != nil {
		return err
	}
	r.figure(claim{"G6c", "prompts of known content, p99 by p50", atMost(3)}, ratio)
	_, bytes, err := cost(held.prompt(fixed))
	if err != nil {
		return err
	}
	_, more, err := cost(large.prompt(fixed))
	if err != nil {
		return err
	}
	r.figure(claim{"G6c", "prompts of known content, memory", atMost(16).of("KiB")}, bytes/1024)
	r.figure(claim{"G6c", "the same, fragments of 16 KiB against 4 KiB", atMost(0).of("KiB more")}, (more-bytes)/1024)
	return nil
}

// tail returns the time of the slowest prompt but 1 in 100 by that of the median.
func (r *rig) tail(prompt func() error) (float64, error) {
	took := make([]time.Duration, r.size(5000))
	for i := range took {
		start := time.Now()
		if err := prompt(); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100]) / float64(took[len(took)/2]), nil
}

// An assembler makes prompts of one host.
type assembler struct {
	host *starhost.Host
	size int // of each fragment
}

// fixed is the argument of loaders that give what they gave before.
func fixed() string { return "fixed" }

// fresh returns arguments of which each is new.
func fresh() func() string {
	n := 0
	return func() string {
		n++
		return strconv.Itoa(n)
	}
}

// prompt makes work of assembling the first prompt of a session and of writing its
// text into memory that is there.
func (a *assembler) prompt(arg func() string) func() error {
	var out bytes.Buffer
	least := int64(unique * len(body(a.size)))
	return func() error {
		arg, refs := arg(), make([]string, plugins)
		for i := range refs {
			refs[i] = "ref" + strconv.Itoa(i) + ":" + arg
		}
		session := a.host.NewSession(starhost.SessionConfig{ID: "bench"})
		p, err := session.Prompt(context.Background(), starhost.Request{Text: question, Fragments: refs})
		if err != nil {
			return err
		}
		out.Reset()
		if n, err := p.Text.WriteTo(&out); err != nil || n < least {
			return fmt.Errorf("got a prompt of %d B (%v), want at least %d", n, err, least)
		}
		return nil
	}
}

// body is what all fragments of a size end with.
func body(size int) string { return strings.Repeat("0123456789abcde\n", size/16-1) }

// The loaders have parameters, and begin with a statement. Those of made make the text
// of each fragment anew; those of constants give texts that the plugin holds.
const (
	made = `
BODY = "0123456789abcde\n" * %[1]d

def load_%[2]d(%[3]s):
%[4]s    return [fragment("%%s %%d\n" %% (arg, (%[2]d * 5 + j) %% 40) + BODY, source = "%[2]d/%%d.md" %% j) for j in range(5)]

` + registered
	constants = `
BODY = "0123456789abcde\n" * %[1]d
TEXTS = ["fixed %%d\n" %% ((%[2]d * 5 + j) %% 40) + BODY for j in range(5)]

def load_%[2]d(%[3]s):
%[4]s    return [fragment(TEXTS[j], source = "%[2]d/%%d.md" %% j) for j in range(5)]

` + registered
	registered = `
register_fragment_loader("ref%[2]d", load_%[2]d)
register_hook("pre_llm_call", lambda: "remember %[2]d")
`
)

// assembler loads the plugins in Starlark.
func (r *rig) assembler(folder, source, params, first string, size int) (*assembler, error) {
	sources := map[string]string{}
	for i := range plugins {
		sources["p"+strconv.Itoa(i)] = fmt.Sprintf(source, size/16-1, i, params, first)
	}
	set, err := r.load(folder, sources)
	if err != nil {
		return nil, err
	}
	return &assembler{set.Host, size}, nil
}

// goAssembler has the same plugins in Go, whose loaders give what they made before:
// what a prompt costs without Starlark.
func goAssembler() (*assembler, error) {
	h := starhost.New(starhost.Options{})
	for i := range plugins {
		var c starhost.Context
		for j := range 5 {
			text := fmt.Sprintf("fixed %d\n", (i*5+j)%unique) + body(4096)
			c.Fragments = append(c.Fragments, fragments.Fragment{Content: text, Source: fmt.Sprintf("%d/%d.md", i, j)})
		}
		load := func(context.Context, *starhost.Turn, string) (starhost.Context, error) { return c, nil }
		remember := func(context.Context, *starhost.Turn, *starhost.Event) (starhost.Decision, error) {
			return starhost.TextContext("remember " + strconv.Itoa(i)), nil
		}
		if err := h.Add(starhost.Plugin{
			Name:            "p" + strconv.Itoa(i),
			Hooks:           []starhost.Hook{{Event: "pre_llm_call", Call: remember}},
			FragmentLoaders: []starhost.FragmentLoader{{Prefix: "ref" + strconv.Itoa(i), Load: load}},
		}); err != nil {
			return nil, err
		}
	}
	return &assembler{h, 4096}, nil
}
