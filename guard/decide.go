package guard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/modules"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/shell"
)

// A Set is a file of rules with the packs that it names. It is safe for concurrent use.
type Set struct {
	// Trusted are the runners that count as harmless, as shell.parse takes them; nil if the file
	// does not say it.
	Trusted []string

	file    string
	unknown string // the decision of rules that do not say it
	own     []*block
	packs   []*block
}

// A Call is what a Set decides about.
type Call struct {
	Agent, Command, CWD, URL string
	Kinds, Paths             []string
	Script                   *shell.Script // the parsed Command; nil if there is none
	Now                      func() time.Time
	// Pay pays steps for work before it is done. An error ends the decision. Nil is for calls of the host,
	// which are free.
	Pay func(steps int) error
}

// pay is Pay, also if that is nil.
func (c *Call) pay(steps int) error {
	if c.Pay == nil {
		return nil
	}
	return c.Pay(steps)
}

// Prices in bytes that a step pays for.
const (
	decodedBytes = 4   // of a rule's text
	matchedBytes = 256 // of a glob, or instructions of an expression, times the bytes of a call
)

// Load reads a file of rules: TOML, or YAML if the name ends so. Mistakes in a rule are errors of
// the first call that needs the rule, and of [Set.Prove].
func Load(file, text string) (*Set, error) {
	if len(text) > maxText {
		return nil, &Error{File: file, Line: 1, Msg: errtext.Format("got %d bytes, want at most %d", len(text), maxText)}
	}
	s := &Set{file: file, unknown: "ask"}
	var doc map[string]any
	var err error
	if strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") {
		doc, err = readYAML(file, text)
	} else {
		text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
		var head string
		if head, s.own = cut(file, "", text); strings.TrimSpace(head) != "" {
			doc, err = readTOML(file, head)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := s.readHead(doc); err != nil {
		if e, ok := err.(*Error); ok && e.Source == "" {
			return nil, e.in(text, 1)
		}
		return nil, err
	}
	if n := len(s.own); n > maxRules {
		return nil, &Error{File: file, Line: 1, Msg: errtext.Format("got %d rules, want at most %d", n, maxRules)}
	}
	if len(s.own)+len(s.packs) == 0 {
		return nil, &Error{File: file, Line: 1, Msg: "want packs, or rules: [[rule]] in TOML, rule: in YAML"}
	}
	return s, nil
}

// readHead reads the keys of a file in front of its rules, and the rules of a file that was decoded
// as a whole.
func (s *Set) readHead(doc map[string]any) error {
	names := []string{"packs", "trusted", "unknown", "rule"}
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		value, err := doc[key], error(nil)
		switch key {
		case "packs":
			var packs []string
			if packs, err = texts(value); err == nil {
				err = s.addPacks(packs)
			}
		case "trusted":
			s.Trusted = []string{}
			if list, ok := value.([]any); !ok || len(list) > 0 {
				s.Trusted, err = texts(value)
			}
		case "unknown":
			if err = fill(&s.unknown, value); err == nil && !slices.Contains(unknowns, s.unknown) {
				err = errtext.Errorf("got %s, want %s", errtext.Quote(s.unknown), strings.Join(unknowns, ", "))
			}
		case "rule":
			err = s.addDecoded(value)
		default:
			err = errtext.Errorf("unknown key, want one of %s%s", strings.Join(names, ", "), near.DidYouMean(key, names))
		}
		if located, ok := err.(*Error); ok {
			return located
		}
		if err != nil {
			return &Error{File: s.file, Line: 1, Msg: errtext.Cut(key) + ": " + err.Error()}
		}
	}
	return nil
}

// addDecoded adds rules that are decoded already.
func (s *Set) addDecoded(value any) error {
	list, ok := asList(value)
	if !ok {
		return errtext.Errorf("got %s, want a list of rules", kindOf(value))
	}
	for i, v := range list {
		table, ok := v.(map[string]any)
		if !ok {
			return errtext.Errorf("%d: got %s, want a table", i+1, kindOf(v))
		}
		b := &block{file: s.file, line: 1, strict: true}
		b.once.Do(func() { b.rule, b.err = newRule(s.file, "", 1, table) })
		s.own = append(s.own, b)
	}
	return nil
}

// A verdict is what the rules say about one call.
type verdict struct {
	asks   []string // reasons of rules that match
	unsure []string // names of rules that may match
	hidden int      // further rules that may match
	pos    starhost.Pos
}

// Decide applies all rules to a call; the strictest decision counts. An error is a mistake in a
// rule that the call needs.
func (s *Set) Decide(call *Call) (starhost.Decision, error) {
	l := newLine(call)
	var v verdict
	for _, b := range slices.Concat(s.own, s.packs) {
		r, err := v.needed(b, l)
		if err != nil {
			return starhost.Decision{}, err
		}
		if r == nil {
			continue
		}
		if d, done := s.add(&v, r, l); done {
			return d, nil
		}
	}
	return s.decision(&v, l), nil
}

// needed returns the rule of a block if it may match a call, for which it pays; otherwise nil.
func (v *verdict) needed(b *block, l *line) (*Rule, error) {
	if l.wild && b.programs != nil && !b.isStrict() && !l.lists(b.programs) {
		v.hidden++ // the answer is maybe, and the rule leaves it to the file
		return nil, nil
	}
	if err := l.call.pay(l.searchSteps(b.programs)); err != nil {
		return nil, err
	}
	if b.programs != nil && !slices.ContainsFunc(b.programs, func(p string) bool { return l.run(p) != no }) {
		return nil, nil
	}
	if err := l.call.pay(1 + len(b.text)/decodedBytes); err != nil {
		return nil, err
	}
	r, err := b.decode()
	if err == nil {
		err = l.call.pay(r.matchSteps(l))
	}
	return r, err
}

// add adds the answer of one rule. done is true if it denies.
func (s *Set) add(v *verdict, r *Rule, l *line) (d starhost.Decision, done bool) {
	if !r.appliesTo(l.call) {
		return d, false
	}
	if r.Decision == "allow" {
		r.allow(l)
		return d, false
	}
	answer := r.answer(l)
	decision := "allow"
	switch answer {
	case yes:
		decision = r.Decision
	case maybe:
		decision = cmp.Or(r.Unknown, s.unknown)
	}
	pos := starhost.Pos{File: r.File, Line: r.Line, Col: 1}
	if decision == "ask" && (v.pos.File == "" || answer == yes && len(v.asks) == 0) {
		v.pos = pos // of the first rule that matches, or else of the first that may
	}
	switch {
	case decision == "deny":
		d = starhost.Deny(r.ID() + ": " + r.Reason)
		if answer == maybe {
			d.Reason += " (the command may do this" + l.why(r.Programs) + ")"
		}
		d.Pos = pos
		return d, true
	case decision == "ask" && answer == yes:
		v.asks = append(v.asks, r.ID()+": "+r.Reason)
	case decision == "ask":
		v.unsure = append(v.unsure, r.ID())
	}
	return d, false
}

// maxNamed is the most rules that one question names.
const maxNamed = 4

// decision returns what the answers of all rules amount to, if none denies for certain.
func (s *Set) decision(v *verdict, l *line) (d starhost.Decision) {
	d.Pos = v.pos
	if v.hidden > 0 && s.unknown != "allow" {
		d.Action = starhost.Action(s.unknown)
		if d.Pos.File == "" || s.unknown == "deny" {
			d.Pos = starhost.Pos{File: s.file, Line: 1, Col: 1}
		}
	}
	if len(v.asks)+len(v.unsure) > 0 && d.Action == starhost.ActionNone {
		d.Action = starhost.ActionAsk
	}
	if d.Action == starhost.ActionNone {
		return starhost.Decision{}
	}
	reasons := v.asks
	if more := len(reasons) - maxNamed; more > 0 {
		reasons = append(slices.Clone(reasons[:maxNamed]), errtext.Format("and %d more rules", more))
	}
	switch {
	case v.hidden > 0 && s.unknown != "allow":
		reasons = append(reasons, "nobody can tell what this command runs"+l.why(nil))
	case len(v.unsure) > 0:
		names := v.unsure[:min(len(v.unsure), maxNamed)]
		text := "it is decided at run time whether the command does what these rules name: " + strings.Join(names, ", ")
		if more := len(v.unsure) - len(names); more > 0 {
			text += errtext.Format(" and %d more", more)
		}
		reasons = append(reasons, text+l.why(nil))
	}
	d.Reason = strings.Join(reasons, "; ")
	return d
}

// Prove checks all rules and their examples, and returns the mistakes. It pays as [Set.Decide] does; an error of
// pay is the only one then.
func (s *Set) Prove(pay func(steps int) error) (errs []error) {
	seen := map[string]bool{}
	for _, b := range slices.Concat(s.own, s.packs) {
		r := b.rule
		var err error
		free := &Call{Pay: pay}
		if err := free.pay(1 + len(b.text)/decodedBytes); err != nil {
			return []error{err}
		}
		if b.text != "" {
			r, err = b.decodeText(b.text)
		} else {
			err = b.err
		}
		if err == nil && seen[r.ID()] {
			err = &Error{File: r.File, Line: r.Line, Msg: "rule " + r.ID() + ": name: the name is given twice"}
		}
		if err == nil {
			seen[r.ID()] = true
			err = r.prove(pay)
		}
		if e, ok := err.(*Error); ok && e.Source == "" && b.text != "" {
			err = e.in(b.text, b.line)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// prove checks the examples of a rule.
func (r *Rule) prove(pay func(steps int) error) error {
	fail := func(format string, args ...any) error {
		return &Error{File: r.File, Line: r.Line, Msg: "rule " + r.ID() + ": " + errtext.Format(format, args...)}
	}
	for _, part := range []struct {
		key  string
		list []Example
		want answer
	}{{"match", r.Match, yes}, {"not_match", r.NotMatch, no}} {
		if len(part.list) == 0 {
			return fail("want at least one example in %s", part.key)
		}
		for _, e := range part.list {
			call := &Call{Command: e.Command, URL: e.URL, Kinds: e.Kinds, Paths: e.Paths, Pay: pay}
			if err := call.pay(1 + len(e.Command)); err != nil {
				return err
			}
			if e.Command != "" {
				call.Script = shell.Parse(e.Command, "")
			}
			l := newLine(call)
			l.shown = part.want == no // what a runner such as cargo build may run is no example
			if err := call.pay(r.matchSteps(l) + l.searchSteps(r.Programs)); err != nil {
				return err
			}
			if got := r.answer(l); got != part.want {
				return fail("%s: the answer for %s is %s, want %s", part.key, errtext.Quote(e.String()), got, part.want)
			}
		}
	}
	return nil
}

// String returns an example as a message names it.
func (e Example) String() string {
	switch {
	case e.Command != "":
		return e.Command
	case e.URL != "":
		return e.URL
	}
	return strings.Join(e.Kinds, ", ") + ": " + strings.Join(e.Paths, ", ")
}

// appliesTo reports whether a rule is for the call's agent and for this time.
func (r *Rule) appliesTo(call *Call) bool {
	if len(r.Agents) > 0 && !slices.ContainsFunc(r.Agents, func(a string) bool { return matchGlob(a, call.Agent) }) {
		return false
	}
	if len(r.Days) == 0 && r.Hours == "" || call.Now == nil {
		return true
	}
	zone, err := modules.LoadZone(r.Zone)
	if err != nil {
		return true // check refuses such a zone
	}
	now := call.Now().In(zone)
	if len(r.Days) > 0 && !slices.Contains(r.Days, strings.ToLower(now.Format("Mon"))) {
		return false
	}
	start, end, ok := strings.Cut(r.Hours, "-")
	clock := now.Format("15:04")
	switch {
	case !ok:
		return true
	case start <= end:
		return start <= clock && clock < end
	}
	return clock >= start || clock < end
}
