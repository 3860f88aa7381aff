package fragments

import (
	"cmp"
	"slices"
)

// A Status is the result of an offer.
type Status string

// The results of an offer.
const (
	Kept      Status = "kept"       // the request contains it
	InSession Status = "in_session" // an earlier message contains it, so it is not sent again
	Changed   Status = "changed"    // sent, but a hook changed its bytes after rendering; the caller sets it
	Dropped   Status = "dropped"    // not sent, for the Reason in the row
)

// sent reports whether the rendered text contains the content. A Changed content counts,
// because the history of a session retains the original.
func (s Status) sent() bool { return s == Kept || s == Changed }

// A Row is one fragment of a [Set], with all offers of its content for its target.
type Row struct {
	*Fragment      // the first offer in the order of the set, in the caller's memory
	Pinned    bool // any offer is pinned
	ID        Hash
	Again     []Origin // the distinct origins of later offers, without the fragment's own
	// Unlike are the later offers whose title or priority differs from the fragment's, the first 8
	// of them. The prompt has nothing of these.
	Unlike []Fragment
	Status Status
	Reason string // why it is not sent; "" if it is

	// The rest is set by Render.

	// Render sets the rest.
	Place int // position among the rows that are sent, from 1; 0 for other rows
	// Offset and Length are the place of the content in the rendered text of its target, in
	// bytes. Offset is -1 if the text does not contain it.
	Offset, Length int
}

// Provenance returns the distinct origins of all offers, in the order of the set; the
// fragment's own is first. An offer without source and plugin adds none. The result is never
// nil.
func (r *Row) Provenance() []Origin { return provenance(r.origin(), r.Again) }

func (f *Fragment) origin() Origin { return Origin{f.Source, f.Plugin} }

// provenance returns the first origin, if it has a name, and then the others.
func provenance(first Origin, again []Origin) []Origin {
	list := make([]Origin, 0, 1+len(again))
	if first != (Origin{}) {
		list = append(list, first)
	}
	return append(list, again...)
}

// Offer returns a fragment from which [Merge] makes this row: the first offer, pinned if any
// offer was.
func (r *Row) Offer() Fragment {
	f := *r.Fragment
	f.Pinned = r.Pinned
	return f
}

// An AttachmentRow is one attachment of a [Set], with all offers of its id.
type AttachmentRow struct {
	Attachment          // the first offer; Pinned if any was
	ID         Hash     // Attachment.ID(), computed once
	Again      []Origin // as in Row
	Status     Status
	Reason     string // why it is not sent; "" if it is
}

// Provenance returns the distinct origins of all offers, as [Row.Provenance] does.
func (r *AttachmentRow) Provenance() []Origin { return provenance(r.origin(), r.Again) }

func (a *Attachment) origin() Origin { return Origin{a.Source, a.Plugin} }

// A Set is a merged prompt before it is rendered: each offered content once, in the order in
// which it is sent. [Merge] makes it; the zero value is the result of merging nothing.
type Set struct {
	rows          []*Row
	attachments   []*AttachmentRow
	byID          map[Hash]*AttachmentRow
	origins       originIndex
	offers        int   // number of offered fragments
	repeatedBytes int64 // bytes of offers whose row existed already
}

// Merge returns the fragments of the lists, each content once for each target.
//
// They are ordered by target (system first), then by priority (low first), then as given. In
// this order the first offer of a content makes its row. Later offers add their origin, and pin
// the row if they are pinned. Merging is idempotent, and associative over lists.
//
// Rows point to the fragments of the lists, which must not be changed afterwards.
func Merge(lists ...[]Fragment) *Set {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	offers := make([]*Fragment, 0, n)
	for _, list := range lists {
		for i := range list {
			offers = append(offers, &list[i])
		}
	}
	slices.SortStableFunc(offers, byPlace)
	m := merger{
		set:  &Set{rows: make([]*Row, 0, n), offers: n},
		rows: make(map[rowKey]*Row, n),
		room: make([]Row, n),
	}
	for _, f := range offers {
		m.offer(f)
	}
	return m.set
}

// byPlace compares the places of fragments in a set.
func byPlace(a, b *Fragment) int {
	if a.Target != b.Target {
		return cmp.Compare(b.Target, a.Target)
	}
	return cmp.Compare(a.Priority, b.Priority)
}

// A merger fills a set. It allocates all rows together, because prompts have hundreds of them.
type merger struct {
	set  *Set
	rows map[rowKey]*Row
	room []Row
}

// A rowKey identifies a row: a content is sent once to each target.
type rowKey struct {
	id     Hash
	target Target
}

func (m *merger) offer(f *Fragment) {
	key := rowKey{f.ID(), f.Target}
	row := m.rows[key]
	if row == nil {
		row = &m.room[len(m.set.rows)]
		*row = Row{Fragment: f, Pinned: f.Pinned, ID: key.id, Status: Kept, Offset: -1}
		m.rows[key], m.set.rows = row, append(m.set.rows, row)
		return
	}
	m.set.repeatedBytes += int64(len(f.Content))
	row.Pinned = row.Pinned || f.Pinned
	row.Again = m.set.origins.add(row, row.origin(), row.Again, f.origin())
	if (f.Title != row.Title || f.Priority != row.Priority) && len(row.Unlike) < maxUnlike {
		row.Unlike = append(row.Unlike, *f)
	}
}

// maxUnlike is the most later offers that a row retains.
const maxUnlike = 8

// ID returns the hash of f's content, from its digest if it has one.
func (f *Fragment) ID() Hash {
	if f.Digest.matches(f.Content) {
		return f.Digest.id
	}
	return Sum(f.Content)
}

// Attach adds the attachments of the lists, each id once, in the order given and after the
// existing ones. Later offers of an id add their origin, and pin the row if they are pinned.
func (s *Set) Attach(lists ...[]Attachment) {
	ids := map[string]Hash{} // by content, so that each is hashed once
	for _, list := range lists {
		for _, a := range list {
			id, ok := ids[a.Content]
			if !ok || a.URL != "" {
				id = a.ID()
			}
			if a.URL == "" {
				ids[a.Content] = id
			}
			s.attach(a, id)
		}
	}
}

func (s *Set) attach(a Attachment, id Hash) {
	row, ok := s.byID[id]
	if !ok {
		if s.byID == nil {
			s.byID = map[Hash]*AttachmentRow{}
		}
		row = &AttachmentRow{Attachment: a, ID: id, Status: Kept}
		s.byID[id] = row
		s.attachments = append(s.attachments, row)
	}
	row.Pinned = row.Pinned || a.Pinned
	row.Again = s.origins.add(row, row.origin(), row.Again, a.origin())
}

// An originIndex adds origins to the rows' lists of later origins. It indexes the origins of rows
// with more than a few, so that many offers of one content take linear time.
type originIndex struct{ seen map[rowOrigin]struct{} }

type rowOrigin struct {
	row    any // *Row or *AttachmentRow
	origin Origin
}

// fewOrigins is the length up to which a list is searched.
const fewOrigins = 8

// add returns list, which contains the later origins of a row, with origin added if it is new
// and has a name. own is the row's first origin.
func (o *originIndex) add(row any, own Origin, list []Origin, origin Origin) []Origin {
	switch {
	case origin == (Origin{}), origin == own:
		return list
	case len(list) < fewOrigins:
		if slices.Contains(list, origin) {
			return list
		}
		return append(list, origin)
	}
	if o.seen == nil {
		o.seen = map[rowOrigin]struct{}{}
	}
	if len(list) == fewOrigins {
		for _, there := range list {
			o.seen[rowOrigin{row, there}] = struct{}{}
		}
	}
	key := rowOrigin{row, origin}
	if _, ok := o.seen[key]; ok {
		return list
	}
	o.seen[key] = struct{}{}
	return append(list, origin)
}

// Offers returns the number of fragments that were offered, including repeats.
func (s *Set) Offers() int { return s.offers }

// Rows returns the rows of the set, in order. A caller may set their Status and Reason, for
// example to Changed.
func (s *Set) Rows() []*Row { return s.rows }

// Attachments returns the attachments of the set, in order. A caller may set their Status and
// Reason.
func (s *Set) Attachments() []*AttachmentRow { return s.attachments }

// Fragments returns the fragments that are sent, in order, as they were first offered. Merging
// the result renders the same text, alone or in front of the lists of the set. Merged alone, a
// fragment with several origins has only the first.
func (s *Set) Fragments() []Fragment {
	list := make([]Fragment, 0, len(s.rows))
	for _, row := range s.rows {
		if row.Status.sent() {
			list = append(list, row.Offer())
		}
	}
	return list
}

// CountSent returns the number of fragments that are sent to target. The caller adds it for
// Prompt to the index of the next message's documents (see [Set.Render]).
func (s *Set) CountSent(target Target) int {
	n := 0
	for _, row := range s.rows {
		if row.Target == target && row.Status.sent() {
			n++
		}
	}
	return n
}

// SavedBytes returns the bytes of fragments that are not sent because they repeat others, in
// the set or in an earlier message of the session.
func (s *Set) SavedBytes() int64 {
	saved := s.repeatedBytes
	for _, row := range s.rows {
		if row.Status == InSession {
			saved += int64(len(row.Content))
		}
	}
	return saved
}

// InSession marks rows and attachments that an earlier message of the session contains, as has
// reports: they are not sent again. It does not mark system fragments, because each request
// repeats its system text.
func (s *Set) InSession(has func(Hash) bool) {
	const reason = "in an earlier message"
	for _, row := range s.rows {
		if row.Status == Kept && row.Target == Prompt && has(row.ID) {
			row.Status, row.Reason = InSession, reason
		}
	}
	for _, row := range s.attachments {
		if row.Status == Kept && has(row.ID) {
			row.Status, row.Reason = InSession, reason
		}
	}
}
