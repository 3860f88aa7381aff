package shell

import (
	"encoding/binary"
	"path"
	"strings"
)

// An index of a long text says quickly that a program does not occur in it.
type index struct {
	texts    string // the names of all programs, and the words of those that run what their words mention
	open     bool   // any program may be such a word
	patterns []word // the words that a shell expands
}

// Limits of an index.
const (
	fewWords  = 128 // shorter texts have none
	mostGlobs = 64  // with more of them, any program may be one
)

// makeIndex makes the index, and drops calls that are equal to others: an answer costs as much as the text
// has different ones.
func (s *Script) makeIndex() {
	x, texts, key := &index{}, strings.Builder{}, []byte(nil)
	calls, globs := map[string]bool{}, map[string]bool{}
	kept := s.calls[:0:0]
	for i := range s.calls {
		c := &s.calls[i]
		if key = c.appendKey(key[:0]); calls[string(key)] {
			continue
		}
		calls[string(key)] = true
		texts.WriteString(c.name + "\n" + c.plain + "\n")
		x.open = x.open || !c.argv[0].known
		if c.mentions {
			from, spoken := texts.Len(), []word(nil)
			for _, w := range c.mentioning() {
				texts.WriteString(w.text + "\n")
				if w.known {
					continue
				}
				if base := path.Base(w.open().pattern); !globs[base] {
					globs[base] = true
					x.patterns = append(x.patterns, globWord(base))
				}
				x.open = x.open || w.open().pattern == "" || len(globs) > mostGlobs // the base of no pattern is that of "*/."
				spoken = append(spoken, w)
			}
			c.spoken = append(spoken, word{text: texts.String()[from:], known: true}) // one search for all words
		}
		kept = append(kept, *c)
	}
	x.texts, s.calls, s.index = texts.String(), kept, x
}

// appendKey appends all that an answer reads of a call.
func (c *invocation) appendKey(key []byte) []byte {
	key = wordsKey(wordsKey(key, c.argv), c.spoken)
	return append(key, bits(c.certain, c.mentions, c.spoken == nil))
}

// wordsKey appends to a key all that tells words from others.
func wordsKey(key []byte, words []word) []byte {
	key = binary.AppendUvarint(key, uint64(len(words)))
	add := func(text string) { key = append(binary.AppendUvarint(key, uint64(len(text))), text...) }
	for i := range words {
		w := &words[i]
		key = append(key, bits(w.known, w.many, w.number, w.ends != nil))
		add(w.text)
		if w.ends != nil {
			add(w.ends.pattern)
			add(w.glob())
			key = append(key, bits(w.mayFlag()))
		}
	}
	return key
}

// bits packs answers.
func bits(list ...bool) (b byte) {
	for _, set := range list {
		if b <<= 1; set {
			b |= 1
		}
	}
	return b
}
