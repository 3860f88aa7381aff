package install

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/starhost/starhost/decision"
)

// Bounds of what Doctor reads of the decision log. It begins with the newest file.
const (
	usageDays  = 7
	usageBytes = 64 << 20 // Doctor reads a file to its end if it begins below this number of bytes
	usageTools = 100      // the most names of tools of one agent
)

// A usage is what the decision log shows about an agent.
type usage struct {
	last  *decision.Record // the last event, without its contents; nil if the agent did not ask
	tools map[string]bool  // tools that the agent's table does not have
	// ran counts the calls that ran with other arguments than guards judged, or although they were refused.
	// lastRan is the last of them.
	ran     int
	lastRan decision.Record
}

// readUsage reads the newest part of the decision log. It returns what it finds, and no error: a guard works
// without the log.
func (d *Doctor) readUsage() map[string]*usage {
	if d.Log == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(d.Log, "decisions-*.jsonl"))
	if err != nil {
		return nil
	}
	slices.Sort(files)
	slices.Reverse(files) // the names are dates
	all, size := map[string]*usage{}, int64(0)
	for _, file := range files {
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if size >= usageBytes || !d.addUsage(all, file) {
			break
		}
		size += info.Size()
	}
	return all
}

// addUsage adds the records of one file. It reports whether the file has records of the last days.
func (d *Doctor) addUsage(all map[string]*usage, file string) (recent bool) {
	r, err := decision.NewReader(file)
	if err != nil {
		return true
	}
	r.Since = d.Now.AddDate(0, 0, -usageDays)
	for record, err := range r.All() {
		if err != nil {
			break
		}
		recent = true
		u := all[record.Agent]
		if u == nil {
			u = &usage{tools: map[string]bool{}}
			all[record.Agent] = u
		}
		if record.Event == "call_ran" {
			if u.ran++; record.Time.After(u.lastRan.Time) {
				u.lastRan = decision.Record{Time: record.Time, Decision: decision.Decision{Reason: record.Decision.Reason}}
			}
			continue
		}
		if u.last == nil || record.Time.After(u.last.Time) {
			u.last = &decision.Record{Time: record.Time, Event: record.Event, Answered: record.Answered}
		}
		if record.Foreign && record.Kind == "other" && len(u.tools) < usageTools {
			u.tools[record.Tool] = true
		}
	}
	return recent
}

// unlisted returns the tools in the log that the agent's table does not have, so that guards do not find them
// by their kind.
func (u *usage) unlisted(matches func(string) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(u.tools)), matches)
}
