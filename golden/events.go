package golden

import (
	"bytes"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// appEvents are the events that a program which embeds plugins declares, from lines such as
//
//	{"name":"app.deploy","args":["service"],"actions":["context","deny"]}
//
// with "modify" and "guard" if needed: see [host.Options.AppEvents].
type appEvents struct {
	specs []starhost.EventSpec
	lines []int // the number of each event's line in the section, from 1
}

// readEvents reads the text of the section events.jsonl.
func readEvents(text []byte) (d appEvents, err error) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		spec, err := readEvent(line)
		if err != nil {
			return d, inSection(eventsFile, number, errtext.Errorf("%s: line %d: %s", eventsFile, number, jsontext.Explain(err)))
		}
		d.specs, d.lines = append(d.specs, spec), append(d.lines, number)
		if err := (&host.Options{AppEvents: d.specs}).Check(); err != nil {
			return d, inSection(eventsFile, number, errtext.Errorf("%s: line %d: %w", eventsFile, number, err))
		}
	}
	return d, nil
}

// An eventLine is one line of the section events.jsonl.
type eventLine struct {
	Name    string            `json:"name"`
	Args    []string          `json:"args"`
	Actions []starhost.Action `json:"actions"`
	Modify  []string          `json:"modify"`
	Guard   bool              `json:"guard"`
}

// readEvent reads one line of the section events.jsonl.
func readEvent(line []byte) (starhost.EventSpec, error) {
	var e eventLine
	err := decodeStrict(line, &e)
	return starhost.EventSpec{Name: e.Name, Args: e.Args, Actions: e.Actions, Modify: e.Modify, Guard: e.Guard}, err
}

// unused returns the numbers of the lines whose event no step fired and no hook listens to.
func (d *appEvents) unused(h *host.Host, fired map[string]bool) []int {
	if len(d.specs) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, k := range h.Hooks() {
		used[k.Event] = true
	}
	var lines []int
	for i, s := range d.specs {
		if !used[s.Name] && !fired[s.Name] {
			lines = append(lines, d.lines[i])
		}
	}
	return lines
}
