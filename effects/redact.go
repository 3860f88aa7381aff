package effects

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// minRedacted is the fewest bytes of a secret that starhost removes from texts. Shorter values occur in texts
// by chance.
const minRedacted = 8

// Redact replaces the values of secrets in a text. It replaces each loaded value of 8 bytes or
// more, also in the forms that programs often write (base64 at any offset, hexadecimal,
// percent-encoded, quoted), and all matches of the configured patterns. It is a second net: a
// plugin cannot read a secret, but the server or program that got the secret may repeat it.
func (s *Secrets) Redact(text string) string {
	if s == nil {
		return text
	}
	if r := s.replacer.Load(); r != nil {
		text = r.Replace(text)
	}
	for _, p := range s.o.Patterns {
		text = p.ReplaceAllString(text, "<masked>")
	}
	return text
}

// redactsNothing reports whether Redact returns all texts unchanged, because no secret was
// loaded and there are no patterns.
func (s *Secrets) redactsNothing() bool {
	return s == nil || s.replacer.Load() == nil && len(s.o.Patterns) == 0
}

// addLoaded adds a value that Redact replaces from now on.
func (s *Secrets) addLoaded(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = append(s.loaded, loadedSecret{name, value})
	slices.SortFunc(s.loaded, func(a, b loadedSecret) int { return cmp.Compare(a.name, b.name) })
	s.replacer.Store(replacerOf(s.loaded))
	clear(s.replacers)
}

// A loadedSecret is a secret whose value was read.
type loadedSecret struct{ name, value string }

// replacerOf returns a replacer of the secrets' values in all their forms. If several forms begin at one
// place, the longest one wins, then the one whose secret has the first name.
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

// forms returns the ways in which programs often write a value.
func forms(value string) []string {
	quoted, _ := json.Marshal(value) // with the escapes that HTML needs, such as \u0026
	all := []string{
		value,
		trimQuotes(string(quoted)), trimQuotes(string(jsontext.EncodeOrNull(value))),
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

// lowerEscapes writes the percent escapes of s in lower case: %2F as %2f.
func lowerEscapes(s string) string {
	parts := strings.Split(s, "%")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToLower(p[:2]) + p[2:]
	}
	return strings.Join(parts, "%")
}

// base64At returns the part of value's encoding that depends on value alone, if offset bytes (0, 1 or 2)
// precede value in its group of three bytes.
func base64At(e *base64.Encoding, value string, offset int) string {
	encoded := e.EncodeToString([]byte(strings.Repeat("\x00", offset) + value))
	return encoded[(offset*8+5)/6 : (offset+len(value))*8/6]
}

// ownRedaction returns the redaction of the texts that the plugin gets. It removes only the values of secrets
// that the plugin may use. If it removed others, a plugin could write a guess somewhere, read it back, and
// learn from the result whether the guess is another plugin's secret. [World.Redact] removes all secrets from
// texts that leave the plugin.
func ownRedaction(w *World) redaction {
	if w.Secrets == nil {
		return nil
	}
	r := w.Secrets.replacerFor(func(name string) bool {
		return w.refusal("secret", name, allowsSecret(name, anyHost)) == nil
	})
	if r == nil {
		return nil
	}
	return r.Replace
}

// replacerFor returns a replacer of the loaded secrets whose names may accepts, or nil if there are none.
func (s *Secrets) replacerFor(may func(name string) bool) *strings.Replacer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []loadedSecret
	var names strings.Builder
	for _, k := range s.loaded {
		if may(k.name) {
			own = append(own, k)
			names.WriteString(k.name + " ")
		}
	}
	if own == nil {
		return nil
	}
	r := s.replacers[names.String()]
	if r == nil {
		r = replacerOf(own)
		if s.replacers == nil {
			s.replacers = map[string]*strings.Replacer{}
		}
		s.replacers[names.String()] = r
	}
	return r
}

// redactError removes secrets from an error's text. The copy has the same code and cause.
func redactError(remove redaction, err error) error {
	if err == nil || remove == nil {
		return err
	}
	clean := remove(err.Error())
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

// redactJSON removes secrets from the strings of a JSON text.
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
		var data []byte // of a blob: a name of a secret is no base64
		if quoted := rest[start : end+1]; bytes.HasSuffix(b, []byte(`{"base64":`)) && json.Unmarshal(quoted, &data) == nil {
			b = append(b, jsontext.EncodeOrNull([]byte(s.Redact(string(data))))...)
		} else {
			b = append(b, s.redactString(quoted)...)
		}
		rest = rest[end+1:]
	}
	return b
}

// redactString removes secrets from one JSON string.
func (s *Secrets) redactString(quoted []byte) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	clean := s.Redact(text)
	if clean == text {
		return quoted
	}
	return jsontext.EncodeOrNull(clean)
}

// Redact removes the values of secrets from a text of a plugin, which is a result or an error. See
// [Secrets.Redact]. A plugin that can know no secret gets its text back as it wrote it.
func (w *World) Redact(text string) string {
	if w.knowsNothing() {
		return text
	}
	return w.Secrets.Redact(text)
}

// knowsNothing reports whether no secret can reach the plugin: it is of a project that nobody trusts, and has
// none of the secretCarriers. All that it reads is redacted already. If starhost redacted its own texts, too,
// the plugin could write a guess, find the text in a prompt or an error, and learn whether the guess is a
// secret.
func (w *World) knowsNothing() bool {
	return w.Owner != nil && w.Owner().Layer == "project" && !slices.ContainsFunc(w.Granted, func(p Permission) bool {
		return slices.Contains(secretCarriers, p.Kind)
	})
}

// secretCarriers are the kinds of permissions that bring a plugin texts that others wrote: a server, a
// program or a file can repeat a secret that starhost did not give to the plugin.
var secretCarriers = []string{"fs.read", "http", "exec", "secret", "tool", "fragment"}

// RedactLog removes the values of secrets from a line that only the operator reads.
func (w *World) RedactLog(text string) string { return w.Secrets.Redact(text) }

// Redacts reports whether Redact can change a text now, because a secret was loaded or there
// are patterns.
func (w *World) Redacts() bool { return !w.Secrets.redactsNothing() && !w.knowsNothing() }

// RedactJSON removes the values of secrets from the strings of a JSON text, which stays JSON.
func (w *World) RedactJSON(text json.RawMessage) json.RawMessage { return w.Secrets.redactJSON(text) }
