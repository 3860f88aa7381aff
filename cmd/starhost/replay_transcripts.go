package main

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/agents/trace"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// A transcriptReplay replays the calls of agents' transcripts.
type transcriptReplay struct {
	trace.Past
	agents   []*agents.Agent
	golden   string                      // the folder for golden cases, "" for none
	dir      func(*loader.Config) string // of the decision log
	cases    int
	last     host.Outcome // of the last call, with what its handlers did
	warnings []loader.Warning
}

// newPast returns the transcripts that the flags ask for, nil for a log.
func newPast(env Env, f *replayFlags) (*transcriptReplay, error) {
	switch {
	case !f.transcripts && (len(f.agents) > 0 || f.golden != ""):
		return nil, usagef("replay: --agent and --golden are for --transcripts")
	case !f.transcripts:
		return nil, nil
	case len(f.logs) > 0:
		return nil, usagef("replay: got --transcripts and --log, want one")
	}
	t := &transcriptReplay{golden: f.golden, dir: env.logDir}
	t.Reader, t.Home, t.Days = &trace.Reader{Getenv: env.getenv}, env.getenv("HOME"), map[string]bool{}
	if f.golden != "" {
		t.golden = env.path(f.golden)
	}
	var err error
	if t.Since, err = parseSince(f.since); err != nil {
		return nil, err
	}
	for _, name := range f.agents {
		agent := hook.AgentOf(name)
		if agent == nil {
			return nil, unknownAgent("replay: --agent", name)
		}
		if agent.Transcripts.Folder == "" {
			return nil, usagef("replay: --agent: starhost reads no transcripts of %s", agent.Title)
		}
		t.agents = append(t.agents, agent.Agent)
	}
	if len(f.agents) == 0 {
		t.agents = agents.All
	}
	return t, nil
}

// records returns the records of the calls, for the plugins of a set.
func (t *transcriptReplay) records(set *loader.Set) iter.Seq2[*decision.Record, error] {
	t.Host, t.Turn, t.Answered = set.Host, 1, t.dir(set.Config)
	for _, h := range set.Host.Hooks() {
		if h.Event != "pre_tool_call" && h.Event != "approve_tool_call" {
			t.Turn = 2 // the transcripts do not have the events with which it may have written state
		}
	}
	t.Log = decision.New(decision.Options{
		Include:  []string{decision.IncludePrompt, decision.IncludeResults, decision.IncludeWrites},
		Describe: builtins.DescribeCalls(set.Config.Kinds), Starhost: version(), Patterns: redactPatterns(set.Config),
		Mask: ownMask(set.Config),
	})
	useSet(t.Log, set)
	return t.Records(t.agents)
}

// observe remembers what the plugins decided about a call.
func (t *transcriptReplay) observe(e starhost.Event, out host.Outcome) error {
	if e.Name == "pre_tool_call" {
		t.last = out
	}
	return nil
}

// example returns the place of a call and what it was, masked as in the log, and masks the reason of its
// group, in which plugins may repeat the call. With --golden, it writes a case.
func (t *transcriptReplay) example(record *decision.Record, g *decision.ReplayGroup, e *starhost.Event) string {
	asked := *e // the plugins may have changed it
	asked.Arguments = record.Input["arguments"]
	r := t.Log.Record(asked, t.last)
	r.ID, r.Time, r.Answered = "transcript", record.Time, r.Decision.Action
	shown, err := t.Log.Mask(r)
	if err != nil {
		g.Reason = ""
		return record.ID
	}
	r.Decision.Reason = g.Reason
	if masked, err := t.Log.Mask(r); err == nil {
		g.Reason = masked.Decision.Reason
	}
	if t.golden != "" && !g.Unclear() {
		if err := t.writeCase(shown, g); err != nil {
			t.warnings = append(t.warnings, loader.Warning{Msg: fmt.Sprintf("%s: no golden case: %v", record.ID, err)})
		}
	}
	return fmt.Sprintf("%s: %s %s", record.ID, shown.Tool, shown.Asked(errtext.MaxClip))
}

// writeCase writes a golden case of a record, and leaves an earlier file as it is.
func (t *transcriptReplay) writeCase(r *decision.Record, g *decision.ReplayGroup) error {
	text, err := golden.CaseOf(r, g.Plugin)
	if err != nil {
		return err
	}
	t.cases++
	plugin := strings.Map(func(c rune) rune {
		if strings.ContainsRune("/\\: ", c) {
			return '_'
		}
		return c
	}, g.Plugin)
	file := filepath.Join(t.golden, fmt.Sprintf("%s_past_%d.txtar", plugin, t.cases))
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already", file)
	}
	if err := os.MkdirAll(t.golden, 0o777); err != nil {
		return err
	}
	return disk.Replace(file, []byte(text), 0o666)
}
