package main

import (
	"encoding/json"
	"strings"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/difftext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/report"
)

// A comparison says how a prompt differs from an earlier report.
type comparison struct {
	text       string
	diff       string            // for the first changed block; "" if none changed
	cacheBreak *report.BreakJSON // nil if a provider can use its cache of the earlier prompt
}

// comparePrompt compares a prompt with the report of an earlier -F json. A prompt that begins
// with the whole earlier prompt breaks no cache.
func (env Env) comparePrompt(res *Result, file string, p *host.Prompt) (*comparison, error) {
	text, err := env.readText(file)
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
	now := sections(jsontext.List(p.Tools, res.view().NewToolJSON), p.System, p.Text.String(), jsontext.List(p.Fragments, res.view().NewFragmentJSON))
	was := sections(old.Tools, old.Prompt.System, old.Prompt.Text, old.Fragments)
	c := report.Compare(file, was, now)
	if c.Break == nil {
		return &comparison{text: c.Text}, nil
	}
	res.code = report.ExitNegative
	b := report.BreakJSON(*c.Break)
	return &comparison{text: c.Text, diff: difftext.Unified(file, "now", c.Before, c.Now), cacheBreak: &b}, nil
}

// sections returns the parts of a prompt in the order in which providers read them.
func sections(tools []report.ToolJSON, system, text string, rows []report.FragmentJSON) []report.Section {
	var b strings.Builder
	for _, t := range tools {
		b.Write(append(jsontext.Must([]any{t.Name, t.Description, t.Parameters}), '\n'))
	}
	list := []report.Section{{Name: "tools", Text: b.String()}, {Name: "system text", Text: system}, {Name: "prompt", Text: text}}
	for _, r := range rows {
		i := 2
		if r.Target == fragments.System.String() {
			i = 1
		}
		if r.Offset >= 0 && r.Status == fragments.Kept {
			block := report.Block{Offset: r.Offset, Content: r.Content, Source: originText(&r)}
			if len(r.Provenance) > 0 {
				block.Plugin = r.Provenance[0].Plugin
			}
			list[i].Blocks = append(list[i].Blocks, block)
		}
	}
	return list
}

// originText names the first origin of a fragment.
func originText(r *report.FragmentJSON) string {
	if len(r.Provenance) == 0 {
		return r.ID.Short()
	}
	o := r.Provenance[0]
	if o.Plugin == "" {
		return o.Source
	}
	return o.Source + " (" + o.Plugin + ")"
}
