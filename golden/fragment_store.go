package golden

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/starhost/starhost/fragments"
)

// A fragmentStore stores the fragments of one case: those that the case's sections contain, each under an
// alias, and those of its prompts. It notes which fragments of sections nothing has read.
type fragmentStore struct {
	*fragments.MemoryStore
	mu            sync.Mutex
	unusedAliases map[string]fragments.Hash // the ids of the fragments that nothing has read, by alias
}

// reset drops all contents, and stores texts by their aliases.
func (c *fragmentStore) reset(ctx context.Context, texts map[string][]byte) error {
	c.MemoryStore, c.unusedAliases = new(fragments.MemoryStore), nil
	if len(texts) > 0 { // few cases have texts
		c.unusedAliases = make(map[string]fragments.Hash, len(texts))
	}
	for _, alias := range slices.Sorted(maps.Keys(texts)) {
		text := string(texts[alias])
		id := fragments.Sum(text)
		if err := c.Put(ctx, fragments.Content{ID: id, Text: text}); err != nil {
			return err
		}
		if err := c.SetAlias(ctx, alias, id); err != nil {
			return err
		}
		c.unusedAliases[alias] = id
	}
	return nil
}

// Get implements fragments.Store.
func (c *fragmentStore) Get(ctx context.Context, id fragments.Hash) (text string, ok bool, err error) {
	c.mu.Lock()
	maps.DeleteFunc(c.unusedAliases, func(_ string, stored fragments.Hash) bool { return stored == id })
	c.mu.Unlock()
	return c.MemoryStore.Get(ctx, id)
}
