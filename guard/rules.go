package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// Bounds of a file of rules.
const (
	maxText  = 4 << 20 // bytes
	maxRules = 10_000
	maxList  = 1_000 // texts in a list of a rule
)

// A Rule is one rule. An empty list is no condition. All conditions must hold.
type Rule struct {
	Name, Reason string
	// Decision is "deny" or "ask". A rule of the user's may also "allow": the commands that it
	// certainly matches are no matter of the packs. Unknown is the decision if it is not certain
	// that the rule matches: "ask", "deny" or "allow".
	Decision, Unknown string

	// Conditions on one command of a shell's line.
	Programs []string   // the program, also behind sudo and its like
	Sub      []string   // the start of the subcommand: "push", "s3 rb", "* delete-*"
	NotSub   []string   // the same, for subcommands that are harmless
	Words    [][]string // arguments in this order, each a choice of globs
	Flags    [][]string // flags that must be there, each a choice
	Unless   []string   // flags with which the command is harmless
	Args     []string   // globs of which one matches an operand
	Only     []string   // globs that match all operands
	Spares   []string   // globs: the command is harmless if they match all operands
	Mentions []string   // words that stand in an argument or a variable, as in "eu-prod"
	Text     []string   // regular expressions for a statement in an argument or standard input
	NotText  []string   // the same, for statements that are harmless
	Source   []string   // regular expressions for the command as it is written
	Input    []string   // where standard input comes from: "pipe", "file" or "text"
	With     []string   // programs of which the same line runs one, too

	Paths    []string // the ends of files that a command or another tool uses
	NotPaths []string // the same, for files that are harmless
	Hosts    []string
	Kinds    []string // kinds of the call

	Agents, Days []string
	Hours, Zone  string

	Match, NotMatch []Example

	// Pack is the pack of the rule, "" for the user's own. File and Line are its place.
	Pack, File string
	Line       int

	paths, notPaths       []pathPattern
	text, notText, source []*regexp.Regexp
	globs, expressions    int // see weigh
}

// ID returns the rule's name, for a pack's with the pack in front.
func (r *Rule) ID() string {
	if r.Pack == "" {
		return r.Name
	}
	return r.Pack + "/" + r.Name
}

// An Example is a call that a rule must match, or must not match.
type Example struct {
	Command, URL string
	Kinds, Paths []string
}

// keys are the keys of a rule.
var keys = []struct {
	name  string
	field func(*Rule) any
}{
	{"name", func(r *Rule) any { return &r.Name }},
	{"reason", func(r *Rule) any { return &r.Reason }},
	{"decision", func(r *Rule) any { return &r.Decision }},
	{"unknown", func(r *Rule) any { return &r.Unknown }},
	{"programs", func(r *Rule) any { return &r.Programs }},
	{"sub", func(r *Rule) any { return &r.Sub }},
	{"not_sub", func(r *Rule) any { return &r.NotSub }},
	{"words", func(r *Rule) any { return &r.Words }},
	{"flags", func(r *Rule) any { return &r.Flags }},
	{"unless", func(r *Rule) any { return &r.Unless }},
	{"args", func(r *Rule) any { return &r.Args }},
	{"only", func(r *Rule) any { return &r.Only }},
	{"spares", func(r *Rule) any { return &r.Spares }},
	{"mentions", func(r *Rule) any { return &r.Mentions }},
	{"text", func(r *Rule) any { return &r.Text }},
	{"not_text", func(r *Rule) any { return &r.NotText }},
	{"source", func(r *Rule) any { return &r.Source }},
	{"input", func(r *Rule) any { return &r.Input }},
	{"with", func(r *Rule) any { return &r.With }},
	{"paths", func(r *Rule) any { return &r.Paths }},
	{"not_paths", func(r *Rule) any { return &r.NotPaths }},
	{"hosts", func(r *Rule) any { return &r.Hosts }},
	{"kinds", func(r *Rule) any { return &r.Kinds }},
	{"agents", func(r *Rule) any { return &r.Agents }},
	{"days", func(r *Rule) any { return &r.Days }},
	{"hours", func(r *Rule) any { return &r.Hours }},
	{"zone", func(r *Rule) any { return &r.Zone }},
	{"match", func(r *Rule) any { return &r.Match }},
	{"not_match", func(r *Rule) any { return &r.NotMatch }},
}

// A block is the text of one rule. programs are those that the text names, nil if only the decoded
// rule says them.
type block struct {
	file, pack string
	line       int // of the text's first line
	text       string
	programs   []string
	strict     bool // the rule may have its own answer to what is unknown, or its own time

	once, skimmed sync.Once
	rule          *Rule
	err           error
}

// An Error is a mistake in a file of rules. Line and Col count from 1. Source is the line, "" if nobody knows it.
type Error struct {
	File, Msg string
	Line, Col int
	Source    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, max(e.Col, 1), e.Msg)
}

// in finds the place of a mistake in a text of which first is the line: the key that the message names, and what
// it quotes behind the key.
func (e *Error) in(text string, first int) *Error {
	lines := strings.Split(text, "\n")
	msg := e.Msg
	if strings.HasPrefix(msg, "rule ") {
		_, msg, _ = strings.Cut(msg, ": ")
	}
	key, detail, _ := strings.Cut(msg, ": ")
	quoted := ""
	if name, isUnknown := strings.CutPrefix(key, `unknown key "`); isUnknown {
		key, _, _ = strings.Cut(name, `"`)
	} else if at := strings.IndexByte(detail, '"'); at >= 0 {
		quoted, _, _ = strings.Cut(detail[at+1:], `"`)
	}
	at := e.Line - first
	for i, line := range lines {
		name := strings.TrimLeft(line, " \t\"'")
		if behind, ok := strings.CutPrefix(name, key); ok && key != "" && strings.HasPrefix(strings.TrimLeft(behind, " \t\"'"), "=") {
			at, e.Col = i, len(line)-len(name)+1
			for j := i; quoted != "" && j < len(lines); j++ {
				if n := strings.Index(lines[j], quoted); n >= 0 {
					at, e.Col = j, n+1
					break
				}
				if strings.HasPrefix(strings.TrimLeft(lines[j], " \t"), "]") {
					break
				}
			}
			break
		}
	}
	if at >= 0 && at < len(lines) {
		e.Line, e.Source = first+at, strings.TrimSuffix(lines[at], "\r")
		e.Col = utf8.RuneCountInString(e.Source[:min(max(e.Col-1, 0), len(e.Source))]) + 1
	}
	return e
}

// cut cuts the text of a file into what stands in front of the first rule, and the rules. A text
// with strings of several lines is one block, which the parser alone can cut.
func cut(file, pack, text string) (head string, blocks []*block) {
	if pack == "" && (strings.Contains(text, `'''`) || strings.Contains(text, `"""`)) {
		return text, nil
	}
	start, first, line := -1, 1, 1 // of the rule that the loop is in; -1 in front of the first one
	end := func(at int) {
		if start < 0 {
			head = text[:at]
			return
		}
		b := &block{file: file, pack: pack, line: first, text: text[start:at]}
		b.programs = programsIn(b.text)
		if pack == "" {
			b.skimmed.Do(b.skim)
		}
		blocks = append(blocks, b)
	}
	for at := 0; at < len(text); line++ {
		next := at + strings.IndexByte(text[at:], '\n') + 1
		if next == at {
			next = len(text)
		}
		if isHeader(text[at:next]) {
			end(at)
			start, first = at, line
		}
		at = next
	}
	end(len(text))
	return head, blocks
}

// ownKeys are the keys of a rule that has its own answer to what is unknown, or its own time.
var ownKeys = [...]string{"unknown", "agents", "days", "hours"}

// ownStarts are the bytes with which one of these begins, a key in quotes, or another table.
const ownStarts = `uadh"'[`

// skim finds out from the lines of a rule whether its text alone can say that a call does not need it. It
// may take more rules for strict than there are, and must not miss one: a rule that a call does not need is
// not decoded.
func (b *block) skim() {
	b.strict = b.strict || strings.Contains(b.text, "allow") && (strings.Contains(b.text, `"allow"`) || strings.Contains(b.text, `'allow'`))
	_, body, _ := strings.Cut(b.text, "\n")
	for line := range strings.Lines(body) {
		if line = strings.TrimLeft(line, " \t"); line == "" || !strings.Contains(ownStarts, line[:1]) {
			continue
		}
		key := strings.TrimLeft(line, `"'`)
		for _, own := range ownKeys {
			b.strict = b.strict || strings.HasPrefix(key, own)
		}
		if name, _, ok := strings.Cut(line, "="); ok && line[0] == '"' && strings.Contains(name, `\`) {
			b.strict = true // a key may be written with escapes
		}
		if strings.HasPrefix(line, "[") { // another table, or a list in a list: the parser tells them apart
			b.programs = nil
		}
	}
}

// isStrict is strict, also for a pack, whose rules are skimmed when they are needed.
func (b *block) isStrict() bool {
	b.skimmed.Do(b.skim)
	return b.strict
}

// isHeader reports whether a line begins a rule. In a text without strings of several lines no
// other line looks like it.
func isHeader(line string) bool {
	line = strings.TrimLeft(line, " \t")
	if !strings.HasPrefix(line, "[[") {
		return false
	}
	name, rest, ok := strings.Cut(line[2:], "]]")
	rest = strings.TrimSpace(rest)
	return ok && strings.TrimSpace(name) == "rule" && (rest == "" || rest[0] == '#')
}

// programsIn returns the list of programs in a rule's text, nil if it is not written in the plain
// way: then only the decoded rule says them.
func programsIn(text string) []string {
	_, list, _ := strings.Cut(text, "\nprograms = [")
	list, _, ok := strings.Cut(list, "]")
	parts := strings.Split(list, `"`) // each second one is a name
	if !ok || len(parts) < 3 || len(parts)%2 == 0 || strings.Count(text, "\nprograms") != 1 || strings.ContainsAny(list, `\#'`) {
		return nil
	}
	names := parts[:0]
	for i, part := range parts {
		switch {
		case i%2 == 1:
			names = append(names, part)
		case strings.Trim(part, " \t\n,") != "":
			return nil
		}
	}
	return names
}

// decode returns the rule of a block.
func (b *block) decode() (*Rule, error) {
	b.once.Do(func() {
		text := b.text
		if b.pack != "" { // a pack has its examples last, and no call needs them
			text, _, _ = strings.Cut(text, "\nmatch = ")
		}
		b.rule, b.err = b.decodeText(text)
	})
	return b.rule, b.err
}

// decodeText returns the rule in a text.
func (b *block) decodeText(text string) (*Rule, error) {
	values := plainRule(text)
	if values == nil {
		var doc map[string]any
		if _, err := toml.Decode(text, &doc); err != nil {
			return nil, tomlError(b.file, text, b.line, err)
		}
		rules, _ := doc["rule"].([]map[string]any)
		if len(rules) != 1 || len(doc) != 1 {
			return nil, (&Error{File: b.file, Line: b.line, Msg: "the rule has another table behind it: want [[rule]] for each rule, and no other table"}).in(text, b.line)
		}
		values = rules[0]
	}
	r, err := newRule(b.file, b.pack, b.line, values)
	if e, ok := err.(*Error); ok {
		return nil, e.in(text, b.line)
	}
	return r, err
}

// controls are the letters that no text of TOML has.
const controls = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f"

// plainRule reads a rule whose values are JSON, too, in lines of their own, as those of most rules are: the parser of
// TOML takes several times as long. It returns nil for any other text.
func plainRule(text string) map[string]any {
	text, ok := strings.CutPrefix(text, "[[rule]]\n")
	if !ok || strings.ContainsAny(text, "\\{"+controls) || !utf8.ValidString(text) {
		return nil
	}
	values := map[string]any{}
	for line := range strings.Lines(text) {
		if line[0] == '\n' || line[0] == '#' {
			continue
		}
		key, text, _ := strings.Cut(line, " = ")
		var value any
		isKey := key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") == "" && values[key] == nil
		if !isKey || json.Unmarshal([]byte(text), &value) != nil || !hasTexts(value) {
			return nil
		}
		values[key] = value
	}
	return values
}

// hasTexts reports whether a value is a text, or a list of such values.
func hasTexts(value any) bool {
	_, isText := value.(string)
	list, isList := value.([]any)
	return isText || isList && !slices.ContainsFunc(list, func(v any) bool { return !hasTexts(v) })
}

// tomlError gives a parser's error its place. line is the first line of the text.
func tomlError(file, text string, line int, err error) error {
	e := &Error{File: file, Line: line, Msg: err.Error()}
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		e.Line, e.Col, e.Msg = line+syntax.Position.Line-1, syntax.Position.Col, syntax.Message
		if lines := strings.Split(text, "\n"); e.Line-line < len(lines) {
			e.Source = lines[e.Line-line]
		}
	}
	return e
}

// newRule makes and checks a rule.
func newRule(file, pack string, line int, values map[string]any) (*Rule, error) {
	r := &Rule{Pack: pack, File: file, Line: line, Decision: "deny", Zone: "UTC", Reason: "a rule of the guard"}
	fail := func(format string, args ...any) (*Rule, error) {
		where := "rule"
		if r.Name != "" {
			where += " " + errtext.Cut(r.Name)
		}
		return nil, &Error{File: file, Line: line, Msg: where + ": " + errtext.Format(format, args...)}
	}
	names, known := make([]string, len(keys)), 0
	for i, k := range keys {
		names[i] = k.name
		if v, ok := values[k.name]; ok {
			known++
			if err := fill(k.field(r), v); err != nil {
				return fail("%s: %v", k.name, err)
			}
		}
	}
	if known < len(values) {
		key := slices.Min(slices.DeleteFunc(slices.Collect(maps.Keys(values)), func(key string) bool { return slices.Contains(names, key) }))
		return fail("unknown key %s%s", errtext.Quote(key), near.DidYouMean(key, names))
	}
	if msg := r.check(); msg != "" {
		return fail("%s", msg)
	}
	return r, nil
}

// fill sets a field of a rule.
func fill(field, value any) error {
	switch field := field.(type) {
	case *string:
		s, ok := value.(string)
		if !ok {
			return errtext.Errorf("got %s, want a text", kindOf(value))
		}
		*field = s
	case *[]string:
		list, err := texts(value)
		*field = list
		return err
	case *[][]string:
		list, ok := value.([]any)
		if !ok || len(list) > maxList {
			return errtext.Errorf("got %s, want a list of at most %d", kindOf(value), maxList)
		}
		for _, v := range list {
			choice, err := choices(v)
			if err != nil {
				return err
			}
			*field = append(*field, choice)
		}
	case *[]Example:
		list, ok := asList(value)
		if !ok {
			return errtext.Errorf("got %s, want a list", kindOf(value))
		}
		for _, v := range list {
			e, err := newExample(v)
			if err != nil {
				return err
			}
			*field = append(*field, e)
		}
	}
	return nil
}

// choices returns a text or a list of texts as a list.
func choices(value any) ([]string, error) {
	if _, one := value.(string); one {
		value = []any{value}
	}
	return texts(value)
}

// asList returns a list of anything, or of tables, as a list.
func asList(value any) (list []any, ok bool) {
	list, ok = value.([]any)
	if tables, isTables := value.([]map[string]any); isTables {
		for _, t := range tables {
			list = append(list, t)
		}
		ok = true
	}
	return list, ok
}

// texts returns a list of texts that are not empty.
func texts(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok || len(list) > maxList {
		return nil, errtext.Errorf("got %s, want a list of at most %d texts", kindOf(value), maxList)
	}
	out := make([]string, len(list))
	for i, v := range list {
		if out[i], ok = v.(string); !ok || out[i] == "" {
			return nil, errtext.Errorf("got %s in the list, want texts", kindOf(v))
		}
	}
	return out, nil
}

// newExample reads a command line, or a table with the fields of a call.
func newExample(value any) (e Example, err error) {
	if text, ok := value.(string); ok {
		return Example{Command: text, Kinds: []string{"shell"}}, nil
	}
	table, ok := value.(map[string]any)
	if !ok || table["kinds"] == nil {
		return e, errtext.Errorf("got %s, want a command line or a table with kinds", kindOf(value))
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		v := table[key]
		switch key {
		case "kinds":
			e.Kinds, err = texts(v)
		case "paths":
			e.Paths, err = texts(v)
		case "url":
			err = fill(&e.URL, v)
		case "command":
			err = fill(&e.Command, v)
		default:
			err = errtext.Errorf("unknown key %s, want kinds, paths, url or command", errtext.Quote(key))
		}
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

// kindOf names the type of a decoded value.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a text"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	case nil:
		return "nothing"
	}
	return fmt.Sprint(value)
}

// readYAML reads a file of rules in YAML, which is decoded as a whole.
func readYAML(file, text string) (doc map[string]any, err error) {
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		e := &Error{File: file, Line: 1, Msg: errtext.Cut(err.Error())}
		if _, behind, ok := strings.Cut(e.Msg, "line "); ok { // the parser says the line in its text
			_, _ = fmt.Sscan(behind, &e.Line)
		}
		return nil, e.in(text, 1)
	}
	return doc, nil
}

// readTOML reads what stands in front of the rules of a file, or a file that cannot be cut.
func readTOML(file, text string) (doc map[string]any, err error) {
	if _, err := toml.Decode(text, &doc); err != nil {
		return nil, tomlError(file, text, 1, err)
	}
	return doc, nil
}
