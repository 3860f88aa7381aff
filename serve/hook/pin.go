package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
)

// A Pin keeps a session on the root and the guards that it had. The program reads it before any
// config, because the root decides which config the session has: the folder of an event is the
// model's choice. The file needs no lock.
type Pin struct {
	Version int `json:"starhost_pin"`
	// Agent and Session are the agent's name and the first KiB of the session's id.
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// Root is the absolute folder whose config the session has, "" if no event had a guard yet.
	Root string `json:"root,omitempty"`
	// Folder is the absolute folder that the session worked in then, "" if the agent sent none.
	Folder string `json:"folder,omitempty"`
	// Guards are the guards that the session had.
	Guards []host.Guard `json:"guards"`
	// Ran says which call ran otherwise than starhost judged it, "" for none.
	Ran string `json:"ran,omitempty"`

	name   string    // the file's, without its end
	stored time.Time // the zero time for no file
	err    error     // it cannot be read
}

// pinVersion is the version of the file format.
const pinVersion = 1

// pinEnd ends the name of a file with a Pin.
const pinEnd = ".pin"

// maxSessionName is the most bytes of a session's id in the file, because agents choose it.
const maxSessionName = 1 << 10

// pinAgain is the age at which an event stores a Pin anew, long before it expires.
const pinAgain = 24 * time.Hour

// fileName returns the name of a session's file without its end.
func fileName(of ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Pin returns the pin of the event's session. Each command line of an agent's settings has its own
// plugins, and so its own pin. The pin is empty for an event without a session. If it cannot be
// read, [Event.Answer] refuses calls in place of guards that nobody knows.
func (st *States) Pin(e *Event, line ...string) *Pin {
	p := &Pin{Version: pinVersion, Agent: e.agent.Name}
	p.name = fileName(append([]string{e.agent.Name, e.session}, line...)...)
	p.Session = e.session[:min(len(e.session), maxSessionName)]
	switch {
	case e.session == "":
		return p
	case st.Memory != nil:
		p.Guards, p.Ran = st.Memory.guards(p.name)
		return p
	}
	dir, err := st.openExisting()
	if dir != nil && err == nil {
		defer dir.Close()
		err = st.readPin(dir, p)
	}
	if err != nil {
		p.err = fmt.Errorf("nobody can tell which guards this session had: %w", err)
	}
	return p
}

// openExisting opens the folder. It returns nil if there is none.
func (st *States) openExisting() (*os.Root, error) {
	if _, err := os.Stat(st.Dir); st.Dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return st.openDir()
}

// readPin reads the file of p.name into p. Without a file p stays as it is.
func (st *States) readPin(dir *os.Root, p *Pin) error {
	file := p.name + pinEnd
	if err := checkRegular(dir, st.Dir, file); err != nil {
		return err
	}
	info, err := dir.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := st.readFile(dir, file)
	if text == nil || err != nil {
		return err
	}
	p.Version = 0
	if json.Unmarshal(text, p) != nil || p.Version != pinVersion {
		return fmt.Errorf("%s: these are no guards of version %d (remove it)", filepath.Join(st.Dir, file), pinVersion)
	}
	p.stored = info.ModTime()
	return nil
}

// remember stores that the session has the guards of a host, if that is new.
func (st *States) remember(p *Pin, h *host.Host, root, folder string) error {
	guards := h.Remember(p.Guards)
	isNew := len(guards) != len(p.Guards)
	switch {
	case p.Session == "" || len(guards) == 0:
		return nil
	case st.Memory != nil:
		if isNew {
			st.Memory.setGuards(p.name, guards)
		}
		return nil
	case !isNew && st.now().Sub(p.stored) < pinAgain || st.Dir == "":
		return nil // without a folder, no session remembers anything
	}
	return st.writePin(p, func(next *Pin) {
		next.Guards = h.Remember(next.Guards)
		if next.Root == "" {
			next.Root, next.Folder = root, folder
		}
	})
}

// writePin changes the stored pin, which another process may have changed or removed since p was
// read.
func (st *States) writePin(p *Pin, change func(*Pin)) error {
	err := os.MkdirAll(st.Dir, 0o700)
	if err == nil {
		err = (&stateFile{states: st, name: p.name}).inShard(func() error {
			dir, err := st.openDir()
			if err != nil {
				return err
			}
			defer dir.Close()
			next := *p
			next.Ran = ""
			if now := (Pin{name: p.name}); st.readPin(dir, &now) == nil && now.Version > 0 {
				next = now
			}
			change(&next)
			text, err := json.Marshal(next)
			if err != nil {
				return err
			}
			return disk.Replace(filepath.Join(st.Dir, p.name+pinEnd), append(text, '\n'), 0o600)
		})
	}
	if err != nil {
		return fmt.Errorf("the guards of this session are not remembered: %w", err)
	}
	return nil
}

// Pins returns the pins of all sessions, by agent and session. It leaves out files that cannot be
// read.
func (st *States) Pins() (list []*Pin, err error) {
	dir, err := st.openExisting()
	if dir == nil || err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), pinEnd); ok {
			p := &Pin{name: name}
			if st.readPin(dir, p) == nil && p.Version > 0 {
				list = append(list, p)
			}
		}
	}
	slices.SortFunc(list, func(a, b *Pin) int {
		return strings.Compare(a.Agent+"\x00"+a.Session, b.Agent+"\x00"+b.Session)
	})
	return list, err
}

// Unpin lets a session go on without the guards that it had, and in spite of what ran.
func (st *States) Unpin(p *Pin) error {
	return os.Remove(filepath.Join(st.Dir, p.name+pinEnd))
}

// pinOf returns the pin of the event's session, nil for an event without a session.
func (o *Options) pinOf(e *Event) *Pin {
	switch {
	case o.States == nil || e.session == "":
		return nil
	case o.Pin != nil:
		return o.Pin
	}
	return o.States.Pin(e)
}

// guarded returns the host for an event: it has lost the guards that the session had and that are
// gone. The caller calls remember after it has sent the answer. unknown says why nobody knows the
// guards.
func (o *Options) guarded(h *host.Host, e *Event, p *Pin) (own *host.Host, remember func(), unknown error) {
	remember = func() {}
	if h == nil || p == nil {
		return h, remember, nil
	}
	if p.err != nil {
		return h, remember, p.err
	}
	lost := h.Missing(p.Guards)
	if p.Ran != "" {
		lost = append(lost, host.Guard{Err: &errRan{p.Ran}})
	}
	if len(lost) == 0 && len(h.Remember(p.Guards)) != len(p.Guards) { // a guard that nobody remembers could go unseen
		return h, remember, o.States.remember(p, h, o.Root, e.workspace)
	}
	if len(lost) == 0 {
		return h, func() { o.report(o.States.remember(p, h, o.Root, e.workspace)) }, nil
	}
	for i := range lost {
		lost[i].Open = o.FailOpen
		if o.States.Memory == nil {
			how := "without"
			if _, ok := errors.AsType[*errRan](lost[i].Err); ok {
				how = "all the same"
			}
			lost[i].Err = fmt.Errorf("%w (a person lets it go on %s: starhost hook reset %s)", lost[i].Err, how, errtext.Word(p.Session))
		}
	}
	return h.Losing(lost...), func() { o.report(o.States.remember(p, h, o.Root, e.workspace)) }, nil
}
