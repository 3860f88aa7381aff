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

	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
)

// A watcher reports changes of files. It watches folders, because editors replace files.
type watcher struct {
	*fsnotify.Watcher
	files, folders []string // absolute
}

func newWatcher() (*watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, wrapFileError("--watch", err)
	}
	return &watcher{Watcher: w}, nil
}

// Limits of a watcher. Changes within quietTime make one result, because users save several
// files at once.
const (
	maxWatched = 1000 // folders
	quietTime  = 100 * time.Millisecond
)

// watchInputs makes the watcher report changes of these inputs instead of earlier ones.
func (w *watcher) watchInputs(in loader.Inputs) error {
	w.files, w.folders = in.Files, in.Folders
	dirs := map[string]bool{}
	for _, file := range in.Files {
		if err := w.addFolder(filepath.Dir(file), dirs); err != nil {
			return err
		}
	}
	for _, folder := range in.Folders {
		if err := w.addTree(folder, dirs); err != nil {
			return err
		}
	}
	return nil
}

// addFolder watches a folder, unless it is missing, and adds it to dirs.
func (w *watcher) addFolder(dir string, dirs map[string]bool) error {
	if dirs[dir] {
		return nil
	}
	if len(dirs) == maxWatched {
		return usagef("--watch: got more than %d folders, want less", maxWatched)
	}
	dirs[dir] = true
	if err := w.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrapFileError("--watch", err)
	}
	return nil
}

// addTree watches a folder and its subfolders, except hidden ones. It watches each folder
// before it lists it, so that no new subfolder escapes.
func (w *watcher) addTree(folder string, dirs map[string]bool) error {
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
func (w *watcher) wait(ctx context.Context) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case err := <-w.Errors:
			return "", wrapFileError("--watch", err)
		case event := <-w.Events:
			if w.isWatched(event) {
				return event.Name, w.waitQuiet(ctx)
			}
		}
	}
}

// isWatched reports whether an event is about an input.
func (w *watcher) isWatched(event fsnotify.Event) bool {
	contains := func(folder string) bool { return strings.HasPrefix(event.Name, folder+string(filepath.Separator)) }
	return event.Op != fsnotify.Chmod &&
		(slices.Contains(w.files, event.Name) || slices.ContainsFunc(w.folders, contains))
}

// waitQuiet waits until no file has changed for quietTime.
func (w *watcher) waitQuiet(ctx context.Context) error {
	quiet := time.NewTimer(quietTime)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-w.Errors:
			return wrapFileError("--watch", err)
		case <-w.Events:
			quiet.Reset(quietTime)
		case <-quiet.C:
			return nil
		}
	}
}

// loop calls changed after each change, until ctx ends or there is an error. The end of ctx is no
// error.
func (w *watcher) loop(ctx context.Context, changed func(file string) error) error {
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

// rounds calls run at once and after each change, with an app for its results, until ctx ends or
// there is an error.
func (a *app) rounds(ctx context.Context, w *watcher, run func(round *app) error) error {
	err := run(a.newRound())
	if err == nil {
		err = w.loop(ctx, func(file string) error {
			round := a.newRound()
			round.printNote("changed: " + a.relative(file))
			return run(round)
		})
	}
	if err == nil {
		a.code = exitInterrupted
	}
	return err
}

// newRound returns a copy of the app without results.
func (a *app) newRound() *app {
	b := *a
	b.out, b.colouredLines, b.code, b.warnings, b.logs, b.problems = bytes.Buffer{}, nil, 0, nil, nil, nil
	return &b
}

// printNote prints a note for people, which is no part of the result.
func (a *app) printNote(text string) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, texttable.Hang(text))
	}
}

// relative returns a path relative to the current folder.
func (a *app) relative(name string) string {
	if rel, err := filepath.Rel(a.path("."), name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}
