package fragments

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// A Status says what became of something that was offered.
type Status string

const (
	Kept      Status = "kept"       // it is part of the request
	InSession Status = "in_session" // an earlier message holds it; not sent again
	Changed   Status = "changed"    // sent, but a hook changed its bytes after rendering; set by the caller
	Dropped   Status = "dropped"    // left out, for the Reason given
)

// sent reports whether the content goes into the rendered text. It does for
// Changed, as the history of a session keeps the original.
func (s Status) sent() bool { return s == Kept || s == Changed }

// A Row is one fragment of a [Set] with everything that was offered under its
// content and target.
type Row struct {
	*Fragment      // the first offer in the order of the set, where it was offered
	Pinned    bool // any offer was
	ID        Hash
	Again     []Origin // of later offers, each once and none that is the fragment's own
	Status    Status
	Reason    string // why it is not Kept; "" if it is

	// The rest is set by Render.

	Place int // position among the kept rows, from 1; 0 for other rows
	// Offset and Length, in bytes, give the content within the rendered text of
	// its target. Offset is -1 if it is not in there.
	Offset, Length int
}

// Provenance returns every distinct origin, in the order of the set, so that the
// fragment's own comes first. An offer that names neither source nor plugin adds
// none. It is never nil.
func (r *Row) Provenance() []Origin { return provenance(r.origin(), r.Again) }

func (f *Fragment) origin() Origin { return Origin{f.Source, f.Plugin} }

// provenance returns the first origin, if it names anything, in front of others.
func provenance(first Origin, again []Origin) []Origin {
	list := make([]Origin, 0, 1+len(again))
	if first != (Origin{}) {
		list = append(list, first)
	}
	return append(list, again...)
}

// Offer returns a fragment that makes this row again: the first offer, pinned if any
// was.
func (r *Row) Offer() Fragment {
	f := *r.Fragment
	f.Pinned = r.Pinned
	return f
}

// An AttachmentRow is one attachment of a [Set] with everything that was offered
// under its id.
type AttachmentRow struct {
	Attachment          // the first offer; Pinned if any was
	ID         Hash     // Attachment.ID(), computed once
	Again      []Origin // as in Row
	Status     Status
	Reason     string // why it is not Kept; "" if it is
}

// Provenance is that of [Row.Provenance].
func (r *AttachmentRow) Provenance() []Origin { return provenance(r.origin(), r.Again) }

func (a *Attachment) origin() Origin { return Origin{a.Source, a.Plugin} }

// A Set is a merged prompt in the making: what was offered, each content once,
// in the order in which it is sent. [Merge] makes one; the zero value is what
// Merge makes of nothing.
type Set struct {
	rows          []*Row
	attachments   []*AttachmentRow
	byID          map[Hash]*AttachmentRow
	origins       originIndex
	offers        int   // offered fragments
	repeatedBytes int64 // bytes of offers that found their row already there
}

// Merge returns the fragments of the lists, each content once for each target.
//
// They are ordered by target (system first), priority (low first) and then as
// given. In that order the first offer of a content makes its row; later ones
// add their origin, and pin the row if they are pinned. Merging is idempotent
// and associative over lists.
//
// Rows point to the fragments of the lists, which must not be changed afterwards.
func Merge(lists ...[]Fragment) *Set {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	m := merger{
		set:   &Set{rows: make([]*Row, 0, n), offers: n},
		rows:  make([]Row, 0, n),
		table: newTable(n),
	}
	if !inOrder(lists) {
		m.offerSorted(lists, n)
		return m.set
	}
	for _, list := range lists {
		for i := range list {
			m.offer(&list[i])
		}
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

// inOrder reports whether the fragments of all lists are in the order of a set.
func inOrder(lists [][]Fragment) bool {
	var last *Fragment
	for _, list := range lists {
		for i := range list {
			if last != nil && byPlace(last, &list[i]) > 0 {
				return false
			}
			last = &list[i]
		}
	}
	return true
}

// A merger fills a set. All rows come from one allocation.
type merger struct {
	set   *Set
	rows  []Row
	table table
	heads map[string]Digest // of contents without one, by the first bytes of these
}

// offerSorted offers the n fragments of all lists in the order of a set.
func (m *merger) offerSorted(lists [][]Fragment, n int) {
	offers := make([]*Fragment, 0, n)
	for _, list := range lists {
		for i := range list {
			offers = append(offers, &list[i])
		}
	}
	slices.SortStableFunc(offers, byPlace)
	for _, f := range offers {
		m.offer(f)
	}
}

func (m *merger) offer(f *Fragment) {
	id := m.id(f)
	slot := m.table.slot(m.rows, id, f.Target)
	if *slot == 0 {
		m.add(f, id)
		*slot = int32(len(m.rows))
		return
	}
	row := &m.rows[*slot-1]
	m.set.repeatedBytes += int64(len(f.Content))
	row.Pinned = row.Pinned || f.Pinned
	row.Again = m.set.origins.add(row, row.origin(), row.Again, f.origin())
}

// A table finds rows by id and target. A slot holds the number of a row, from 1, or
// 0. As ids are hashes, their first bytes say where to look; half of the slots or
// more are free.
type table []int32

// newTable returns a table for at most n rows.
func newTable(n int) table {
	return make(table, 1<<bits.Len(uint(2*n)))
}

// slot returns the slot of a row among those given, or the one where it belongs.
func (t table) slot(rows []Row, id Hash, target Target) *int32 {
	for i := binary.LittleEndian.Uint64(id[:]); ; i++ {
		slot := &t[i&uint64(len(t)-1)]
		if *slot == 0 || rows[*slot-1].ID == id && rows[*slot-1].Target == target {
			return slot
		}
	}
}

// headBytes is how much of a content without a digest is compared before it is hashed: the
// rest may be in no cache of the processor, and to wait for it takes longer than to hash
// a content twice now and then.
const headBytes = 64

// id returns the hash of f's content, of which it reads nothing if f has a digest.
func (m *merger) id(f *Fragment) Hash {
	if f.Digest.matches(f.Content) {
		return f.Digest.id
	}
	head := f.Content[:min(len(f.Content), headBytes)]
	d, ok := m.heads[head]
	if ok && d.text == f.Content {
		return d.id
	}
	id := Sum(f.Content)
	if !ok {
		if m.heads == nil {
			m.heads = make(map[string]Digest, cap(m.rows))
		}
		m.heads[head] = Digest{f.Content, id}
	}
	return id
}

func (m *merger) add(f *Fragment, id Hash) {
	m.rows = append(m.rows, Row{Fragment: f, Pinned: f.Pinned, ID: id, Status: Kept, Offset: -1})
	m.set.rows = append(m.set.rows, &m.rows[len(m.rows)-1])
}

// Attach adds the attachments of the lists, each id once, in the order given
// and after those that are there already. Later offers of an id add their
// origin, and pin the row if they are pinned.
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

// originIndex are those of later offers. It has room for the first one of each row, and
// remembers those of rows that have more than a few, so that many offers of one content
// take linear time.
type originIndex struct {
	spare []Origin
	seen  map[rowOrigin]struct{}
}

type rowOrigin struct {
	row    any // *Row or *AttachmentRow
	origin Origin
}

const (
	fewOrigins   = 8  // are looked through one by one
	originsAhead = 16 // are allocated together
)

// add returns list, the later origins of a row whose first is own, with origin added
// if it is new and names anything.
func (o *originIndex) add(row any, own Origin, list []Origin, origin Origin) []Origin {
	switch {
	case origin == (Origin{}), origin == own:
		return list
	case len(list) == 0:
		return o.addFirst(origin)
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

// addFirst returns a list of one origin.
func (o *originIndex) addFirst(origin Origin) []Origin {
	n := len(o.spare)
	if n == cap(o.spare) {
		o.spare, n = make([]Origin, 0, originsAhead), 0
	}
	o.spare = append(o.spare, origin)
	return o.spare[n : n+1 : n+1]
}

// Offers returns the number of fragments that were offered, repeats included.
func (s *Set) Offers() int { return s.offers }

// Rows returns the rows of the set, in order. They are the set's own: a caller
// may set Status and Reason, say to Changed.
func (s *Set) Rows() []*Row { return s.rows }

// Attachments returns the attachments of the set, in order. As with Rows, they
// are the set's own.
func (s *Set) Attachments() []*AttachmentRow { return s.attachments }

// Fragments returns what is kept, in order, each fragment as it was first
// offered. Merging it anew, alone or in front of what the set was merged from,
// renders the same text; alone, of several origins only the first survives.
func (s *Set) Fragments() []Fragment {
	list := make([]Fragment, 0, len(s.rows))
	for _, row := range s.rows {
		if row.Status.sent() {
			list = append(list, row.Offer())
		}
	}
	return list
}

// CountSent returns the number of fragments that are sent to target: for Prompt, by
// which the numbers of the next message's documents go on (see [Set.Render]).
func (s *Set) CountSent(target Target) int {
	n := 0
	for _, row := range s.rows {
		if row.Target == target && row.Status.sent() {
			n++
		}
	}
	return n
}

// SavedBytes returns the bytes of fragments that are not sent as they would
// repeat others: in the set, or in an earlier message of the session.
func (s *Set) SavedBytes() int64 {
	saved := s.repeatedBytes
	for _, row := range s.rows {
		if row.Status == InSession {
			saved += int64(len(row.Content))
		}
	}
	return saved
}

// InSession marks what an earlier message of the session holds, as has reports:
// those kept rows and attachments are not sent again. System fragments are left
// alone, as each request repeats its system text.
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
