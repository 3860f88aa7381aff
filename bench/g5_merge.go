package main

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// offers are what a prompt of the assembly goal merges: 50 fragments, of which 40
// are unique.
const (
	offers = 50
	unique = 40
)

// contents returns the texts of a prompt, each of that many bytes, in memory of
// their own. What is the same is so by its bytes alone, as in texts that were read.
func contents(prompt, bytes int) []fragments.Fragment {
	list := make([]fragments.Fragment, offers)
	for i := range list {
		text := fmt.Sprintf("%d %d\n", prompt, i%unique) + strings.Repeat("0123456789abcde\n", bytes/16)
		list[i] = fragments.Fragment{Content: text[:bytes], Source: fmt.Sprintf("%d.md", i)}
	}
	return list
}

// mergeFragments compares merging with hashing: new content must be hashed once,
// known content not at all.
func mergeFragments(r *rig) error {
	if err := r.mergeNew(); err != nil {
		return err
	}
	return r.mergeKnown()
}

// pool is how many prompts of new content there are. A measurement goes through
// them once or more; content is new to a merge that knows of no other.
const pool = 64

// mergeNew compares the first merge of content with SHA-256 over what is unique.
func (r *rig) mergeNew() error {
	prompts, texts := make([][]fragments.Fragment, pool), make([][][]byte, pool)
	for i := range prompts {
		prompts[i] = contents(i, 4096)
		for _, f := range prompts[i][:unique] {
			texts[i] = append(texts[i], []byte(f.Content))
		}
	}
	makeMerge := func() side { return each(prompts, func(list []fragments.Fragment) { fragments.Merge(list) }) }
	merge := makeMerge()
	hash := each(texts, func(list [][]byte) {
		for _, text := range list {
			sha256.Sum256(text)
		}
	})
	if err := r.compare(claim{"G5", "rate of merging new content, by that of SHA-256", atLeast(0.85)}, merge.on(1), hash.on(1)); err != nil {
		return err
	}
	return r.compare(claim{"G5", "merging new content, 2 processors by 1", atLeast(1.8)}, both(makeMerge(), makeMerge()).on(2), merge.on(1))
}

// each makes a side of work on one item after the other.
func each[T any](items []T, work func(T)) side {
	next := 0
	return loop(func() error {
		work(items[next%len(items)])
		next++
		return nil
	})
}

// mergeKnown measures merges of content that the process has seen.
func (r *rig) mergeKnown() error {
	small, large := merging(known(contents(0, 1<<10))), merging(known(contents(0, 64<<10)))
	if err := r.compare(claim{"G5b", "merging known fragments of 64 KiB, by those of 1 KiB", atMost(1.2)}, large, small); err != nil {
		return err
	}
	if err := r.time(claim{"G5b", "merging known fragments of 64 KiB, time of each", atMost(50).of("ns")}, large); err != nil {
		return err
	}
	return r.against(claim{"G5c", "known fragment of 1 KiB, speed by llm's store step in SQLite", atLeast(50)}, small, func() (side, error) {
		step, err := r.timedPython("sqlite3", "store.py")
		return step.per(1000), err
	})
}

// known returns the list as a host does that was offered its contents before.
func known(list []fragments.Fragment) []fragments.Fragment {
	table := fragments.NewContents(1 << 30)
	for i := range list {
		table.Know(&list[i])
	}
	return list
}

// merging makes a side whose operation is one fragment of a list that is merged
// again and again.
func merging(list []fragments.Fragment) side {
	return loop(func() error {
		fragments.Merge(list)
		return nil
	}).per(len(list))
}
