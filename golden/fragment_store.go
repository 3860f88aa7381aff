package golden

import (
	"context"
	"maps"
	"sync"

	"github.com/starhost/starhost/fragments"
)

// fragmentStore is a store of fragments: those that a case begins with, each under an
// alias, and what its prompts keep. It knows which of the former nobody looked at.
type fragmentStore struct {
	*fragments.MemoryStore
	mu            sync.Mutex
	unusedAliases map[string]fragments.Hash // by alias
}

// reset replaces what is there by texts, by alias.
func (c *fragmentStore) reset(ctx context.Context, texts map[string][]byte) error {
	c.MemoryStore, c.unusedAliases = new(fragments.MemoryStore), nil
	if len(texts) > 0 { // as of few cases
		c.unusedAliases = make(map[string]fragments.Hash, len(texts))
	}
	for _, alias := range sortedKeys(texts) {
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
