package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// maxState is the most bytes of each part of a session's stored state. The parts are the host's, and the
// values of the plugins of each layer.
const maxState = 1 << 20

// maxFile is the most bytes of a session's file: the parts of the host and of three layers.
const maxFile = 4*maxState + 64<<10

// maxStateAge is the age at which starhost drops a session's stored state.
const maxStateAge = 7 * 24 * time.Hour

// States stores the state of sessions between two processes, in files that only their owner can read. The
// name of a file is a hash of the session's name, because agents choose that name, and it could contain a
// path.
type States struct {
	// Dir is the folder of the files. States makes it if it is missing. If Dir is "", every session that
	// needs its state fails.
	Dir string
	// Memory, if not nil, stores the states in this process instead of in files, for a server.
	Memory *Memory
	// Now returns the time for the age of files. Nil means time.Now.
	Now func() time.Time
}

// StateDir returns the folder for sessions by the rules of XDG, or "" if the environment names none.
func StateDir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "starhost", "sessions")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "starhost", "sessions")
	}
	return ""
}

// stateVersion is the version of the file format.
const stateVersion = 1

// A savedState is the content of a session's file.
type savedState struct {
	Version int                 `json:"starhost_session"`
	Session host.SavedSession   `json:"session"`
	Plugins effects.SavedStates `json:"plugins,omitempty"`
	Layers  map[string]string   `json:"layers,omitempty"` // the layers of plugins: see [effects.Owner.Layer]
	Ended   bool                `json:"ended,omitempty"`  // session_end fired after the last prompt
}

// A heldSession is the session of one event. Its state is locked until end, or until store.
type heldSession struct {
	*host.Session // nil if plugins do not see the event
	options       *Options
	event         *Event
	file          *stateFile // nil if the event needs no state, or if starhost cannot read it
	state         savedState
	why           error // why starhost cannot read the state
}

// session returns the session of an event for a flow. If the flow needs no state, or starhost cannot read it,
// handlers see an empty state, which starhost does not store.
func (o *Options) session(ctx context.Context, h *host.Host, e *Event, f flow) *heldSession {
	config := host.SessionConfig{ID: e.session, Platform: e.agent.Name, Guarded: true}
	s, empty := &heldSession{options: o, event: e}, host.SavedSession{Started: e.kind != kindPrompt}
	if o.States == nil || e.session == "" || !f.needsSession(e, h) {
		s.Session = h.Resume(config, empty)
		return s
	}
	file, err := o.States.lock(ctx, fileName(e.agent.Name, e.session))
	if err == nil {
		var state savedState
		state, err = file.read()
		unheard := f.startedOnly && !state.Session.Started || e.kind == kindEnd && state.Ended
		state.applyEvent(e)
		state.Session.Guards = nil // guarded has compared the guards
		own := h.Resume(config, state.Session)
		if err == nil {
			err = state.restore(own)
		}
		if err == nil && !unheard {
			s.Session, s.file, s.state = own, file, state
			return s
		}
		if e.clear {
			o.report(file.remove())
		}
		file.unlock()
	}
	if err != nil {
		o.report(err)
		s.why = fmt.Errorf("starhost cannot read the state of this session, which a guard needs: %w", err)
		if !f.startedOnly {
			s.Session = h.Resume(config, empty)
		}
	}
	return s
}

// end takes the verdict of the flow, or the flow's error. A guard might decide differently with a state that
// starhost cannot read or store, so end refuses a tool call or approval then. store writes the state after
// other events.
func (s *heldSession) end(ctx context.Context, v *verdict, err error) (store func()) {
	e, o := s.event, s.options
	v.closeFor(e, s.why)
	if s.file == nil {
		return func() {}
	}
	storeNow := func() (failed error) {
		defer s.file.unlock()
		if err != nil {
			return nil
		}
		lost, failed := s.file.store(context.WithoutCancel(ctx), s.Session, e, &s.state)
		o.report(lost)
		o.report(failed)
		return failed
	}
	if e.kind != kindTool && e.kind != kindApprove {
		return func() { _ = storeNow() }
	}
	if failed := storeNow(); failed != nil {
		v.closeFor(e, fmt.Errorf("starhost cannot store the state of this session, which a guard needs: %w", failed))
	}
	return func() {}
}

// closeFor refuses a tool call or approval that plugins let pass, if why is not nil.
func (v *verdict) closeFor(e *Event, why error) {
	if why != nil && v != nil && !v.block && (e.kind == kindTool || e.kind == kindApprove) {
		*v = verdict{block: true, reason: why.Error()}
	}
}

func (o *Options) report(err error) {
	if err != nil && o.Report != nil {
		o.Report(err)
	}
}

// applyEvent changes a state as the event requires, before plugins see the session.
func (st *savedState) applyEvent(e *Event) {
	st.Ended = e.kind == kindEnd // any event but the end resumes the session
	switch e.kind {
	case kindPrompt:
		st.Session.Completed = false
	case kindStop, kindReply:
		st.Session.Completed = true
	case kindCompact: // the agent may have dropped the context of earlier prompts
		st.Session.Sent, st.Session.Parts, st.Session.Documents = nil, nil, 0
		st.Session.Offer = len(st.Session.Welcome) > 0
	}
}

// A stateFile is the locked file of one session. Other processes of the session wait until it is unlocked.
// Processes of other sessions do not wait, because plugins can take long.
type stateFile struct {
	states  *States
	dir     *os.Root // nil for a state in memory
	name    string
	oldText []byte // the content before the event; nil if there was no file
	unlock  func()
}

// lock opens and locks the file of a session. If ctx ends, only the wait for a state in memory ends: a
// process that uses files ends anyway.
func (st *States) lock(ctx context.Context, name string) (*stateFile, error) {
	if st.Memory != nil {
		unlock, err := st.Memory.lock(ctx, name)
		return &stateFile{states: st, name: name, unlock: unlock}, err
	}
	return st.lockFile(name)
}

// lockFile opens and locks the file of a session. name is the name of the file without its end.
func (st *States) lockFile(name string) (*stateFile, error) {
	dir, err := st.openDir()
	if err != nil {
		return nil, err
	}
	f := &stateFile{states: st, dir: dir, name: name + stateEnd}
	lock := filepath.Join(st.Dir, name+".lock")
	if err = f.checkFiles(); err == nil {
		err = f.inShard(func() error { return st.touchFile(lock) })
	}
	var unlock func()
	if err == nil {
		unlock, err = lockedfile.MutexAt(lock).Lock()
	}
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("sessions cannot be locked: %w", err)
	}
	f.unlock = func() {
		unlock()
		dir.Close()
	}
	return f, nil
}

// checkFiles refuses special files at the paths of the session's files, because opening a fifo waits for
// another process.
func (f *stateFile) checkFiles() error {
	name := strings.TrimSuffix(f.name, stateEnd)
	for _, file := range []string{"lock-" + name[:1], name + ".lock", f.name, name + tempEnd} {
		if err := checkRegular(f.dir, f.states.Dir, file); err != nil {
			return err
		}
	}
	return nil
}

// tempEnd is the end of the name of a file that is not written completely yet.
const tempEnd = ".new"

// inShard calls change while no other process changes files whose names begin with the same digit. No plugin
// may run in change. So removeExpired removes neither a lock that a process waits for, nor a state that a
// process has just stored.
func (f *stateFile) inShard(change func() error) error {
	unlock, err := lockedfile.MutexAt(filepath.Join(f.states.Dir, "lock-"+f.name[:1])).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	return change()
}

// touchFile makes a file, or sets the time of an existing one to now.
func (st *States) touchFile(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	now := st.now()
	return errors.Join(f.Close(), os.Chtimes(name, now, now))
}

// read returns the state of the session. If there is no file, the state is empty.
func (f *stateFile) read() (state savedState, err error) {
	state.Version = stateVersion
	if m := f.states.Memory; m != nil {
		if f.oldText = m.text(f.name); f.oldText == nil {
			return state, nil
		}
	} else if f.oldText, _, err = f.states.readFile(f.dir, f.name); err != nil {
		return state, err
	}
	if f.oldText == nil {
		return state, f.inShard(func() error {
			f.states.removeExpired(f.dir, f.name[:1])
			return nil
		})
	}
	if err := json.Unmarshal(f.oldText, &state); err != nil || state.Version != stateVersion {
		return savedState{}, f.states.wrongVersion(f.name)
	}
	return state, nil
}

// store writes the new state of the session. If the agent cleared the session, store removes the
// file. lost and err are those of takeStates.
func (f *stateFile) store(
	ctx context.Context, s *host.Session, e *Event, state *savedState,
) (lost, err error) {
	if e.clear {
		return nil, f.remove()
	}
	if state.Session, err = s.Save(ctx); err != nil {
		return nil, err
	}
	state.Session.ID = state.Session.ID[:min(len(state.Session.ID), maxSessionName)]
	text, lost, err := state.takeStates(s)
	if text != nil && !bytes.Equal(text, f.oldText) {
		err = errors.Join(err, f.write(text))
	}
	if err != nil {
		err = fmt.Errorf("the state of this session is not stored: %w", err)
	}
	return lost, err
}

// restore gives a session the stored values of its plugins.
func (st *savedState) restore(s *host.Session) error {
	for plugin := range st.Plugins {
		effects.StateOf(s, plugin).SetLayer(st.Layers[plugin])
	}
	return effects.RestoreStates(s, st.Plugins)
}

// takeStates stores the values of a session's plugins in the state, and encodes the state with at most
// maxState bytes for each part. No part takes the room of another. So no plugin of a project that nobody
// trusts, and no context of session_start, makes a guard of the user lose its values. lost says what is not
// stored, and err which values of trusted plugins are not: a guard without its values would decide
// differently later.
func (st *savedState) takeStates(s *host.Session) (text []byte, lost, err error) {
	before := st.Plugins
	st.Plugins, st.Layers = effects.SaveStates(s), map[string]string{}
	for plugin := range st.Plugins {
		if layer := effects.StateOf(s, plugin).Layer(); layer != "" {
			st.Layers[plugin] = layer
		}
	}
	if text, err = jsontext.Encode(st); err != nil || len(text) <= maxState {
		return text, nil, err
	}
	lost, err = st.fitSession()
	if err != nil {
		return nil, nil, err
	}
	ours := errors.Join(st.fitLayer("managed", before), st.fitLayer("", before))
	lost = errors.Join(lost, st.fitLayer("project", before))
	text, err = jsontext.Encode(st)
	return text, lost, errors.Join(err, ours)
}

// fitSession drops from the host's part what the host can do without: first the context that it can offer
// again, then the ids of contents that it can send again.
func (st *savedState) fitSession() (lost, err error) {
	drop := []func(){
		func() { st.Session.Welcome, st.Session.Offer, st.Session.Parts = nil, false, nil },
		func() { st.Session.Sent = nil },
		func() { st.Session.Words, st.Session.System = "", "" },
	}
	for i := 0; ; i++ {
		text, err := jsontext.Encode(st.Session)
		switch {
		case err != nil:
			return nil, err
		case len(text) <= maxState:
			return lost, nil
		case i == len(drop):
			return nil, fmt.Errorf("the host's part has %d bytes, limit %d", len(text), maxState)
		}
		lost = fmt.Errorf("the host's part of the state has %d bytes, limit %d: the context of earlier prompts is not stored", len(text), maxState)
		drop[i]()
	}
}

// fitLayer makes the values of a layer's plugins fit. The plugin with the largest state gets its old state
// back, then the plugin with the next largest. So a plugin that fills the layer makes no other plugin lose
// its values.
func (st *savedState) fitLayer(layer string, before effects.SavedStates) error {
	size := map[string]int{}
	all := 0
	for plugin, values := range st.Plugins {
		if st.Layers[plugin] == layer {
			text, err := jsontext.Encode(values)
			if err != nil {
				return err
			}
			size[plugin] = len(plugin) + len(text)
			all += size[plugin]
		}
	}
	left := all
	plugins := slices.Sorted(maps.Keys(size))
	slices.SortStableFunc(plugins, func(a, b string) int { return size[b] - size[a] })
	var lost []string
	for _, plugin := range plugins {
		if left <= maxState {
			break
		}
		if reflect.DeepEqual(st.Plugins[plugin], before[plugin]) {
			continue // another plugin has grown
		}
		old, err := jsontext.Encode(before[plugin])
		if err != nil {
			return err
		}
		if st.Plugins[plugin] = before[plugin]; len(before[plugin]) == 0 {
			delete(st.Plugins, plugin)
			old = nil
		}
		left += len(old) - size[plugin]
		lost = append(lost, plugin)
	}
	if lost == nil {
		return nil
	}
	return fmt.Errorf("the state of this session has %d bytes, limit %d: the new ctx.state of %s is not stored",
		all, maxState, strings.Join(lost, ", "))
}

// remove removes the file of the session.
func (f *stateFile) remove() error {
	if m := f.states.Memory; m != nil {
		m.setText(f.name, nil)
		return nil
	}
	if err := f.dir.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the state of a cleared session stays: %w", err)
	}
	return nil
}

// write replaces the file by renaming another one, so that nobody reads half of it.
func (f *stateFile) write(text []byte) error {
	if m := f.states.Memory; m != nil {
		m.setText(f.name, text)
		return m.flush(f.name, m.lease)
	}
	temp := strings.TrimSuffix(f.name, stateEnd) + tempEnd // only the process with the lock writes this file
	to, err := f.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	if err = errors.Join(err, to.Close()); err == nil {
		err = f.inShard(func() error { return f.dir.Rename(temp, f.name) })
	}
	if err != nil {
		_ = f.dir.Remove(temp) // a full disk gets its space back
	}
	return err
}

// openDir opens the folder. It returns an error if other users can read the folder.
func (st *States) openDir() (*os.Root, error) {
	if st.Dir == "" {
		return nil, errors.New("there is no place to keep sessions in: want HOME or XDG_STATE_HOME")
	}
	if err := os.MkdirAll(st.Dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(st.Dir)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat(".")
	if err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		err = fmt.Errorf("%s: others may look into it: want mode 0700 (chmod 700 %s)", st.Dir, st.Dir)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// readFile returns the content of a regular file, and when it was stored. It returns nil if the file is missing or
// expired.
func (st *States) readFile(dir *os.Root, name string) (text []byte, stored time.Time, err error) {
	if err := checkRegular(dir, st.Dir, name); err != nil {
		return nil, stored, err
	}
	f, err := dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, stored, nil
	}
	if err != nil {
		return nil, stored, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || st.isExpired(info) {
		return nil, stored, err
	}
	text, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: got more than %d bytes (remove it)", filepath.Join(st.Dir, name), maxFile)
	}
	return text, info.ModTime(), err
}

func (st *States) isExpired(info fs.FileInfo) bool {
	return st.now().Sub(info.ModTime()) > maxStateAge
}

func (st *States) now() time.Time {
	if st.Now != nil {
		return st.Now()
	}
	return time.Now()
}

// removeExpired removes the expired files of a shard: states and locks. The caller has locked the shard. If
// it cannot remove a file, a later call tries again.
func (st *States) removeExpired(dir *os.Root, shard string) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); strings.HasPrefix(entry.Name(), shard) && err == nil && st.isExpired(info) {
			_ = dir.Remove(entry.Name())
		}
	}
}
