package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/store"
)

func (p *program) sessionsCommand() *cobra.Command {
	return family(&cobra.Command{
		Use:   "sessions",
		Short: "List, show, answer and remove stored sessions",
		Long: `List, show, answer and remove stored sessions: those of --session in the store, and those
of the hooks of agents, which starhost stores in files of their own. An agent has the
messages of its sessions, so that starhost stores only what plugins need.`,
		Example: `  starhost sessions list
  starhost sessions show mine`,
	},
		p.sessionsListCommand(), p.sessionsShowCommand(), p.sessionsExportCommand(), p.sessionsRemoveCommand(),
		p.sessionsAnswerCommand(),
	)
}

// A storedSession is a session that is in the store, or in a file of hook.
type storedSession struct {
	store.Session
	file  string // the name of hook's file, without its end; "" for a session in the store
	saved host.SavedSession
	err   error // why the file cannot be read
}

// A sessionPlace says where sessions are stored.
type sessionPlace struct {
	db    *store.DB // nil if the config turns the store off
	files *hook.States
}

// maxSessions is the most sessions that a command reads if no flag says otherwise.
const maxSessions = 1000

// sessionPlace returns the place that the config names.
func (env Env) sessionPlace(res *Result) (p sessionPlace, err error) {
	config, err := env.loadConfig(res, false)
	if err != nil {
		return p, err
	}
	p.files = &hook.States{Dir: hook.StateDir(env.getenv)}
	p.db, err = env.database(config)
	return p, err
}

// list returns at most limit sessions, the one that was stored last first. more reports whether there are
// others.
func (p *sessionPlace) list(ctx context.Context, limit int) (list []storedSession, more bool, err error) {
	if p.db != nil {
		stored, err := p.db.Sessions(ctx, limit+1)
		if err != nil {
			return nil, false, store.AsFailure(err)
		}
		for _, s := range stored {
			list = append(list, storedSession{Session: s})
		}
	}
	files, err := p.hookSessions(limit + 1)
	if err != nil {
		return nil, false, err
	}
	list = append(list, files...)
	slices.SortStableFunc(list, func(x, y storedSession) int {
		return cmp.Or(y.Stored.Compare(x.Stored), strings.Compare(x.ID, y.ID))
	})
	return list[:min(len(list), limit)], len(list) > limit, nil
}

// hookSessions returns the sessions in the files of hook.
func (p *sessionPlace) hookSessions(limit int) ([]storedSession, error) {
	files, err := p.files.List(limit)
	if err != nil {
		return nil, store.AsFailure(err)
	}
	return jsontext.List(files, func(f *hook.StoredState) storedSession {
		s := storedSession{file: f.Name, saved: f.Session, err: f.Err}
		s.Session = store.Session{
			ID: cmp.Or(f.Session.ID, f.Name[:store.MinDigits]), Agent: f.Session.Agent, Turns: f.Session.Turns,
			Status: f.Session.Status(), Size: f.Size, Stored: f.Stored,
		}
		if f.Err != nil {
			s.Status = "damaged"
		}
		return s
	}), nil
}

// find returns the session with an id. A session of hook can also be found by the first digits of its file's
// name.
func (p *sessionPlace) find(ctx context.Context, id string) (s storedSession, err error) {
	if p.db != nil && (host.SessionConfig{ID: id}).CheckID() == nil {
		s.saved, err = p.db.LoadSession(ctx, id)
		if err != nil || s.saved.Version > 0 {
			s.Session = store.Session{
				ID: id, Agent: s.saved.Agent, Version: s.saved.Version, Turns: s.saved.Turns, Status: s.saved.Status(),
			}
			return s, store.AsFailure(err)
		}
	}
	files, err := p.hookSessions(maxFiles)
	if err != nil {
		return s, err
	}
	var found []storedSession
	for _, f := range files {
		isFile := len(id) >= store.MinDigits && strings.HasPrefix(f.file, id)
		if f.saved.ID == id || isFile {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], store.AsFailure(found[0].err)
	case len(found) > 1:
		names := jsontext.List(found, func(f *storedSession) string { return f.Agent + " " + f.file[:12] })
		return s, &store.Failure{ErrorCode: "E0714", Err: fmt.Errorf("session %s: got several, want the digits of one of them: %s",
			errtext.Brief(id), strings.Join(names, ", "))}
	}
	return s, p.unknown(ctx, id)
}

// maxFiles is the most files of hook that find reads.
const maxFiles = 100_000

// unknown returns the error for an id that no session has.
func (p *sessionPlace) unknown(ctx context.Context, id string) error {
	all, _, _ := p.list(ctx, maxSessions) // without the list there is only no hint
	ids := jsontext.List(all, func(s *storedSession) string { return s.ID })
	return &store.Failure{ErrorCode: "E0714", Err: fmt.Errorf("there is no stored session %s%s", errtext.Brief(id), near.DidYouMean(id, ids))}
}

// remove removes a session.
func (p *sessionPlace) remove(ctx context.Context, id string) error {
	if p.db != nil {
		existed, err := p.db.RemoveSession(ctx, id)
		if existed || err != nil {
			return store.AsFailure(err)
		}
	}
	s, err := p.find(ctx, id)
	if s.file == "" { // a session in a file can be removed even if the file cannot be read
		return cmp.Or(err, p.unknown(ctx, id))
	}
	return store.AsFailure(p.files.Remove(s.file))
}

// A sessionList is the result of sessions list.
type sessionList struct {
	sessions []storedSession
	more     bool // true if there are more than the limit
}

func (p *program) sessionsListCommand() *cobra.Command {
	limit := maxSessions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stored sessions, the last used first",
		Example: `  starhost sessions list
  starhost sessions list --limit 10 -F json`,
		Args: noArguments,
		RunE: runSubcommand(p, func(ctx context.Context, _ []string) (l sessionList, err error) {
			if limit < 1 {
				return l, usagef("--limit: got %d, want at least 1", limit)
			}
			p, err := p.env.sessionPlace(&p.res)
			if err != nil {
				return l, err
			}
			l.sessions, l.more, err = p.list(ctx, limit)
			return l, err
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", maxSessions, "most sessions")
	return cmd
}

func (p *program) sessionsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show the messages and the state of a session",
		Example: `  starhost sessions show mine
  starhost sessions show mine -F json`,
		Args: wantArguments("a session's id"),
		RunE: runSubcommand(p, func(ctx context.Context, args []string) (storedSession, error) {
			return findSession(ctx, p.env, &p.res, args)
		}),
	}
}

// findSession returns the session that the argument names.
func findSession(ctx context.Context, env Env, res *Result, args []string) (storedSession, error) {
	p, err := env.sessionPlace(res)
	if err != nil {
		return storedSession{}, err
	}
	return p.find(ctx, args[0])
}

// An exportedSession is the result of sessions export.
type exportedSession storedSession

func (p *program) sessionsExportCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "export ID",
		Annotations: formats("json"),
		Short:       "Print everything that is stored of a session, as JSON",
		Example: `  starhost sessions export mine
  starhost sessions export mine -o mine.json`,
		Args: wantArguments("a session's id"),
		RunE: runSubcommand(p, func(ctx context.Context, args []string) (exportedSession, error) {
			s, err := findSession(ctx, p.env, &p.res, args)
			return exportedSession(s), err
		}),
	}
}

// A removal is the result of sessions rm: the ids of the removed sessions.
type removal []string

func (p *program) sessionsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove stored sessions",
		Example: `  starhost sessions rm mine
  starhost sessions rm mine other -F json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s: got no session, want an id that starhost sessions list shows", cmd.CommandPath())
			}
			return nil
		},
		RunE: runSubcommand(p, func(ctx context.Context, ids []string) (done removal, err error) {
			place, err := p.env.sessionPlace(&p.res)
			if err != nil {
				return nil, err
			}
			var failures []error
			for _, id := range ids {
				if err := place.remove(ctx, id); err != nil {
					failures = append(failures, err)
				} else {
					done = append(done, id)
				}
			}
			p.res.addError(errors.Join(failures...))
			return done, nil
		}),
	}
}

func (l sessionList) WriteText(res *Result) {
	var rows [][]string
	for i := range l.sessions {
		s := &l.sessions[i]
		rows = append(rows, []string{
			texttable.Cell(s.ID), s.Stored.Format(time.DateOnly), s.Agent, texttable.Count(s.Turns, "turn"),
			fmt.Sprintf("%d B", s.Size), s.Status,
		})
	}
	res.out.Table(rows)
	if l.more {
		res.out.WriteString("There are more: see --limit.\n")
	}
}

// sessionSummaryJSON is a session in a list.
type sessionSummaryJSON struct {
	ID      string `json:"id"`
	Agent   string `json:"agent"`
	Turns   int    `json:"turns"`
	Version int64  `json:"version"` // 0 for a session of hook
	Bytes   int64  `json:"bytes"`
	Stored  string `json:"stored"`
	File    string `json:"file"` // "" for a session in the store
	Status  string `json:"status"`
}

func newSessionSummaryJSON(s *storedSession) sessionSummaryJSON {
	return sessionSummaryJSON{
		s.ID, s.Agent, s.Turns, s.Version, s.Size, s.Stored.Format(time.RFC3339), s.file, s.Status,
	}
}

func (l sessionList) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.sessions/1"), members{"sessions": jsontext.List(l.sessions, newSessionSummaryJSON)}, members{"more": l.more})
}

func (s storedSession) WriteText(res *Result) {
	rows := [][]string{
		{"session", s.ID}, {"agent", s.Agent}, {"turns", fmt.Sprint(s.Turns)}, {"contents", fmt.Sprint(len(s.saved.Sent))},
	}
	if s.file != "" {
		rows = append(rows, []string{"file", s.file + ".json"})
	}
	if s.Status != "" {
		rows = append(rows, []string{"status", s.Status})
	}
	if q := report.QuestionOf(&s.saved); q != nil {
		rows = append(rows, report.QuestionRows(q)...)
	}
	plugins := s.saved.State
	for _, owner := range slices.Sorted(maps.Keys(plugins)) {
		plugin, _, _ := strings.Cut(owner, "@") // the JSON result has the whole owner
		for _, key := range slices.Sorted(maps.Keys(plugins[owner])) {
			rows = append(rows, []string{"state", fmt.Sprintf("%s: %s = %s", plugin, key, texttable.Cell(string(plugins[owner][key])))})
		}
	}
	res.out.Table(rows)
	if s.saved.System != "" {
		report.WriteMessage(&res.out, "system", s.saved.System)
	}
	report.WriteMessages(&res.out, report.Messages(&s.saved))
}

func (s answeredSession) WriteText(res *Result) {
	q := report.QuestionOf(&s.saved)
	rows := [][]string{{"answered", s.ID + ": " + q.Answer}, {"call", q.Tool + " " + q.Arguments}}
	if s.Agent == platform {
		rows = append(rows, []string{"next", "starhost run --session " + shellwords.Quote(s.ID) + " goes on with the turn"})
	}
	res.out.Table(rows)
}

func (s answeredSession) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.answer/1"), members{"id": s.ID, "question": report.QuestionOf(&s.saved)})
}

func (s storedSession) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.session/1"), struct {
		ID       string                                `json:"id"`
		Agent    string                                `json:"agent"`
		Turns    int                                   `json:"turns"`
		Version  int64                                 `json:"version"`
		File     string                                `json:"file"`
		Status   string                                `json:"status"`
		System   string                                `json:"system"`
		Messages []report.Message                      `json:"messages"`
		State    map[string]map[string]json.RawMessage `json:"state"`
		Contents int                                   `json:"contents"`
		Question *report.Question                      `json:"question"`
	}{
		s.ID, s.Agent, s.Turns, s.Version, s.file, s.Status,
		report.ValidUTF8(s.saved.System), report.Messages(&s.saved), s.saved.State, len(s.saved.Sent),
		report.QuestionOf(&s.saved),
	})
}

func (s exportedSession) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.session_export/1"), members{"session": s.saved})
}

func (ids removal) WriteText(res *Result) {
	for _, id := range ids {
		fmt.Fprintf(&res.out, "removed %s\n", texttable.EscapeLine(id))
	}
}

func (ids removal) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.removal/1"), members{"removed": append([]string{}, ids...)}, res.errors())
}

// An answeredSession is the result of sessions answer.
type answeredSession struct{ storedSession }

func (p *program) sessionsAnswerCommand() *cobra.Command {
	var question string
	cmd := &cobra.Command{
		Use:   "answer ID yes|no",
		Short: "Answer the question for which a session's turn waits",
		Long: `Answer the question for which a session's turn waits: whether a tool call may run.
starhost sessions show ID shows it. starhost stores the answer, and the program that
goes on with the turn uses it once, within 24 hours of the question, and only if the
call, its arguments and the plugins are still the same. The guards are asked again.`,
		Example: `  starhost sessions answer waiting yes
  starhost sessions answer waiting no -F json`,
		Args: wantArguments("a session's id", "yes or no"),
		RunE: runSubcommand(p, func(ctx context.Context, args []string) (answeredSession, error) {
			return answerSession(ctx, p.env, &p.res, args[0], args[1], question)
		}),
	}
	cmd.Flags().StringVar(&question, "question", "", "answer only the question whose digest begins with these `DIGITS`")
	return cmd
}

// answerSession stores an answer to the question for which the turn of a session waits.
func answerSession(ctx context.Context, env Env, res *Result, id, word, question string) (s answeredSession, err error) {
	words := []string{"no", "yes"}
	choice := slices.Index(words, word)
	switch {
	case choice < 0:
		return s, usagef("sessions answer: got %s, want yes or no", errtext.Brief(word))
	case question != "" && len(question) < store.MinDigits:
		return s, usagef("--question: got %s, want at least %d digits", errtext.Brief(question), store.MinDigits)
	}
	p, err := env.sessionPlace(res)
	if err != nil {
		return s, err
	}
	if s.storedSession, err = p.find(ctx, id); err != nil {
		return s, err
	}
	paused := s.saved.Paused
	switch {
	case paused == nil, paused.Digest == "":
		return s, &store.Failure{ErrorCode: "E0719", Err: errors.New("session " + errtext.Brief(id) + ": no turn waits for an answer")}
	case !strings.HasPrefix(paused.Digest, question):
		return s, &store.Failure{ErrorCode: "E0719", Err: errors.New("session " + errtext.Brief(id) + ": the question is another one, " + paused.Digest[:12])}
	}
	if err := s.saved.Answer(paused.Digest, choice == 1, time.Now()); err != nil {
		return s, &store.Failure{ErrorCode: "E0719", Err: err}
	}
	return s, store.AsFailure(p.db.StoreSession(ctx, s.saved))
}
