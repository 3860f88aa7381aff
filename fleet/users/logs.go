// Package users does what sync does for the users of a machine: it finds the log of each, sends it, and
// asks doctor as each of them about the agents.
//
// logs.go has the folders of the logs and what is sent, and coverage.go has the doctors. The command makes a
// [Machine] and passes its methods to [fleet.Sync].
package users

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/otlp"
)

// A Machine is where a round of sync runs. One goroutine uses it.
type Machine struct {
	Config    *loader.Config
	LogDir    string // the folder of the current user's log
	Version   string // of starhost
	Getenv    func(string) string
	LookupEnv func(string) (string, bool) // for the secrets of [log] headers

	HomeFolders []string         // have the home folders of the users; no system has all of them
	HomeOf      func(int) string // the home folder of a user, "" for none; nil means the list of users
	DoctorEnv   []string         // more variables for doctors

	sender   *otlp.LogSender
	resource []string // names and values that say where records come from
	failed   error    // why the collector got nothing; it is not asked again
}

// A logFolder is the folder of a user's log.
type logFolder struct {
	dir   string
	owner int    // the user who must own it, because root reads it; -1 for the current user
	home  string // the user's home folder, "" for an unknown one
}

// open prepares the sender. The secrets and the bundles are those of this moment.
func (m *Machine) open() error {
	if m.sender != nil || m.failed != nil {
		return m.failed
	}
	headers, secrets := map[string]string{}, m.Config.NewSecrets(m.LookupEnv, m.Config)
	for _, item := range m.Config.Log.Headers {
		header, name, _ := strings.Cut(item, "=")
		if headers[header], m.failed = secrets.Value(name); m.failed != nil {
			return m.failed
		}
	}
	var bundles []string
	for _, name := range slices.Sorted(maps.Keys(m.Config.Bundles)) {
		if active, err := loader.ReadActiveBundle(m.Config.BundleFolder(name)); err == nil {
			bundles = append(bundles, name+"@"+active.Digest)
		}
	}
	host, _ := os.Hostname()
	m.resource = []string{"service.version", m.Version, "host.name", host, "os.type", runtime.GOOS}
	if len(bundles) > 0 {
		m.resource = append(m.resource, "starhost.bundle", strings.Join(bundles, " "))
	}
	m.sender = otlp.NewLogSender(otlp.LogOptions{Endpoint: m.Config.Log.Send, Headers: headers})
	return nil
}

// SendLogs sends the records of all users, if root runs it with a managed log.path, and else those of the current
// user. The error is for the first folder that failed.
func (m *Machine) SendLogs(ctx context.Context) (states []fleet.LogState, err error) {
	folders, err := m.logFolders()
	if err == nil {
		err = m.open()
	}
	if err != nil {
		return nil, err
	}
	defer m.sender.Close()
	for _, f := range folders {
		u, failed := decision.NewUnsent(f.dir, f.owner)
		sent := 0
		if failed == nil {
			sent, failed = m.sender.Send(ctx, u, append(slices.Clip(m.resource), "starhost.user", f.user())...)
		}
		state, wrong := stateOf(f, true)
		state.Sent = sent
		states = append(states, state)
		if failed == nil {
			failed = wrong
		}
		if failed == nil {
			continue
		}
		if _, isFile := errors.AsType[*fs.PathError](failed); !isFile {
			// The collector is not there for the others either.
			m.failed = &errtext.FileError{Name: m.Config.Log.Send, Err: failed}
			return states, errors.Join(err, m.failed)
		}
		err = errors.Join(err, errtext.OfPath(failed))
	}
	return states, err
}

// SendStatus sends the status of a round behind its logs. A collector that was not there for them is asked in
// the next round: its error is told already.
func (m *Machine) SendStatus(ctx context.Context, text []byte) error {
	if m.failed != nil {
		return nil
	}
	if err := m.open(); err != nil {
		return err
	}
	defer m.sender.Close()
	err := m.sender.SendRecord(ctx, decision.UnsentRecord{ID: rand.Text(), Time: time.Now(), JSON: text}, m.resource...)
	if err != nil {
		return &errtext.FileError{Name: m.Config.Log.Send, Err: fmt.Errorf("the status: %w", err)}
	}
	return nil
}

// stateOf returns how far the log in a folder was sent, if it is.
func stateOf(f logFolder, isSent bool) (state fleet.LogState, err error) {
	state.Path = filepath.ToSlash(f.dir)
	state.Behind, state.Dropped, err = decision.State(f.dir, f.owner, isSent)
	return state, err
}

// StateOfLog returns the state of the current user's log, which is in a folder. Without log.send, nothing is behind.
func StateOfLog(dir string, config *loader.Config) *fleet.LogState {
	state, err := stateOf(logFolder{dir: dir, owner: -1}, config.Log.Send != "")
	if err != nil {
		state.Behind = 0
	}
	return &state
}

// user returns a hash of the user, which tells users apart.
func (f logFolder) user() string {
	host, _ := os.Hostname()
	sum := sha256.Sum256(fmt.Appendf(nil, "starhost user\x00%s\x00%d", host, f.number()))
	return fmt.Sprintf("%x", sum[:8])
}

// number returns the number of the user.
func (f logFolder) number() int {
	if f.owner < 0 {
		return os.Geteuid()
	}
	return f.owner
}

// homeOf returns the home folder of a user, "" for none.
func (m *Machine) homeOf(number int) string {
	if m.HomeOf != nil {
		return m.HomeOf(number)
	}
	if u, err := user.LookupId(strconv.Itoa(number)); err == nil {
		return u.HomeDir
	}
	return ""
}

// logFolders returns the folders of the logs to send. For root and a managed log.path, it makes those of the
// users.
func (m *Machine) logFolders() (list []logFolder, err error) {
	managed, home := m.Config.ManagedLog(), m.Getenv("HOME")
	if os.Geteuid() == 0 {
		home = cmp.Or(m.homeOf(0), home) // a service of systemd has no HOME, and sudo can keep that of a user
	}
	if managed == "" || os.Geteuid() != 0 {
		return []logFolder{{m.LogDir, -1, home}}, nil
	}
	homes := homesOf(m.HomeFolders)
	homes[0] = home // whatever root owns beside the homes of users
	if err := makeLogFolders(managed, slices.Sorted(maps.Keys(homes))); err != nil {
		return nil, errtext.File(managed, err)
	}
	entries, err := os.ReadDir(managed)
	for _, e := range entries {
		if owner, err := strconv.Atoi(e.Name()); err == nil && owner >= 0 && e.IsDir() {
			list = append(list, logFolder{filepath.Join(managed, e.Name()), owner, cmp.Or(homes[owner], m.homeOf(owner))})
		}
	}
	return list, errtext.File(managed, err)
}

// homesOf returns the folders in the folders, by the number of their owner. It follows no link.
func homesOf(folders []string) map[int]string {
	homes := map[int]string{}
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // sorted
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.IsDir() && homes[disk.Owner(info)] == "" {
				homes[disk.Owner(info)] = filepath.Join(folder, e.Name())
			}
		}
	}
	return homes
}

// makeLogFolders makes a folder of the log for each user.
func makeLogFolders(path string, users []int) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	for _, user := range users {
		dir := filepath.Join(path, strconv.Itoa(user))
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = os.Chown(dir, user, -1)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
