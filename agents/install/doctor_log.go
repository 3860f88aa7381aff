package install

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/internal/jsontext"
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
	line  []byte           // its line, until the file is read
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
	for line, err := range r.Lines() {
		if err != nil {
			break
		}
		record := headOf(line)
		if record == nil || record.Time.Before(r.Since) {
			continue
		}
		recent = true
		if all[record.Agent] == nil {
			all[record.Agent] = &usage{tools: map[string]bool{}}
		}
		all[record.Agent].add(record, line)
	}
	for _, u := range all {
		if whole, err := decision.ParseRecord(u.line); err == nil {
			u.last.Answered, u.line = whole.Answered, nil
		}
	}
	return recent
}

// add adds a record, of which only the members in front of its input are there, and its line.
func (u *usage) add(record *decision.Record, line []byte) {
	switch {
	case record.Event != "call_ran":
		if u.last == nil || record.Time.After(u.last.Time) {
			u.last, u.line = record, append(u.line[:0], line...)
		}
		if record.Foreign && record.Kind == "other" && len(u.tools) < usageTools {
			u.tools[record.Tool] = true
		}
	default:
		if u.ran++; record.Time.After(u.lastRan.Time) {
			u.lastRan = decision.Record{Time: record.Time}
			if whole, err := decision.ParseRecord(line); err == nil {
				u.lastRan.Decision.Reason = whole.Decision.Reason
			}
		}
	}
}

// headOf returns the members of a record that are in front of its input, nil for a line that is no record. The rest
// takes most of the time to parse.
func headOf(line []byte) *decision.Record {
	head, _, isKnown := bytes.Cut(line, []byte(`,"input":{`)) // in a text, the quotes would be escaped
	d, err := jsontext.Parse(string(head)+"}", 2)
	if !isKnown || err != nil {
		r, _ := decision.ParseRecord(line) // nil if it is none
		return r
	}
	text := func(name string) string { return d.StringAt(d.Member(0, name)) }
	at, err := time.Parse(time.RFC3339Nano, text("time"))
	if err != nil || text("schema") != decision.Schema {
		return nil
	}
	return &decision.Record{
		Time: at, Agent: text("agent"), Event: text("event"), Tool: text("tool"), Kind: text("kind"), Foreign: d.IsTrue(d.Member(0, "foreign")),
	}
}

// unlisted returns the tools in the log that the agent's table does not have, so that guards do not find them
// by their kind.
func (u *usage) unlisted(matches func(string) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(u.tools)), matches)
}
