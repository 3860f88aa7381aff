package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/store"
)

// A sessionID is the value of --session; "" if the flag is not given.
type sessionID string

func (s *sessionID) Type() string   { return "session" }
func (s *sessionID) String() string { return string(*s) }

func (s *sessionID) Set(text string) error {
	*s = sessionID(text)
	return host.SessionConfig{ID: text}.CheckID()
}

// addSession adds the flag --session to a command.
func addSession(cmd *cobra.Command, id *sessionID) {
	cmd.Flags().Var(id, "session", "continue the stored session `ID`, or begin it, and store it")
}

// useStore makes the host store the session, and the fragments of its prompts.
func (s sessionID) useStore(env Env, o *loader.Options) {
	if db, err := env.database(o.Config); s != "" && err == nil && db != nil {
		o.Host.Sessions, o.Host.Fragments = db, env.writeContents(o.Config)
	}
}

// open continues the session that is stored under the id. If the id is "", it begins a session that is not
// stored.
func (s sessionID) open(
	ctx context.Context, set *loader.Set, c host.SessionConfig,
) (*host.Session, error) {
	switch {
	case s == "":
		return set.Host.NewSession(c), nil
	case set.Config.Store.URL == "none":
		return nil, errNoStore
	}
	c.ID = string(s)
	session, err := set.Host.Continue(ctx, c)
	if errors.Is(err, host.ErrClosed) {
		return nil, usagef("--session: session %q has ended (starhost sessions rm removes it)", c.ID)
	}
	return session, store.AsFailure(err)
}

// store stores the session, if the id is not "". It also stores what an interrupted run did.
func (s sessionID) store(ctx context.Context, session *host.Session) error {
	if s == "" {
		return nil
	}
	return store.AsFailure(session.Store(context.WithoutCancel(ctx)))
}

// errNoStore says that the config turns the store off.
var errNoStore = &store.Failure{ErrorCode: "E0518", Err: errors.New("there is no store here: store.url is none")}

// busyTime is how long a command without effects goes on trying, while other processes store turns of the
// session.
const busyTime = 5 * time.Second

// waitForTurn waits a moment before another try. It reports whether there is time for one.
func waitForTurn(ctx context.Context, since time.Time) bool {
	if time.Since(since) > busyTime {
		return false
	}
	select {
	case <-time.After(time.Duration(5+rand.IntN(50)) * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}

// A sessionChoice says which session a conversation continues.
type sessionChoice struct {
	id     sessionID // the value of --session
	newest bool      // --continue
	waits  bool      // true if --continue wants a session whose turn waits for an approval
	used   sessionID // the session to use; resolve sets it
}

func (s *sessionChoice) add(cmd *cobra.Command) {
	addSession(cmd, &s.id)
	cmd.Flags().BoolVar(&s.newest, "continue", false, "continue the session of run or chat that was stored last")
}

// isGiven reports whether flags choose a session.
func (s *sessionChoice) isGiven() bool { return s.id != "" || s.newest }

// maxNewest is the most sessions that --continue reads to find one of run or chat.
const maxNewest = 1000

// resolve chooses the session: with --continue the newest one, and without a flag a new one. If the config
// turns the store off, it chooses none.
func (s *sessionChoice) resolve(ctx context.Context, env Env, config *loader.Config) error {
	switch {
	case s.used != "":
		return nil
	case s.id != "" && s.newest:
		return usagef("got --session and --continue, want one of them")
	case s.id != "":
		s.used = s.id
		return nil
	case config.Store.URL == "none" && s.newest:
		return errNoStore
	case config.Store.URL == "none":
		return nil
	case !s.newest:
		s.used = sessionID(fmt.Sprintf("%s-%04x", time.Now().UTC().Format("20060102-150405"), rand.N(1<<16)))
		return nil
	}
	db, err := env.database(config)
	if err != nil {
		return err
	}
	sessions, err := db.Sessions(ctx, maxNewest)
	if err != nil {
		return store.AsFailure(err)
	}
	for _, stored := range sessions {
		waits := stored.Status == "waits" || stored.Status == "answered"
		if stored.Agent == platform && stored.Status != "ended" && waits == s.waits {
			s.used = sessionID(stored.ID)
			return nil
		}
	}
	if s.waits {
		return usagef("--continue: got no prompt, and no stored session whose turn waits for an approval (starhost sessions list)")
	}
	return usagef("--continue: got no stored session of run or chat, want one (starhost sessions list)")
}

// platform is the platform of the sessions of this program.
const platform = "cli"
