package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/starhost/starhost/fragments"
)

// An Over is a store in memory over another one, which it only reads.
type Over struct {
	fragments.MemoryStore
	Below fragments.Store
}

// Get implements fragments.Store.
func (c *Over) Get(ctx context.Context, id fragments.Hash) (text string, ok bool, err error) {
	if text, ok, err = c.MemoryStore.Get(ctx, id); ok || err != nil {
		return text, ok, err
	}
	return c.Below.Get(ctx, id)
}

// Attachment returns a stored attachment; only llm's database has any.
func (c *Over) Attachment(
	ctx context.Context, id fragments.Hash,
) (a fragments.Attachment, ok bool, err error) {
	if below, isLLM := c.Below.(*LLM); isLLM {
		return below.Attachment(ctx, id)
	}
	return a, false, nil
}

// Find implements fragments.Store.
func (c *Over) Find(ctx context.Context, digits string, limit int) ([]fragments.Hash, error) {
	ids, err := c.MemoryStore.Find(ctx, digits, limit)
	if err != nil {
		return nil, err
	}
	others, err := c.Below.Find(ctx, digits, limit)
	if err != nil {
		return nil, err
	}
	ids = append(ids, others...)
	slices.SortFunc(ids, func(x, y fragments.Hash) int { return bytes.Compare(x[:], y[:]) })
	ids = slices.Compact(ids)
	return ids[:min(len(ids), limit)], nil
}

// Alias implements fragments.Store.
func (c *Over) Alias(ctx context.Context, name string) (id fragments.Hash, ok bool, err error) {
	if id, ok, err = c.MemoryStore.Alias(ctx, name); ok || err != nil {
		return id, ok, err
	}
	return c.Below.Alias(ctx, name)
}

// Aliases implements fragments.Store.
func (c *Over) Aliases(ctx context.Context) ([]string, error) {
	names, err := c.MemoryStore.Aliases(ctx)
	if err != nil {
		return nil, err
	}
	others, err := c.Below.Aliases(ctx)
	names = append(names, others...)
	slices.Sort(names)
	return slices.Compact(names), err
}
