package effects

import (
	"context"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

const (
	// minDigits is the fewest digits of an id that a reference may have.
	minDigits = 8
	// maxCandidates is the most ids that a message lists.
	maxCandidates = 10
)

// loadID resolves sha256:DIGITS. Handlers may use it too, because [World.LoadFragment] asks for
// the permission fragment:sha256.
func (r *references) loadID(ctx context.Context, digits string) (starhost.Context, error) {
	if !isID(digits) {
		return starhost.Context{}, errorf("E0519", "reference sha256: got %s, want %d to 64 of 0-9 a-f", errtext.Quote(digits), minDigits)
	}
	id, ok, err := r.findID(ctx, digits)
	if err == nil && !ok {
		err = errorf("E0519", "reference sha256:%s: the store has no such content%s", digits, near.Hint(r.suggestID(ctx, digits)))
	}
	if err != nil {
		return starhost.Context{}, err
	}
	return r.loadContent(ctx, id)
}

// isID reports whether a text can be an id or its first digits.
func isID(text string) bool {
	return len(text) >= minDigits && len(text) <= 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// loadNamed resolves a reference without prefix: an id or an alias. It returns ErrNoReference
// if the reference is neither.
func (r *references) loadNamed(ctx context.Context, name string) (starhost.Context, error) {
	var (
		id  fragments.Hash
		ok  bool
		err error
	)
	if r.Store == nil {
		return starhost.Context{}, host.ErrNoReference
	}
	if isID(name) {
		id, ok, err = r.findID(ctx, name)
	}
	if err == nil && !ok && fragments.CheckAlias(name) == nil {
		id, ok, err = r.Store.Alias(ctx, name)
		err = storeError(err)
	}
	switch {
	case err != nil:
		return starhost.Context{}, err
	case !ok:
		return starhost.Context{}, host.ErrNoReference
	}
	return r.loadContent(ctx, id)
}

// findID returns the id that begins with some digits. If no id does, ok is false. If several ids do, err
// lists them.
func (r *references) findID(ctx context.Context, digits string) (id fragments.Hash, ok bool, err error) {
	ids, err := r.Store.Find(ctx, digits, maxCandidates+1)
	switch {
	case err != nil:
		return id, false, storeError(err)
	case len(ids) == 0:
		return id, false, nil
	case len(ids) == 1:
		return ids[0], true, nil
	}
	more := ""
	if len(ids) > maxCandidates {
		ids, more = ids[:maxCandidates], ", …"
	}
	return id, false, errorf("E0519", "reference %s: got the beginning of several ids, want more of one of %s%s", digits, strings.Join(beginnings(ids, 64), ", "), more)
}

// suggestID returns a reference to the id that the user may have meant, or "". The id has the same first four
// digits, and the other digits are similar.
func (r *references) suggestID(ctx context.Context, digits string) string {
	ids, err := r.Store.Find(ctx, digits[:4], maxCandidates)
	if err != nil {
		return ""
	}
	found := near.Name(digits, beginnings(ids, len(digits)))
	if found == "" {
		return ""
	}
	return "sha256:" + found
}

// beginnings returns the first digits of each id.
func beginnings(ids []fragments.Hash, digits int) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()[:digits]
	}
	return texts
}

// loadContent returns a text of the store. The caller sets its source to the reference.
func (r *references) loadContent(ctx context.Context, id fragments.Hash) (starhost.Context, error) {
	text, ok, err := r.Store.Get(ctx, id)
	switch {
	case err != nil:
		return starhost.Context{}, storeError(err)
	case !ok:
		if a, ok, err := r.attachment(ctx, id); ok || err != nil {
			return starhost.Context{Attachments: []fragments.Attachment{a}}, storeError(err)
		} // another process removed it just now
		return starhost.Context{}, errorf("E0519", "reference sha256:%s: the store has no such content", id)
	}
	return starhost.Context{Fragments: []fragments.Fragment{{Content: text}}}, nil
}

// attachment returns a stored attachment, if the store has attachments.
func (r *references) attachment(ctx context.Context, id fragments.Hash) (a fragments.Attachment, ok bool, err error) {
	store, ok := r.Store.(interface {
		Attachment(ctx context.Context, id fragments.Hash) (fragments.Attachment, bool, error)
	})
	if !ok {
		return a, false, nil
	}
	if a, ok, err = store.Attachment(ctx, id); ok && err == nil {
		a = NewAttachment([]byte(a.Content), "", a.Type)
	}
	return a, ok, err
}

// storeError returns the error that the store failed with, with a code.
func storeError(err error) error {
	if err == nil {
		return nil
	}
	return errorf("E0518", "fragment store: %v", err)
}
