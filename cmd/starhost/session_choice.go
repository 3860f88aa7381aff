package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/store"
)

// A sessionChoice says which session a conversation continues.
type sessionChoice struct {
	id     sessionID // the value of --session
	newest bool      // --continue
	waits  bool      // --continue wants a session whose turn waits for an approval
	used   sessionID // the session to use: see resolve
}

func (s *sessionChoice) add(cmd *cobra.Command) {
	addSession(cmd, &s.id)
	cmd.Flags().BoolVar(&s.newest, "continue", false, "continue the session of run or chat that was stored last")
}

// isGiven reports whether flags choose a session.
func (s *sessionChoice) isGiven() bool { return s.id != "" || s.newest }

// maxNewest is the most sessions that --continue reads to find one of run or chat.
const maxNewest = 1000

// resolve chooses the session: the newest one with --continue, and a new one without a flag. It
// chooses none if the config turns the store off.
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
