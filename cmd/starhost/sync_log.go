package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
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
	config, err := env.loadConfig(res)
	if err != nil {
		return err
	}
	if config.Log.Send == "" {
		return &report.UsageError{Msg: "sync --log: the config has no [log] send, want the address of a collector", Help: `log.send = "https://otel.corp.example:4318"`}
	}
	catchSignals(ctx)
	states, err := env.sendLogs(ctx, config)
	res.addError(err)
	return env.printResult(res, syncReport{&fleet.Status{Time: time.Now(), Logs: states}})
}

// A logFolder is the folder of a user's log.
type logFolder struct {
	dir   string
	owner int // the user who must own it, because root reads it; -1 for the current user
}

// sendLogs sends the records of all users to log.send, if root runs it with a managed log.path, and else those
// of the current user. The error is for the first folder that failed.
func (env Env) sendLogs(ctx context.Context, config *loader.Config) (states []fleet.LogState, err error) {
	folders, err := env.logFolders(config)
	if err != nil {
		return nil, err
	}
	headers, secrets := map[string]string{}, config.NewSecrets(env.lookupEnv, config)
	for _, item := range config.Log.Headers {
		header, name, _ := strings.Cut(item, "=")
		if headers[header], err = secrets.Value(name); err != nil {
			return nil, err
		}
	}
	var bundles []string
	for _, name := range slices.Sorted(maps.Keys(config.Bundles)) {
		if active, err := loader.ReadActiveBundle(config.BundleFolder(name)); err == nil {
			bundles = append(bundles, name+"@"+active.Digest)
		}
	}
	sender := otlp.NewLogSender(otlp.LogOptions{Endpoint: config.Log.Send, Headers: headers})
	defer sender.Close()
	for _, f := range folders {
		u, failed := decision.NewUnsent(f.dir, f.owner)
		sent := 0
		if failed == nil {
			sent, failed = sender.Send(ctx, u, resourcesOf(f, bundles)...)
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
			return states, errors.Join(err, &errtext.FileError{Name: config.Log.Send, Err: failed})
		}
		err = errors.Join(err, logError(failed))
	}
	return states, err
}

// stateOf returns how far the log in a folder was sent, if it is.
func stateOf(f logFolder, isSent bool) (state fleet.LogState, err error) {
	state.Path = filepath.ToSlash(f.dir)
	state.Behind, state.Dropped, err = decision.State(f.dir, f.owner, isSent)
	return state, err
}

// stateOfLog returns the state of the current user's log. Without log.send, nothing is behind.
func (env Env) stateOfLog(dir string, config *loader.Config) *fleet.LogState {
	state, err := stateOf(logFolder{dir, -1}, config.Log.Send != "")
	if err != nil {
		state.Behind = 0
	}
	return &state
}

// resourcesOf returns names and values that say where records come from. The user is a hash, which tells users
// apart.
func resourcesOf(f logFolder, bundles []string) []string {
	host, _ := os.Hostname()
	user := f.owner
	if user < 0 {
		user = os.Geteuid()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "starhost user\x00%s\x00%d", host, user))
	list := []string{"service.version", version(), "host.name", host, "os.type", runtime.GOOS, "starhost.user", fmt.Sprintf("%x", sum[:8])}
	if len(bundles) > 0 {
		list = append(list, "starhost.bundle", strings.Join(bundles, " "))
	}
	return list
}

// logFolders returns the folders of the logs to send. For root and a managed log.path, it makes those of the
// users.
func (env Env) logFolders(config *loader.Config) (list []logFolder, err error) {
	managed := config.ManagedLog()
	if managed == "" || os.Geteuid() != 0 {
		return []logFolder{{env.logDir(config), -1}}, nil
	}
	if err := makeLogFolders(managed, "/home", "/Users"); err != nil {
		return nil, errtext.File(managed, err)
	}
	entries, err := os.ReadDir(managed)
	for _, e := range entries {
		if user, err := strconv.Atoi(e.Name()); err == nil && user >= 0 && e.IsDir() {
			list = append(list, logFolder{filepath.Join(managed, e.Name()), user})
		}
	}
	return list, errtext.File(managed, err)
}

// makeLogFolders makes a folder of the log for root, and for each user who owns a folder in one of homes.
func makeLogFolders(path string, homes ...string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	users := map[int]bool{0: true}
	for _, home := range homes {
		entries, _ := os.ReadDir(home) // no system has all of them
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.IsDir() {
				users[disk.Owner(info)] = true
			}
		}
	}
	for _, user := range slices.Sorted(maps.Keys(users)) {
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
