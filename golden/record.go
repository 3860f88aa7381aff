package golden

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
)

// A recording collects the real effects of one run of a case as lines of effects.jsonl. Each effect occurs
// once.
type recording struct {
	folder string              // the workspace, which is the folder that programs run in
	getenv func(string) string // returns variables of the machine's environment, which has secrets
	grants map[string][]string // what plugins may do, if the user does not trust the case; else nil
	lines  []string
	texts  []string        // a description of each line's effect
	seen   map[string]bool // the effects that lines has already
}

// allowEffects lets the plugins of a host reach the network, programs, and secrets of the
// machine that the case does not set. Plugins of a case that the user does not trust get only
// the effects of r.grants, and no secrets.
func (r *recording) allowEffects(ctx context.Context, o *loader.Options, lookup func(string) string) error {
	if r.grants != nil {
		clear(o.Config.Grants)
		for _, s := range o.Sources {
			o.Config.Grants[s.Name] = r.grants[s.Name]
		}
	} else if o.GrantDeclared {
		if err := grantDeclared(ctx, *o); err != nil {
			return err
		}
	}
	o.GrantDeclared = false
	o.World.HTTP, o.World.Exec, o.World.Answers = &effects.HTTP{}, &effects.Exec{Dir: r.folder}, nil
	o.Host.Record = r.add
	if r.grants != nil {
		return nil
	}
	o.World.Secrets = nil
	o.LookupEnv = func(name string) (string, bool) {
		value := lookup(name)
		if real := r.getenv(name); real != "" && value == defaultValue(name) {
			value = real
		}
		return value, true
	}
	return nil
}

// grantDeclared adds to the config a grant of everything that the plugins declare. It first loads the plugins
// without real effects, because [loader.Load] never gives such effects to plugins while they declare.
func grantDeclared(ctx context.Context, o loader.Options) error {
	o.Host = host.Options{}
	set, err := loader.Load(ctx, o)
	if err != nil {
		return err
	}
	for i := range set.Plugins {
		o.Config.Grants[set.Plugins[i].Name] = set.Plugins[i].Declared
	}
	return set.Close()
}

// add adds an effect, unless cases need no line for its kind.
func (r *recording) add(e host.Entry) {
	line, summary := effects.AnswerLine(e.Line)
	if line == "" {
		return
	}
	answers, err := effects.ReadAnswers(effectsFile, []byte(line))
	if err != nil {
		return // no error, because starhost wrote the line
	}
	if effect := answers.Unused()[0].Effect; !r.seen[effect] {
		r.seen[effect] = true
		r.lines = append(r.lines, line+"\n")
		r.texts = append(r.texts, "  "+texttable.EscapeLine(summary)+"\n")
	}
}

// recordAll runs the cases with real effects, and updates their effects.jsonl with the replies.
func recordAll(ctx context.Context, cases []*testCase, o *Options) error {
	st, err := newStage(conditions{workers: 1, cache: o.Cache}, o.Plugins)
	if err != nil {
		return err
	}
	st.options = o
	folder, err := loader.Workspace(o.Dir)
	if err != nil {
		return err
	}
	for _, rows := range splitFiles(cases) {
		c := rows[0]
		if c.has(recordedFile) {
			c.problem = errors.New("--record: got a case of starhost eval --record, want its effects from there: they have an order")
			continue
		}
		if len(c.selected) < len(c.rows) {
			c.problem = errtext.Errorf("--record: got %d of %d rows, want the whole case: its rows share %s", len(c.selected), len(c.rows), effectsFile)
			continue
		}
		st.recording = &recording{folder: folder, getenv: o.Getenv, seen: map[string]bool{}}
		if o.Getenv == nil {
			st.recording.getenv = func(string) string { return "" }
		}
		if !c.isTrusted(o) {
			st.recording.grants = map[string][]string{}
			maps.Copy(st.recording.grants, o.Config.Grants)
		}
		for _, row := range rows {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			st.run(ctx, row) // the later runs report a failure
			st.closeHosts()
		}
		c.record(st.recording)
	}
	return ctx.Err()
}

// isTrusted reports whether the user trusts the case and the plugin beside it. It refuses links, because
// trusting a folder does not pin the target of a link.
func (c *testCase) isTrusted(o *Options) bool {
	return o.Trusted == nil || c.checkWritable() == nil && o.Trusted(filepath.Dir(c.file.Real))
}

// record replaces the case's effects.jsonl, and describes what it recorded.
func (c *testCase) record(r *recording) {
	lines, old := strings.Join(r.lines, ""), withoutCR(string(c.text(effectsFile)))
	if c.problem != nil || lines == "" {
		return
	}
	c.recorded = "recorded " + countEffects(len(r.lines))
	if lines == old {
		c.recorded += ", as before:\n" + strings.Join(r.texts, "")
		return
	}
	c.recorded += ":\n" + strings.Join(r.texts, "")
	src := replaceSection(c.src, effectsFile, lines)
	if err := c.rewrite(src); err != nil {
		c.problem = writeError(c.file.Shown, err)
		return
	}
	c.set(effectsFile, []byte(lines))
	c.recordedNew = true
	c.recorded = unifiedDiff("old "+effectsFile, "new "+effectsFile, old, lines) + c.recorded
}

func countEffects(n int) string {
	if n == 1 {
		return "1 effect"
	}
	return fmt.Sprintf("%d effects", n)
}
