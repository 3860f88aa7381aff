package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// A comparison says what an earlier report and this one have in common.
type comparison struct {
	text   string
	diff   string     // of the first block that changed, "" if none did
	broken *breakJSON // nil if a provider's cache of the earlier prompt still serves
}

// A section is a part of a prompt as a provider reads it: each behind the other.
type section struct {
	name string
	text string
	rows []fragmentJSON // of the fragments in it
}

// compare compares a prompt with the one of an earlier -F json. A prompt that
// begins with all of the earlier one breaks nothing.
func (a *app) compare(file string, p *starhost.Prompt) (*comparison, error) {
	text, err := a.read(file)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(text, "{") {
		if err := checkJSON(file, text); err != nil {
			return nil, err
		}
	}
	var old evalJSON
	if err := json.Unmarshal([]byte(text), &old); err != nil || old.Schema != "starhost.eval/1" || old.Prompt == nil {
		return nil, usagef("--against %s: got no report of a prompt, want what starhost eval -F json wrote", file)
	}
	now := sections(list(p.Tools, newToolJSON), p.System, p.Text.String(), list(p.Fragments, newFragmentJSON))
	was := sections(old.Tools, old.Prompt.System, old.Prompt.Text, old.Fragments)
	c := compareSections(file, was, now)
	if c.broken != nil {
		a.code = exitNegative
	}
	return c, nil
}

// sections returns the parts of a prompt in the order in which providers read
// them.
func sections(tools []toolJSON, system, text string, rows []fragmentJSON) []section {
	var b strings.Builder
	for _, t := range tools {
		b.Write(append(mustJSON([]any{t.Name, t.Description, t.Parameters}), '\n'))
	}
	list := []section{{name: "tools", text: b.String()}, {name: "system text", text: system}, {name: "prompt", text: text}}
	for _, r := range rows {
		i := 2
		if r.Target == fragments.System.String() {
			i = 1
		}
		if r.Offset >= 0 && r.Status == fragments.Kept {
			list[i].rows = append(list[i].rows, r)
		}
	}
	return list
}

func compareSections(file string, was, now []section) *comparison {
	before := 0 // bytes of the sections that are the same
	for i := range now {
		at := commonPrefix(was[i].text, now[i].text)
		last := i == len(now)-1
		switch {
		case last && at == len(was[i].text) && at == len(now[i].text):
			return &comparison{text: "the same as " + file}
		case last && at == len(was[i].text):
			return &comparison{text: fmt.Sprintf("begins with all of %s, %d B more", file, len(now[i].text)-at)}
		case at < len(was[i].text) || at < len(now[i].text):
			return newBreak(file, was[i], now[i], at, before)
		}
		before += at
	}
	return &comparison{}
}

// newBreak describes the first block that changed: the one at a byte of a section.
func newBreak(file string, was, now section, at, before int) *comparison {
	row, old, block := now.rowAt(at), was.text, now.text
	cause := now.name + " changed"
	broken := &breakJSON{Offset: int64(before + at)}
	if row != nil {
		cause = fmt.Sprintf("fragment %s changed", originText(row))
		if len(row.Provenance) > 0 {
			broken.Plugin = row.Provenance[0].Plugin
		}
		old, block = "", row.Content
		if before := was.rowAt(at); before != nil {
			old = before.Content
		}
	}
	broken.Cause = cause
	return &comparison{
		text:   fmt.Sprintf("a prompt cache of %s breaks at byte %d of the %s: %s", file, at, now.name, cause),
		diff:   diff(file, "now", old, block),
		broken: broken,
	}
}

// rowAt returns the fragment at a byte of the section, or nil.
func (s *section) rowAt(at int) *fragmentJSON {
	for i := range s.rows {
		if r := &s.rows[i]; r.Offset <= at && at < r.Offset+r.Bytes {
			return r
		}
	}
	return nil
}

// originText names a fragment by its first origin.
func originText(r *fragmentJSON) string {
	if len(r.Provenance) == 0 {
		return r.ID.Short()
	}
	o := r.Provenance[0]
	if o.Plugin == "" {
		return o.Source
	}
	return o.Source + " (" + o.Plugin + ")"
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// diff returns the unified difference of two texts, of which each line ends.
func diff(from, to, old, text string) string {
	return udiff.Unified(from, to, ended(old), ended(text))
}

// ended returns text with a line break at its end, if there is any text.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
