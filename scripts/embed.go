// Package scripts contains the plugins that ship with starhost: samples to read and copy, each
// with its golden cases, and the starters that `starhost new` copies with [Write].
package scripts

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files contains the folders of the samples, which `starhost demo` runs, and starter, with a folder
// for each kind of plugin to begin with. `starhost new guard` copies guard. `starhost new plugin`
// copies a starter, and replaces the word starter in its files by the name of the new plugin.
//
//go:embed calculator evidence guard incident policy redact runbooks starter
var Files embed.FS

// Write writes all files of a folder of [Files] into a new folder, or none, and returns their names.
func Write(dir, root string, rename *strings.Replacer) (names []string, err error) {
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".starhost-new-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	whole := filepath.Join(temp, "whole")
	err = fs.WalkDir(Files, root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := Files.ReadFile(file)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(file, root+"/")
		names = append(names, name)
		target := filepath.Join(whole, filepath.FromSlash(name))
		err = os.MkdirAll(filepath.Dir(target), 0o777)
		return errors.Join(err, os.WriteFile(target, []byte(rename.Replace(string(text))), 0o666))
	})
	if err != nil {
		return nil, err
	}
	return names, os.Rename(whole, dir)
}
