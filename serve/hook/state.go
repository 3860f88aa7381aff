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
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
)

// MaxState is the most bytes that a session keeps between two processes.
const MaxState = 1 << 20

// maxIdle is how long a session is known that nothing happens in.
const maxIdle = 7 * 24 * time.Hour

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

// A kept is what a file has.
type kept struct {
	Version int                   `json:"starhost_session"`
	Session starhost.SavedSession `json:"session"`
	Plugins effects.SavedStates   `json:"plugins,omitempty"`
}

// inSession runs a flow in the session of an event, and keeps what the session then
// knows.
func (o *Options) inSession(ctx context.Context, h *starhost.Host, e *Event, f flow) (v *verdict, err error) {
	config := starhost.SessionConfig{ID: e.session, Platform: e.agent.Name}
	if o.States == nil || e.session == "" || !f.needsSession(e, h) {
		return f.run(ctx, h.Resume(config, starhost.SavedSession{Started: e.kind != kindPrompt}), e)
	}
	err = o.States.change(e.agent.Name+"\x00"+e.session, func(k *kept) error {
		if f.later && !k.Session.Started {
			v = &verdict{}
			return nil // no plugin ever heard of the session
		}
		k.before(e)
		s := h.Resume(config, k.Session)
		if err := effects.RestoreStates(s, k.Plugins); err != nil {
			return err
		}
		if v, err = f.run(ctx, s, e); err != nil {
			return err
		}
		return k.after(ctx, s, e)
	})
	return v, err
}

// before brings what is kept up to what the event says of the session.
func (k *kept) before(e *Event) {
	switch e.kind {
	case kindPrompt:
		k.Session.Completed = false
	case kindStop, kindReply:
		k.Session.Completed = true
	case kindCompact: // the context that prompts brought may be gone
		k.Session.Sent, k.Session.Parts, k.Session.Documents = nil, nil, 0
		k.Session.Offer = len(k.Session.Welcome) > 0
	}
}

// after takes over what the session knows now. Of one that ended nothing is kept.
func (k *kept) after(ctx context.Context, s *starhost.Session, e *Event) (err error) {
	if e.kind == kindEnd {
		*k = kept{}
		return nil
	}
	if k.Session, err = s.Save(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	k.Plugins = effects.SaveStates(s)
	return nil
}

// change reads what is kept of a session, lets edit change it, and writes it back,
// whole or not at all. Meanwhile no other process has it. Nothing is written after
// an error.
func (st *States) change(session string, edit func(*kept) error) error {
	sum := sha256.Sum256([]byte(session))
	name := hex.EncodeToString(sum[:])
	dir, err := st.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	unlock, err := lockedfile.MutexAt(filepath.Join(st.Dir, "lock-"+name[:1])).Lock()
	if err != nil {
		return fmt.Errorf("sessions cannot be locked: %w", err)
	}
	defer unlock()
	old, err := st.read(dir, name+".json")
	if err != nil {
		return err
	}
	if old == nil {
		st.sweep(dir, name[:1])
	}
	k := kept{Version: stateVersion}
	if old != nil {
		if err := json.Unmarshal(old, &k); err != nil || k.Version != stateVersion {
			return fmt.Errorf("%s: this is no session of version %d (remove it)", filepath.Join(st.Dir, name+".json"), stateVersion)
		}
	}
	if err := edit(&k); err != nil {
		return err
	}
	return write(dir, name, old, &k)
}

// open opens the folder, which nobody else may look into.
func (st *States) open() (*os.Root, error) {
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

// read returns the content of a file, nil if there is none or if it is too old.
func (st *States) read(dir *os.Root, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || st.old(info) {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxState+1))
	if err == nil && len(text) > MaxState {
		err = fmt.Errorf("%s: got more than %d bytes (remove it)", filepath.Join(st.Dir, name), MaxState)
	}
	return text, err
}

func (st *States) old(info fs.FileInfo) bool {
	now := time.Now
	if st.Now != nil {
		now = st.Now
	}
	return now().Sub(info.ModTime()) > maxIdle
}

// sweep removes the sessions of a shard, which the caller has locked, that nothing
// happened in for long. What cannot be removed is tried again another time.
func (st *States) sweep(dir *os.Root, shard string) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); strings.HasPrefix(entry.Name(), shard) && err == nil && st.old(info) {
			_ = dir.Remove(entry.Name())
		}
	}
}

// write replaces a file in one step, unless it has the same already. A session that
// ended has none.
func write(dir *os.Root, name string, old []byte, k *kept) error {
	if k.Version == 0 {
		err := dir.Remove(name + ".json")
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	text, err := json.Marshal(k)
	if err != nil || bytes.Equal(text, old) {
		return err
	}
	if len(text) > MaxState {
		return fmt.Errorf("a session keeps %d bytes between two processes, limit %d: ctx.state and session_start's context count", len(text), MaxState)
	}
	temp := name + ".new" // only who has the lock writes it
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return dir.Rename(temp, name+".json")
}
