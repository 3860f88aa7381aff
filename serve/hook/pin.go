package hook

import (
	"context"
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

// A Pin stores the root and the guards that a session had, so that the session keeps them. The program reads
// it before any config, because the root decides which config the session has, and the folder of an event is
// the model's choice. The file needs no lock.
type Pin struct {
	Version int `json:"starhost_pin"`
	// Agent and Session are the agent's name and the first KiB of the session's id.
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// Root is the absolute folder whose config the session has; "" if no event of the session had a guard
	// yet.
	Root string `json:"root,omitempty"`
	// Folder is the absolute folder that the session worked in when it got its root; "" if the agent sent
	// none.
	Folder string `json:"folder,omitempty"`
	// Guards are the guards that the session had.
	Guards []host.Guard `json:"guards"`
	// Ran says which call ran in another form than starhost judged it; "" for none.
	Ran string `json:"ran,omitempty"`

	name   string    // the name of the file, without its end
	stored time.Time // when the file was stored; zero if there is none
	err    error     // why the file cannot be read
}

// pinVersion is the version of the file format.
const pinVersion = 1

// pinEnd is the end of the name of a file that has a Pin.
const pinEnd = ".pin"

// maxSessionName is the most bytes that a file has of a session's id, because agents choose the id.
const maxSessionName = 1 << 10

// pinAgain is the age at which an event stores the Pin again, long before the file expires.
const pinAgain = 24 * time.Hour

// fileName returns the name of a session's file, without its end.
func fileName(of ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Pin returns the pin of the event's session. Each command line in an agent's settings has its own plugins,
// and therefore its own pin. For an event without a session, the pin is empty. If the file cannot be read,
// nobody knows the guards of the session, so [Event.Answer] refuses calls.
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

// openExisting opens the folder. It returns nil if the folder is missing.
func (st *States) openExisting() (*os.Root, error) {
	if _, err := os.Stat(st.Dir); st.Dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return st.openDir()
}

// readPin reads the file p.name into p. If the file is missing, p stays as it is.
func (st *States) readPin(dir *os.Root, p *Pin) error {
	file := p.name + pinEnd
	text, stored, err := st.readFile(dir, file)
	if text == nil || err != nil {
		return err
	}
	p.Version = 0
	if json.Unmarshal(text, p) != nil || p.Version != pinVersion {
		return fmt.Errorf("%s: these are no guards of version %d (remove it)", filepath.Join(st.Dir, file), pinVersion)
	}
	p.stored = stored
	return nil
}

// remember stores the guards of a host for the session, if any of them is new.
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
		return nil // sessions remember nothing if there is no folder
	}
	return st.writePin(p, func(next *Pin) {
		next.Guards = h.Remember(next.Guards)
		if next.Root == "" {
			next.Root, next.Folder = root, folder
		}
	})
}

// writePin changes the stored pin. Another process may have changed or removed it since p was read.
func (st *States) writePin(p *Pin, change func(*Pin)) error {
	dir, err := st.openDir()
	if err == nil {
		defer dir.Close()
		err = (&stateFile{states: st, name: p.name}).inShard(func() error {
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

// Pins returns the pins of all sessions, sorted by agent and session. It leaves out files that cannot be
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

// Unpin lets a session go on without the guards that it had, and whatever call ran.
func (st *States) Unpin(p *Pin) error {
	return os.Remove(filepath.Join(st.Dir, p.name+pinEnd))
}

// hold takes the event's session from other servers, until release. If it cannot, nothing is stored of the
// event, and the pin says why.
func (o *Options) hold(ctx context.Context, e *Event) (p *Pin, release func()) {
	release = func() {}
	if o.States == nil || e.session == "" {
		return nil, release
	}
	if m := o.States.Memory; m != nil && m.shared != nil {
		var err error
		if release, err = m.hold(ctx, fileName(e.agent.Name, e.session)); err != nil {
			o.States = nil
			return &Pin{err: fmt.Errorf("nobody can tell which guards this session had: %w", err)}, release
		}
	}
	if o.Pin == nil {
		return o.States.Pin(e), release
	}
	return o.Pin, release
}

// guarded returns a host for the event that has lost the guards which the session had and which are gone. The
// caller calls remember after it has sent the answer. unknown says why nobody knows the guards of the
// session.
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
	if len(lost) == 0 && len(h.Remember(p.Guards)) != len(p.Guards) { // the loss of a guard could go unseen
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
