package shell

import "strings"

// A language says which one-line programs of an interpreter certainly run no other program and change no
// file. It is a list of what is allowed: any other use of a module makes the answer "maybe".
type language struct {
	// modules are the modules that a text may use, with the names of each between spaces; "*" are all.
	modules map[string]string
	// denied are names that lead out of what modules allows, and attributes that do, between spaces.
	denied, deniedAttributes string
	// hidden are beginnings of attributes that lead to the interpreter's insides, between spaces.
	hidden string
	// files are the functions that read the file which their first argument names.
	files string
	// isNode is true for JavaScript: templates, regular expressions, and require.
	isNode bool
	// names are all that a text may use without binding them, for a language whose modules are global names.
	names string
}

var python = language{
	modules: map[string]string{
		"json": " load loads dumps JSONDecodeError ", "math": "*", "time": "*", "itertools": "*", "zlib": "*", "unicodedata": "*",
		"sys":      " stdin stdout stderr argv version version_info executable platform exit maxsize byteorder prefix base_prefix getsizeof getrecursionlimit float_info implementation ",
		"os":       " getcwd listdir cpu_count sep linesep name path getpid ",
		"os.path":  " exists isfile isdir join basename dirname abspath getsize splitext ",
		"re":       " findall search match fullmatch sub split compile finditer escape I M S IGNORECASE MULTILINE DOTALL ",
		"datetime": " datetime date timedelta timezone time UTC ", "collections": " Counter defaultdict OrderedDict deque ",
		"functools": " reduce partial cache lru_cache ", "statistics": " mean median stdev pstdev quantiles mode ", "random": " random randint choice choices shuffle sample seed uniform ",
		"string": " ascii_letters ascii_lowercase ascii_uppercase digits punctuation ", "textwrap": " dedent fill indent wrap ", "base64": " b64encode b64decode urlsafe_b64encode urlsafe_b64decode ",
		"hashlib": " md5 sha1 sha256 sha512 ", "decimal": " Decimal getcontext ", "fractions": " Fraction ",
		"csv": " reader DictReader writer DictWriter ", "tomllib": " load loads ", "uuid": " uuid4 UUID ", "ast": " literal_eval ", "struct": " pack unpack calcsize ", "html": " escape unescape ",
		"difflib": " unified_diff ndiff get_close_matches SequenceMatcher ", "calendar": " monthrange month isleap ", "secrets": " token_hex token_urlsafe ", "pprint": " pprint pformat ",
	},
	denied:           " eval exec execfile compile input raw_input breakpoint help license credits copyright getattr setattr delattr globals locals vars reload file apply ",
	deniedAttributes: " modules mro ",
	hidden:           " _ gi_ cr_ ag_ tb_ f_ co_ func_ im_ ",
	files:            " open ",
}

var javascript = language{
	modules: map[string]string{
		"console": " log error info warn table ", "JSON": " parse stringify ", "Math": "*", "Object": " keys values entries fromEntries assign ",
		"process": " version versions platform arch cwd argv exit stdout stdin memoryUsage uptime hrtime execPath pid exitCode ",
		"fs":      " readFileSync existsSync readdirSync statSync ", "path": " join resolve basename dirname extname relative sep ",
		"os": " platform arch cpus totalmem freemem EOL type release tmpdir ", "util": " inspect format ",
	},
	denied: " constructor prototype ",
	names: " const let var function class return if else for of in while do switch case break continue new typeof instanceof null true false undefined async await try catch finally " +
		"throw Array String Number Boolean Date RegExp Map Set BigInt NaN Infinity parseInt parseFloat isNaN isFinite Buffer Error Promise URL encodeURIComponent decodeURIComponent Intl default ",
	deniedAttributes: " constructor prototype mainModule binding caller callee arguments ",
	hidden:           " _ ",
	files:            " readFileSync ",
	isNode:           true,
}

// A token is a name, a number, a text in quotes, or one byte of anything else.
type token struct {
	kind byte // 'a', '0', '"' or the byte
	text string
}

// isHarmless reports whether a one-line program certainly runs no other program and changes no file, and
// which files it reads. A file that is not named in the text makes it false.
func (l *language) isHarmless(text string) (reads []string, ok bool) {
	tokens, ok := l.tokens(text)
	if !ok {
		return nil, false
	}
	c := codeReader{language: l, list: tokens, imported: map[string]bool{}}
	if l.isNode {
		for name := range l.modules {
			c.imported[name] = true
		}
		if !c.readBindings() {
			return nil, false
		}
	} else if !c.readImports() {
		return nil, false
	}
	for i, t := range c.list {
		switch {
		case t.kind == 'a' && !c.isAllowed(i), l.isNode && t.kind == '[' && !c.isIndex(i):
			return nil, false
		case l.isNode && (t.kind == '"' && c.isDenied(t.text) || t.kind == '\'' && c.at(i+1).kind == ':'): // a key of a pattern
			return nil, false
		}
	}
	return c.reads, true
}

// A codeReader judges the tokens of a text.
type codeReader struct {
	*language
	list     []token
	imported map[string]bool // modules
	bound    map[string]bool // names that a text of Node gives a value
	reads    []string
}

// at returns a token, or one of no kind.
func (c *codeReader) at(i int) token {
	if i < 0 || i >= len(c.list) {
		return token{}
	}
	return c.list[i]
}

// readImports reads the imports of Python, and takes them out of the list.
func (c *codeReader) readImports() bool {
	var rest []token
	for i := 0; i < len(c.list); i++ {
		from := c.list[i].text == "from" && c.at(i-1).text != "yield" && c.at(i-1).text != "raise" && c.at(i+2).text == "import"
		switch {
		case c.list[i].kind != 'a' || !from && c.list[i].text != "import" || c.at(i-1).kind == '.':
			rest = append(rest, c.list[i])
		case from:
			names, known := c.modules[c.at(i+1).text]
			if !known || names == "*" {
				return false
			}
			for i += 3; ; i += 2 {
				if name := c.at(i).text; !strings.Contains(names, " "+name+" ") || name == "path" || c.at(i+1).text == "as" {
					return false
				}
				if c.at(i+1).kind != ',' {
					break
				}
			}
		default:
			for i++; ; i += 2 {
				name := c.at(i).text
				if c.at(i+1).kind == '.' { // os.path
					name += "." + c.at(i+2).text
					i += 2
				}
				if c.modules[name] == "" || c.at(i+1).text == "as" {
					return false
				}
				name, _, _ = strings.Cut(name, ".")
				if c.imported[name] = true; c.at(i+1).kind != ',' {
					break
				}
			}
		}
	}
	c.list = rest
	return true
}

// isAllowed judges a name: what stands around it decides what it may be.
func (c *codeReader) isAllowed(i int) bool {
	name := c.list[i].text
	if c.at(i-1).kind == '.' && c.at(i-2).kind != '.' { // not the dots of ...x
		for start := range strings.FieldsSeq(c.hidden) {
			if strings.HasPrefix(name, start) {
				return false
			}
		}
		return !strings.Contains(c.deniedAttributes, " "+name+" ")
	}
	switch {
	case name == "require" && c.isNode:
		return c.isRequire(i)
	case strings.HasPrefix(name, "__"), strings.Contains(c.denied, " "+name+" "):
		return false
	case strings.Contains(c.files, " "+name+" "):
		return c.isRead(i)
	case !c.imported[name]:
		isKey := (c.at(i-1).kind == '{' || c.at(i-1).kind == ',') && c.at(i+1).kind == ':'
		return c.names == "" || isKey || c.bound[name] || strings.Contains(c.names, " "+name+" ")
	case c.isNode && c.at(i+1).kind == '=' && c.at(i+2).text == "require" && c.at(i+4).text == name:
		return true // const fs = require('fs')
	}
	return c.isMember(name, i)
}

// isMember reports whether a member of a module is used that the language allows.
func (c *codeReader) isMember(module string, i int) bool {
	names, member := c.modules[module], c.at(i+2).text
	if c.at(i+1).kind != '.' || names != "*" && !strings.Contains(names, " "+member+" ") {
		return false
	}
	switch {
	case strings.Contains(c.files, " "+member+" "):
		return c.isRead(i + 2)
	case module == "os" && member == "path":
		return c.isMember("os.path", i+2)
	}
	return c.at(i+3).kind != '=' || c.at(i+4).kind == '=' // nothing is assigned to it
}

// isRead judges a function that opens a file: its name must be a text, and nothing may be written.
func (c *codeReader) isRead(i int) bool {
	file, mode := c.at(i+2), c.at(i+4)
	if c.at(i+1).kind != '(' || file.kind != '"' && (file.kind != '0' || !c.isNode) {
		return false
	}
	switch c.at(i + 3).kind {
	case ')':
	case ',':
		named := mode.text == "encoding" && c.at(i+5).kind == '=' && c.at(i+7).kind == ')'
		if !named && (mode.kind != '"' || c.at(i+5).kind != ')' && c.at(i+5).kind != ',' || !c.isNode && strings.ContainsAny(mode.text, "wax+")) {
			return false
		}
	default:
		return false
	}
	if file.kind == '"' {
		c.reads = append(c.reads, file.text)
	}
	return true
}

// isRequire judges require of Node: a file of JSON, or a module under its own name.
func (c *codeReader) isRequire(i int) bool {
	file := c.at(i + 2)
	if c.at(i+1).kind != '(' || file.kind != '"' || c.at(i+3).kind != ')' {
		return false
	}
	if strings.HasSuffix(file.text, ".json") && strings.Contains(file.text, "/") {
		c.reads = append(c.reads, file.text)
		return true
	}
	name := strings.TrimPrefix(file.text, "node:")
	if !isOneOf(name, []string{"fs", "path", "os", "util"}) {
		return false
	}
	if c.at(i+4).kind == '.' {
		member := c.at(i + 5).text
		return strings.Contains(c.modules[name], " "+member+" ") && (!strings.Contains(c.files, " "+member+" ") || c.isRead(i+5))
	}
	return c.at(i-1).kind == '=' && c.at(i-2).text == name
}

// isDenied reports whether a name leads out of what the language allows.
func (c *codeReader) isDenied(name string) bool {
	return strings.HasPrefix(name, "__") || strings.Contains(c.denied+c.deniedAttributes, " "+name+" ")
}

// closing returns the place of the bracket that closes the one at a place, or -1.
func (c *codeReader) closing(i int) int {
	depth := 0
	for ; i < len(c.list); i++ {
		switch c.list[i].kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// readBindings finds the names to which a text of Node binds values. A default value within a pattern could
// be any global, so it makes the answer false.
func (c *codeReader) readBindings() bool {
	c.bound = map[string]bool{}
	group := func(from int) bool {
		end := c.closing(from)
		if end < 0 {
			return false
		}
		for _, t := range c.list[from:end] {
			if t.kind == '=' || t.kind == '.' && c.at(from).kind != '(' {
				return false
			}
			if t.kind == 'a' {
				c.bound[t.text] = true
			}
		}
		return true
	}
	for i, t := range c.list {
		next := c.at(i + 1)
		switch {
		case t.kind == 'a' && isOneOf(t.text, []string{"const", "let", "var"}) && (next.kind == '{' || next.kind == '['):
			if !group(i + 1) {
				return false
			}
		case t.kind == 'a' && isOneOf(t.text, []string{"const", "let", "var", "function", "class"}) && next.kind == 'a':
			c.bound[next.text] = true
			if t.text == "function" && c.at(i+2).kind == '(' && !group(i+2) {
				return false
			}
		case t.kind == 'a' && isOneOf(t.text, []string{"function", "catch"}) && next.kind == '(':
			if !group(i + 1) {
				return false
			}
		case t.kind == 'a' && next.kind == '=' && c.at(i+2).kind == '>':
			c.bound[t.text] = true
		case t.kind == '(':
			if end := c.closing(i); end > 0 && c.at(end+1).kind == '=' && c.at(end+2).kind == '>' && !group(i) {
				return false
			}
		}
	}
	return true
}

// isIndex judges a "[" of Node: behind a value, and as a key, a name in it could be that of any member.
func (c *codeReader) isIndex(i int) bool {
	before, index := c.at(i-1), c.at(i+1)
	isList := strings.IndexByte("\x00(,=:[?;{&|!+-*<>%", before.kind) >= 0 ||
		before.kind == 'a' && isOneOf(before.text, []string{"return", "of", "in", "const", "let", "var", "case"})
	if end := c.closing(i); isList {
		return end > 0 && c.at(end+1).kind != ':'
	}
	return c.at(i+2).kind == ']' && (index.kind == '0' || index.kind == '"')
}

// tokens cuts a text. It returns false for what it cannot read.
func (l *language) tokens(text string) (list []token, ok bool) {
	for i := 0; i < len(text); {
		b := text[i]
		switch {
		case b == ' ' || b == '\t' || b == '\n':
			i++
		case isNameStart(b):
			end := i
			for end < len(text) && (isNameStart(text[end]) || isDigit(text[end], 10)) {
				end++
			}
			if prefix := strings.ToLower(text[i:end]); !l.isNode && end < len(text) && (text[end] == '\'' || text[end] == '"') && strings.Trim(prefix, "rbuf") == "" {
				i = end
				more, size, ok := l.quoted(text[i:], strings.Contains(prefix, "r"), strings.Contains(prefix, "f"))
				if !ok {
					return nil, false
				}
				list, i = append(list, more...), i+size
				continue
			}
			list = append(list, token{'a', text[i:end]})
			i = end
		case isDigit(b, 10):
			end := i
			for end < len(text) && (isNameStart(text[end]) || isDigit(text[end], 10)) {
				end++
			}
			list = append(list, token{'0', text[i:end]})
			i = end
		case b == '\'' || b == '"' || b == '`' && l.isNode:
			more, size, ok := l.quoted(text[i:], false, b == '`')
			if !ok {
				return nil, false
			}
			list, i = append(list, more...), i+size
		case b < ' ' || b >= 0x7f || strings.IndexByte("`\\@#$", b) >= 0:
			return nil, false
		case b == '/' && l.isNode && (len(list) == 0 || list[len(list)-1].kind != '0' && list[len(list)-1].kind != ')'):
			return nil, false // a regular expression or a comment, which are read in another way
		default:
			if b == '?' && i+1 < len(text) && text[i+1] == '.' { // ?. is a dot
				i++
				b = '.'
			}
			list = append(list, token{b, text[i : i+1]})
			i++
		}
	}
	return list, true
}

// isNameStart reports whether a name may begin with a byte.
func isNameStart(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' }

// quoted reads a text in quotes, and the code in braces of an f-string or a template.
func (l *language) quoted(text string, raw, hasCode bool) (list []token, size int, ok bool) {
	quote := text[:1]
	if !l.isNode && strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		quote = text[:3]
	}
	end := len(quote)
	for ; ; end++ {
		switch {
		case end >= len(text) || len(quote) == 1 && quote != "`" && text[end] == '\n':
			return nil, 0, false
		case text[end] == '\\':
			if end++; raw && hasCode {
				return nil, 0, false
			}
			continue
		}
		if strings.HasPrefix(text[end:], quote) {
			break
		}
	}
	body, size := text[len(quote):end], end+len(quote)
	open := "{"
	if l.isNode {
		open = "${"
	}
	list = []token{{'"', body}}
	if strings.Contains(body, `\`) {
		list[0].kind = '\'' // nobody knows its text: no file, and no index
	}
	for hasCode {
		_, rest, found := strings.Cut(body, open)
		if !found {
			break
		}
		code, behind, closed := strings.Cut(rest, "}")
		if !closed || strings.ContainsAny(code, "{'\"`\\") && l.isNode || strings.Contains(code, "{") {
			return nil, 0, false
		}
		more, ok := l.tokens(code)
		if !ok {
			return nil, 0, false
		}
		list, body = append(append(list, token{kind: '('}), append(more, token{kind: ')'})...), behind
	}
	return list, size, true
}

// judgeCode judges the text of an interpreter behind -c, -e or -p, or in a here-document. It returns false if
// the text may run a program.
func (r *reader) judgeCode(name string, args []word) bool {
	l, flags, bare := &python, []string{"-c"}, " -u -I -B -E -s -S -O -OO -q -W -X "
	switch {
	case name == "node":
		l, flags, bare = &javascript, []string{"-e", "-p", "-pe", "--eval", "--print"}, " "
	case !strings.HasPrefix(name, "py"):
		return false
	}
	for len(args) > 0 && args[0].known && args[0].text != "" && strings.Contains(bare, " "+args[0].text+" ") {
		args = args[1:]
	}
	code := word{}
	switch {
	case len(args) > 1 && args[0].known && isOneOf(args[0].text, flags):
		code, args = args[1], args[2:]
		if l.isNode && len(args) > 0 {
			return false // perhaps flags of node
		}
	case (len(args) == 0 || args[0].text == "-" && args[0].known) && len(r.stdin) == 1 && (r.stdin[0].N == nil || r.stdin[0].N.Value == "0") && r.stdin[0].Hdoc != nil:
		nodes := r.script.Nodes
		code = r.heredocText(r.stdin[0])
		r.script.Nodes = nodes
	}
	if !code.known || len(code.text) > maxCode {
		return false
	}
	reads, ok := l.isHarmless(code.text)
	if !ok {
		return false
	}
	for module := range l.modules { // a file of the folder is in front of the module
		if !l.isNode && strings.Contains(code.text, module) {
			r.imports = append(r.imports, strings.ReplaceAll(module, ".", "/"))
		}
	}
	if n := len(r.script.Commands); n > 0 && !r.quiet {
		c := &r.script.Commands[n-1]
		for i := range reads {
			c.Reads = append(c.Reads[:len(c.Reads):len(c.Reads)], &reads[i])
		}
	}
	return true
}

// maxCode is the most bytes of a one-line program that are judged.
const maxCode = 8 << 10
