package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/starhost/starhost/loader"
)

// A watcher tells when files change. Folders are watched, not files: editors
// replace these.
type watcher struct {
	*fsnotify.Watcher
	files, folders []string // absolute
}

func newWatcher() (*watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, outside("--watch", err)
	}
	return &watcher{Watcher: w}, nil
}

// Bounds of what is watched, and how long it must be quiet: who saves several
// files wants one result.
const (
	maxWatched = 1000 // folders
	quietTime  = 100 * time.Millisecond
)

// watch makes the watcher look at files and folders, whatever it looked at before.
func (w *watcher) watch(in loader.Inputs) error {
	w.files, w.folders = in.Files, in.Folders
	dirs := map[string]bool{}
	for _, file := range in.Files {
		if err := w.add(filepath.Dir(file), dirs); err != nil {
			return err
		}
	}
	for _, folder := range in.Folders {
		if err := w.below(folder, dirs); err != nil {
			return err
		}
	}
	return nil
}

// add looks at a folder, and notes it in dirs. One that is not there is none.
func (w *watcher) add(dir string, dirs map[string]bool) error {
	if dirs[dir] {
		return nil
	}
	if len(dirs) == maxWatched {
		return usagef("--watch: got more than %d folders, want less", maxWatched)
	}
	dirs[dir] = true
	if err := w.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return outside("--watch", err)
	}
	return nil
}

// below looks at a folder and those in it, but those whose name begins with a dot.
// Each is looked at before it is listed: what is made in between is in one or the
// other.
func (w *watcher) below(folder string, dirs map[string]bool) error {
	return filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil // what cannot be read is not watched
		case name != folder && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		return w.add(name, dirs)
	})
}

// wait returns the first file that changes, when nothing has changed for a moment.
func (w *watcher) wait(ctx context.Context) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case err := <-w.Errors:
			return "", err
		case event := <-w.Events:
			if w.concerns(event) {
				return event.Name, w.settle(ctx)
			}
		}
	}
}

// concerns tells whether an event is about what is watched.
func (w *watcher) concerns(event fsnotify.Event) bool {
	return event.Op != fsnotify.Chmod && (slices.Contains(w.files, event.Name) ||
		slices.ContainsFunc(w.folders, func(f string) bool { return strings.HasPrefix(event.Name, f+string(filepath.Separator)) }))
}

// settle waits until nothing changes any more.
func (w *watcher) settle(ctx context.Context) error {
	quiet := time.NewTimer(quietTime)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-w.Errors:
			return err
		case <-w.Events:
			quiet.Reset(quietTime)
		case <-quiet.C:
			return nil
		}
	}
}

// nextRound waits until a file changes, and returns the app of the round that follows;
// nil when there is none.
func (a *app) nextRound(ctx context.Context, w *watcher) (*app, error) {
	changed, err := w.wait(ctx)
	switch {
	case ctx.Err() != nil:
		a.code = exitInterrupted
		return nil, nil
	case err != nil:
		return nil, outside("--watch", err)
	}
	round := a.again()
	round.note("changed: " + a.relative(changed))
	return round, nil
}

// again returns the program as it was before it did anything.
func (a *app) again() *app {
	b := *a
	b.out, b.code, b.warnings, b.logs, b.problems = bytes.Buffer{}, 0, nil, nil, nil
	return &b
}

// note tells people something that is no result.
func (a *app) note(text string) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, text)
	}
}

// relative returns a path as seen from the current folder.
func (a *app) relative(name string) string {
	if rel, err := filepath.Rel(a.path("."), name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}
