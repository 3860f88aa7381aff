package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/errtext"
)

// runTimeout is the time for one command.
const runTimeout = 2 * time.Minute

// A command is what a view runs.
type command struct {
	args    []string          // the command's name and fixed flags
	paths   bool              // it takes the paths of the page's plugins
	loading bool              // it takes the flags for loading them, too
	last    bool              // it uses the last plugins without a mistake
	effects bool              // it runs effects if the operator allowed it at the start
	flags   map[string]string // members of the question and their flags, "" for a plain argument
}

// newCommands returns the rows of the table, by the last part of their path. The table is no
// variable, because every start of the program would make it.
func newCommands() map[string]command {
	return map[string]command{
		"list":       {args: []string{"list", "-F", "json"}, paths: true, loading: true},
		"registered": {args: []string{"list", "-F", "json"}, paths: true, loading: true, last: true},
		"check":      {args: []string{"check", "-F", "json"}, paths: true, loading: true},
		"bench":      {args: []string{"bench", "--time", "2ms", "-F", "json"}, paths: true, loading: true},
		"test":       {args: []string{"test", "--coverage", "--allow-empty", "-F", "json"}, paths: true},
		"prompt": {args: []string{"eval", "-F", "json"}, paths: true, loading: true, last: true, flags: map[string]string{
			"prompt": "--prompt", "system": "--system", "fragments": "--fragment", "template": "--template",
			"params": "--param", "session": "--session", "now": "--now", "format": "--format",
			"model": "--model",
		}},
		"fire": {args: []string{"eval", "-F", "json"}, paths: true, loading: true, last: true, flags: map[string]string{
			"event": "--fire", "args": "--args", "session": "--session", "now": "--now",
		}},
		"reach": {args: []string{"eval", "--reached", "-F", "json"}, paths: true, loading: true, last: true, flags: map[string]string{
			"event": "--fire", "args": "--args",
		}},
		"call": {args: []string{"eval", "-F", "json"}, paths: true, loading: true, last: true, effects: true, flags: map[string]string{
			"tool": "--call", "args": "--args", "approve": "--approve",
		}},
		"replay": {args: []string{"replay", "-F", "json"}, paths: true, loading: true, flags: map[string]string{
			"since": "--since", "only": "--only",
		}},
		"sessions": {args: []string{"sessions", "list", "-F", "json"}},
		"session":  {args: []string{"sessions", "show", "-F", "json"}, flags: map[string]string{"id": ""}},
		"answer": {args: []string{"sessions", "answer", "-F", "json"}, flags: map[string]string{
			"question": "--question", "words": "", // the session's id and yes or no
		}},
		"doctor": {args: []string{"hook", "doctor", "-F", "json"}},
	}
}

// answerCommand runs the command of a path.
func (s *Server) answerCommand(w http.ResponseWriter, r *http.Request) {
	c := s.commands[strings.TrimPrefix(r.URL.Path, "/api/")]
	var q map[string]json.RawMessage
	if !readQuestion(w, r, &q) {
		return
	}
	args, err := s.arguments(&c, q)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	leave, ok := s.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	writeOutput(w, s.runCommand(r.Context(), args, c.last))
}

// runCommand runs a command for at most runTimeout.
func (s *Server) runCommand(ctx context.Context, args []string, last bool) Output {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	return s.Run(ctx, args, last)
}

// arguments returns the arguments of a command for a question. Values stand behind "=" or "--", so
// that none of them is a flag.
func (s *Server) arguments(c *command, q map[string]json.RawMessage) ([]string, error) {
	args := slices.Concat(s.Global, c.args)
	if c.effects && s.AllowEffects {
		args = append(args, "--allow-effects")
	}
	var plain []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		flag, ok := c.flags[name]
		if !ok {
			return nil, fmt.Errorf("the question: unknown member %.100q", name)
		}
		values, err := texts(q[name])
		if err != nil {
			return nil, fmt.Errorf("the question: %s: %w", name, err)
		}
		for _, v := range values {
			switch {
			case flag == "":
				plain = append(plain, v)
			case name == "args" && !isObject(v):
				return nil, errors.New("the arguments: want a JSON object")
			default:
				args = append(args, flag+"="+v)
			}
		}
	}
	if c.loading {
		args = append(args, s.Loading...)
	}
	if c.paths {
		plain = append(plain, s.Paths...)
	}
	return append(append(args, "--"), plain...), nil
}

// texts returns the value of a member: a text or a list of texts. An empty text is no value.
func texts(raw json.RawMessage) (list []string, err error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, errors.New("want a text or a list of texts")
	}
	return slices.DeleteFunc(list, func(v string) bool { return v == "" }), nil
}

// isObject reports whether a text is a JSON object. The flag for arguments would read files for
// other texts.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// writeOutput answers with the output of a command: JSON as it is, other output as text.
func writeOutput(w http.ResponseWriter, o Output) {
	out := json.RawMessage(o.Out)
	if !json.Valid(o.Out) {
		out, _ = json.Marshal(string(o.Out))
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"code": o.Code, "output": out, "diagnostics": errtext.CutTo(string(o.Diagnostics), 64<<10, "…"),
	})
}
