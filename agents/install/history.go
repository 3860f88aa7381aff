package install

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/starhost/starhost/agents/trace"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/serve/hook"
)

// A history has the times at which install and uninstall changed settings, because the time of a
// settings file is that of its last change, by whomever. It is the file installs.json in the state
// folder.
type history struct {
	Schema  string  `json:"schema"`
	Changes []noted `json:"changes"`
}

// A noted change is one of a settings file.
type noted struct {
	trace.Change
	Agent string `json:"agent"`
	Path  string `json:"path"`
}

const (
	historySchema = "starhost.installs/1"
	maxChanges    = 1000    // the older ones go
	maxHistory    = 1 << 20 // bytes of the file
)

// historyFile returns the path of the history, "" without a state folder.
func (m *Machine) historyFile() string {
	sessions := hook.StateDir(m.Getenv)
	if sessions == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(sessions), "installs.json")
}

// readHistory returns the history, which is empty if there is none that starhost wrote.
func (m *Machine) readHistory() (h history) {
	f, err := disk.Open(m.historyFile())
	if err != nil {
		return h
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHistory))
	if err != nil || json.Unmarshal(text, &h) != nil || h.Schema != historySchema {
		return history{}
	}
	return h
}

// Note adds the changes of a result of install or uninstall to the history. The settings are already written, so that a
// failure changes nothing: doctor then looks at sessions that asked only.
func (m *Machine) Note(agent *hook.Agent, main *File, s *Scope, in bool, r *Result) {
	h := m.readHistory()
	before := len(h.Changes)
	for _, f := range r.Files {
		if f.State != "written" && f.State != "removed" {
			continue
		}
		n := noted{trace.Change{Time: time.Now().UTC(), In: in}, agent.Name, f.Path}
		if s.Project {
			n.Folder = main.Root
		}
		h.Changes = append(h.Changes, n)
	}
	file := m.historyFile()
	if len(h.Changes) == before || file == "" {
		return
	}
	h.Schema, h.Changes = historySchema, h.Changes[max(0, len(h.Changes)-maxChanges):]
	text, err := json.MarshalIndent(h, "", "  ")
	if err == nil && os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = disk.Replace(file, append(text, '\n'), 0o600)
	}
}

// Changes returns the changes of each agent: one for each settings file that it runs hooks of.
func (m *Machine) Changes() map[string][]trace.Change {
	all := map[string][]trace.Change{}
	in := map[string]bool{}
	for _, n := range m.readHistory().Changes {
		if key := n.Agent + "\x00" + n.Path; in[key] != n.In { // the same file again changes nothing
			in[key] = n.In
			all[n.Agent] = append(all[n.Agent], n.Change)
		}
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b trace.Change) int { return a.Time.Compare(b.Time) })
	}
	return all
}
