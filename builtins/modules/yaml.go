package modules

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.yaml.in/yaml/v3"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// yamlMaxDepth is the deepest nesting of lists and mappings, counted after aliases are replaced.
const yamlMaxDepth = 64

// yamlMembers are the members of the module yaml.
var yamlMembers = []call.Member{
	{
		Name: "decode", Params: `text, name="", tags="drop"`, Type: "str, str, str -> Any",
		Doc: `Reads a YAML document and returns its value.
name is the file of the text, for messages about it.
The version is YAML 1.2: true, false, ints (also 0x1f and 0o17), floats and null have their
types; yes, on, dates and everything in quotes are strings. Mappings become dicts in their order;
keys are no lists or mappings, and a key that stands twice is an error.
An alias such as *base is a copy, and <<: *base adds the entries whose keys the mapping lacks.
A value with a local tag, such as !Sub of CloudFormation, !reference of GitLab or !vault of
Ansible, is the value without the tag; a scalar with one is text. With tags = "keep" it is
yaml.tagged(tag, value), which yaml.encode writes with the tag. The tags !!str, !!int, !!float,
!!bool, !!seq, !!map and !!null only give the type. A text has at most 100000 values, nested at most
64 levels deep; each use of an alias counts. Empty text is None.`,
		Example: `doc = """
service: checkout
tier: 1
since: 2024-05-01
owners: [ana, "on"]
"""
assert_eq(yaml.decode(doc), {"service": "checkout", "tier": 1, "since": "2024-05-01", "owners": ["ana", "on"]})
assert_eq(yaml.decode("a: &x {k: 1}\nb: {<<: *x, l: 2}")["b"], {"l": 2, "k": 1})
assert_eq(yaml.decode("name: !Sub logs-${Env}"), {"name": "logs-${Env}"})
assert_eq(yaml.decode("name: !Sub logs-${Env}", tags = "keep")["name"].tag, "!Sub")`,
		Func: yamlDecode,
	},
	{
		Name: "decode_all", Params: `text, name="", tags="drop"`, Type: "str, str, str -> list[Any]",
		Doc: `Reads all documents of a YAML text, separated by ---, and returns a list of their values.
yaml.decode describes how it reads them.`,
		Example: `assert_eq(yaml.decode_all("kind: Pod\n---\nkind: Service\n"), [{"kind": "Pod"}, {"kind": "Service"}])`,
		Func:    yamlDecodeAll,
	},
	{
		Name: "tagged", Params: "tag, value", Type: "str, Any -> Tagged",
		Doc: `Returns a value with a local tag for yaml.encode: a struct with the fields tag and value.
tag begins with "!", as "!Sub". yaml.decode(text, tags = "keep") returns such values; type tells
them from others: type(v) == "struct".`,
		Example: `v = yaml.decode("!GetAtt [Logs, Arn]", tags = "keep")
assert_eq((type(v), v.tag, v.value), ("struct", "!GetAtt", ["Logs", "Arn"]))
assert_eq(v, yaml.tagged("!GetAtt", ["Logs", "Arn"]))
assert_eq(yaml.encode({"name": yaml.tagged("!Sub", "logs-${Env}")}), "name: !Sub logs-${Env}\n")`,
		Func: makeTagged,
	},
	{
		Name: "encode", Params: "x", Type: "Any -> str",
		Doc: `Writes a value as a YAML document that ends with a line break.
None, bool, int, float, string, list, tuple, set, dict, struct and yaml.tagged can be written; keys
stand in the dict's order, and are no lists or dicts. Text of several lines becomes a block. Strings
that some YAML reader could take for another type, such as "yes" or "1.0", get quotes.
yaml.decode reads the same value.`,
		Example: `assert_eq(yaml.encode({"name": "web", "ports": [80, 443], "note": "a\nb\n", "on": "yes"}),
    "name: web\nports:\n  - 80\n  - 443\nnote: |\n  a\n  b\n\"on\": \"yes\"\n")`,
		Func: yamlEncode,
	},
}

// yamlDecode implements yaml.decode.
func yamlDecode(c call.Call) (starlark.Value, error) {
	docs, source, err := yamlDocuments(c)
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0:
		return starlark.None, nil
	case len(docs) > 1:
		return nil, c.Fail("E0202", "%s: got %d documents, want one", source, len(docs)).Way("yaml.decode_all reads them all")
	}
	return docs[0], nil
}

// yamlDecodeAll implements yaml.decode_all.
func yamlDecodeAll(c call.Call) (starlark.Value, error) {
	docs, _, err := yamlDocuments(c)
	if err != nil {
		return nil, err
	}
	return starlark.NewList(docs), nil
}

// yamlDocuments reads the arguments text, name and tags, and decodes the documents of the text.
func yamlDocuments(c call.Call) (docs []starlark.Value, source sourceName, err error) {
	var text, tags string
	if err := c.Bind("text", &text, "name?", (*string)(&source), "tags?", &tags); err != nil {
		return nil, source, err
	}
	if ways := []string{"drop", "keep"}; tags != "" && !slices.Contains(ways, tags) {
		return nil, source, c.Fail("E0202", `tags: got %s%s, want "drop" or "keep"`, errtext.Quote(tags), near.DidYouMean(tags, ways))
	}
	if err := yamlPay(c, text); err != nil {
		return nil, source, err
	}
	if line, why := findUnsupportedYAML(text); why != "" {
		return nil, source, c.Fail("E0202", "%s: line %d: %s", source, line, why)
	}
	if rest, ok := strings.CutPrefix(text, "%YAML 1.2"); ok {
		text = "%YAML 1.1" + rest // the parser knows only 1.1, and the types here do not depend on the version
	}
	r := yamlReader{Call: c, source: source, keepTags: tags == "keep"}
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if err == io.EOF {
			return docs, source, nil
		}
		if err != nil {
			return nil, source, c.Fail("E0202", "%s: %s", source, yamlErrorText(err, text))
		}
		v, err := r.value(doc.Content[0], 0)
		if err != nil {
			return nil, source, err
		}
		docs = append(docs, v)
	}
}

// yamlPay pays for parsing a text. Tokens and comments cost most.
func yamlPay(c call.Call, text string) error {
	marks := 1
	for i := range len(text) {
		switch text[i] {
		case ',', ':', '-', '[', '{', '?', '#', '!':
			marks++
		}
	}
	return c.Pay(1+len(text)/2+16*marks+jsontext.TinyFloatSteps(text), 24*len(text)+640*marks)
}

// findUnsupportedYAML finds syntax about which the parser's messages are unclear. It also finds tag
// directives, because the parser copies them into each tag.
func findUnsupportedYAML(text string) (line int, why string) {
	for l := range strings.Lines(text) {
		line++
		if strings.HasPrefix(l, "%TAG") {
			return line, "got a %TAG directive, want the core tags only"
		}
		for i, r := range l {
			switch {
			case r == utf8.RuneError && !strings.HasPrefix(l[i:], "\ufffd"):
				return line, "got bytes that are not UTF-8"
			case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f, 0x80 <= r && r < 0xa0 && r != 0x85,
				r == 0xfffe, r == 0xffff:
				return line, fmt.Sprintf("got the control character %U", r)
			}
		}
	}
	return 0, ""
}

// yamlErrorText returns the parser's message with its line. If the parser expected other syntax, it reports
// only a line before the mistake.
func yamlErrorText(err error, text string) string {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if name, ok := strings.CutPrefix(msg, "unknown anchor '"); ok { // the only error that has no line
		alias := "*" + strings.TrimSuffix(name, "' referenced")
		before, _, _ := strings.Cut(text, alias)
		return fmt.Sprintf("line %d: got the alias %s, but no anchor of that name in front of it", 1+strings.Count(before, "\n"), errtext.Quote(alias))
	}
	if !strings.HasPrefix(msg, "line ") {
		return "line 1: " + errtext.Cut(msg)
	}
	if strings.Contains(msg, "did not find expected") {
		return "after " + errtext.Cut(msg)
	}
	return errtext.Cut(msg)
}

// A yamlReader converts the nodes of one text.
type yamlReader struct {
	call.Call
	source   sourceName
	keepTags bool
	nodes    int // how many values were read so far; each use of an alias counts
}

// trouble returns an error with the line of the node n.
func (r *yamlReader) trouble(n *yaml.Node, format string, args ...any) error {
	return r.Fail("E0202", "%s: line %d: %s", r.source, n.Line, fmt.Sprintf(format, args...))
}

// value converts the node n, which is depth levels deep.
func (r *yamlReader) value(n *yaml.Node, depth int) (starlark.Value, error) {
	if r.nodes++; r.nodes > dataMaxNodes {
		return nil, r.trouble(n, "got more than %d values, aliases counted each time", dataMaxNodes)
	}
	if depth > yamlMaxDepth {
		return nil, r.trouble(n, "nested deeper than %d levels, or an alias stands within its own anchor", yamlMaxDepth)
	}
	if err := r.Pay(4+len(n.Value)/32, 160+len(n.Value)); err != nil {
		return nil, err
	}
	v, err := r.content(n, depth)
	if err != nil || !r.keepTags || !hasOwnTag(n) {
		return v, err
	}
	return newTagged(r.Call, n.ShortTag(), v)
}

// content converts a node without a local tag.
func (r *yamlReader) content(n *yaml.Node, depth int) (starlark.Value, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth)
	case yaml.SequenceNode:
		return r.list(n, depth)
	case yaml.MappingNode:
		return r.dict(n, depth)
	}
	return r.scalar(n)
}

// yamlTags are the tags of the core schema.
var yamlTags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!seq", "!!map"}

// hasOwnTag reports whether a node has a tag that is not in the core schema.
func hasOwnTag(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle != 0 && !slices.Contains(yamlTags, n.ShortTag())
}

// taggedName is the constructor of the structs that yaml.tagged returns.
const taggedName = starlark.String("tagged")

// newTagged pays for a value with a local tag, and returns it.
func newTagged(c call.Call, tag string, v starlark.Value) (starlark.Value, error) {
	if err := c.Pay(4, 256+len(tag)); err != nil {
		return nil, err
	}
	return starlarkstruct.FromStringDict(taggedName, starlark.StringDict{"tag": starlark.String(tag), "value": v}), nil
}

// makeTagged implements yaml.tagged.
func makeTagged(c call.Call) (starlark.Value, error) {
	var tag string
	var v starlark.Value
	if err := c.Bind("tag", &tag, "value", &v); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(tag, "!") || yamlTagText(tag) == "" || slices.Contains(yamlTags, tag) {
		return nil, c.Fail("E0202", `tag: got %s, want a local tag such as "!Sub"`, errtext.Quote(tag))
	}
	return newTagged(c, tag, v)
}

// yamlTagText returns a tag as documents write it. It returns "" if a document could write it only with
// escapes.
func yamlTagText(tag string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/"
	name := strings.TrimPrefix(strings.TrimPrefix(tag, "!"), "!")
	switch {
	case len(tag) > 128 || name != "" && !consistsOf(name, letters+",+@=~"):
		return ""
	case name == tag:
		return "!<" + tag + ">"
	case !consistsOf("x"+name, letters):
		return ""
	}
	return tag
}

// list converts a sequence.
func (r *yamlReader) list(n *yaml.Node, depth int) (starlark.Value, error) {
	if tag := n.ShortTag(); tag != "!!seq" && !hasOwnTag(n) {
		return nil, r.trouble(n, "got a list tagged %s", tag)
	}
	values := make([]starlark.Value, len(n.Content))
	for i, elem := range n.Content {
		v, err := r.value(elem, depth+1)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return starlark.NewList(values), nil
}

// dict converts a mapping. The mapping's own entries come first, then those that it merges in.
func (r *yamlReader) dict(n *yaml.Node, depth int) (starlark.Value, error) {
	if tag := n.ShortTag(); tag != "!!map" && !hasOwnTag(n) {
		return nil, r.trouble(n, "got a mapping tagged %s", tag)
	}
	if err := r.Pay(4, 512); err != nil {
		return nil, err
	}
	b := yamlDict{yamlReader: r, dict: new(starlark.Dict)}
	var merged []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if err := b.add(key, value, depth+1); err != nil {
			return nil, err
		}
	}
	for _, value := range merged {
		if err := b.merge(value, depth+1); err != nil {
			return nil, err
		}
	}
	return b.dict, nil
}

// A yamlDict collects the entries of a mapping.
type yamlDict struct {
	*yamlReader
	dict  *starlark.Dict
	flood call.KeyFlood
}

// add adds one entry of a mapping to the dict.
func (b *yamlDict) add(key, value *yaml.Node, depth int) error {
	k, err := b.value(key, depth)
	if err != nil {
		return err
	}
	switch k.(type) {
	case *starlark.List, *starlark.Dict, *starlarkstruct.Struct:
		return b.trouble(key, "got a %s as a key, want a string or a number", k.Type())
	}
	if _, found, _ := b.dict.Get(k); found {
		return b.trouble(key, "key %s stands twice in one mapping", call.Show(k))
	}
	v, err := b.value(value, depth)
	if err != nil {
		return err
	}
	return b.set(key, k, v)
}

// set inserts an entry of the mapping at n, and pays if its key shares a hash with others.
func (b *yamlDict) set(n *yaml.Node, k, v starlark.Value) error {
	if err := b.flood.Add(k); err != nil {
		return b.trouble(n, "%v", err)
	}
	if err := b.Pay(b.flood.Steps(), 0); err != nil {
		return err
	}
	return b.dict.SetKey(k, v)
}

// merge adds the entries of another mapping, or of each mapping in a list. It skips keys that the dict has
// already.
func (b *yamlDict) merge(n *yaml.Node, depth int) error {
	v, err := b.value(n, depth)
	if err != nil {
		return err
	}
	parts := []starlark.Value{v}
	if list, ok := v.(*starlark.List); ok {
		parts = parts[:0]
		for elem := range list.Elements() {
			parts = append(parts, elem)
		}
	}
	for _, part := range parts {
		dict, ok := part.(*starlark.Dict)
		if !ok {
			return b.trouble(n, "<< got %s, want a mapping or a list of mappings", part.Type())
		}
		for k, v := range dict.Entries() {
			if _, found, _ := b.dict.Get(k); found {
				continue
			}
			if err := b.set(n, k, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// yamlQuoted are the styles of a text that is a string, whatever it looks like.
const yamlQuoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// scalar converts a text by its tag. If it has no tag, what it looks like decides.
func (r *yamlReader) scalar(n *yaml.Node) (starlark.Value, error) {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	if tag == "!!str" || hasOwnTag(n) || tag == "" && n.Style&yamlQuoted != 0 {
		return starlark.String(n.Value), nil
	}
	v, err := yamlPlain(n.Value)
	if err != nil {
		return nil, r.trouble(n, "%v", err)
	}
	if i, ok := v.(starlark.Int); ok && tag == "!!float" {
		v = i.Float()
	}
	if tag != "" && tag != yamlTypes[v.Type()] {
		return nil, r.trouble(n, "got %s, which is no %s", errtext.Quote(n.Value), tag)
	}
	return v, nil
}

// yamlTypes maps the types of plain text to their tags.
var yamlTypes = map[string]string{
	"string": "!!str", "int": "!!int", "float": "!!float", "bool": "!!bool", "NoneType": "!!null",
}

// yamlWords are the words of the core schema that are neither strings nor numbers.
var yamlWords = map[string]starlark.Value{
	"": starlark.None, "~": starlark.None, "null": starlark.None, "Null": starlark.None, "NULL": starlark.None,
	"true": starlark.True, "True": starlark.True, "TRUE": starlark.True,
	"false": starlark.False, "False": starlark.False, "FALSE": starlark.False,
	".inf": yamlInf, ".Inf": yamlInf, ".INF": yamlInf, "+.inf": yamlInf, "+.Inf": yamlInf, "+.INF": yamlInf,
	"-.inf": -yamlInf, "-.Inf": -yamlInf, "-.INF": -yamlInf,
	".nan": yamlNaN, ".NaN": yamlNaN, ".NAN": yamlNaN,
}

var (
	yamlInf = starlark.Float(math.Inf(1))
	yamlNaN = starlark.Float(math.NaN())
)

// These are sets of characters that numbers consist of.
const (
	decimalDigits = "0123456789"
	hexDigits     = decimalDigits + "abcdefABCDEF"
)

// yamlPlain converts a text that has neither quotes nor a tag.
func yamlPlain(s string) (starlark.Value, error) {
	if v, ok := yamlWords[s]; ok {
		return v, nil
	}
	if isYAMLInt(s) {
		return yamlInteger(s)
	}
	if !consistsOf(s, decimalDigits+"+-.eE") {
		return starlark.String(s), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("got number %s, want one that a float can hold", errtext.Cut(s))
	}
	if err != nil {
		return starlark.String(s), nil
	}
	return starlark.Float(f), nil
}

// isYAMLInt reports whether s is an int of the core schema.
func isYAMLInt(s string) bool {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return consistsOf(hex, hexDigits)
	}
	if octal, ok := strings.CutPrefix(s, "0o"); ok {
		return consistsOf(octal, "01234567")
	}
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return consistsOf(s, decimalDigits)
}

// consistsOf reports whether s is not empty and all its characters are in set.
func consistsOf(s, set string) bool { return s != "" && strings.Trim(s, set) == "" }

// yamlInteger converts an int. Its base is 10, unless a prefix such as 0x says otherwise. A leading 0 is no
// such prefix.
func yamlInteger(s string) (starlark.Value, error) {
	if len(s) > dataMaxDigits {
		return nil, fmt.Errorf("got a number of %d digits, want %d or fewer", len(s), dataMaxDigits)
	}
	base := 10
	if len(s) > 1 && (s[1] == 'x' || s[1] == 'o') {
		base = 0
	}
	i, _ := new(big.Int).SetString(s, base) // it cannot fail, because isYAMLInt has checked the digits
	return starlark.MakeBigInt(i), nil
}
