package main

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
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/otlp"
)

// runSyncLog sends the records of the decision log.
func runSyncLog(ctx context.Context, env Env, res *Result) error {
	config, err := env.loadConfig(res, false)
	if err != nil {
		return err
	}
	if config.Log.Send == "" {
		return &report.UsageError{Msg: "sync --log: the config has no [log] send, want the address of a collector", Help: `log.send = "https://otel.corp.example:4318"`}
	}
	catchSignals(ctx)
	states, err := (&shipment{env: env, config: config}).sendLogs(ctx)
	res.addError(err)
	return env.printResult(res, syncReport{&fleet.Status{Time: time.Now(), Logs: states}})
}

// A logFolder is the folder of a user's log.
type logFolder struct {
	dir   string
	owner int    // the user who must own it, because root reads it; -1 for the current user
	home  string // the user's home folder, "" for an unknown one
}

// A shipment sends what a round of sync has for log.send of the config.
type shipment struct {
	env      Env
	config   *loader.Config
	sender   *otlp.LogSender
	resource []string // names and values that say where records come from
	failed   error    // why the collector got nothing; it is not asked again
}

// open prepares the sender. The secrets and the bundles are those of this moment.
func (s *shipment) open() error {
	if s.sender != nil || s.failed != nil {
		return s.failed
	}
	headers, secrets := map[string]string{}, s.config.NewSecrets(s.env.lookupEnv, s.config)
	for _, item := range s.config.Log.Headers {
		header, name, _ := strings.Cut(item, "=")
		if headers[header], s.failed = secrets.Value(name); s.failed != nil {
			return s.failed
		}
	}
	var bundles []string
	for _, name := range slices.Sorted(maps.Keys(s.config.Bundles)) {
		if active, err := loader.ReadActiveBundle(s.config.BundleFolder(name)); err == nil {
			bundles = append(bundles, name+"@"+active.Digest)
		}
	}
	host, _ := os.Hostname()
	s.resource = []string{"service.version", version(), "host.name", host, "os.type", runtime.GOOS}
	if len(bundles) > 0 {
		s.resource = append(s.resource, "starhost.bundle", strings.Join(bundles, " "))
	}
	s.sender = otlp.NewLogSender(otlp.LogOptions{Endpoint: s.config.Log.Send, Headers: headers})
	return nil
}

// sendLogs sends the records of all users, if root runs it with a managed log.path, and else those of the current
// user. The error is for the first folder that failed.
func (s *shipment) sendLogs(ctx context.Context) (states []fleet.LogState, err error) {
	folders, err := s.env.logFolders(s.config)
	if err == nil {
		err = s.open()
	}
	if err != nil {
		return nil, err
	}
	defer s.sender.Close()
	for _, f := range folders {
		u, failed := decision.NewUnsent(f.dir, f.owner)
		sent := 0
		if failed == nil {
			sent, failed = s.sender.Send(ctx, u, append(slices.Clip(s.resource), "starhost.user", f.user())...)
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
			s.failed = &errtext.FileError{Name: s.config.Log.Send, Err: failed}
			return states, errors.Join(err, s.failed)
		}
		err = errors.Join(err, logError(failed))
	}
	return states, err
}

// sendStatus sends the status of a round behind its logs. A collector that was not there for them is asked in
// the next round: its error is told already.
func (s *shipment) sendStatus(ctx context.Context, text []byte) error {
	if s.failed != nil {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	defer s.sender.Close()
	err := s.sender.SendRecord(ctx, decision.UnsentRecord{ID: rand.Text(), Time: time.Now(), JSON: text}, s.resource...)
	if err != nil {
		return &errtext.FileError{Name: s.config.Log.Send, Err: fmt.Errorf("the status: %w", err)}
	}
	return nil
}

// stateOf returns how far the log in a folder was sent, if it is.
func stateOf(f logFolder, isSent bool) (state fleet.LogState, err error) {
	state.Path = filepath.ToSlash(f.dir)
	state.Behind, state.Dropped, err = decision.State(f.dir, f.owner, isSent)
	return state, err
}

// stateOfLog returns the state of the current user's log. Without log.send, nothing is behind.
func stateOfLog(dir string, config *loader.Config) *fleet.LogState {
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

// homeFolders have the home folders of this machine's users. No system has all of them.
var homeFolders = []string{"/home", "/Users"}

// homeOf returns the home folder of a user by the list of users, "" for none.
var homeOf = func(number int) string {
	if u, err := user.LookupId(strconv.Itoa(number)); err == nil {
		return u.HomeDir
	}
	return ""
}

// logFolders returns the folders of the logs to send. For root and a managed log.path, it makes those of the
// users.
func (env Env) logFolders(config *loader.Config) (list []logFolder, err error) {
	managed, home := config.ManagedLog(), env.getenv("HOME")
	if os.Geteuid() == 0 {
		home = cmp.Or(homeOf(0), home) // a service of systemd has no HOME, and sudo can keep that of a user
	}
	if managed == "" || os.Geteuid() != 0 {
		return []logFolder{{env.logDir(config), -1, home}}, nil
	}
	homes := homesOf(homeFolders)
	homes[0] = home // whatever root owns beside the homes of users
	if err := makeLogFolders(managed, slices.Sorted(maps.Keys(homes))); err != nil {
		return nil, errtext.File(managed, err)
	}
	entries, err := os.ReadDir(managed)
	for _, e := range entries {
		if owner, err := strconv.Atoi(e.Name()); err == nil && owner >= 0 && e.IsDir() {
			list = append(list, logFolder{filepath.Join(managed, e.Name()), owner, cmp.Or(homes[owner], homeOf(owner))})
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
