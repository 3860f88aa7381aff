package fragments

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Budget limits the content that one turn adds to a session. Zero means no limit, in every
// field. Operators set the limits in [prompt] of their config, under the names that messages
// show, such as max_bytes.
type Budget struct {
	MaxBytes      int64 // all fragments together, without the text that a rendering adds
	MaxFragment   int64 // bytes of one fragment; CheckSize enforces it, Fit does not
	MaxPlugin     int64 // bytes of the fragments that one plugin offered first
	MaxAttachment int64 // bytes of one attachment

	MaxAttachments int   // number of attachments
	MaxPixels      int64 // width times height of one attachment

	MaxTokens int64              // tokens of all fragments together
	Count     func(string) int64 // returns the tokens of a content; nil disables MaxTokens

	// Spent counts the content that the turn's earlier prompts added, and Fit adds to it. Nil
	// is for a turn of one prompt.
	Spent *Spent
}

// A Spent counts the content that the prompts of a turn have added so far. The zero value is
// nothing.
type Spent struct {
	sums        map[string]sums // by quota
	attachments int
}

// A savedSpent is a Spent in JSON.
type savedSpent struct {
	Sums        map[string]sums `json:"sums,omitempty"`
	Attachments int             `json:"attachments,omitempty"`
}

// Clone returns a copy.
func (s *Spent) Clone() Spent { return Spent{maps.Clone(s.sums), s.attachments} }

// MarshalJSON implements [json.Marshaler].
func (s Spent) MarshalJSON() ([]byte, error) { return json.Marshal(savedSpent{s.sums, s.attachments}) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Spent) UnmarshalJSON(data []byte) error {
	var saved savedSpent
	err := json.Unmarshal(data, &saved)
	s.sums, s.attachments = saved.Sums, saved.Attachments
	return err
}

// sums are the amounts that each payer has spent of one quota.
type sums map[string]int64

// sum returns the amount that a payer has spent of a quota; s may be nil.
func (s *Spent) sum(quota, payer string) int64 {
	if s == nil {
		return 0
	}
	return s.sums[quota][payer]
}

// store sets the new sums of a quota; s may be nil.
func (s *Spent) store(quota string, fresh sums) {
	if s == nil || len(fresh) == 0 {
		return
	}
	if s.sums == nil {
		s.sums = map[string]sums{}
	}
	if s.sums[quota] == nil {
		s.sums[quota] = fresh
		return
	}
	maps.Copy(s.sums[quota], fresh)
}

// DefaultBudget returns the limits of a config that sets none.
func DefaultBudget() Budget {
	return Budget{
		MaxBytes:       1 << 20,
		MaxFragment:    256 << 10,
		MaxPlugin:      512 << 10,
		MaxAttachment:  8 << 20,
		MaxAttachments: 20,
		MaxPixels:      40_000_000,
	}
}

// A SizeError reports that one fragment is over its limit.
type SizeError struct {
	Source    string // the fragment's
	Need, Max int64  // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("fragment %q is %d bytes, limit %d (max_fragment)", e.Source, e.Need, e.Max)
}

// CheckSize returns a [*SizeError] if f is over max bytes; 0 is no limit. The code that makes a
// fragment calls it, so that the error has this code's place.
func CheckSize(f Fragment, max int64) error {
	if size := int64(len(f.Content)); max > 0 && size > max {
		return &SizeError{f.Source, size, max}
	}
	return nil
}

// An OverflowError reports that the user's own fragments are over a limit, so that dropping
// other fragments does not help.
type OverflowError struct {
	Limit     string // "max_bytes" or "max_tokens"
	Need, Max int64  // in the unit of the limit
}

func (e *OverflowError) Error() string {
	unit := strings.TrimPrefix(e.Limit, "max_")
	return fmt.Sprintf("the fragments that were asked for are %d %s, limit %d (%s)", e.Need, unit, e.Max, e.Limit)
}

// Fit drops fragments until the rest is within b: first for each plugin, then for all together.
// It drops the highest priority number first, and among equals the last fragment. It drops a
// fragment completely or not at all, and a pinned one never. It drops attachments over a limit
// even if they are pinned; see [Set.Notes].
//
// Content that the session has already does not count. If the pinned fragments, together with
// the turn's spent amount, are over a limit, Fit returns an [*OverflowError] and drops nothing.
func (s *Set) Fit(b Budget) error {
	perPlugin := quota{"max_plugin", "bytes", b.MaxPlugin, b.Spent, contentBytes, owner}
	quotas := []quota{perPlugin, {"max_bytes", "bytes", b.MaxBytes, b.Spent, contentBytes, everyone}}
	if b.Count != nil {
		count := func(row *Row) int64 { return b.Count(row.Content) }
		quotas = append(quotas, quota{"max_tokens", "tokens", b.MaxTokens, b.Spent, count, everyone})
	}
	for _, q := range quotas[1:] {
		if err := q.check(s.rows); err != nil {
			return err
		}
	}
	all, dropped := make([]sums, len(quotas)), false
	for i, q := range quotas {
		all[i] = q.sums(s.rows)
		dropped = q.fit(s, all[i]) || dropped
	}
	for i, q := range quotas {
		if dropped {
			all[i] = q.sums(s.rows)
		}
		b.Spent.store(q.name, all[i])
	}
	s.fitAttachments(b)
	return nil
}

// dropOrder returns the rows in the order in which a budget drops them.
func (s *Set) dropOrder() []*Row {
	rows := slices.Clone(s.rows)
	slices.Reverse(rows)
	byPriority := func(a, b *Row) int { return cmp.Compare(b.Priority, a.Priority) }
	if !slices.IsSortedFunc(rows, byPriority) {
		slices.SortStableFunc(rows, byPriority)
	}
	return rows
}

// A quota is one limit on the sum of rows, which holds for each payer separately.
type quota struct {
	name, unit string
	max        int64 // 0: no limit
	spent      *Spent
	size       func(*Row) int64
	payer      func(*Row) (plugin string, pays bool)
}

func contentBytes(row *Row) int64 { return int64(len(row.Content)) }

func everyone(*Row) (plugin string, pays bool) { return "", true }

// owner charges a row to the plugin of its first origin. A row that only the user
// offered is charged to no one.
func owner(row *Row) (plugin string, pays bool) {
	plugin = row.Plugin
	if row.origin() == (Origin{}) && len(row.Again) > 0 {
		plugin = row.Again[0].Plugin
	}
	return plugin, plugin != ""
}

// check returns an error if the pinned rows alone are over the quota.
func (q quota) check(rows []*Row) error {
	if q.max <= 0 {
		return nil
	}
	var pinned int64
	for _, row := range rows {
		if row.Pinned && row.Status == Kept {
			pinned += q.size(row)
		}
	}
	if need := pinned + q.spent.sum(q.name, ""); pinned > 0 && need > q.max {
		return &OverflowError{q.name, need, q.max}
	}
	return nil
}

// sums returns the amount of each payer: the spent amount and the size of the rows that are
// sent. It returns nil if there is no limit.
func (q quota) sums(rows []*Row) sums {
	if q.max <= 0 {
		return nil
	}
	all := sums{}
	for i := 0; i < len(rows); {
		payer, pays := q.payer(rows[i])
		sum := int64(0)
		for ; i < len(rows); i++ { // neighbours often have the same payer
			if next, _ := q.payer(rows[i]); next != payer {
				break
			}
			if rows[i].Status == Kept {
				sum += q.size(rows[i])
			}
		}
		if !pays || sum == 0 {
			continue
		}
		if _, seen := all[payer]; !seen {
			sum += q.spent.sum(q.name, payer)
		}
		all[payer] += sum
	}
	return all
}

// fit drops rows until each payer is within the quota, and reports whether it dropped any.
func (q quota) fit(s *Set, all sums) bool {
	within := true
	for _, sum := range all {
		within = within && sum <= q.max
	}
	if within {
		return false
	}
	left := maps.Clone(all)
	for _, row := range s.dropOrder() {
		payer, pays := q.payer(row)
		if !pays || row.Status != Kept || row.Pinned || left[payer] <= q.max {
			continue
		}
		left[payer] -= q.size(row)
		row.Status, row.Reason = Dropped, q.reason(payer, all[payer])
	}
	return true
}

func (q quota) reason(plugin string, size int64) string {
	who := "all fragments"
	if plugin != "" {
		who = fmt.Sprintf("fragments of plugin %q", plugin)
	}
	return fmt.Sprintf("%s are %d %s, limit %d (%s)", who, size, q.unit, q.max, q.name)
}

// fitAttachments drops attachments over their own limits, and then those over the number that a
// turn may add.
func (s *Set) fitAttachments(b Budget) {
	kept := 0
	if b.Spent != nil {
		kept = b.Spent.attachments
		defer func() { b.Spent.attachments = kept }()
	}
	for _, row := range s.attachments {
		if row.Status != Kept {
			continue
		}
		switch reason := b.refuse(row.Attachment); {
		case reason != "":
			row.Status, row.Reason = Dropped, reason
		case b.MaxAttachments > 0 && kept == b.MaxAttachments:
			row.Status, row.Reason = Dropped, fmt.Sprintf("more than %d attachments (max_attachments)", b.MaxAttachments)
		default:
			kept++
		}
	}
}

// refuse returns which limit the attachment a is over, or "".
func (b Budget) refuse(a Attachment) string {
	size, width, height := int64(a.Bytes()), int64(a.Width), int64(a.Height)
	switch {
	case b.MaxAttachment > 0 && size > b.MaxAttachment:
		return fmt.Sprintf("%d bytes, limit %d (max_attachment)", size, b.MaxAttachment)
	case b.MaxPixels > 0 && width > 0 && height > b.MaxPixels/width: // the product may overflow
		return fmt.Sprintf("%dx%d pixels, limit %d (max_pixels)", width, height, b.MaxPixels)
	}
	return ""
}

// Notes returns a line for each attachment that was dropped, in order. They go into the prompt,
// so that the model knows that something is missing.
func (s *Set) Notes() []string {
	var notes []string
	for _, row := range s.attachments {
		if row.Status == Dropped {
			label := cmp.Or(row.Name, row.Source, row.URL, row.ID.Short())
			notes = append(notes, fmt.Sprintf("[attachment %q left out: %s]", label, row.Reason))
		}
	}
	return notes
}
