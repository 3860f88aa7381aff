package shell

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
)

// An unknown is a reason why an answer of [Script.Runs] can be "maybe".
type unknown struct {
	// Text is the source of the command that the reason is about, at most 200 bytes of it. Offset
	// is its place in bytes, as in [Command].
	Text   string
	Offset int
	// Program is the program whose answers are "maybe"; "" means that any program may run.
	Program string

	name, reason string // "%" in the reason stands for the name
}

// Reason returns a clause, as "an argument of kubectl is decided at run time".
func (u *unknown) Reason() string { return strings.Replace(u.reason, "%", u.name, 1) }

// A source is a part of the text with its place.
type source struct {
	text   string
	offset int
}

// unknown returns a reason about a source. "%" in it stands for a name.
func (s source) unknown(program, reason, name string) unknown {
	return unknown{errtext.Clip(s.text), s.offset, program, name, reason}
}

// kindReasons say why a program of a kind may run any other. "%" stands for the program's name.
var kindReasons = map[kind]string{
	runsShell:  "% runs a file, or a text that is decided at run time",
	runsTrap:   "% keeps a text that is decided at run time",
	runsEval:   "% runs a text that is decided at run time",
	runsOption: "% runs a text that is decided at run time",
	runsRemote: "% runs a text that is decided at run time, or another program to connect",
	runsFind:   "% runs a command that is decided at run time", runsContainer: "% runs a program of a container or an image",
	runsPod: "% runs a program of a container, or one to log in", runsGit: "% runs an alias, a hook or a program of its config",
	interprets: "% runs code of another language", interpretsAwk: "% runs a text that may run commands",
	interpretsSed: "% runs a text that may run commands", queries: "% runs a text that may run commands",
	packages: "% runs scripts of the project", sets: "% changes how the shell reads what follows",
	writes: "% writes a file that another program runs", flagged: "% has a flag or a subcommand that runs other programs",
	opaque:     "% runs code that the command does not show",
	calculates: shellCalculates, declares: shellCalculates, assigns: shellCalculates,
	prints: shellCalculates, tests: shellCalculates,
	unlisted: "% is not in starhost's table, and one of its words is decided at run time",
	script:   "% is a file of its own, which may run anything",
}

const (
	shellCalculates = "% has a word that a shell calculates, which may run a command"
	otherReading    = "a shell may read a part of it in another way"
	hiddenCommand   = "% has words in front of its command that hide which one it runs"
)

// setWild records that any program may run, for the reason of the program that the reader follows.
func (r *reader) setWild() {
	u := r.at.unknown("", otherReading, r.program)
	if r.program != "" {
		u.reason = cmp.Or(kindReasons[r.kind], hiddenCommand)
	}
	r.script.wild = true
	if list := r.script.Unknowns; len(list) == 0 || list[len(list)-1] != u {
		r.script.Unknowns = append(list, u)
	}
}

// addUnknowns adds the reasons why the answers about single programs are "maybe".
func (s *Script) addUnknowns() {
	seen := map[[2]string]bool{} // the reasons of programs that may run what their words mention
	for i := range s.calls {
		c := &s.calls[i]
		first := c.argv[0]
		name := c.name
		add := func(program, reason, name string) {
			s.Unknowns = append(s.Unknowns, c.at.unknown(program, reason, name))
		}
		switch {
		case !first.known:
			add("", "its program is decided at run time", "")
			continue
		case s.defines[name]:
			add(name, "the text defines % itself", name)
		case slices.ContainsFunc(c.argv[1:], func(w word) bool { return !w.known }):
			add(name, "an argument of % is decided at run time", name)
		case !c.certain:
			add(name, "it may never run, or a shell reads it in another way", "")
		}
		if c.mentions {
			if base := strings.TrimRight(c.plain, "0123456789.-"); base != c.plain && base != "" && !c.isItself() {
				add(base, "% may be "+base+" under another name", shown(name))
			} else if i := strings.LastIndexByte(c.plain, '.'); i >= 0 && i+1 < len(c.plain) {
				add(c.plain[i+1:], "% may be the program behind its dot", shown(name))
			}
			for _, p := range mentioned(c.mentioning()) {
				if !seen[[2]string{name, p}] {
					seen[[2]string{name, p}] = true
					add(p, "% may run what its words mention", shown(name))
				}
			}
		}
		if plain := c.plain; plain != name {
			add(plain, "a system may take % for "+plain, name)
		}
	}
	s.Nodes += len(s.Unknowns)
}

// mentioned returns the names that words mention, each once, or "" for any if there are many.
func mentioned(words []word) (names []string) {
	for _, w := range words {
		if !w.known {
			name := path.Base(w.open().pattern)
			if strings.Trim(name, "*?.") == "" {
				return []string{""}
			}
			names = append(names, name)
			continue
		}
		for _, name := range strings.FieldsFunc(withoutSchemes(w.text), func(c rune) bool { return c < 0x80 && !isNameByte(byte(c)) && c != '/' }) {
			name = name[strings.LastIndexByte(name, '/')+1:] // in front of "/" it is a folder
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
			if len(names) > maxMentioned {
				return []string{""}
			}
		}
	}
	return names
}

// shown returns a name for a reason, without control characters, at most 200 bytes of it.
func shown(name string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '?'
		}
		return c
	}, errtext.Clip(name))
}

// maxMentioned is the most names that an unlisted program gives as reasons.
const maxMentioned = 16
