package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// A Failure is a failure of the store with its code.
type Failure struct {
	ErrorCode string
	Err       error
}

func (e *Failure) Error() string { return e.Err.Error() }

// Code returns the error's code.
func (e *Failure) Code() string { return e.ErrorCode }

func (e *Failure) Unwrap() error { return e.Err }

// AsFailure returns a database's error as a [Failure], and nil for nil.
func AsFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, host.ErrBusy):
		return &Failure{"E0713", err}
	}
	return &Failure{"E0518", err}
}

// MinDigits is the fewest digits that stand for an id.
const MinDigits = 8

// FindStored returns the id of a stored fragment by its id, the id's first digits, or an alias.
func FindStored(ctx context.Context, s fragments.Store, name string) (id fragments.Hash, err error) {
	digits, isID := strings.CutPrefix(name, "sha256:")
	if len(digits) >= MinDigits && len(digits) <= 2*len(id) && strings.Trim(digits, "0123456789abcdef") == "" {
		ids, err := s.Find(ctx, digits, 2)
		switch {
		case err != nil:
			return id, AsFailure(err)
		case len(ids) == 1:
			return ids[0], nil
		case len(ids) > 1:
			return id, &Failure{"E0519", fmt.Errorf("%s: got the beginning of several ids, want more of one of them", name)}
		}
	} else if isID {
		return id, fmt.Errorf("sha256: got %s, want %d to 64 of 0-9 a-f", errtext.Brief(digits), MinDigits)
	}
	if isID {
		return id, &Failure{"E0519", fmt.Errorf("%s: the store has no such content", name)}
	}
	return FindAlias(ctx, s, name)
}

// FindAlias returns the id that an alias stands for.
func FindAlias(ctx context.Context, s fragments.Store, name string) (id fragments.Hash, err error) {
	id, ok, err := s.Alias(ctx, name)
	if err != nil {
		return id, AsFailure(err)
	}
	if !ok {
		names, _ := s.Aliases(ctx) // an error only means that there is no hint
		err = &Failure{"E0519", fmt.Errorf("the store has no alias %s%s", errtext.Brief(name), near.DidYouMean(name, names))}
	}
	return id, err
}
