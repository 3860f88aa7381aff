package shell

import (
	"slices"
	"strings"
	"sync"
)

// These tables say which one-line programs of Python certainly run no other program and change no file. They
// are lists of what is allowed: any other use of a module makes the answer "maybe". There are none for other
// interpreters: JavaScript leads from any error to any module.
var (
	// pythonDenied are names that lead out of what the modules allow; type makes a writer of a reader.
	pythonDenied = " type eval exec execfile compile input raw_input breakpoint help license credits copyright getattr setattr delattr globals locals vars reload file apply "
	// pythonAttributes are attributes that do.
	pythonAttributes = " modules mro "
	// pythonHidden are beginnings of attributes that lead to the insides of the interpreter.
	pythonHidden = []string{"_", "gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_", "im_"}
)

// pythonModules are the modules that a text may use, with the names of each between spaces; "*" are all. Few
// lines need the table, so that no start makes it.
var pythonModules = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"json": " load loads dumps JSONDecodeError ", "math": "*", "time": "*", "itertools": "*", "zlib": "*", "unicodedata": "*",
		"sys":      " stdin stdout stderr argv version version_info executable platform exit maxsize byteorder prefix base_prefix getsizeof getrecursionlimit float_info implementation ",
		"os":       " getcwd listdir cpu_count sep linesep name path getpid stat ",
		"os.path":  " exists isfile isdir islink join basename dirname abspath realpath relpath normpath expanduser getsize getmtime splitext ",
		"re":       " findall search match fullmatch sub split compile finditer escape I M S IGNORECASE MULTILINE DOTALL ",
		"datetime": " datetime date timedelta timezone time UTC ", "collections": " Counter defaultdict OrderedDict deque ",
		"functools": " reduce partial cache lru_cache ", "statistics": " mean median stdev pstdev quantiles mode ", "random": " random randint choice choices shuffle sample seed uniform ",
		"string": " ascii_letters ascii_lowercase ascii_uppercase digits punctuation ", "textwrap": " dedent fill indent wrap ", "base64": " b64encode b64decode urlsafe_b64encode urlsafe_b64decode ",
		"hashlib": " md5 sha1 sha256 sha512 ", "decimal": " Decimal getcontext ", "fractions": " Fraction ",
		"csv": " reader DictReader writer DictWriter ", "tomllib": " load loads ", "uuid": " uuid4 UUID ", "ast": " literal_eval parse dump unparse walk ", "struct": " pack unpack calcsize ", "html": " escape unescape ", "binascii": " hexlify unhexlify crc32 ", "glob": " glob iglob ", "urllib.parse": " quote unquote urlparse urlsplit urlencode urljoin parse_qs ", "importlib.metadata": " version ",
		"difflib": " unified_diff ndiff get_close_matches SequenceMatcher ", "calendar": " monthrange month isleap ", "secrets": " token_hex token_urlsafe ", "pprint": " pprint pformat ",
	}
})

// nodeValues are what a line of JavaScript may read without a file, and nodeCalls what it may call.
const (
	nodeValues = " version versions platform arch "
	nodeCalls  = " log info table keys values entries join slice stringify includes sort toString trim split "
)

// isHarmlessNode reports whether a line of JavaScript only prints what it reads in files of JSON, in what node says
// about itself, and in literals: names stand for them, and nothing but nodeCalls is called.
func isHarmlessNode(text string) (files []string, ok bool) {
	list, ok := codeTokens(text)
	c, names := codeReader{list: list}, " true false null undefined "
	for i := 0; ok && i < len(list); i++ {
		switch t, behind := list[i], c.at(i+1); {
		case t.kind != 'a':
			ok = c.isNodeSign(i)
		case c.at(i-1).kind == '.':
			ok = behind.kind != '(' || hasName(nodeCalls, t.text)
		case isOneOf(t.text, nodeWords):
			names += behind.text + " "
			ok = behind.kind == 'a' && c.at(i+2).kind == '='
		case t.text == "require":
			files = append(files, c.at(i+2).text)
			ok = behind.kind == '(' && c.at(i+2).kind == '"' && c.at(i+3).kind == ')' && strings.HasSuffix(c.at(i+2).text, ".json") && strings.HasPrefix(c.at(i+2).text, "./")
		case t.text == "process":
			ok = behind.kind == '.' && hasName(nodeValues, c.at(i+2).text)
		case isOneOf(t.text, []string{"console", "Object", "JSON"}):
			ok = behind.kind == '.' && c.at(i+3).kind == '(' && hasName(nodeCalls, c.at(i+2).text)
		default:
			ok = behind.kind != '(' && hasName(names, t.text)
		}
	}
	return files, ok
}

// nodeWords are the words in front of a new name.
var nodeWords = []string{"const", "let", "var"}

// isNodeSign judges a sign: nothing is assigned but to new names, and nothing is called but what has a name.
func (c *codeReader) isNodeSign(i int) bool {
	before, behind := c.at(i-1), c.at(i+1)
	switch c.list[i].kind {
	case '/', '<':
		return false
	case '-':
		return behind.kind != '-' // "-->" begins a comment
	case '=':
		return before.kind == 'a' && isOneOf(c.at(i-2).text, nodeWords) && behind.kind != '='
	case '(':
		return i == 0 || isOneOf(string(before.kind), []string{"a", "(", ",", ";"})
	case '{':
		return behind.kind == '}'
	}
	return true
}

// A token is a name, a number, a text in quotes, or one byte of anything else.
type token struct {
	kind byte // 'a', '0', '"' or the byte
	text string
}

// isHarmlessCode reports whether a one-line program certainly runs no other program and changes no file. A file
// that is not named in the text makes it false.
func isHarmlessCode(text string) (c codeReader, ok bool) {
	tokens, ok := codeTokens(text)
	c = codeReader{list: tokens, imported: map[string]bool{}}
	if !ok || !c.readImports() {
		return c, false
	}
	for i, t := range c.list {
		if t.kind == 'a' && !c.isAllowed(i) {
			return c, false
		}
	}
	return c, true
}

// A codeReader judges the tokens of a text.
type codeReader struct {
	list     []token
	imported map[string]bool // modules that have a name in the text
	modules  []string        // all modules, in the order of the text
	reads    []*string       // files
}

// showsModules reports whether a text only imports modules, and prints what they contain. That runs their code, as
// a file of the project does: python3 -c "import a; print(a.__version__)".
func showsModules(text string) bool {
	list, ok := codeTokens(text)
	c := codeReader{list: list}
	for i := 0; ok && i < len(list); i++ {
		switch t := list[i]; {
		case t.kind == ';':
		case t.text == "import" || t.text == "from":
			for ; isOneOf(c.at(i+1).text, []string{"import", ".", ",", "as"}) || c.at(i+1).kind == 'a' && !isOneOf(c.at(i+1).text, []string{"print", "from"}) && (list[i].kind != 'a' || isOneOf(list[i].text, []string{"import", "from", "as"})); i++ {
			}
		case t.text == "print" && c.at(i+1).text == "(":
			i, ok = c.showsArguments(i + 2)
		default:
			return false
		}
	}
	return ok && len(list) > 0
}

// showsArguments reports whether the arguments of print, which begin at an index, are texts, names and questions
// such as a.is_b(). It returns the index of their end.
func (c *codeReader) showsArguments(i int) (end int, ok bool) {
	for ok = true; ok && i < len(c.list) && c.list[i].text != ")"; i++ {
		switch shown, name := c.list[i], c.at(i-1).text; {
		case shown.text == "(":
			ok = c.at(i+1).text == ")" && (strings.HasPrefix(name, "is_") || strings.HasPrefix(name, "get_"))
			i++
		case shown.kind == 'a':
			ok = !strings.Contains(pythonDenied+"lambda for if while await yield print not in ", " "+shown.text+" ")
		case shown.kind != '(' && shown.kind != ')':
			ok = strings.IndexByte("0\"'.,", shown.kind) >= 0
		}
	}
	return i, ok && i < len(c.list)
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
			if i = c.readFrom(i + 1); i < 0 {
				return false
			}
		default:
			if i = c.readImport(i + 1); i < 0 {
				return false
			}
		}
	}
	c.list = rest
	return true
}

// readFrom reads the module of "from MODULE import NAME, NAME" and the names. It returns the index of the last token, or
// -1 for what the language does not allow.
func (c *codeReader) readFrom(i int) int {
	names, known := pythonModules()[c.at(i).text]
	if !known || names == "*" {
		return -1
	}
	c.modules = append(c.modules, c.at(i).text)
	for i += 2; ; i += 2 {
		if name := c.at(i).text; !hasName(names, name) || name == "path" || c.at(i+1).text == "as" {
			return -1
		}
		if c.at(i+1).kind != ',' {
			return i
		}
	}
}

// readImport reads the modules of "import MODULE, MODULE". It returns what readFrom does.
func (c *codeReader) readImport(i int) int {
	for ; ; i += 2 {
		name := c.at(i).text
		if c.at(i+1).kind == '.' { // os.path
			name += "." + c.at(i+2).text
			i += 2
		}
		if pythonModules()[name] == "" || c.at(i+1).text == "as" {
			return -1
		}
		c.modules = append(c.modules, name)
		name, _, _ = strings.Cut(name, ".")
		if c.imported[name] = true; c.at(i+1).kind != ',' {
			return i
		}
	}
}

// isAllowed judges a name: what stands around it decides what it may be.
func (c *codeReader) isAllowed(i int) bool {
	name := c.list[i].text
	if c.at(i-1).kind == '.' {
		return !hasStart(name, pythonHidden...) && !hasName(pythonAttributes, name)
	}
	switch {
	case strings.HasPrefix(name, "__"), hasName(pythonDenied, name):
		return false
	case name == "open":
		return c.isRead(i)
	}
	return !c.imported[name] || c.isMember(name, i)
}

// isMember reports whether a member of a module is used that the language allows.
func (c *codeReader) isMember(module string, i int) bool {
	names, member := pythonModules()[module], c.at(i+2).text
	if c.at(i+1).kind != '.' || names != "*" && !hasName(names, member) {
		return false
	}
	if module == "os" && member == "path" {
		return c.isMember("os.path", i+2)
	}
	return c.at(i+3).kind != '=' || c.at(i+4).kind == '=' // nothing is assigned to it
}

// isRead judges open: its name must be a text, and nothing may be written.
func (c *codeReader) isRead(i int) bool {
	file, mode := c.at(i+2), c.at(i+4)
	if c.at(i+1).kind != '(' || file.kind != '"' {
		return false
	}
	switch c.at(i + 3).kind {
	case ')':
	case ',':
		named := mode.text == "encoding" && c.at(i+5).kind == '=' && c.at(i+7).kind == ')'
		if !named && (mode.kind != '"' || c.at(i+5).kind != ')' && c.at(i+5).kind != ',' || strings.ContainsAny(mode.text, "wax+")) {
			return false
		}
	default:
		return false
	}
	c.reads = append(c.reads, &file.text)
	return true
}

// codeTokens cuts a text of Python. It returns false for what it cannot read.
func codeTokens(text string) (list []token, ok bool) {
	for i := 0; i < len(text); {
		b, end := text[i], i
		for end < len(text) && (isNameStart(text[end]) || isDigit(text[end], 10)) {
			end++
		}
		name, isQuoted := text[i:end], end < len(text) && (text[end] == '\'' || text[end] == '"')
		switch prefix := strings.ToLower(name); {
		case b == ' ' || b == '\t' || b == '\n':
			i++
		case isQuoted && strings.Trim(prefix, "rbuf") == "": // not t"{code}", and not 1if x else"a"
			more, size, ok := quotedCode(text[end:], strings.Contains(prefix, "r"), strings.Contains(prefix, "f"))
			if !ok {
				return nil, false
			}
			list, i = append(list, more...), end+size
		case isQuoted, b < ' ' || b >= 0x7f || strings.IndexByte("`\\@#$", b) >= 0:
			return nil, false
		case isNameStart(b):
			list, i = append(list, token{'a', name}), end
		case name != "":
			list, i = append(list, token{'0', name}), end
		default:
			list, i = append(list, token{b, text[i : i+1]}), i+1
		}
	}
	return list, true
}

// isNameStart reports whether a name may begin with a byte.
func isNameStart(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' }

// quotedCode reads a text in quotes, and the code in braces of an f-string.
func quotedCode(text string, raw, hasCode bool) (list []token, size int, ok bool) {
	quote := text[:1]
	if strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		quote = text[:3]
	}
	end := len(quote)
	for ; ; end++ {
		switch {
		case end >= len(text) || len(quote) == 1 && text[end] == '\n':
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
	list = []token{{'"', body}}
	if strings.Contains(body, `\`) {
		list[0].kind = '\'' // nobody knows its text: no file, and no index
	}
	for hasCode {
		_, rest, found := strings.Cut(body, "{")
		if !found {
			break
		}
		code, behind, closed := strings.Cut(rest, "}")
		if !closed || strings.Contains(code, "{") {
			return nil, 0, false
		}
		more, ok := codeTokens(code)
		if !ok {
			return nil, 0, false
		}
		list, body = append(append(list, token{kind: '('}), append(more, token{kind: ')'})...), behind
	}
	return list, size, true
}

// judgeCode judges the text of Python behind -c, or in a here-document. It returns false if the text may run a
// program.
func judgeCode(r *reader, name string, args []word) bool {
	if name == "node" {
		return judgeNode(r, args)
	}
	if !strings.HasPrefix(name, "py") {
		return false
	}
	code := r.codeOf(args)
	if !code.known || len(code.text) > maxCode {
		return false
	}
	read, ok := isHarmlessCode(code.text)
	if !ok && r.trustsPython() && showsModules(code.text) {
		r.usesTrusted, r.runsTrusted = true, true
		return true
	}
	if !ok || slices.ContainsFunc(read.modules, r.isShadowed) {
		return false
	}
	if n := len(r.script.Commands); n > 0 && !r.quiet {
		r.script.Commands[n-1].addFiles(targets{Reads: read.reads})
	}
	return true
}

// nodeFiles returns the files that node -e TEXT and node -p TEXT read, if the text is harmless.
func nodeFiles(args []word) (files []string, ok bool) {
	if len(args) != 2 || !args[0].known || !isOneOf(args[0].text, []string{"-e", "--eval", "-p", "--print", "-pe"}) || !args[1].known || len(args[1].text) > maxCode {
		return nil, false
	}
	return isHarmlessNode(args[1].text)
}

// judgeNode judges node -e TEXT and node -p TEXT. The files must be there: of a.json that is none, node runs a.json.js.
func judgeNode(r *reader, args []word) bool {
	files, ok := nodeFiles(args)
	if !ok {
		return false
	}
	trusted, _, _ := r.trustsAs(knownWords([]string{"node", "x.js"}))
	if trusted && len(files) > 0 {
		r.usesTrusted, r.runsTrusted = true, true
	}
	for _, file := range files {
		if _, _, found := r.readFile(file); ok && !found {
			ok = trusted && r.ownPath(word{text: file, known: true}) != ""
		}
		r.ran = append(r.ran, file)
	}
	if last := len(r.script.calls) - 1; last >= 0 {
		r.script.calls[last].trusted = ok // it changes none of the files
	}
	return ok
}

// codeOf returns the text that Python runs. It is not known if it is that of a file, or if other flags stand
// in front.
func (r *reader) codeOf(args []word) word {
	const bare = " -u -I -B -E -s -S -O -OO -q -W -X "
	for len(args) > 0 && args[0].known && args[0].text != "" && hasName(bare, args[0].text) {
		args = args[1:]
	}
	switch {
	case len(args) > 1 && args[0].known && args[0].text == "-c":
		return args[1]
	case (len(args) == 0 || args[0].text == "-" && args[0].known) && len(r.stdin) == 1 && (r.stdin[0].N == nil || r.stdin[0].N.Value == "0") && r.stdin[0].Hdoc != nil:
		nodes := r.script.Nodes
		code := r.heredocText(r.stdin[0])
		r.script.Nodes = nodes
		return code
	}
	return word{}
}

// isShadowed reports whether a file of the folder may be in front of a module of Python. It notes the module,
// because the text itself may make such a file.
func (r *reader) isShadowed(module string) bool {
	file := strings.ReplaceAll(module, ".", "/")
	r.imports = append(r.imports, file)
	for _, end := range []string{".py", "/__init__.py"} {
		if _, _, found := r.readFile(file + end); found || len(r.files) >= maxFiles {
			return true
		}
	}
	return false
}

// maxCode is the most bytes of a one-line program that are judged.
const maxCode = 8 << 10
