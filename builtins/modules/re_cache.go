package modules

import "github.com/starhost/starhost/internal/cache"

// patterns is the cache of compiled patterns that all hosts of the process share.
var patterns reCache

// A reCache stores compiled patterns, up to reMaxCached patterns and reMaxWeight bytes. Many goroutines may
// use it at the same time.
type reCache struct{ cache.Cache[reKey, *rePattern] }

type reKey struct {
	source string
	anchor reAnchor
}

// get returns the compiled pattern from the cache, or compiles it. Before, it calls pay with the size of the
// pattern. It does so for a cached pattern, too, because a plugin must not notice which patterns other
// plugins use.
func (c *reCache) get(source string, anchor reAnchor, pay func(reSize) error) (*rePattern, error) {
	key := reKey{source, anchor}
	if p, ok := c.Get(key); ok {
		return p, pay(p.size)
	}
	p, err := parseRE(source, anchor)
	if err != nil {
		return nil, err
	}
	if err := pay(p.size); err != nil {
		return nil, err
	}
	if err := p.compile(); err != nil {
		return nil, err
	}
	return c.Add(key, p, max(p.weight(), reMaxWeight/reMaxCached), reMaxWeight), nil
}
