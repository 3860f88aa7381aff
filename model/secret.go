package model

import (
	"encoding/json"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/jsontext"
)

// minHidden is the fewest bytes of a key that starhost removes from answers. Local servers have
// keys such as "none", which occur in texts by chance.
const minHidden = 8

// A scrubber removes a key from the texts of an endpoint, which could send it back.
type scrubber struct {
	forms    []string // forms of the key
	replacer *strings.Replacer
	emit     func(Piece)
	tails    []*tail
}

// A tail is the end of a text so far that may be the start of the key.
type tail struct {
	piece Piece // without its text
	text  string
}

// newScrubber returns the scrubber of a key whose secret has a name, nil for a key that need not be
// removed.
func newScrubber(key, name string, emit func(Piece)) *scrubber {
	s := &scrubber{emit: emit}
	if len(key) < minHidden {
		return s
	}
	s.forms = []string{key}
	if quoted := string(jsontext.EncodeOrNull(key)); quoted[1:len(quoted)-1] != key {
		s.forms = append(s.forms, quoted[1:len(quoted)-1])
	}
	var pairs []string
	for _, form := range s.forms {
		pairs = append(pairs, form, "<secret "+name+">")
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// text returns a text without the key.
func (s *scrubber) text(text string) string {
	if s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// reply returns a reply without the key.
func (s *scrubber) reply(r starhost.Reply) starhost.Reply {
	if s.replacer == nil {
		return r
	}
	r.Content = s.text(r.Content)
	for i := range r.ToolCalls {
		c := &r.ToolCalls[i]
		c.ID, c.Name, c.Arguments = s.text(c.ID), s.text(c.Name), json.RawMessage(s.text(string(c.Arguments)))
	}
	if r.Native = json.RawMessage(s.text(string(r.Native))); len(r.Native) == 0 || !json.Valid(r.Native) {
		r.Native = nil
	}
	return r
}

// piece emits a piece without the key. It delays the end of a text that may be the start of the
// key.
func (s *scrubber) piece(p Piece) {
	if s.replacer == nil {
		s.emit(p)
		return
	}
	t := s.tailOf(p)
	text := s.text(t.text + p.Text)
	delayed := s.startOfKey(text)
	t.piece, t.text = p, text[len(text)-delayed:]
	if p.Text = text[:len(text)-delayed]; p.Text != "" || p.Kind == PieceTool {
		s.emit(p)
	}
}

// tailOf returns the tail of the text that a piece continues.
func (s *scrubber) tailOf(p Piece) *tail {
	for _, t := range s.tails {
		if t.piece.Kind == p.Kind && t.piece.Call == p.Call {
			return t
		}
	}
	t := &tail{piece: p}
	s.tails = append(s.tails, t)
	return t
}

// startOfKey returns the length of the longest end of text that the key starts with.
func (s *scrubber) startOfKey(text string) int {
	longest := 0
	for _, form := range s.forms {
		for n := min(len(form)-1, len(text)); n > longest; n-- {
			if strings.HasPrefix(form, text[len(text)-n:]) {
				longest = n
			}
		}
	}
	return longest
}

// flush emits the tails.
func (s *scrubber) flush() {
	for _, t := range s.tails {
		if t.piece.Text = t.text; t.text != "" {
			s.emit(t.piece)
		}
	}
	s.tails = nil
}
