package hook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
)

// MaxState is the most bytes that a session keeps between two processes.
const MaxState = 1 << 20

// maxStateAge is how long a session is known that nothing happens in.
const maxStateAge = 7 * 24 * time.Hour

// States keep what sessions know between two processes, in files of a folder that
// their owner alone may read. What a session is called decides nothing: its file
// is named by a hash.
type States struct {
	// Dir is the folder, which is made where it is missing; "" is an error once a
	// session needs one.
	Dir string
	// Now is the time for the age of files; nil means time.Now.
	Now func() time.Time
}

// StateDir returns the folder of the XDG rules, "" where the environment names
// none.
func StateDir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "starhost", "sessions")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "starhost", "sessions")
	}
	return ""
}

// stateVersion is the version of the files.
const stateVersion = 1

// A savedState is the content of a session's file.
type savedState struct {
	Version int                   `json:"starhost_session"`
	Session starhost.SavedSession `json:"session"`
	Plugins effects.SavedStates   `json:"plugins,omitempty"`
	Ended   bool                  `json:"ended,omitempty"` // session_end ran after the last prompt
}

// inSession runs a flow in the session of an event. store writes what the session then is, and is
// never nil.
func (o *Options) inSession(
	ctx context.Context, h *starhost.Host, e *Event, f flow,
) (v *verdict, store func(), err error) {
	store = func() {}
	config := starhost.SessionConfig{ID: e.session, Platform: e.agent.Name}
	blank := starhost.SavedSession{Started: e.kind != kindPrompt}
	if o.States == nil || e.session == "" || !f.needsSession(e, h) {
		v, err = f.run(ctx, h.Resume(config, blank), e)
		return v, store, err
	}
	file, err := o.States.lock(e.agent.Name + "\x00" + e.session)
	if err != nil {
		o.report(err)
		return o.withoutState(ctx, h.Resume(config, blank), e, f, err)
	}
	state, err := file.read()
	unheard := f.startedOnly && !state.Session.Started || e.kind == kindEnd && state.Ended
	state.applyEvent(e)
	s := h.Resume(config, state.Session)
	if err == nil {
		err = effects.RestoreStates(s, state.Plugins)
	}
	if err != nil || unheard {
		if e.clear {
			o.report(file.remove())
		}
		file.unlock()
	}
	switch {
	case err != nil:
		o.report(err)
		return o.withoutState(ctx, h.Resume(config, blank), e, f, err)
	case unheard: // no plugin hears of an event of this session
		return &verdict{}, store, nil
	}
	v, err = f.run(ctx, s, e)
	return v, func() {
		defer file.unlock()
		if err == nil {
			o.report(file.store(context.WithoutCancel(ctx), s, e, &state))
		}
	}, err
}

// withoutState runs a flow where starhost cannot read the state of the session. Handlers see an
// empty state, which starhost does not store. A guard that names the state may decide otherwise with
// it, so its call is refused; the decision of another guard to refuse stays.
func (o *Options) withoutState(
	ctx context.Context, s *starhost.Session, e *Event, f flow, why error,
) (v *verdict, store func(), err error) {
	if f.startedOnly {
		return &verdict{}, func() {}, nil
	}
	v, err = f.run(ctx, s, e)
	if err == nil && !v.block && (e.kind == kindTool || e.kind == kindApprove) {
		v = &verdict{block: true, reason: "starhost cannot read the state of this session, which a guard needs: " + why.Error()}
	}
	return v, func() {}, err
}

func (o *Options) report(err error) {
	if err != nil && o.Report != nil {
		o.Report(err)
	}
}

// applyEvent brings a state up to what the event says of the session.
func (st *savedState) applyEvent(e *Event) {
	st.Ended = e.kind == kindEnd // any other event resumes it
	switch e.kind {
	case kindPrompt:
		st.Session.Completed = false
	case kindStop, kindReply:
		st.Session.Completed = true
	case kindCompact: // the context that prompts brought may be gone
		st.Session.Sent, st.Session.Parts, st.Session.Documents = nil, nil, 0
		st.Session.Offer = len(st.Session.Welcome) > 0
	}
}

// A stateFile is the file of one session, which no other process uses until it is unlocked.
type stateFile struct {
	states  *States
	dir     *os.Root
	name    string
	oldText []byte // its content, nil if there is none
	unlock  func()
}

// lock finds the file of a session and locks it.
func (st *States) lock(session string) (*stateFile, error) {
	sum := sha256.Sum256([]byte(session))
	name := hex.EncodeToString(sum[:])
	dir, err := st.openDir()
	if err != nil {
		return nil, err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(st.Dir, "lock-"+name[:1])).Lock()
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("sessions cannot be locked: %w", err)
	}
	return &stateFile{states: st, dir: dir, name: name + ".json", unlock: func() {
		unlock()
		dir.Close()
	}}, nil
}

// read returns the state of the session, a new one if there is none.
func (f *stateFile) read() (state savedState, err error) {
	state.Version = stateVersion
	if f.oldText, err = f.states.readFile(f.dir, f.name); err != nil {
		return state, err
	}
	if f.oldText == nil {
		f.states.removeExpired(f.dir, f.name[:1])
		return state, nil
	}
	if err := json.Unmarshal(f.oldText, &state); err != nil || state.Version != stateVersion {
		return savedState{}, fmt.Errorf("%s: this is no session of version %d (remove it)", filepath.Join(f.states.Dir, f.name), stateVersion)
	}
	return state, nil
}

// store writes what the session is now. A session that the agent cleared has no file.
func (f *stateFile) store(ctx context.Context, s *starhost.Session, e *Event, state *savedState) (err error) {
	if e.clear {
		return f.remove()
	}
	if state.Session, err = s.Save(ctx); err != nil {
		return err
	}
	before := state.Plugins
	state.Plugins = effects.SaveStates(s)
	text, lost, err := state.encodeWithinLimit(before)
	if err == nil && !bytes.Equal(text, f.oldText) {
		err = f.write(text)
	}
	if err != nil {
		return fmt.Errorf("the state of this session is not stored: %w", err)
	}
	return lost
}

// encodeWithinLimit returns the state as JSON of at most MaxState bytes. If it is larger, the plugin with the
// largest state gets back the one before, then the next one: a plugin that fills the room does not
// make guards forget. lost says which plugins these are.
func (st *savedState) encodeWithinLimit(before effects.SavedStates) (text []byte, lost, err error) {
	if text, err = encodeState(st); err != nil || len(text) <= MaxState {
		return text, nil, err
	}
	all := len(text)
	size := func(plugin string) (n int) {
		for key, value := range st.Plugins[plugin] {
			n += len(key) + len(value)
		}
		return n
	}
	plugins := slices.Sorted(maps.Keys(st.Plugins))
	slices.SortStableFunc(plugins, func(a, b string) int { return size(b) - size(a) })
	for i, plugin := range plugins {
		if st.Plugins[plugin] = before[plugin]; len(before[plugin]) == 0 {
			delete(st.Plugins, plugin)
		}
		if text, err = encodeState(st); err != nil || len(text) <= MaxState {
			return text, fmt.Errorf("the state of this session has %d bytes, limit %d: the new ctx.state of %s is not stored", all, MaxState, strings.Join(plugins[:i+1], ", ")), err
		}
	}
	return nil, nil, fmt.Errorf("got %d bytes, limit %d: ctx.state and session_start's context count", all, MaxState)
}

// encodeState returns a state as JSON, without the escapes that only HTML needs: they make six bytes of
// each "<" that a plugin stores.
func encodeState(st *savedState) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(st)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// remove drops the session.
func (f *stateFile) remove() error {
	if err := f.dir.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the state of a cleared session stays: %w", err)
	}
	return nil
}

// write replaces the file in one step.
func (f *stateFile) write(text []byte) error {
	temp := strings.TrimSuffix(f.name, ".json") + ".new" // only who has the lock writes it
	to, err := f.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	if err = errors.Join(err, to.Close()); err == nil {
		err = f.dir.Rename(temp, f.name)
	}
	if err != nil {
		_ = f.dir.Remove(temp) // a full disk has room again
	}
	return err
}

// openDir opens the folder, which nobody else may look into.
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

// readFile returns the content of a file, nil if there is none or if it is too old.
func (st *States) readFile(dir *os.Root, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || st.isExpired(info) {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxState+1))
	if err == nil && len(text) > MaxState {
		err = fmt.Errorf("%s: got more than %d bytes (remove it)", filepath.Join(st.Dir, name), MaxState)
	}
	return text, err
}

func (st *States) isExpired(info fs.FileInfo) bool {
	now := time.Now
	if st.Now != nil {
		now = st.Now
	}
	return now().Sub(info.ModTime()) > maxStateAge
}

// removeExpired removes the sessions of a shard, which the caller has locked, that nothing
// happened in for long. What cannot be removed is tried again another time.
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
