package starhost

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// A List is an immutable sequence that handlers see as one value: a conversation's
// messages, the tools on offer, the report's fragments. It has one slot for what
// a plugin language makes of it, so that the view is made once for all handlers.
// The zero List and a nil *List are empty. Lists are safe for concurrent use.
type List[T any] struct {
	items []T
	once  sync.Once
	view  any
}

// NewList returns a list of items, which must not be changed afterwards.
func NewList[T any](items []T) *List[T] { return &List[T]{items: items} }

// Len returns the number of items.
func (l *List[T]) Len() int {
	if l == nil {
		return 0
	}
	return len(l.items)
}

// At returns the item at i, 0 <= i < Len, without copying it.
func (l *List[T]) At(i int) *T { return &l.items[i] }

// Items returns all items. The caller must not change them.
func (l *List[T]) Items() []T {
	if l == nil {
		return nil
	}
	return l.items
}

// View returns what make made of the list at the first call. Every call of one
// list must pass the same function. For a nil list, which has no slot, make is
// called each time.
func (l *List[T]) View(make func(*List[T]) any) any {
	if l == nil {
		return make(nil)
	}
	l.once.Do(func() { l.view = make(l) })
	return l.view
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// orList joins names: "a, b or c"; "nothing" if there are none.
func orList(names []string) string {
	last := len(names) - 1
	switch last {
	case -1:
		return "nothing"
	case 0:
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// joinLines joins two texts by a newline if both say something.
func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
