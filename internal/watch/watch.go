// Package watch reports changes of files.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/starhost/starhost/internal/errtext"
)

// A Watcher reports changes of files. It watches folders, because editors replace files.
type Watcher struct {
	*fsnotify.Watcher
	files, folders []string // absolute
}

// New returns a watcher of nothing.
func New() (*Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, errtext.File("--watch", err)
	}
	return &Watcher{Watcher: w}, nil
}

// Limits of a watcher. Changes within quietTime make one result, because users save several
// files at once.
const (
	maxWatched = 1000 // folders
	quietTime  = 100 * time.Millisecond
)

// Inputs makes the watcher report changes of these files and folders instead of earlier ones.
func (w *Watcher) Inputs(files, folders []string) error {
	w.files, w.folders = files, folders
	dirs := map[string]bool{}
	for _, file := range files {
		if err := w.addFolder(filepath.Dir(file), dirs); err != nil {
			return err
		}
	}
	for _, folder := range folders {
		if err := w.addTree(folder, dirs); err != nil {
			return err
		}
	}
	return nil
}

// IsIdle reports whether the watcher has nothing to watch.
func (w *Watcher) IsIdle() bool { return len(w.files)+len(w.folders) == 0 }

// addFolder watches a folder, unless it is missing, and adds it to dirs.
func (w *Watcher) addFolder(dir string, dirs map[string]bool) error {
	if dirs[dir] {
		return nil
	}
	if len(dirs) == maxWatched {
		return fmt.Errorf("--watch: got more than %d folders, want less", maxWatched)
	}
	dirs[dir] = true
	if err := w.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errtext.File("--watch", err)
	}
	return nil
}

// addTree watches a folder and its subfolders, except hidden ones. It watches each folder
// before it lists it, so that no new subfolder escapes.
func (w *Watcher) addTree(folder string, dirs map[string]bool) error {
	return filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil // skip folders that cannot be read
		case name != folder && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		return w.addFolder(name, dirs)
	})
}

// wait returns the name of the first changed file, once files stop changing.
func (w *Watcher) wait(ctx context.Context) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case err := <-w.Errors:
			return "", errtext.File("--watch", err)
		case event := <-w.Events:
			if w.isWatched(event) {
				return event.Name, w.waitQuiet(ctx)
			}
		}
	}
}

// isWatched reports whether an event is about an input.
func (w *Watcher) isWatched(event fsnotify.Event) bool {
	contains := func(folder string) bool { return strings.HasPrefix(event.Name, folder+string(filepath.Separator)) }
	return event.Op != fsnotify.Chmod &&
		(slices.Contains(w.files, event.Name) || slices.ContainsFunc(w.folders, contains))
}

// waitQuiet waits until no file has changed for quietTime.
func (w *Watcher) waitQuiet(ctx context.Context) error {
	quiet := time.NewTimer(quietTime)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-w.Errors:
			return errtext.File("--watch", err)
		case <-w.Events:
			quiet.Reset(quietTime)
		case <-quiet.C:
			return nil
		}
	}
}

// Loop calls changed after each change, until ctx ends or there is an error. The end of ctx is no
// error.
func (w *Watcher) Loop(ctx context.Context, changed func(file string) error) error {
	for {
		file, err := w.wait(ctx)
		if err == nil {
			err = changed(file)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}
