package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/store"
)

// A sessionID is the value of --session, "" if the flag is not given.
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

// useStore lets the host store the session, and the fragments of its prompts.
func (s sessionID) useStore(env Env, o *loader.Options) {
	if db, err := env.database(o.Config); s != "" && err == nil && db != nil {
		o.Host.Sessions, o.Host.Fragments = db, env.writeContents(o.Config)
	}
}

// open continues the stored session. Without an id it begins one that is not stored.
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

// store stores the session, if there is an id. It stores what an interrupted run did, too.
func (s sessionID) store(ctx context.Context, session *host.Session) error {
	if s == "" {
		return nil
	}
	err := session.Store(context.WithoutCancel(ctx))
	if errors.Is(err, host.ErrBusy) {
		return &store.Failure{ErrorCode: "E0713", Err: err}
	}
	return store.AsFailure(err)
}

// errNoStore says that the config turns the store off.
var errNoStore = &store.Failure{ErrorCode: "E0518", Err: errors.New("there is no store here: store.url is none")}

// busyTime is how long a command without effects tries to be the next in a session.
const busyTime = 5 * time.Second

// waitForTurn waits a moment before another try, and reports whether there is time for one.
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
