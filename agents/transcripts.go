package agents

import (
	"path"
	"slices"
	"strings"
)

// Transcripts say where an agent writes down what it did. The zero value is for an agent whose
// transcripts starhost cannot read.
type Transcripts struct {
	// Folder is the agent's folder, and "~" the user's home. Env are environment variables that name
	// another one, with spaces between them; "NAME/sub" is the folder sub inside.
	Folder, Env string
	// Files are globs on paths in the folder, with spaces between them.
	Files string
	// HasIDs is true if the hook before a call gets the id that the transcript has.
	HasIDs bool
	// VagueFailures is true if the transcript of a call that failed does not say whether the tool ran.
	VagueFailures bool
	// ShowsRan is true if the transcript has the arguments that ran, also if a hook changed them.
	ShowsRan bool
	// HidesDenied is true if a call that a hook denied has no result.
	HidesDenied bool
	// Quiet names tools of the agent at which it sends no event and which touch nothing outside of it.
	Quiet string
	// Opaque names tools at which it sends no event and which run code that calls other tools. The agent sends
	// events about these, and its transcripts do not have them.
	Opaque string
}

// Folders returns the folders of the transcripts: the usual one and those that variables name.
// getenv returns environment variables.
func (t *Transcripts) Folders(getenv func(string) string) (list []string) {
	if t.Folder == "" {
		return nil
	}
	if rest, inHome := strings.CutPrefix(t.Folder, "~"); !inHome || getenv("HOME") != "" {
		folder := t.Folder
		if inHome {
			folder = path.Join(getenv("HOME"), rest)
		}
		list = append(list, folder)
	}
	for env := range strings.FieldsSeq(t.Env) {
		name, sub, _ := strings.Cut(env, "/")
		if folder := path.Join(getenv(name), sub); path.IsAbs(getenv(name)) && !slices.Contains(list, folder) {
			list = append(list, folder)
		}
	}
	return list
}

// Matches reports whether a path in the folder is a transcript.
func (t *Transcripts) Matches(rel string) bool { return t.matches(rel, false) }

// MayHave reports whether a folder in the folder may contain transcripts.
func (t *Transcripts) MayHave(rel string) bool { return t.matches(rel, true) }

func (t *Transcripts) matches(rel string, isPart bool) bool {
	depth := strings.Count(rel, "/") + 1
	for glob := range strings.FieldsSeq(t.Files) {
		if parts := strings.Split(glob, "/"); isPart && len(parts) > depth {
			glob = path.Join(parts[:depth]...)
		}
		if ok, _ := path.Match(glob, rel); ok {
			return true
		}
	}
	return false
}
