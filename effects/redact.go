package effects

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// minRedacted is the fewest bytes of a value that is taken out of texts: shorter
// ones are found where nobody meant them.
const minRedacted = 8

// Redact takes the values of secrets out of a text: those of 8 bytes and more that
// were read, as they are and in the forms that a program gives them in passing
// (base64 at any offset, hexadecimal, percent-encoded, quoted), and what the
// configured patterns match. It is a second net: a plugin cannot read a secret,
// but what it talks to may say it.
func (s *Secrets) Redact(text string) string {
	if s == nil {
		return text
	}
	if r := s.replacer.Load(); r != nil {
		text = r.Replace(text)
	}
	for _, p := range s.o.Patterns {
		text = p.ReplaceAllString(text, "<redacted>")
	}
	return text
}

// redactsNothing reports whether Redact leaves all texts as they are: nothing secret was read.
func (s *Secrets) redactsNothing() bool {
	return s == nil || s.replacer.Load() == nil && len(s.o.Patterns) == 0
}

// addLoaded makes Redact know a value.
func (s *Secrets) addLoaded(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = append(s.loaded, loadedSecret{name, value})
	slices.SortFunc(s.loaded, func(a, b loadedSecret) int { return cmp.Compare(a.name, b.name) })
	s.replacer.Store(replacerOf(s.loaded))
}

// A loadedSecret is a secret that was read.
type loadedSecret struct{ name, value string }

// replacerOf returns what replaces the values. Of several forms that begin at one
// place the longest counts, then the first name.
func replacerOf(secrets []loadedSecret) *strings.Replacer {
	type rule struct{ form, name string }
	var rules []rule
	for _, k := range secrets {
		if len(k.value) < minRedacted {
			continue
		}
		for _, f := range forms(k.value) {
			rules = append(rules, rule{f, k.name})
		}
	}
	slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(len(b.form), len(a.form)) })
	var pairs []string
	for _, r := range rules {
		pairs = append(pairs, r.form, placeholder(r.name))
	}
	return strings.NewReplacer(pairs...)
}

// forms returns the ways to write a value.
func forms(value string) []string {
	quoted, _ := json.Marshal(value) // with the escapes that HTML needs
	all := []string{
		value,
		trimQuotes(string(quoted)), trimQuotes(string(marshal(value))),
		trimQuotes(strconv.Quote(value)), trimQuotes(strconv.QuoteToASCII(value)),
		url.QueryEscape(value), lowerEscapes(url.QueryEscape(value)),
		url.PathEscape(value), lowerEscapes(url.PathEscape(value)),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	for offset := range 3 {
		all = append(all, base64At(base64.RawStdEncoding, value, offset))
		all = append(all, base64At(base64.RawURLEncoding, value, offset))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// trimQuotes returns a quoted text without its quotes.
func trimQuotes(quoted string) string { return quoted[1 : len(quoted)-1] }

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	parts := strings.Split(s, "%")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToLower(p[:2]) + p[2:]
	}
	return strings.Join(parts, "%")
}

// base64At returns the characters of an encoding that depend on value alone, if it
// begins offset bytes, of 3, after a boundary.
func base64At(e *base64.Encoding, value string, offset int) string {
	encoded := e.EncodeToString([]byte(strings.Repeat("\x00", offset) + value))
	return encoded[(offset*8+5)/6 : (offset+len(value))*8/6]
}

// redactError takes secrets out of an error's text. The code and the cause stay.
func (s *Secrets) redactError(err error) error {
	if err == nil {
		return nil
	}
	clean := s.Redact(err.Error())
	if clean == err.Error() {
		return err
	}
	e := &Error{Msg: clean}
	for _, cause := range causes {
		if errors.Is(err, cause) {
			e.cause = cause
		}
	}
	if coded, ok := err.(interface{ Code() string }); ok {
		e.code = coded.Code()
	}
	return e
}

// redactJSON takes secrets out of the strings of a JSON text.
func (s *Secrets) redactJSON(text []byte) []byte {
	if s.redactsNothing() {
		return text
	}
	var b []byte
	for rest := text; len(rest) > 0; {
		start := slices.Index(rest, '"')
		if start < 0 {
			return append(b, rest...)
		}
		end := start + 1
		for rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		b = append(b, rest[:start]...)
		b = append(b, s.redactString(rest[start:end+1])...)
		rest = rest[end+1:]
	}
	return b
}

// redactString takes secrets out of one JSON string.
func (s *Secrets) redactString(quoted []byte) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	clean := s.Redact(text)
	if clean == text {
		return quoted
	}
	return marshal(clean)
}

// Redact takes the values of secrets out of what a plugin says: results, logs,
// errors. See [Secrets.Redact].
func (w *World) Redact(text string) string { return w.Secrets.Redact(text) }

// Redacts reports whether Redact can change a text now: a secret was read, or there are
// patterns.
func (w *World) Redacts() bool { return !w.Secrets.redactsNothing() }

// RedactJSON is Redact for a JSON text, which stays one: it looks at the strings.
func (w *World) RedactJSON(text json.RawMessage) json.RawMessage { return w.Secrets.redactJSON(text) }
