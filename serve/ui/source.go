package ui

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"unicode/utf8"
)

// maxSource is the most bytes of a file that the page shows.
const maxSource = 4 << 20

// answerSource answers with a text file of a plugin. No link leads out of the plugin's folder.
func (s *Server) answerSource(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	text, name, err := s.readSource(q.Get("plugin"), q.Get("file"))
	if err != nil {
		writeError(w, http.StatusNotFound, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"file": name, "text": text})
}

// readSource reads a file of a plugin, by default its main file.
func (s *Server) readSource(plugin, name string) (text, file string, err error) {
	dir, single, ok := s.Folder(plugin)
	switch {
	case !ok:
		return "", "", fmt.Errorf("no plugin %.100q is in use", plugin)
	case single != "":
		if name != "" && name != single {
			return "", "", fmt.Errorf("the plugin has no file %.100q", name)
		}
		name = single
	case name == "":
		name = "plugin.star"
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return "", "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSource {
		return "", "", fmt.Errorf("%.100q: want a file of at most %d bytes", name, maxSource)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%.100q: the file is no text", name)
	}
	return string(data), name, err
}

// isCaseName reports whether the page may give a golden case this name.
func isCaseName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// answerGolden writes a new golden case for a record of the decision log.
func (s *Server) answerGolden(w http.ResponseWriter, r *http.Request) {
	var q struct{ ID, Plugin, Name string }
	if !readQuestion(w, r, &q) {
		return
	}
	leave, ok := s.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	if !isCaseName(q.Name) {
		writeError(w, http.StatusBadRequest, "the name of the case: want small letters, digits and _")
		return
	}
	args := append(append([]string{}, s.Global...), "log", "show", "--golden", "--plugin="+q.Plugin, "--", q.ID)
	o := s.runCommand(r.Context(), args, false)
	if o.Code != 0 {
		writeOutput(w, o)
		return
	}
	file, err := s.writeCase(q.Plugin, q.Name, o.Out)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"code": 0, "file": file})
}

// writeCase writes a golden case below the folder of a plugin, and replaces no file.
func (s *Server) writeCase(plugin, name string, text []byte) (file string, err error) {
	dir, single, ok := s.Folder(plugin)
	if !ok {
		return "", fmt.Errorf("no plugin %.100q is in use", plugin)
	}
	if single != "" { // its cases stand beside it
		name = plugin + "_" + name
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.Mkdir("golden", 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	file = path.Join("golden", name+".txtar")
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s: this file exists: want another name", file)
	}
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return file, errors.Join(err, f.Close())
}
