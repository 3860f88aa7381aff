package main

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// A prompt merges 50 fragments, of which 40 are unique.
const (
	offers = 50
	unique = 40
)

// contents returns the texts of a prompt, each of that many bytes. Equal texts do not share
// memory, as if they were read from files.
func contents(prompt, bytes int) []fragments.Fragment {
	list := make([]fragments.Fragment, offers)
	for i := range list {
		text := fmt.Sprintf("%d %d\n", prompt, i%unique) + strings.Repeat("0123456789abcde\n", bytes/16)
		list[i] = fragments.Fragment{Content: text[:bytes], Source: fmt.Sprintf("%d.md", i)}
	}
	return list
}

// pool is the number of prompts of new content. A measurement merges them once or more; a merge
// caches nothing, so content is new each time.
const pool = 64

// mergeFragments compares the first merge of content with SHA-256 over its unique texts.
func mergeFragments(r *rig) {
	prompts, texts := make([][]fragments.Fragment, pool), make([][][]byte, pool)
	for i := range prompts {
		prompts[i] = contents(i, 4096)
		for _, f := range prompts[i][:unique] {
			texts[i] = append(texts[i], []byte(f.Content))
		}
	}
	makeMerge := func() side { return eachItem(prompts, func(list []fragments.Fragment) { fragments.Merge(list) }) }
	merge := makeMerge()
	hash := eachItem(texts, func(list [][]byte) {
		for _, text := range list {
			sha256.Sum256(text)
		}
	})
	rate := claim{"P5", "rate of merging new content, by that of SHA-256", atLeast(0.65)}
	r.compare(rate, merge.onProcessors(1), hash.onProcessors(1))
	two := claim{"P5", "merging new content, 2 processors by 1", atLeast(1.8)}
	r.compare(two, runTogether(makeMerge(), makeMerge()).onProcessors(2), merge.onProcessors(1))
}

// eachItem makes a side that does work on one item after the other.
func eachItem[T any](items []T, work func(T)) side {
	next := 0
	return loop(func() {
		work(items[next%len(items)])
		next++
	})
}
