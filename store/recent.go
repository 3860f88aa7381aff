package store

import (
	"slices"
	"time"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/cache"
)

const (
	// recentTime is the time for which a process does not ask the database again whether it has a
	// content. If another process removes the content meanwhile, Get notices.
	recentTime = time.Hour
	// maxRecent is the most ids that a process remembers, about 8 MiB.
	maxRecent = 100_000
)

// recentIDs are the contents that the database had a short time ago, so that a prompt of stored
// contents needs no statement. The zero value is empty.
type recentIDs struct {
	at cache.Cache[fragments.Hash, time.Time]
}

// unknown returns the contents that the database may not have.
func (r *recentIDs) unknown(contents []fragments.Content, now time.Time) []fragments.Content {
	isRecent := func(c fragments.Content) bool {
		at, _ := r.at.Get(c.ID)
		age := now.Sub(at)
		return age >= 0 && age < recentTime
	}
	if !slices.ContainsFunc(contents, func(c fragments.Content) bool { return !isRecent(c) }) {
		return nil // the usual case, without an allocation
	}
	return slices.DeleteFunc(slices.Clone(contents), isRecent)
}

// add registers contents that the database has.
func (r *recentIDs) add(contents []fragments.Content, now time.Time) {
	for _, c := range contents {
		r.at.Set(c.ID, now, 1, maxRecent)
	}
}

// remove drops an id, because the database does not have the content.
func (r *recentIDs) remove(id fragments.Hash) { r.at.Set(id, time.Time{}, 1, maxRecent) }
