package decision

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// masked is the text in place of a masked value.
const masked = "<masked>"

// A mask hides values that the log must not contain.
type mask struct {
	globs    *regexp.Regexp // match the JSON pointers of values to mask; nil for none
	patterns []*regexp.Regexp
	redact   func(string) string // replaces the values of secrets; nil replaces nothing
	keepKeys bool                // values that only look like keys stay
}

// compileGlobs returns one regular expression for all globs on JSON pointers, or nil for no globs. * does not
// match a slash, and ** does. Letter case does not matter.
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

// apply returns the JSON of a record without the values to mask, and with their pointers in its member
// "masked". It first masks each value at its own place, and then wherever else the value occurs: see
// [origin]. The texts at the pointers in cut are incomplete. They lose their second half, which may have a
// part of a value.
func (m *mask) apply(record []byte, cut []string) []byte {
	r := masking{mask: m, seen: map[string]bool{}}
	out := r.walk(record, r.hide, r.hideParts)
	all, keys := newReplacer(r.all), newReplacer(r.keys)
	if all == nil && len(cut) == 0 {
		return out
	}
	isCut := map[string]bool{}
	for _, at := range cut {
		isCut[at] = true
	}
	replace := func(by *strings.Replacer, text string) string {
		if by == nil {
			return text
		}
		return by.Replace(text)
	}
	hide := func(at []byte, text string) (clean string, isMasked bool) {
		switch clean = text; originOf(at) {
		case isPlugins:
			clean = replace(keys, text)
		case isArgument:
			clean = replace(all, text)
		}
		isMasked = clean != text
		if isCut[string(at)] {
			clean = errtext.CutTo(strings.TrimSuffix(clean, cutMark), cutLength, cutMark)
		}
		return clean, isMasked
	}
	return r.walk(out, hide, func(name string) string { return replace(all, name) })
}

// A masking masks one record.
type masking struct {
	*mask
	// all are the values to mask wherever arguments contain them. keys are those of them that are also masked
	// in the words of plugins.
	all, keys []string
	seen      map[string]bool // the values and pointers that are noted already
	places    []string        // the pointers of masked values
}

// plainFields are fields of a record that contain no texts of agents and plugins.
var plainFields = []string{
	"schema", "id", "starhost", "time", "turn", "round", "event", "mode", "cut", "omitted", "duration_us", "approval/asked", "approval/answered",
}

// An origin says who wrote a text of a record.
//
// A call must not erase itself from the record of its denial: an argument of any name can repeat the tool,
// the session, the command or the guard's reason, and the argument's name can claim that the value is secret.
// So such a value is masked in the other arguments, but not in what the host and the agent wrote. In the
// words of plugins, and in the argument that says what a call does, it is masked if it looks like a key,
// because no command and no reason has such a word.
type origin int

const (
	isHosts    origin = iota // texts of the host and the agent: names, ids, actions, places
	isPlugins                // reasons, errors, lines of logs, titles; also commands and paths of a call
	isArgument               // all other arguments, and changes, results, effects, settings
)

// originOf returns the origin of the text at a JSON pointer.
func originOf(at []byte) origin {
	top, rest, _ := strings.Cut(strings.TrimPrefix(string(at), "/"), "/")
	switch top {
	case "input":
		if step, ok := strings.CutPrefix(rest, "arguments/"); ok {
			name, _, _ := strings.Cut(step, "/")
			if slices.Contains(askedFields, name) {
				return isPlugins
			}
		}
		if rest == "reason" {
			return isPlugins
		}
		return isArgument
	case "errors", "context":
		return isPlugins
	case "set":
		return isArgument
	case "handlers":
		_, rest, _ = strings.Cut(rest, "/")
	case "approval":
		_, rest, _ = strings.Cut(rest, "/") // the pointer is in the list "asks"
		_, rest, _ = strings.Cut(rest, "/")
	case "decision":
	default:
		return isHosts
	}
	switch part, _, _ := strings.Cut(rest, "/"); part {
	case "changes", "value", "result", "effects":
		return isArgument
	case "reason", "error", "logs":
		return isPlugins
	}
	return isHosts
}

// isSetting reports whether a JSON pointer leads to a plugin's setting, or to a value in one.
func isSetting(at string) bool {
	steps := strings.SplitN(at, "/", 6) // "", set, plugins, the index, config, the name
	return len(steps) == 6 && steps[1] == "set" && steps[4] == "config"
}

// walk calls hide with each text of a record, and hideName with each name of a member that is free. It
// returns the record with the results in their place.
func (r *masking) walk(
	record []byte, hide func(at []byte, text string) (clean string, isMasked bool), hideName func(string) string,
) []byte {
	var w rewriter
	w.whole = func(at []byte) func(raw string) json.RawMessage {
		if slices.Contains(plainFields, strings.TrimPrefix(string(at), "/")) {
			return func(raw string) json.RawMessage { return json.RawMessage(raw) }
		}
		if string(at) == "/masked" { // this list comes after everything that can be masked
			return func(string) json.RawMessage { return jsontext.EncodeOrNull(append([]string{}, r.places...)) }
		}
		if r.globs == nil || w.Text[w.At] == '"' || !isFree(string(at)) || !r.globs.Match(at) {
			return nil
		}
		r.addPlace(string(at))
		return func(raw string) json.RawMessage {
			r.addValuesIn(raw)
			return jsontext.EncodeOrNull(masked)
		}
	}
	w.text = func(at []byte, q jsontext.Quoted) json.RawMessage {
		if top := string(at); strings.HasPrefix(top, "/set/") && !isSetting(top) {
			return nil
		}
		text, _ := q.Decode() // no error, because the reader has checked it
		clean, isMasked := hide(at, text)
		if isMasked {
			r.addPlace(string(at))
		}
		if clean == text {
			return nil
		}
		return jsontext.EncodeOrNull(clean)
	}
	w.name = func(at []byte, name string) string {
		if !hasFreeNames(string(at)) {
			return name
		}
		clean := hideName(name)
		if clean != name {
			r.addPlace(string(at))
		}
		return clean
	}
	out, _ := w.rewrite("", record) // no error, because encode wrote the record
	return out
}

func (r *masking) addPlace(at string) {
	if key := "\x00" + at; !r.seen[key] {
		r.seen[key] = true
		r.places = append(r.places, at)
	}
}

// isFree reports whether the value at a JSON pointer can have any type, so that a text may replace it.
func isFree(at string) bool {
	top, rest, isDeep := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	switch top {
	case "input":
		return isDeep
	case "set":
		return isSetting(at)
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

// hasFreeNames reports whether the names of an object's members can be any texts. The host's own names stay,
// whatever values must be masked: if a model says "arguments" where a value is masked, the record of its call
// must not lose its member "arguments". The members of an effect are its kind, whose request has names of the
// host, and its reply, which can be any value.
func hasFreeNames(at string) bool {
	if steps := strings.Split(at, "/"); len(steps) == 6 && steps[1] == "handlers" && steps[3] == "effects" && steps[5] != "reply" {
		return false
	}
	return isFree(at)
}

// hide returns the text at a JSON pointer without the values to mask. It notes each value that it finds in
// the text.
func (r *masking) hide(at []byte, text string) (clean string, isMasked bool) {
	chosen := r.globs != nil && r.globs.Match(at)
	isKey := !r.keepKeys && text != "" && isSensitive(lastStep(at)) && isFree(string(at))
	switch {
	case chosen, isKey && !strings.Contains(text, "<secret "):
		r.addValue(text, chosen)
		return masked, text != masked
	case originOf(at) == isHosts:
		clean = r.hideChosen(text)
	default:
		clean = r.hideParts(text)
	}
	return clean, clean != text
}

// hideChosen returns a text without secrets, and without what the operator's patterns match.
func (r *masking) hideChosen(text string) string {
	if r.redact != nil {
		text = r.redact(text)
	}
	for _, p := range r.patterns {
		text = p.ReplaceAllString(text, masked)
	}
	return text
}

// hideParts returns a text without secrets and without the values to mask. It notes each of these values.
func (r *masking) hideParts(text string) string {
	text = r.hideChosen(text)
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

// addValuesIn notes the texts in a masked value as values to mask.
func (r *masking) addValuesIn(value string) {
	w := rewriter{text: func(_ []byte, q jsontext.Quoted) json.RawMessage {
		text, _ := q.Decode() // no error, because the reader has checked it
		r.addValue(text, true)
		return nil
	}}
	_, _ = w.rewrite("", []byte(value))
}

// Values of fewer bytes than these occur in texts by chance, so they are masked at their own places only.
const (
	minChosen  = 3  // a value at a place that the operator chose
	minMixed   = 6  // a value with digits, or with letters of both cases
	minUniform = 12 // any other value
)

// addValue notes a value that must be masked wherever it occurs. chosen is true if the operator chose its
// place.
func (r *masking) addValue(text string, chosen bool) {
	least := minUniform
	switch {
	case chosen:
		least = minChosen
	case strings.ContainsAny(text, "0123456789"), strings.ToLower(text) != text && strings.ToUpper(text) != text:
		least = minMixed
	}
	isWord := text == "true" || text == "false" || text == "null" || text == masked
	if len(text) < least || isWord || r.seen[text] {
		return
	}
	r.seen[text] = true
	r.all = append(r.all, text)
	if chosen || isKeyWord(text) {
		r.keys = append(r.keys, text)
	}
}

// isKeyWord reports whether a text is a single word with letters and digits, and not a path, an address or a
// part of a command.
func isKeyWord(text string) bool {
	isLetter := func(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	return !strings.ContainsAny(text, " \t\r\n/\\.:;|&<>(){}") && strings.ContainsAny(text, "0123456789") &&
		strings.ContainsFunc(text, isLetter)
}

// newReplacer returns a replacer that masks values, also in the forms that JSON and URLs give them. It
// returns nil for no values.
func newReplacer(values []string) *strings.Replacer {
	var forms []string
	for _, v := range values {
		quoted := string(jsontext.EncodeOrNull(v))
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
