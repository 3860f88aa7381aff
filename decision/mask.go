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

// apply returns a record in JSON without the values to mask, with their pointers as its member
// "masked". It first hides each value in its place, and then where else it occurs: see [origin].
// The texts at cut are incomplete; they lose their second half, which may have a part of a value.
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
	// all are the values to mask wherever arguments have them, and keys those of them that are
	// masked in the words of plugins, too.
	all, keys []string
	seen      map[string]bool // values, and pointers
	places    []string        // pointers
}

// plainFields are fields of a record that have no texts of agents and plugins.
var plainFields = []string{
	"schema", "id", "starhost", "time", "turn", "round", "event", "mode", "cut", "omitted", "duration_us", "approval/asked", "approval/answered",
}

// An origin is who wrote a text of a record.
//
// A call must not erase itself from the record of its denial: arguments of any name can repeat the
// tool, the session, the command and the guard's reason, and an argument's name can say that its
// value is secret. So such a value is masked in the other arguments, and not in what the host and
// the agent wrote. In the words of plugins, and in the argument that says what a call does, it is
// masked if it is a word like a key, which is no word of a command or of a reason.
type origin int

const (
	isHosts    origin = iota // the host's and the agent's: names, ids, actions, places
	isPlugins                // reasons, errors, lines of logs, titles; commands and paths of a call
	isArgument               // other arguments, changes, results, effects, settings
)

// originOf returns the origin of the text at a pointer.
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
		_, rest, _ = strings.Cut(rest, "/") // asks
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

// isSetting reports whether a pointer is that of a plugin's setting, or of a value in it.
func isSetting(at string) bool {
	steps := strings.SplitN(at, "/", 6) // "", set, plugins, 0, config, name
	return len(steps) == 6 && steps[1] == "set" && steps[4] == "config"
}

// walk passes each text of a record to hide and each free name of a member to hideName. It returns
// the record with the changed ones.
func (r *masking) walk(
	record []byte, hide func(at []byte, text string) (clean string, isMasked bool), hideName func(string) string,
) []byte {
	var w rewriter
	w.whole = func(at []byte) func(raw string) json.RawMessage {
		if slices.Contains(plainFields, strings.TrimPrefix(string(at), "/")) {
			return func(raw string) json.RawMessage { return json.RawMessage(raw) }
		}
		if string(at) == "/masked" { // behind all parts that can be masked
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
		text, _ := q.Decode() // the reader has checked it
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
	out, _ := w.rewrite("", record) // it is the JSON of encode
	return out
}

func (r *masking) addPlace(at string) {
	if key := "\x00" + at; !r.seen[key] {
		r.seen[key] = true
		r.places = append(r.places, at)
	}
}

// isFree reports whether the value at a pointer can have any type, so that a text can replace it.
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

// hasFreeNames reports whether the names of an object's members can be any texts. The host's own
// names stay, whatever the values to mask are: a model that says "arguments" where a value is masked
// must not remove the arguments from the record of its call. The members of an effect are its kind,
// whose request has names of the host, and its reply, which can be any value.
func hasFreeNames(at string) bool {
	if steps := strings.Split(at, "/"); len(steps) == 6 && steps[1] == "handlers" && steps[3] == "effects" && steps[5] != "reply" {
		return false
	}
	return isFree(at)
}

// hide returns the text at a pointer without the values to mask in it, and collects these.
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

// hideChosen returns a text without secrets and without what the operator's patterns match.
func (r *masking) hideChosen(text string) string {
	if r.redact != nil {
		text = r.redact(text)
	}
	for _, p := range r.patterns {
		text = p.ReplaceAllString(text, masked)
	}
	return text
}

// hideParts returns a text without secrets and without the values to mask in it, and collects the
// latter.
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

// addValuesIn adds the texts in a masked value.
func (r *masking) addValuesIn(value string) {
	w := rewriter{text: func(_ []byte, q jsontext.Quoted) json.RawMessage {
		text, _ := q.Decode() // the reader has checked it
		r.addValue(text, true)
		return nil
	}}
	_, _ = w.rewrite("", []byte(value))
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
	if len(text) < least || isWord || r.seen[text] {
		return
	}
	r.seen[text] = true
	r.all = append(r.all, text)
	if chosen || isKeyWord(text) {
		r.keys = append(r.keys, text)
	}
}

// isKeyWord reports whether a text is one word with letters and digits, and no path, address or
// part of a command.
func isKeyWord(text string) bool {
	isLetter := func(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	return !strings.ContainsAny(text, " \t\r\n/\\.:;|&<>(){}") && strings.ContainsAny(text, "0123456789") &&
		strings.ContainsFunc(text, isLetter)
}

// newReplacer masks values, also in the forms of JSON and of URLs. It returns nil for no values.
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
