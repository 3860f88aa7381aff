package decision

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// masked replaces a masked value.
const masked = "<masked>"

// A mask hides values that the log must not contain.
type mask struct {
	globs    *regexp.Regexp // on JSON pointers; nil for none
	patterns []*regexp.Regexp
	redact   func(string) string // replaces the values of secrets; nil replaces nothing
	keepKeys bool                // values that look like keys stay
}

// compileGlobs returns an expression for globs on JSON pointers, in which * does not cross a slash
// and ** does. Letter case does not matter. It returns nil for no globs.
func compileGlobs(globs []string) *regexp.Regexp {
	if len(globs) == 0 {
		return nil
	}
	var all []string
	for _, glob := range globs {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(glob), `\*\*`, `.*`)
		all = append(all, strings.ReplaceAll(quoted, `\*`, `[^/]*`))
	}
	return regexp.MustCompile(`(?is)^(?:` + strings.Join(all, "|") + `)$`)
}

// apply returns a record in JSON without the values to mask, and their pointers. It first hides
// each value in its place, and then wherever it occurs.
func (m *mask) apply(record []byte) (out []byte, places []string) {
	r := masking{mask: m}
	out = r.walk(record, r.hide, r.hideParts)
	if replacer := r.replacer(); replacer != nil {
		out = r.walk(out, func(_, text string) string { return replacer.Replace(text) }, replacer.Replace)
	}
	return out, r.places
}

// A masking masks one record.
type masking struct {
	*mask
	values []string // to mask wherever they occur
	places []string // pointers
}

// plainFields are fields of a record that have no texts of agents and plugins.
var plainFields = []string{
	"schema", "id", "starhost", "time", "turn", "round", "event", "mode", "set", "masked", "cut", "omitted", "duration_us",
}

// walk passes each text of a record to hide and each free name of a member to hideName. It returns
// the record with the changed ones.
func (r *masking) walk(record []byte, hide func(at, text string) string, hideName func(string) string) []byte {
	var w jsonRewriter
	w.replace = func(at string, d *jsontext.Document, i int) json.RawMessage {
		if slices.Contains(plainFields, strings.TrimPrefix(at, "/")) {
			return d.CopyAt(i)
		}
		if !d.HasKind(i, jsontext.String) {
			if !isFree(at) || r.globs == nil || !r.globs.MatchString(at) {
				return nil
			}
			r.addPlace(at)
			r.addValuesIn(d.CopyAt(i))
			return encode(masked)
		}
		text := d.StringAt(i)
		clean := hide(at, text)
		if clean == text {
			return nil
		}
		r.addPlace(at)
		return encode(clean)
	}
	w.key = func(at, key string) string {
		if !isFree(at + "/" + key) {
			return key
		}
		clean := hideName(key)
		if clean != key {
			r.addPlace(at)
		}
		return clean
	}
	return w.rewrite("", record)
}

func (r *masking) addPlace(at string) {
	if !slices.Contains(r.places, at) {
		r.places = append(r.places, at)
	}
}

// isFree reports whether the value at a pointer can have any type, so that a text can replace it.
func isFree(at string) bool {
	top, rest, isDeep := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	switch top {
	case "input":
		return isDeep
	case "decision":
	case "handlers":
		_, rest, isDeep = strings.Cut(rest, "/")
	default:
		return false
	}
	if !isDeep {
		return false
	}
	part, rest, isDeep := strings.Cut(rest, "/")
	switch part {
	case "changes":
		return isDeep
	case "effects":
		return strings.Contains(rest, "/")
	}
	return part == "value"
}

// hide returns the text at a pointer without the values to mask in it, and collects these.
func (r *masking) hide(at, text string) string {
	name := at[strings.LastIndexByte(at, '/')+1:]
	chosen := r.globs != nil && r.globs.MatchString(at)
	isKey := !r.keepKeys && text != "" && isFree(at) && isSensitive(name)
	if chosen || isKey && !strings.Contains(text, "<secret ") {
		r.addValue(text, chosen)
		return masked
	}
	return r.hideParts(text)
}

// hideParts returns a text without secrets and without the values to mask in it, and collects the
// latter.
func (r *masking) hideParts(text string) string {
	if r.redact != nil {
		text = r.redact(text)
	}
	for _, p := range r.patterns {
		text = p.ReplaceAllString(text, masked)
	}
	if r.keepKeys {
		return text
	}
	parts := sensitiveParts(text)
	if len(parts) == 0 {
		return text
	}
	var b strings.Builder
	last := 0
	for _, part := range parts {
		r.addValue(text[part[0]:part[1]], false)
		b.WriteString(text[last:part[0]] + masked)
		last = part[1]
	}
	return b.String() + text[last:]
}

// addValuesIn adds the texts in a masked value.
func (r *masking) addValuesIn(value []byte) {
	rewriteJSON("", value, func(_ string, d *jsontext.Document, i int) json.RawMessage {
		if d.HasKind(i, jsontext.String) {
			r.addValue(d.StringAt(i), true)
		}
		return nil
	})
}

// Values that are shorter than these numbers of bytes occur in texts by chance, so that they are
// masked in their places only.
const (
	minChosen  = 3  // the operator chose the place
	minMixed   = 6  // with digits, or with letters of both cases
	minUniform = 12 // others
)

// addValue adds a value to mask wherever it occurs.
func (r *masking) addValue(text string, chosen bool) {
	least := minUniform
	switch {
	case chosen:
		least = minChosen
	case strings.ContainsAny(text, "0123456789"), strings.ToLower(text) != text && strings.ToUpper(text) != text:
		least = minMixed
	}
	isWord := text == "true" || text == "false" || text == "null" || text == masked
	if len(text) >= least && !isWord && !slices.Contains(r.values, text) {
		r.values = append(r.values, text)
	}
}

// replacer replaces the collected values, also in the forms of JSON and of URLs. It returns nil if
// there are none.
func (r *masking) replacer() *strings.Replacer {
	var forms []string
	for _, v := range r.values {
		quoted := string(encode(v))
		forms = append(forms, v, quoted[1:len(quoted)-1], url.QueryEscape(v), url.PathEscape(v))
	}
	if forms == nil {
		return nil
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, masked)
	}
	return strings.NewReplacer(pairs...)
}
