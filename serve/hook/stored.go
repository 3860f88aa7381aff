package hook

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/host"
)

// A StoredState describes the file of a session.
type StoredState struct {
	// Name is the name of the file without its end. It is a hash of the names of the agent and of the
	// session.
	Name   string
	Stored time.Time // when the last event stored it
	Size   int64     // the bytes of the file
	// Session also has the values of ctx.state. Files of older versions have neither ID nor Agent.
	Session host.SavedSession
	// Err says why the file cannot be read. If it is not nil, Session is empty.
	Err error
}

// List returns at most limit files of sessions, the last stored one first. It changes nothing, and does not
// wait for hooks that run. If the folder is missing, there are no files.
func (st *States) List(limit int) ([]StoredState, error) {
	dir, entries, err := st.entries()
	if dir == nil || err != nil {
		return nil, err
	}
	defer dir.Close()
	var list []StoredState
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || st.isExpired(info) {
			continue // another process has removed the file, or the next event will
		}
		name := strings.TrimSuffix(entry.Name(), stateEnd)
		stored := info.ModTime().UTC().Truncate(time.Second)
		list = append(list, StoredState{Name: name, Stored: stored, Size: info.Size()})
	}
	slices.SortFunc(list, func(a, b StoredState) int {
		return cmp.Or(b.Stored.Compare(a.Stored), strings.Compare(a.Name, b.Name))
	})
	list = list[:min(len(list), limit)]
	for i := range list {
		list[i].Session, list[i].Err = st.decodeFile(dir, list[i].Name)
	}
	return list, nil
}

// stateEnd is the end of the name of a session's file.
const stateEnd = ".json"

// entries returns the folder, and the files of sessions in it. If the folder is missing, both are nil.
func (st *States) entries() (*os.Root, []fs.DirEntry, error) {
	dir, err := st.openExisting()
	if dir == nil || err != nil {
		return nil, nil, err
	}
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		name, isState := strings.CutSuffix(e.Name(), stateEnd)
		_, err := hex.DecodeString(name)
		return !isState || len(name) != 64 || err != nil || !e.Type().IsRegular()
	})
	return dir, entries, nil
}

// decodeFile returns the session that a file has.
func (st *States) decodeFile(dir *os.Root, name string) (host.SavedSession, error) {
	text, _, err := st.readFile(dir, name+stateEnd)
	if err != nil {
		return host.SavedSession{}, err
	}
	var state savedState
	if err := json.Unmarshal(text, &state); err != nil || state.Version != stateVersion {
		return host.SavedSession{}, st.wrongVersion(name + stateEnd)
	}
	state.Session.State = state.Plugins
	return state.Session, nil
}

// wrongVersion returns the error that a file is no session's.
func (st *States) wrongVersion(file string) error {
	return fmt.Errorf("%s: this is no session of version %d (remove it)", filepath.Join(st.Dir, file), stateVersion)
}

// Remove removes the file of a session. name is the Name of a [StoredState]. Remove waits for a hook that
// uses the file.
func (st *States) Remove(name string) error {
	f, err := st.lockFile(name)
	if err != nil {
		return err
	}
	defer f.unlock()
	return f.remove()
}
