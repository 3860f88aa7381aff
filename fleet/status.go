package fleet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/starhost/starhost/bundle"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/timetext"
	"github.com/starhost/starhost/loader"
)

const statusSchema = "starhost.status/1"

// A Status is what the last round of [Sync] did. Monitoring reads its file, and so does the next round.
type Status struct {
	Schema  string         `json:"schema"`
	Time    time.Time      `json:"time"` // of the round
	Bundles []BundleStatus `json:"bundles"`
	Logs    []LogState     `json:"logs"`
	// Coverage says whether the agents of the users ask.
	Coverage []Coverage `json:"coverage"`
}

// A Coverage is what doctor, which ran as a user, found out about one of the user's agents. A user may have
// made doctor say anything, so it has numbers and known words alone.
type Coverage struct {
	User   int            `json:"user"`
	Agent  string         `json:"agent"`  // "" if doctor did not answer
	Grade  string         `json:"grade"`  // how the guard holds
	Calls  int            `json:"calls"`  // the last ones of the agent's transcripts
	Faults int            `json:"faults"` // those that passed a guard by
	Counts map[string]int `json:"counts"` // by verdict
	Error  string         `json:"error"`  // why doctor did not answer
}

func (c Coverage) String() string {
	if c.Agent == "" {
		return fmt.Sprintf("user %d: %s", c.User, c.Error)
	}
	return fmt.Sprintf("user %d, %s: %s, %d of the last %d calls passed a guard by", c.User, c.Agent, c.Grade, c.Faults, c.Calls)
}

// A LogState says how far the log in a folder was sent.
type LogState struct {
	Path    string `json:"path"`
	Sent    int    `json:"sent,omitempty"` // in the last round
	Behind  int    `json:"behind"`         // records that log.send of the config did not get yet
	Dropped int    `json:"dropped"`        // records that it refused, or that could not be written
}

func (s LogState) String() string {
	text := fmt.Sprintf("%d behind, %d dropped: %s", s.Behind, s.Dropped, s.Path)
	if s.Sent > 0 {
		text = fmt.Sprintf("%d sent, ", s.Sent) + text
	}
	return text
}

// A BundleStatus is the state of one bundle on this machine.
type BundleStatus struct {
	Name      string `json:"name"`
	Digest    string `json:"digest"`   // of the active version; "" for none
	Sequence  int64  `json:"sequence"` // of the active version
	Age       *int64 `json:"age"`      // seconds since LastFetch; null for never, or for a clock that went back
	LastFetch string `json:"last_fetch"`
	LastError string `json:"last_error"` // why the last round failed, "" if it did not
	LastCode  string `json:"last_code"`
	// Needs are permissions that plugins of the bundle declare and the managed config does not grant.
	Needs []string `json:"needs"`
	// Problem says what is wrong with the files on this machine, "" for nothing. Only [Examine] sets it.
	Problem string `json:"problem,omitempty"`
	// Old is true if Age is over max_age. Only [Examine] sets it.
	Old bool `json:"old,omitempty"`

	URL     string `json:"url"`
	ETag    string `json:"etag"`    // of the archive at URL that ETagOf names
	ETagOf  string `json:"etag_of"` // the digest that was active when the server sent ETag
	Highest int64  `json:"highest"` // the highest sequence that was ever active
}

// maxStatus is the most bytes of the status that are read. A row of Coverage has some 150.
const maxStatus = 8 << 20

// ReadStatus reads the status of the last round. If there is none, or none that can be read, it is as if
// there never was a round: the next one fetches again.
func ReadStatus(c *loader.Config) *Status {
	s := new(Status)
	text, err := disk.Read(c.Status.Real)
	if err != nil || len(text) > maxStatus || json.Unmarshal(text, s) != nil || s.Schema != statusSchema {
		return new(Status)
	}
	return s
}

// of returns the status of a bundle.
func (s *Status) of(name string) BundleStatus {
	if i := slices.IndexFunc(s.Bundles, func(b BundleStatus) bool { return b.Name == name }); i >= 0 {
		return s.Bundles[i]
	}
	return BundleStatus{Name: name, Needs: []string{}}
}

// record adds how a round ended.
func (b *BundleStatus) record(r *round, now time.Time, err error) {
	if b.URL = r.config.URL; r.manifest != nil {
		b.Digest, b.Sequence = r.active.Digest, r.manifest.Sequence
		b.Highest = max(b.Highest, b.Sequence)
	}
	b.LastError, b.LastCode = "", ""
	if err != nil {
		b.LastError = errtext.CutTo(err.Error(), maxReason, "…")
		if coded, ok := errors.AsType[interface {
			error
			Code() string
		}](err); ok {
			b.LastCode = coded.Code()
		}
	} else {
		b.LastFetch = now.Format(time.RFC3339)
	}
	b.age(now)
}

// age sets Age.
func (b *BundleStatus) age(now time.Time) {
	b.Age = nil
	if at, err := time.Parse(time.RFC3339, b.LastFetch); err == nil && !at.After(now) {
		seconds := int64(now.Sub(at) / time.Second)
		b.Age = &seconds
	}
}

// write replaces the file of the status, and returns its text.
func (s *Status) write(c *loader.Config) (text []byte, err error) {
	if text, err = jsontext.Encode(s); err != nil {
		return nil, err
	}
	return text, disk.Replace(c.Status.Real, append(slices.Clip(text), '\n'), 0o644)
}

func sortedNames(c *loader.Config) []string { return slices.Sorted(maps.Keys(c.Bundles)) }

// Examine returns the state of all bundles of a config. It hashes their files again.
func Examine(c *loader.Config, now time.Time) []BundleStatus {
	old := ReadStatus(c)
	list := []BundleStatus{}
	for _, name := range sortedNames(c) {
		b := old.of(name)
		b.age(now)
		b.Digest, b.Sequence = "", 0
		home := c.BundleFolder(name)
		active, err := loader.ReadActiveBundle(home)
		if err == nil {
			b.Digest = active.Digest
			r := round{home: home}
			if m := r.intact(active.Folder(), active.Digest); m != nil {
				b.Sequence = m.Sequence
			} else {
				_, _, err = bundle.ReadFolder(filepath.Join(home, active.Folder()), nil)
				if err == nil {
					err = errors.New("the files are those of another version")
				}
			}
		}
		if err != nil {
			b.Problem = errtext.CutTo(err.Error(), maxReason, "…")
		}
		most := c.Bundles[name].MaxAge
		b.Old = most > 0 && b.Age != nil && time.Duration(*b.Age)*time.Second > most
		list = append(list, b)
	}
	return list
}

// Lines says in words what a person must know about the bundle.
func (b *BundleStatus) Lines() (lines []string) {
	what := "not installed"
	if b.Digest != "" {
		what = fmt.Sprintf("%s, sequence %d", b.Digest, b.Sequence)
	}
	lines = append(lines, "active: "+what)
	fetched := cmp.Or(b.LastFetch, "never")
	if b.Age != nil {
		fetched += ", " + timetext.FormatSpan(time.Duration(*b.Age)*time.Second) + " ago"
	}
	lines = append(lines, "fetched: "+fetched)
	if b.LastError != "" {
		lines = append(lines, "last round: "+b.LastError+" ["+b.LastCode+"]")
	}
	if b.Problem != "" {
		lines = append(lines, "problem: "+b.Problem+": starhost sync installs it again")
	}
	if b.Old {
		lines = append(lines, "warning: the last successful fetch is older than max_age")
	}
	for _, need := range b.Needs {
		lines = append(lines, "needs grant: "+need)
	}
	return lines
}
