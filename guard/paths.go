package guard

import (
	"path"
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
	pack        bool   // it is a pack's, which do not ask about each file that a glob may name
	folders     bool   // nor about those of a folder that is read as a whole, unless it is true
	names       []pathName
}

func newPathPattern(text string) pathPattern {
	glob := strings.TrimPrefix(text, "~/")
	lower := strings.ToLower(glob)
	p := pathPattern{glob: glob, lower: lower, literal: literal(lower)}
	p.names = make([]pathName, 0, strings.Count(glob, "/")+1)
	for name := range strings.SplitSeq(glob, "/") {
		i, j := strings.IndexAny(name, "*?"), strings.LastIndexAny(name, "*?")+1
		if i < 0 {
			i, j = len(name), 0
		}
		p.names = append(p.names, pathName{text: name, start: name[:i], end: name[j:]})
	}
	return p
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
	globs bool       // a shell may expand it
	open  bool       // it certainly does
	names []pathName // if globs is true
}

// A pathName is one name of a pattern, or of a path that a shell may expand.
type pathName struct {
	text       string
	glob       string // text with "?" for each set in brackets; "" if it is no glob of a path
	start, end string // what stands in front of the first star, and behind the last
}

func newPathName(text string) pathName {
	n := pathName{text: text}
	i := strings.IndexAny(text, "*?[")
	if i < 0 || strings.ContainsAny(text, " \t\n\"'$|;()=<>") { // the latter is no path
		return n
	}
	n.glob = pattern(brackets).ReplaceAllString(text, "?")
	n.start, n.end = text[:i], text[strings.LastIndexAny(text, "*?[]")+1:]
	return n
}

func newPathText(path string) pathText {
	clean := cleanPath(path)
	lower, _, _ := strings.Cut(strings.ToLower(clean), "\x00")
	p := pathText{clean: clean, lower: strings.TrimRight(lower, " ."), globs: strings.ContainsAny(clean, "*?[")}
	if p.globs {
		for name := range strings.SplitSeq(clean, "/") {
			p.names = append(p.names, newPathName(name))
		}
	}
	return p
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
	has := strings.Contains(path.lower, p.literal)
	if !path.globs && !has {
		return no // the usual case costs no more
	}
	start := fromFolder
	if strings.HasPrefix(p.glob, "/") {
		start = fromStart
	}
	switch {
	case has && globMatches(p.glob, path.clean, start, true):
		return yes
	case has && globMatches(p.lower, path.lower, start, true):
		return maybe
	case !path.globs:
		return no
	}
	last := path.names[len(path.names)-1]
	switch tells := last.start != "" || path.open || last.end != "" && p.names[0].start == ""; { // *.yml says nothing of secrets.yml
	case p.pack && len(p.names) == 1 && (!tells || !p.folders && strings.Trim(last.text, "*") == ""):
		return no
	case start == fromStart:
		return min(maybe, mayBeBelow(p.names, path.names))
	}
	for i := range path.names {
		if mayBeBelow(p.names, path.names[i:]) != no {
			return maybe
		}
	}
	return no
}

// mayBeBelow says whether the names of a path, some of which have stars, may match the parts of a
// pattern.
func mayBeBelow(wanted, names []pathName) answer {
	switch {
	case len(wanted) == 0:
		return maybe - min(maybe, answer(len(names)))
	case wanted[0].text == "**":
		return maybe // the rest is anything
	case len(names) == 0, wanted[0].text != names[0].text && !names[0].mayBe(&wanted[0]):
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
func (n *pathName) mayBe(of *pathName) bool {
	glob := of.text
	if n.glob == "" {
		return matchGlob(glob, n.text)
	}
	if strings.HasPrefix(glob, ".") && n.start == "" { // a star matches no leading dot
		return false
	}
	i, j := min(len(of.start), len(n.start)), min(len(of.end), len(n.end))
	if of.start[:i] != n.start[:i] || of.end[len(of.end)-j:] != n.end[len(n.end)-j:] {
		return false // the usual case
	}
	return globsMeet(glob, n.glob) // a set in brackets may be any letter
}

// globsMeet reports whether two globs may match one text: row[j] says whether one may match the read part of glob and
// b[:j].
func globsMeet(glob, b string) bool {
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
	escape   = `%[0-9a-f]{2}`
	address  = `(?i)[a-z][a-z0-9+.-]*:[/\\]+(?:[^/\\@\s]*@)?(\[[^\]\s]*\]|[^/\\:\s?#"'<>)]+)`
)

// unquoted takes the quotes from a text.
var unquoted = strings.NewReplacer("'", "", `"`, "", `\`, "")

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

// onlyWrites reports whether a rule is about changing files alone.
func (r *Rule) onlyWrites() bool {
	return isOneOf("write", r.Kinds) && !isOneOf("read", r.Kinds) && !isOneOf("shell", r.Kinds)
}

// shellPaths says whether a line may use one of the rule's paths.
func (r *Rule) shellPaths(l *line) answer {
	if !l.call.Script.OK {
		return maybe
	}
	onlyWrites, any := r.onlyWrites(), no
	if len(r.Programs) == 0 && r.Pack == "" && (l.wild || l.call.Script.Unknown) {
		any = maybe
	}
	list := l.commands
	if len(r.Programs) > 0 {
		list = append(r.commands(l, false), l.nameless...)
	}
	for _, c := range list {
		if r.Pack != "" && c.allowed {
			continue
		}
		if any = max(any, r.commandPaths(l, c, onlyWrites)); any == yes {
			return yes
		}
	}
	return any
}

// move returns the folder behind a cd. That of cd ~/x is known as far as its name says it.
func (at folder) move(c *shell.Command, args []*string) folder {
	if *c.Name == "popd" || len(args) != 1 {
		return folder{}
	}
	to := args[0]
	if home := c.Glob(len(c.Argv) - 1); to == nil && strings.HasPrefix(home, "~/") && !strings.ContainsAny(home, "*?[") {
		to = &home
	}
	if to == nil || !at.known && !isRooted(*to) {
		return folder{}
	}
	next := joinPath(at.path, *to)
	return folder{next, len(next) <= maxPath}
}

// commandPaths says whether one command may use a path of the rule.
func (r *Rule) commandPaths(l *line, c *command, onlyWrites bool) answer {
	any, at := no, c.folder()
	look := func(list []*string, most answer) {
		if any != yes && len(list) > 0 {
			any = max(any, min(most, r.anyPlace(c.placesOf(&list[0], false, func() []*string { return list }), at)))
		}
	}
	look(c.Writes, yes)
	if !onlyWrites {
		look(c.Reads, yes)
	}
	if r.opens(c, onlyWrites) {
		most := yes
		if onlyWrites && !does(c.Name, "writes") {
			most = maybe
		}
		words, open := c.changed(onlyWrites)
		look(words, most)
		any = max(any, r.unknownWords(c, open))
		if any == no && slices.ContainsFunc(c.open, isVariable) {
			any = l.once(r, "paths", func() answer { return r.listedPaths(l) })
		}
	}
	if any != yes {
		any = max(any, r.unknownWords(c, c.Globs))
	}
	if any == no && slices.ContainsFunc(c.Globs, isVariable) {
		any = l.once(r, "paths", func() answer { return r.listedPaths(l) })
	}
	return any
}

// changed returns the words that a command opens, or that it changes: of those of cp it is the last one.
func (c *command) changed(onlyWrites bool) (words []*string, open []string) {
	words, open = c.distinct, c.open
	if !onlyWrites || c.Name == nil || *c.Name != "cp" || len(words) < 2 || !c.IsWord(len(c.Argv)-1) {
		return words, open
	}
	if into, doubt := c.FindFlags([]string{"t", "target-directory"}); len(into) > 0 || doubt {
		return words, open
	}
	last := words[len(words)-1]
	if last == nil {
		return words, open
	}
	list := []*string{last} // and what it makes if that is a folder
	for _, w := range words[:len(words)-1] {
		if w != nil {
			open = append(open[:len(open):len(open)], *w)
		}
	}
	for _, name := range open {
		name = joinPath(*last, path.Base(name))
		list = append(list, &name)
	}
	return list, nil
}

// listedPaths says whether the line may list paths of the rule, or give them to variables, for a command that gets
// some of them.
func (r *Rule) listedPaths(l *line) answer {
	if r.Pack == "" { // any file
		return maybe
	}
	at := folder{l.call.CWD, true}
	if l.values == nil {
		l.values = newPlaces(l.call.Script.Values, at, true)
	}
	any := r.anyPlace(l.values, at)
	for _, c := range l.commands {
		switch {
		case !does(c.Name, "lists"):
		case len(c.distinct) > 0:
			any = max(any, r.anyPlace(c.placesOf(&c.distinct[0], false, func() []*string { return c.distinct }), c.folder()), r.unknownWords(c, c.open))
		case c.folder().known:
			here := newPathText(c.folder().path)
			any = max(any, anyPath(r.paths, here))
		}
	}
	return min(any, maybe)
}

// isVariable reports whether what Glob says of a word decided at run time is that of a variable or a substitution.
func isVariable(glob string) bool { return glob == "" || glob[0] == '$' }

// opens reports whether the words of a command may be files that it opens, or that it writes.
func (r *Rule) opens(c *command, onlyWrites bool) bool {
	if sub, known := c.subWords(); known && len(sub) > 0 && *c.Name == "git" && sub[0] != nil && gitNamesOnly(c, *sub[0], onlyWrites) {
		return false
	}
	if does(c.Name, "searches") && !onlyWrites {
		if shown, _ := c.FindFlags([]string{"c", "count", "q", "quiet", "l", "files-with-matches"}); len(shown) > 0 {
			return false // it says how often, or where
		}
	}
	return !does(c.Name, "opens none") && !(onlyWrites && does(c.Name, "reads", "mostly reads")) && !(r.Pack != "" && !onlyWrites && does(c.Name, "lists"))
}

// gitNamesOnly reports whether a subcommand of git shows no file, or changes none.
func gitNamesOnly(c *command, sub string, onlyWrites bool) bool {
	return hasFlag(c.Command, []string{"output"}) == no &&
		(isOneOf(sub, namesOnly) || !onlyWrites && sub == "rm" || onlyWrites && isOneOf(sub, unchanging) || sub == "log" && hasFlag(c.Command, patches) == no)
}

// patches are flags of git log with which it shows what is in the files.
var patches = []string{"p", "u", "patch", "patch-with-stat", "patch-with-raw", "U", "unified", "c", "cc", "dd", "m", "L", "W", "function-context", "diff-merges", "remerge-diff", "color-words", "word-diff", "word-diff-regex", "binary", "full-index"}

// unchanging are subcommands of git that change no file of the folder.
var unchanging = []string{"add", "blame", "cat-file", "commit", "diff", "grep", "log", "show"}

// namesOnly are subcommands of git that show names, and no file.
var namesOnly = []string{"branch", "check-ignore", "describe", "for-each-ref", "ls-files", "merge-base", "rev-parse", "status", "tag"}

// testers run tests, which words with a star choose, as in go test -run 'TestA.*'.
var testers = []string{"cargo", "ctest", "dart", "dotnet", "flutter", "go", "gradle", "gradlew", "jest", "mocha", "mvn", "mvnw", "phpunit", "pytest", "rspec", "swift", "vitest", "xcodebuild"}

// filesOf returns the words behind the program that may be files: not the text that grep searches for, nor the script of
// sed, nor what rg and git leave out, nor the names of tests.
func filesOf(c *shell.Command, args []*string) []*string {
	isText := false
	if len(args) > 0 && args[0] != nil && does(c.Name, "searches", "edits") {
		others, doubt := c.FindFlags([]string{"e", "f", "regexp", "expression", "file", "files", "g", "glob", "iglob", "include", "exclude"})
		isText = len(others) == 0 && !doubt && !slices.ContainsFunc(args[1:], func(w *string) bool { return w != nil && *w == *args[0] })
	}
	isNone := func(w *string) bool {
		return w != nil && (isText && w == args[0] || strings.HasPrefix(*w, "!") || strings.HasPrefix(*w, ":!") ||
			strings.Contains(*w, "*") && !strings.Contains(*w, "/") && c.Name != nil && isOneOf(*c.Name, testers))
	}
	if !slices.ContainsFunc(c.Argv[1:], isNone) {
		return c.Argv[1:]
	}
	return slices.DeleteFunc(slices.Clone(c.Argv[1:]), isNone)
}

// folderOf returns the folder in which a command works.
func folderOf(c *shell.Command, at folder) folder {
	flags := []string{"-C", "--chdir", "--directory"}
	if isOneOf("sudo", c.Wrappers) {
		flags = append(flags, "-D")
	}
	moves := 0
	for _, word := range strings.Fields(unquoted.Replace(c.Text)) {
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

// unknownWords says whether words that are decided at run time may match.
func (r *Rule) unknownWords(c *command, words []string) answer {
	switch {
	case len(words) == 0:
		return no
	case r.Pack == "" && slices.ContainsFunc(words, isVariable): // packs do not ask about each
		return maybe
	}
	p := c.placesOf(&words[0], true, func() (list []*string) {
		for i := range words {
			if !isVariable(words[i]) {
				list = append(list, &words[i])
			} else if start, end, ok := strings.Cut(words[i], "*/"); ok { // the end of "$x/.ssh/id_rsa" is certain
				whole := strings.TrimLeft(start, "$") + "*/" + end // and so is the start of /proc/$x/environ
				list = append(list, &end, &whole)
			}
		}
		return list
	})
	return r.anyPlace(p, c.folder())
}

// A place is a path in a command, prepared for many patterns.
type place struct {
	path string // as the command writes it
	text pathText
}

// places are the paths that words may name.
type places struct {
	list  []place
	lower string // all of them, see pathText
	globs bool   // a shell may expand one
}

// add adds the paths that a word may name: the whole word, or what stands behind a flag, "=", ":" or "@".
func (p *places) add(word string, at folder, open bool) {
	if word == "{}" { // find and xargs replace it
		return
	}
	add := func(path string) {
		text := newPathText(joinPath(at.path, path))
		text.open = open
		p.list, p.globs = append(p.list, place{path, text}), p.globs || text.globs
	}
	add(word)
	if strings.ContainsAny(word, "=:@,") {
		for part := range strings.FieldsFuncSeq(word, func(c rune) bool { return strings.ContainsRune("=:@,", c) }) {
			add(part)
		}
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' { // -d@.env, -f.env
		add(word[2:])
	}
}

// newPlaces returns the places of words in a folder. open says that a shell expands their globs.
func newPlaces(words []*string, at folder, open bool) *places {
	p := &places{}
	for _, w := range words {
		if w != nil {
			p.add(*w, at, open)
		}
	}
	var all strings.Builder
	for i := range p.list {
		all.WriteString(p.list[i].text.lower + "\n")
	}
	p.lower = all.String()
	return p
}

// anyPlace says whether one of the paths is the rule's. at is the folder of relative ones.
func (r *Rule) anyPlace(p *places, at folder) answer {
	any := no
	if at.known && !p.globs && !slices.ContainsFunc(r.paths, func(of pathPattern) bool { return strings.Contains(p.lower, of.literal) }) {
		return no // the usual case costs no more
	}
	for i := range p.list {
		if any = max(any, r.place(&p.list[i], at)); any == yes {
			break
		}
	}
	return any
}

// place compares a path with the rule's.
func (r *Rule) place(p *place, at folder) answer {
	any, path, text := no, p.path, p.text
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
	for _, c := range l.commands {
		if r.Pack == "" || !c.allowed {
			any = max(any, r.commandHosts(c))
		}
	}
	return any
}

// commandHosts says whether one command may talk to one of the rule's hosts.
func (r *Rule) commandHosts(c *command) answer {
	any, calls := no, does(c.Name, "calls")
	if calls && *c.Name == "git" {
		sub := c.Subcommand()
		calls = sub == nil || !isOneOf(*sub, localGit)
	}
	for i := range c.Argv {
		if start := addressOf(c.Glob(i)); start != "" {
			any = max(any, r.fetchHosts(start))
		}
	}
	for _, w := range c.distinct {
		if w == nil {
			if r.Pack == "" && (c.Name == nil || calls) {
				any = max(any, maybe)
			}
			continue
		}
		hosts := hostsOf(*w)
		if len(hosts) == 0 && calls {
			hosts = []string{hostOf(*w)}
		}
		for _, host := range hosts {
			any = max(any, r.host(host))
		}
	}
	return any
}

// localGit are subcommands of git whose words are no hosts.
var localGit = []string{"log", "show", "diff", "status", "shortlog", "branch", "tag", "blame", "reflog", "rev-list", "rev-parse", "for-each-ref", "commit", "add", "grep"}

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
	if strings.Contains(host, "$") || pattern(escape).MatchString(host) { // %65xample.com: programs decode it
		return maybe
	}
	return is(matchesOne(r.Hosts, host))
}
