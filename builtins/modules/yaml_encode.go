package modules

import (
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
)

// yamlKeyLen is the most bytes of a key that the writer puts on one line with its value, because readers look
// at most 1024 characters ahead.
const yamlKeyLen = 1000

// yamlEncode implements yaml.encode.
func yamlEncode(c call.Call) (starlark.Value, error) {
	var x starlark.Value
	if err := c.Bind("x", &x); err != nil {
		return nil, err
	}
	w := yamlWriter{dataWriter{Call: c, maxDepth: yamlMaxDepth}}
	return w.text(w.node(x, 0, 0, yamlAtStart))
}

// A yamlWriter appends one document. Each node ends with a line break.
type yamlWriter struct{ dataWriter }

// A yamlPlace is the text that precedes a node on its line.
type yamlPlace int

const (
	yamlAtStart yamlPlace = iota // nothing
	yamlAtKey                    // "key:"
	yamlAtDash                   // "-"
)

// node writes v, which is depth levels deep. All lines of v but the first begin with indent spaces.
func (w *yamlWriter) node(v starlark.Value, depth, indent int, at yamlPlace) error {
	if err := w.enter(v, depth, indent); err != nil {
		return err
	}
	if s, ok := v.(*starlarkstruct.Struct); ok && s.Constructor() == taggedName {
		return w.tagged(s, depth, indent, at)
	}
	if members := dataMembers(v); members != nil {
		return w.mapping(members, depth, indent, at)
	}
	if seq, ok := v.(starlark.Sequence); ok {
		return w.sequence(seq, depth, indent, at)
	}
	if s, ok := v.(starlark.String); ok && yamlIsBlock(string(s)) {
		w.space(at)
		w.block(string(s), max(indent, 2))
		return nil
	}
	w.space(at)
	return w.scalar(v, "\n")
}

// tagged writes a tag and its value. If the value is a list or mapping, its parts begin on the line below the
// tag.
func (w *yamlWriter) tagged(s *starlarkstruct.Struct, depth, indent int, at yamlPlace) error {
	tag, _ := s.Attr("tag") // no error, because yaml.tagged and yaml.decode set both fields
	value, _ := s.Attr("value")
	name, _ := starlark.AsString(tag)
	text := yamlTagText(name)
	if inner, ok := value.(*starlarkstruct.Struct); text == "" || ok && inner.Constructor() == taggedName {
		return errtext.PathErrorf("got the tag %s, want one of letters and digits for a value without a tag", errtext.Quote(name))
	}
	w.space(at)
	w.out = append(w.out, text...)
	return w.node(value, depth+1, indent, yamlAtKey)
}

// space writes a space if the node follows a key or a dash.
func (w *yamlWriter) space(at yamlPlace) {
	if at != yamlAtStart {
		w.out = append(w.out, ' ')
	}
}

// item begins the next item of a list or mapping on a new line. The first item stays on the line of a dash.
func (w *yamlWriter) item(first bool, indent int, at yamlPlace) {
	switch {
	case !first:
		w.indent(indent)
	case at == yamlAtKey:
		w.out = append(w.out, '\n')
		w.indent(indent)
	default:
		w.space(at)
	}
}

// indent writes the spaces at the start of a line.
func (w *yamlWriter) indent(n int) {
	for range n {
		w.out = append(w.out, ' ')
	}
}

// sequence writes the elements of a list, each with a dash.
func (w *yamlWriter) sequence(seq starlark.Sequence, depth, indent int, at yamlPlace) error {
	i := 0
	for elem := range starlark.Elements(seq) {
		w.item(i == 0, indent, at)
		w.out = append(w.out, '-')
		if err := w.node(elem, depth+1, indent+2, yamlAtDash); err != nil {
			return errtext.Under("["+strconv.Itoa(i)+"]", err)
		}
		i++
	}
	if i == 0 {
		w.space(at)
		w.out = append(w.out, "[]\n"...)
	}
	return nil
}

// mapping writes the members of a mapping, each with its key.
func (w *yamlWriter) mapping(members iter.Seq2[starlark.Value, starlark.Value], depth, indent int, at yamlPlace) error {
	first := true
	for k, v := range members {
		w.item(first, indent, at)
		first = false
		if err := w.key(k, depth, indent); err != nil {
			return err
		}
		if err := w.node(v, depth+1, indent+2, yamlAtKey); err != nil {
			return errtext.Under(yamlKeyStep(k), err)
		}
	}
	if first {
		w.space(at)
		w.out = append(w.out, "{}\n"...)
	}
	return nil
}

// yamlKeyStep returns the text that a path has for the member with a key.
func yamlKeyStep(k starlark.Value) string {
	if s, ok := k.(starlark.String); ok {
		return errtext.KeyStep(string(s))
	}
	return "[" + call.Show(k) + "]"
}

// key writes a key and its colon.
func (w *yamlWriter) key(k starlark.Value, depth, indent int) error {
	if err := w.enter(k, depth, indent); err != nil {
		return err
	}
	if _, isList := k.(starlark.Sequence); isList || dataMembers(k) != nil {
		return errtext.PathErrorf("got a key that is %s, want a string or a number", k.Type())
	}
	start := len(w.out)
	if err := w.scalar(k, ""); err != nil {
		return err
	}
	if len(w.out)-start > yamlKeyLen {
		key := string(w.out[start:])
		w.out = append(append(append(w.out[:start], "? "...), key...), '\n')
		w.indent(indent)
	}
	w.out = append(w.out, ':')
	return nil
}

// scalar writes a value without parts, and then the text end.
func (w *yamlWriter) scalar(v starlark.Value, end string) error {
	switch v := v.(type) {
	case starlark.NoneType:
		w.out = append(w.out, "null"...)
	case starlark.Bool:
		w.out = strconv.AppendBool(w.out, bool(v))
	case starlark.Int:
		w.out = append(w.out, v.String()...)
	case starlark.Float:
		w.out = append(w.out, yamlFloatText(float64(v))...)
	case starlark.String:
		if s := string(v); yamlIsPlain(s) {
			w.out = append(w.out, s...)
		} else {
			w.out = appendQuoted(w.out, s)
		}
	default:
		return notData("YAML", v)
	}
	w.out = append(w.out, end...)
	return nil
}

// yamlFloatText formats a float.
func yamlFloatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	return starlark.Float(f).String() // String always writes a point or an exponent
}

// block writes a text of several lines. Each line begins with indent spaces.
func (w *yamlWriter) block(s string, indent int) {
	body := strings.TrimRight(s, "\n")
	switch s[len(body):] {
	case "":
		w.out = append(w.out, "|-\n"...)
	case "\n":
		w.out = append(w.out, "|\n"...)
	default:
		w.out = append(w.out, "|+\n"...)
	}
	for line := range strings.Lines(s) {
		if line != "\n" {
			w.indent(indent)
		}
		w.out = append(w.out, line...)
	}
	if s[len(body):] == "" {
		w.out = append(w.out, '\n')
	}
}

// yamlIsBlock reports whether the writer can write s as a block. s must have several lines, must not begin
// with white space, and must have no white space at the end of a line, which people would not see.
func yamlIsBlock(s string) bool {
	lines := strings.Count(s, "\n")
	if lines == 0 || strings.Contains("\n\t ", s[:1]) {
		return false
	}
	last := s[len(s)-1]
	if last == ' ' || last == '\t' || strings.Contains(s, " \n") || strings.Contains(s, "\t\n") {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !isPrintable(r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return true
}

// yamlOldWords are texts, in any letter case, that readers of YAML 1.1 do not take for strings.
// They also convert texts that begin with a digit, a sign or a point.
var yamlOldWords = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

// yamlIsPlain reports whether s needs no quotes: it begins with a letter, "_" or "/", and every reader takes
// it for a string.
func yamlIsPlain(s string) bool {
	if first, _ := utf8.DecodeRuneInString(s); first != '_' && first != '/' && !unicode.IsLetter(first) {
		return false
	}
	if slices.Contains(yamlOldWords, strings.ToLower(s)) || strings.HasSuffix(s, ":") || strings.HasSuffix(s, " ") {
		return false
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !isPrintable(r) || r == unicode.ReplacementChar })
}
