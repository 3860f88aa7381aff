package guard

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost/shell"
)

// does reports whether a program has one of the uses of files or hosts.
func does(name *string, uses ...string) bool { return name != nil && shell.Uses(*name, uses...) }

// globStart says where in a text a glob may begin to match.
type globStart int

const (
	fromStart  globStart = iota
	fromFolder           // behind any "/", too
)

// globMatches compares a glob with a text from its start to its end, in time of the product of
// their lengths. With folders, "*" and "?" match no "/", "**" matches all, "**/" any folders, and a
// "/**" at the end also the folder itself.
func globMatches(glob, text string, start globStart, folders bool) bool {
	whole := glob
	if folders {
		whole = strings.TrimSuffix(glob, "/**")
	}
	row := make([]bool, len(text)+1) // row[j]: the read part of the glob matches up to text[:j]
	row[0] = true
	for j := 0; start == fromFolder && j < len(text); j++ {
		row[j+1] = text[j] == '/'
	}
	next := make([]bool, len(text)+1)
	for i := 0; i < len(whole); i++ {
		switch {
		case folders && strings.HasPrefix(whole[i:], "**/"):
			i += 2
			passFolders(row, next, text)
		case whole[i] == '*':
			deep := !folders
			for i+1 < len(whole) && whole[i+1] == '*' {
				i, deep = i+1, true
			}
			passStar(row, next, text, deep)
		default:
			next[0] = false
			for j := range len(text) {
				next[j+1] = row[j] && (whole[i] == text[j] || whole[i] == '?' && (!folders || text[j] != '/'))
			}
		}
		row, next = next, row
	}
	if len(whole) == len(glob) {
		return row[len(text)]
	}
	for j, ok := range row {
		if ok && (j == len(text) || text[j] == '/') {
			return true
		}
	}
	return false
}

// passFolders sets the next row behind "**/", which stands for any folders.
func passFolders(row, next []bool, text string) {
	reached := false
	for j := range next {
		next[j] = row[j] || reached && text[j-1] == '/'
		reached = reached || row[j]
	}
}

// passStar sets the next row behind a star, which matches a "/" only if it is deep.
func passStar(row, next []bool, text string, deep bool) {
	reached := false
	for j := range next {
		reached = row[j] || reached && (deep || text[j-1] != '/')
		next[j] = reached
	}
}

// matchGlob compares a glob with a whole text, in which "*" stands for anything.
func matchGlob(glob, text string) bool {
	if !strings.ContainsAny(glob, "*?") {
		return glob == text
	}
	return globMatches(glob, text, fromStart, false)
}

// A pathPattern is a pattern of paths, prepared for many of them. It stands for the end of paths, from a
// folder on, or for whole paths if it begins with "/".
type pathPattern struct {
	glob, lower string
	literal     string // a part of lower that each path has that matches and is no glob
}

func newPathPattern(text string) pathPattern {
	glob := strings.TrimPrefix(text, "~/")
	lower := strings.ToLower(glob)
	return pathPattern{glob, lower, literal(lower)}
}

func newPathPatterns(texts []string) (list []pathPattern) {
	for _, text := range texts {
		list = append(list, newPathPattern(text))
	}
	return list
}

// A pathText is a path, prepared for many patterns.
type pathText struct {
	clean string
	// lower is the path as file systems may take it, which may ignore the case, spaces and dots at the end, and
	// all behind a NUL byte.
	lower string
	globs bool // a shell may expand it
}

func newPathText(path string) pathText {
	clean := cleanPath(path)
	lower, _, _ := strings.Cut(strings.ToLower(clean), "\x00")
	return pathText{clean, strings.TrimRight(lower, " ."), strings.ContainsAny(clean, "*?[")}
}

// anyPath says whether one of the patterns matches a path.
func anyPath(patterns []pathPattern, path pathText) answer {
	any := no
	for i := range patterns {
		any = max(any, patterns[i].match(&path))
	}
	return any
}

// match says whether a path matches.
func (p *pathPattern) match(path *pathText) answer {
	if !path.globs && !strings.Contains(path.lower, p.literal) {
		return no // the usual case costs no more
	}
	start := fromFolder
	if strings.HasPrefix(p.glob, "/") {
		start = fromStart
	}
	switch {
	case globMatches(p.glob, path.clean, start, true):
		return yes
	case globMatches(p.lower, path.lower, start, true):
		return maybe
	case !path.globs:
		return no
	}
	names, wanted := strings.Split(path.clean, "/"), strings.Split(p.glob, "/")
	if start == fromStart {
		return min(maybe, mayBeBelow(wanted, names))
	}
	for i := range names {
		if mayBeBelow(wanted, names[i:]) != no {
			return maybe
		}
	}
	return no
}

// mayBeBelow says whether the names of a path, some of which have stars, may match the parts of a
// pattern.
func mayBeBelow(wanted, names []string) answer {
	switch {
	case len(wanted) == 0:
		return maybe - min(maybe, answer(len(names)))
	case wanted[0] == "**":
		return maybe // the rest is anything
	case len(names) == 0, wanted[0] != names[0] && !mayBe(wanted[0], names[0]):
		return no
	}
	return mayBeBelow(wanted[1:], names[1:])
}

// literal returns the longest part of a pattern without a star.
func literal(pattern string) (longest string) {
	for part := range strings.FieldsFuncSeq(strings.TrimSuffix(pattern, "/**"), func(c rune) bool { return c == '*' || c == '?' }) {
		if part = strings.Trim(part, "/"); len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// cleanPath returns a path without "//", "/./" and "x/..", as far as the text says it.
func cleanPath(path string) string {
	if !strings.Contains(path, "/") {
		return path
	}
	out := make([]string, 0, 8)
	for name := range strings.SplitSeq(path, "/") {
		last := ""
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		switch {
		case name == ".." && last != "" && last != ".." && last != "~":
			out = out[:len(out)-1]
		case name == "" && len(out) > 0, name == ".":
		default:
			out = append(out, name)
		}
	}
	return strings.Join(out, "/")
}

// joinPath returns a path below a folder, unless the path has a root.
func joinPath(folder, path string) string {
	if folder == "" || isRooted(path) {
		return path
	}
	return folder + "/" + path
}

func isRooted(path string) bool { return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") }

// mayBe reports whether a name with stars, which a shell expands, may match a glob.
func mayBe(glob, name string) bool {
	if !strings.ContainsAny(name, "*?[") || strings.ContainsAny(name, " \t\n\"'$|;()=<>") { // the latter is no path
		return false
	}
	if strings.HasPrefix(glob, ".") && strings.Contains("*?[", name[:1]) { // a star matches no leading dot
		return false
	}
	// Two globs may match one text: row[j] says whether one may match the read part of glob and
	// name[:j]. A set in brackets may be any letter.
	b := pattern(brackets).ReplaceAllString(name, "?")
	row := make([]bool, len(b)+1)
	row[0] = true
	for j := range len(b) {
		row[j+1] = row[j] && b[j] == '*'
	}
	for i := range len(glob) {
		above := row
		row = make([]bool, len(b)+1)
		row[0] = above[0] && glob[i] == '*'
		for j := range len(b) {
			if glob[i] == '*' || b[j] == '*' {
				row[j+1] = above[j+1] || row[j]
			} else {
				row[j+1] = above[j] && (glob[i] == b[j] || glob[i] == '?' || b[j] == '?')
			}
		}
	}
	return row[len(b)]
}

// Expressions for the text of a command.
const (
	brackets = `\[[^\]]*\]`
	single   = `'[^']*'`
	quoted   = `'[^']*'|"[^"]*"`
	wordsOf  = `(?:'[^']*'|"[^"]*"|[^\s<>;|&()'"])+`
	target   = `>[>|&]?\s*((?:'[^']*'|"[^"]*"|[^\s<>;|&()'"])+)`
	oneBrace = `^([^{}]*)\{([^{}]*)\}([^{}]*)$`
	address  = `(?i)[a-z][a-z0-9+.-]*:[/\\]+(?:[^/\\@\s]*@)?(\[[^\]\s]*\]|[^/\\:\s?#"'<>)]+)`
)

// compiled has the expressions that somebody needed, so that no start prepares any.
var compiled sync.Map

// pattern compiles an expression once.
func pattern(expression string) *regexp.Regexp {
	p, ok := compiled.Load(expression)
	if !ok {
		p, _ = compiled.LoadOrStore(expression, regexp.MustCompile(expression))
	}
	return p.(*regexp.Regexp)
}

// maxPath is the most bytes of a folder that a line leads to, as systems have it.
const maxPath = 4096

// A folder is where a command works; known is false if it is decided at run time.
type folder struct {
	path  string
	known bool
}

// shellPaths says whether a line may use one of the rule's paths.
func (r *Rule) shellPaths(l *line) answer {
	if !l.call.Script.OK {
		return maybe
	}
	onlyWrites := isOneOf("write", r.Kinds) && !isOneOf("read", r.Kinds) && !isOneOf("shell", r.Kinds)
	any := no
	if len(r.Programs) == 0 && r.Pack == "" && (l.wild || l.call.Script.Unknown) {
		any = maybe
	}
	at := folder{l.call.CWD, true}
	for i := range l.commands {
		c := &l.commands[i]
		if c.Name != nil && isOneOf(*c.Name, []string{"cd", "pushd", "popd"}) {
			at = at.move(c)
		}
		if len(r.Programs) > 0 && c.Name != nil && !isOneOf(*c.Name, r.Programs) || r.Pack != "" && l.allowed[i] {
			continue
		}
		if any = max(any, r.commandPaths(l, c, folderOf(c, at), onlyWrites)); any == yes {
			return yes
		}
	}
	return any
}

// move returns the folder behind a cd.
func (at folder) move(c *shell.Command) folder {
	if *c.Name == "popd" || len(c.Args) != 1 || c.Args[0] == nil || !at.known && !strings.HasPrefix(*c.Args[0], "/") {
		return folder{}
	}
	next := joinPath(at.path, *c.Args[0])
	return folder{next, len(next) <= maxPath}
}

// commandPaths says whether one command may use a path of the rule.
func (r *Rule) commandPaths(l *line, c *shell.Command, at folder, onlyWrites bool) answer {
	any := no
	words := slices.Clone(c.Writes)
	if !onlyWrites {
		words = append(words, c.Reads...)
	}
	look := func(list []*string, most answer) {
		for _, w := range list {
			if w != nil && any != yes {
				any = max(any, min(most, r.word(*w, at)))
			}
		}
	}
	look(words, yes)
	if r.opens(c, onlyWrites) {
		most := yes
		if onlyWrites && !does(c.Name, "writes") {
			most = maybe
		}
		look(c.Argv[1:], most)
		words = append(words, c.Argv[1:]...)
		if r.Pack == "" && (c.Via == "xargs" || c.Via == "find -exec") && slices.Contains(c.Argv, nil) { // any file
			return max(any, maybe)
		}
	}
	if any != yes && slices.Contains(words, nil) {
		any = max(any, r.unknownWords(c.Text, at))
	}
	if any != yes && slices.Contains(c.Writes, nil) { // the text of a command has no redirections
		any = max(any, r.unknownTargets(l, at))
	}
	return any
}

// opens reports whether the words of a command may be files that it opens, or that it writes.
func (r *Rule) opens(c *shell.Command, onlyWrites bool) bool {
	return !does(c.Name, "opens none") && !(onlyWrites && does(c.Name, "reads", "mostly reads")) && !(r.Pack != "" && !onlyWrites && does(c.Name, "lists"))
}

// unknownTargets says whether a redirection of the line to a word that a shell expands may match. The
// redirections of all commands count, so each folder has one answer.
func (r *Rule) unknownTargets(l *line, at folder) answer {
	key := targetKey{r, at}
	any, known := l.targetAnswers[key]
	if !known {
		if l.targets == nil {
			l.targets = pattern(target).FindAllStringSubmatch(l.call.Command, -1)
		}
		for _, m := range l.targets {
			any = max(any, r.unknownWords(m[1], at))
		}
		if l.targetAnswers == nil {
			l.targetAnswers = map[targetKey]answer{}
		}
		l.targetAnswers[key] = any
	}
	return any
}

// A targetKey is a rule and the folder of a redirection.
type targetKey struct {
	rule *Rule
	at   folder
}

// folderOf returns the folder in which a command works.
func folderOf(c *shell.Command, at folder) folder {
	flags := []string{"-C", "--chdir", "--directory"}
	if isOneOf("sudo", c.Wrappers) {
		flags = append(flags, "-D")
	}
	moves := 0
	for _, word := range strings.Fields(strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(c.Text)) {
		if slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(word, f) }) {
			moves++
		}
	}
	if moves == 0 {
		return at
	}
	isC := len(c.Argv) > 2 && c.Argv[1] != nil && *c.Argv[1] == "-C" && c.Argv[2] != nil
	if c.Name != nil && *c.Name == "git" && isC && moves == 1 && at.known {
		return folder{joinPath(at.path, *c.Argv[2]), true}
	}
	return folder{}
}

// unknownWords says whether words such as *.go and ~/x, which a shell expands, may match.
func (r *Rule) unknownWords(text string, at folder) answer {
	if r.Pack == "" && strings.ContainsAny(pattern(single).ReplaceAllString(text, ""), "$`\\") {
		return maybe // packs do not ask about each variable
	}
	any := no
	for _, word := range pattern(wordsOf).FindAllString(text, -1) {
		if !strings.ContainsAny(pattern(quoted).ReplaceAllString(word, ""), "*?[{~") { // the other words have a value
			continue
		}
		word = strings.NewReplacer("'", "", `"`, "").Replace(word)
		words := []string{word}
		if m := pattern(oneBrace).FindStringSubmatch(word); m != nil {
			words = nil
			for part := range strings.SplitSeq(m[2], ",") {
				words = append(words, m[1]+part+m[3])
			}
		}
		for _, w := range words {
			if strings.Contains(w, "{") {
				any = max(any, maybe)
			} else if !strings.ContainsAny(w, "$`") {
				any = max(any, r.word(w, at))
			}
		}
	}
	return any
}

// word says whether a word names a path of the rule, alone or behind a flag, "=", ":" or "@".
func (r *Rule) word(word string, at folder) answer {
	if word == "{}" { // find and xargs replace it
		return no
	}
	any := r.place(word, at)
	if strings.ContainsAny(word, "=:@,") {
		for part := range strings.FieldsFuncSeq(word, func(c rune) bool { return strings.ContainsRune("=:@,", c) }) {
			any = max(any, r.place(part, at))
		}
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' { // -d@.env, -f.env
		any = max(any, r.place(word[2:], at))
	}
	return any
}

// place compares a path with the rule's. at is the folder of a relative one.
func (r *Rule) place(path string, at folder) answer {
	any, text := no, newPathText(joinPath(at.path, path))
	if anyPath(r.notPaths, text) == yes {
		return no
	}
	for i := range r.paths {
		p := &r.paths[i]
		if !at.known && strings.Contains(p.glob, "/") && !isRooted(path) {
			end := newPathPattern(p.glob[strings.LastIndexByte(p.glob, '/')+1:]) // the folder may be the one of the pattern
			alone, isAny := newPathText(path), strings.Trim(end.glob, "*") == ""
			if isAny && r.Pack == "" || !isAny && end.match(&alone) != no {
				any = max(any, maybe)
				continue
			}
		}
		any = max(any, p.match(&text))
	}
	return any
}

// shellHosts says whether a line may talk to one of the rule's hosts.
func (r *Rule) shellHosts(l *line) answer {
	if !l.call.Script.OK {
		return maybe
	}
	any := no
	if len(r.Programs) == 0 && r.Pack == "" && (l.wild || l.call.Script.Unknown) {
		any = maybe
	}
	for i := range l.commands {
		if r.Pack == "" || !l.allowed[i] {
			any = max(any, r.commandHosts(&l.commands[i]))
		}
	}
	return any
}

// commandHosts says whether one command may talk to one of the rule's hosts.
func (r *Rule) commandHosts(c *shell.Command) answer {
	any := no
	for _, w := range c.Argv[1:] {
		if w == nil {
			if r.Pack == "" && (c.Name == nil || does(c.Name, "calls")) {
				any = max(any, maybe)
			}
			continue
		}
		hosts := hostsOf(*w)
		if len(hosts) == 0 && does(c.Name, "calls") {
			hosts = []string{hostOf(*w)}
		}
		for _, host := range hosts {
			any = max(any, r.host(host))
		}
	}
	return any
}

// fetchHosts says whether a tool that fetches may ask one of the rule's hosts.
func (r *Rule) fetchHosts(text string) answer {
	hosts := hostsOf(text)
	if len(hosts) == 0 {
		for _, word := range strings.Fields(text) {
			hosts = append(hosts, hostOf(word))
		}
	}
	any := no
	for _, host := range hosts {
		if host != "" {
			any = max(any, r.host(host))
		}
	}
	return any
}

// hostsOf returns the hosts of all addresses in a text.
func hostsOf(text string) (hosts []string) {
	if !strings.Contains(text, ":") {
		return nil
	}
	for _, m := range pattern(address).FindAllStringSubmatch(text, -1) {
		hosts = append(hosts, m[1])
	}
	return hosts
}

// hostOf returns the host in a word such as me@host:path.
func hostOf(word string) string {
	word = word[strings.LastIndexByte(word, '@')+1:]
	if i := strings.IndexAny(word, `/:?#\`); i >= 0 {
		word = word[:i]
	}
	return word
}

// host compares a host with the rule's.
func (r *Rule) host(host string) answer {
	host = strings.TrimRight(strings.ToLower(host), ".")
	if strings.Contains(host, "%") || strings.Contains(host, "$") { // %65xample.com: programs decode it
		return maybe
	}
	if matchesOne(r.Hosts, host) {
		return yes
	}
	return no
}
