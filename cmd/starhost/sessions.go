package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/store"
)

func (p *program) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, answer and remove stored sessions",
		Long: `List, show, answer and remove stored sessions: those of --session in the store, and those
of the hooks of agents, which starhost stores in files of their own. An agent has the
messages of its sessions, so that starhost stores only what plugins need.`,
		Example: `  starhost sessions list
  starhost sessions show mine`,
		Args: refuseSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		p.sessionsListCommand(), p.sessionsShowCommand(), p.sessionsExportCommand(), p.sessionsRemoveCommand(),
		p.sessionsAnswerCommand(),
	)
	return cmd
}

// A storedSession is a session in the store, or in a file of hook.
type storedSession struct {
	store.Session
	file  string // the name of the file without its end, "" for the store
	saved host.SavedSession
	err   error // the file cannot be read
}

// A sessionPlace is where sessions are stored.
type sessionPlace struct {
	db    *store.DB // nil if the config turns the store off
	files *hook.States
}

// maxSessions is the most sessions that a command reads if no flag says otherwise.
const maxSessions = 1000

// sessionPlace returns the place that the config names.
func (env Env) sessionPlace(res *Result) (p sessionPlace, err error) {
	config, err := env.loadConfig(res)
	if err != nil {
		return p, err
	}
	p.files = &hook.States{Dir: hook.StateDir(env.getenv)}
	p.db, err = env.database(config)
	return p, err
}

// list returns the sessions, the last stored first. more reports whether there are others beyond
// the limit.
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

// find returns the session of an id. A session of hook has the first digits of its file's name as
// another id.
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

// maxFiles is the most files of hook that a search reads.
const maxFiles = 100_000

// unknown returns the error for an id of no session.
func (p *sessionPlace) unknown(ctx context.Context, id string) error {
	all, _, _ := p.list(ctx, maxSessions) // an error only means that there is no hint
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
	if s.file == "" { // one with a file can be removed even if it cannot be read
		return cmp.Or(err, p.unknown(ctx, id))
	}
	return store.AsFailure(p.files.Remove(s.file))
}

// A sessionList is the result of sessions list.
type sessionList struct {
	sessions []storedSession
	more     bool // beyond the limit
}

func (p *program) sessionsListCommand() *cobra.Command {
	limit := maxSessions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stored sessions, the last used first",
		Example: `  starhost sessions list
  starhost sessions list --limit 10 -F json`,
		Args: noArguments,
		RunE: runSubcommand(p, "sessions list", func(ctx context.Context, _ []string) (l sessionList, err error) {
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
		RunE: runSubcommand(p, "sessions show", func(ctx context.Context, args []string) (storedSession, error) {
			return p.env.findSession(ctx, &p.res, args)
		}),
	}
}

// findSession returns the session that the argument names.
func (env Env) findSession(ctx context.Context, res *Result, args []string) (storedSession, error) {
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
		Use:   "export ID",
		Short: "Print everything that is stored of a session, as JSON",
		Example: `  starhost sessions export mine
  starhost sessions export mine -o mine.json`,
		Args: wantArguments("a session's id"),
		RunE: runSubcommand(p, "sessions export", func(ctx context.Context, args []string) (exportedSession, error) {
			s, err := p.env.findSession(ctx, &p.res, args)
			return exportedSession(s), err
		}),
	}
}

// A removal is the result of sessions rm: the ids.
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
		RunE: runSubcommand(p, "sessions rm", func(ctx context.Context, ids []string) (done removal, err error) {
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
