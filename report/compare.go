package report

import (
	"fmt"

	"github.com/starhost/starhost/host"
)

// A Section is a part of a prompt. Providers read the sections of a prompt in order: the tools,
// the system text, the messages.
type Section struct {
	Name   string
	Text   string
	Blocks []Block // the fragments in the text, in order
}

// A Block is a fragment in the text of a section.
type Block struct {
	Offset  int // in bytes
	Content string
	Source  string // names the fragment for people
	Plugin  string // the plugin behind Source, or ""
}

// A Comparison says whether a provider's cache of an earlier prompt still serves.
type Comparison struct {
	Text        string
	Before, Now string           // the texts of the first block that changed
	Break       *host.CacheBreak // nil if the cache serves
}

// Compare compares the sections of a prompt with those of an earlier prompt, which the text calls
// name. A prompt that begins with all of the earlier one breaks no cache.
func Compare(name string, before, now []Section) Comparison {
	same := 0 // bytes of the sections that are equal
	for i := range now {
		was, is := &before[i], &now[i]
		at := commonPrefix(was.Text, is.Text)
		last := i == len(now)-1
		switch {
		case last && at == len(was.Text) && at == len(is.Text):
			return Comparison{Text: "the same as " + name}
		case last && at == len(was.Text):
			return Comparison{Text: fmt.Sprintf("begins with all of %s, %d B more", name, len(is.Text)-at)}
		case at < len(was.Text) || at < len(is.Text):
			return describeBreak(name, was, is, at, same)
		}
		same += at
	}
	return Comparison{}
}

// describeBreak describes the first block that changed: the one at a byte of a section.
func describeBreak(name string, was, is *Section, at, same int) Comparison {
	c := Comparison{Before: was.Text, Now: is.Text, Break: &host.CacheBreak{Offset: int64(same + at)}}
	c.Break.Cause = is.Name + " changed"
	if block := is.blockAt(at); block != nil {
		c.Break.Cause = fmt.Sprintf("fragment %s changed", block.Source)
		c.Break.Plugin = block.Plugin
		c.Before, c.Now = "", block.Content
		if old := was.blockAt(at); old != nil {
			c.Before = old.Content
		}
	}
	c.Text = fmt.Sprintf("a prompt cache of %s breaks at byte %d of the %s: %s", name, at, is.Name, c.Break.Cause)
	return c
}

// blockAt returns the block at a byte of the section, or nil.
func (s *Section) blockAt(at int) *Block {
	for i := range s.Blocks {
		if b := &s.Blocks[i]; b.Offset <= at && at < b.Offset+len(b.Content) {
			return b
		}
	}
	return nil
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
