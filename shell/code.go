package shell

import (
	"path"
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

// pathDenied are attributes of a path of pathlib that change files, or that lead to another path.
const pathDenied = " unlink rmdir rename touch mkdir chmod lchmod symlink_to link_to hardlink_to open joinpath parent parents with_name with_stem with_suffix with_segments iterdir glob rglob walk absolute resolve expanduser home cwd readlink copy copy_into move move_into "

// With a module that is no part of Python, no attribute may be in libraryDenied, or begin as one of libraryWrites, but
// for libraryTexts: these write, show a window, or run a text, a function or a method by its name.
const (
	libraryDenied = " agg aggregate apply applymap transform pipe eval query plot hist boxplot style dump dumps tofile serialize deserialize register_plugin filename ctypes show "
	libraryTexts  = " to_string to_dict to_list to_numpy to_frame to_numeric to_datetime to_df to_pandas to_dicts "
	// viewers are functions that only show what a module has, whatever that is. pythonShown are attributes of all modules.
	viewers     = " print str repr len dir hasattr "
	pythonShown = " __version__ __file__ __name__ __doc__ "
	// askedModules are modules of which nothing gets a name of its own, and whose functions only viewers get.
	askedModules = " inspect importlib sqlite3 "
	// sqliteDenied are attributes of a database that change it, or load code; execute gets a text.
	sqliteDenied = " execute executescript executemany enable_load_extension load_extension backup deserialize blobopen "
)

// libraryWrites are beginnings of attributes that write files.
var libraryWrites = []string{"to_", "write", "save", "sink_", "export", "print_", "show_", "map_"}

// pythonModules are the modules that a text may use, with the names of each between spaces; "*" are all. Those behind
// "+" are no part of Python: only for who trusts Python, because an import runs their code. Few lines need the table,
// so that no start makes it.
var pythonModules = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"json": " load loads dump dumps JSONDecodeError ", "math": "*", "time": "*", "itertools": "*", "zlib": "*", "unicodedata": "*",
		"sys":      " stdin stdout stderr argv version version_info executable platform exit maxsize byteorder prefix base_prefix getsizeof getrecursionlimit float_info implementation ",
		"os":       " getcwd listdir walk readlink cpu_count sep linesep name path getpid stat lstat get_terminal_size ",
		"os.path":  " exists isfile isdir islink join basename dirname abspath realpath relpath normpath expanduser getsize getmtime splitext split commonpath commonprefix lexists samefile getctime isabs ",
		"re":       " findall search match fullmatch sub split compile finditer escape I M S IGNORECASE MULTILINE DOTALL ",
		"datetime": " datetime date timedelta timezone time UTC ", "collections": " Counter defaultdict OrderedDict deque ",
		"functools": " reduce partial cache lru_cache ", "statistics": " mean median stdev pstdev quantiles mode ", "random": " random randint choice choices shuffle sample seed uniform ",
		"string": " ascii_letters ascii_lowercase ascii_uppercase digits punctuation ", "textwrap": " dedent fill indent wrap ", "base64": " b64encode b64decode urlsafe_b64encode urlsafe_b64decode ",
		"hashlib": " md5 sha1 sha256 sha512 ", "decimal": " Decimal getcontext ", "fractions": " Fraction ",
		"csv": " reader DictReader writer DictWriter ", "tomllib": " load loads ", "uuid": " uuid4 UUID ", "ast": " literal_eval parse dump unparse walk ", "struct": " pack unpack calcsize ", "html": " escape unescape ", "binascii": " hexlify unhexlify crc32 ", "glob": " glob iglob ", "urllib.parse": " quote unquote urlparse urlsplit urlencode urljoin parse_qs ", "importlib.metadata": " version ",
		"difflib": " unified_diff ndiff get_close_matches SequenceMatcher ", "calendar": " monthrange month isleap ", "socket": " gethostname ", "pkgutil": " iter_modules ", "bisect": " bisect bisect_left bisect_right insort ", "heapq": " heappush heappop heapify nlargest nsmallest ", "operator": " itemgetter ", "locale": " getlocale getpreferredencoding ", "errno": "*", "keyword": " iskeyword kwlist ", "shlex": " split quote join ", "fnmatch": " fnmatch fnmatchcase filter translate ", "colorsys": " rgb_to_hsv hsv_to_rgb rgb_to_hls hls_to_rgb ", "cmath": "*", "mimetypes": " guess_type ", "ipaddress": " ip_address ip_network ip_interface ", "sysconfig": " get_paths get_path get_platform get_python_version ", "site": " getsitepackages getusersitepackages ", "secrets": " token_hex token_urlsafe ", "pprint": " pprint pformat ", "pathlib": " Path ", "inspect": " signature getsource getdoc getfile ", "sqlite3": " connect Row ",
		"+nbformat": " read reads validate __version__ ", "+yaml": " safe_load safe_load_all ", "+toml": " load loads ", "+tomli": " load loads ",
		"+pandas":    " read_csv read_table read_json read_excel read_parquet crosstab concat merge DataFrame Series Index Categorical to_numeric to_datetime isna isnull notna notnull unique cut qcut date_range Timestamp Timedelta NA NaT __version__ ",
		"+importlib": " import_module ",
		"+anndata":   " read_h5ad __version__ ", "+scanpy": " read_h5ad __version__ ", "+pyarrow.parquet": " read_table read_schema read_metadata ", "+openpyxl": " load_workbook ", "+bs4": " BeautifulSoup ", "+tabulate": " tabulate ", "+tqdm": " tqdm ",
		"+polars": " read_csv read_json read_parquet read_excel scan_csv scan_parquet DataFrame Series col lit len concat when __version__ ", "+scipy.stats": " ttest_ind ttest_rel mannwhitneyu pearsonr spearmanr linregress norm chi2_contingency describe zscore ks_2samp ", "+sklearn.metrics": " accuracy_score f1_score precision_score recall_score roc_auc_score confusion_matrix classification_report mean_squared_error mean_absolute_error r2_score ",
		"+sklearn.model_selection": " train_test_split KFold StratifiedKFold ", "+sklearn.linear_model": " LinearRegression LogisticRegression Ridge Lasso ", "+sklearn.cluster": " KMeans DBSCAN ", "+sklearn.decomposition": " PCA ", "+sklearn.preprocessing": " StandardScaler MinMaxScaler OneHotEncoder LabelEncoder ", "+sklearn.ensemble": " RandomForestClassifier RandomForestRegressor ",
		"+matplotlib": " use __version__ ",
		"+numpy":      " array arange linspace zeros ones mean median std var sum min max abs sqrt log log2 log10 log1p exp isnan unique percentile quantile where concatenate argsort argmax argmin sort round float32 float64 int32 int64 nan inf pi __version__ ",
	}
})

// nodeValues are what a line of JavaScript may read without a file, and nodeCalls what it may call.
const (
	nodeValues = " version versions platform arch "
	nodeCalls  = " log info table parse keys values entries join slice stringify includes sort toString trim split "
)

// isHarmlessNode reports whether a line of JavaScript only prints what it reads in files, in what node says about
// itself, and in literals: names stand for them, and nothing but nodeCalls is called. required are the files that
// node loads as JSON.
func isHarmlessNode(text string) (required []string, files targets, ok bool) {
	list, ok := codeTokens(text, false)
	c, names, modules := codeReader{list: list}, " true false null undefined ", " "
	for i := 0; ok && i < len(list); i++ {
		switch t, behind := list[i], c.at(i+1); {
		case t.kind != 'a':
			ok = c.isNodeSign(i)
		case c.at(i-1).kind == '.':
			ok = behind.kind != '(' || hasName(nodeCalls, t.text)
		case isOneOf(t.text, nodeWords):
			names += behind.text + " "
			ok = behind.kind == 'a' && c.at(i+2).kind == '='
		case hasName(modules, t.text):
			i, ok = c.readFileSync(i, &files)
		case t.text == "require":
			ok = behind.kind == '(' && c.at(i+2).kind == '"' && c.at(i+3).kind == ')'
			switch name := c.at(i + 2).text; {
			case !isOneOf(name, []string{"fs", "node:fs"}):
				required = append(required, name)
				ok = ok && strings.HasSuffix(name, ".json") && strings.HasPrefix(name, "./")
			case c.at(i-1).kind == '=' && c.at(i+4).kind != '.':
				modules += c.at(i-2).text + " "
			case ok:
				i, ok = c.readFileSync(i+3, &files)
			}
		case isOneOf(t.text, []string{"process", "console", "Object", "JSON"}):
			ok = c.isGlobal(i)
		default:
			ok = behind.kind != '(' && hasName(names, t.text)
		}
	}
	return required, files, ok
}

// isGlobal judges a member of a name that node has itself.
func (c *codeReader) isGlobal(i int) bool {
	member := c.at(i + 2).text
	return c.at(i+1).kind == '.' && (c.list[i].text == "process" && hasName(nodeValues, member) || c.at(i+3).kind == '(' && hasName(nodeCalls, member))
}

// readFileSync judges .readFileSync("FILE") behind the token at i, or of 0, which is standard input. It notes the
// file, and returns the index of the name.
func (c *codeReader) readFileSync(i int, files *targets) (end int, ok bool) {
	file := c.at(i + 4)
	if file.kind == '"' {
		files.Reads = append(files.Reads, &file.text)
	}
	return i + 2, c.at(i+1).kind == '.' && c.at(i+2).text == "readFileSync" && c.at(i+3).kind == '(' &&
		(file.kind == '"' || file.text == "0") && contains("),", c.at(i+5).kind)
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

// depth returns by how much a token changes the number of open brackets.
func (t token) depth() int {
	switch t.kind {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// isHarmlessCode reports whether a one-line program certainly runs no other program, and changes no file but those
// that it opens by their names. Whoever trusts Python lets it import modules of the project, and show what they have.
func isHarmlessCode(text string, trusted bool) (c codeReader, ok bool) {
	tokens, ok := codeTokens(text, true)
	c = codeReader{list: tokens, trusted: trusted, imported: map[string]string{}}
	if !ok || !c.readImports() {
		return c, false
	}
	for i, t := range c.list {
		c.strict = c.strict || t.kind == 'a' && t.text == "type"
		if c.matches(i) || c.runsOwn && (t.text == "backed" || t.text == "copy" && c.at(i+1).kind == '(' && c.at(i+2).kind != ')') { // of anndata: these write
			return c, false
		}
	}
	for i, t := range c.list {
		switch depth := t.depth(); {
		case depth > 0:
			c.open = append(c.open, i)
		case depth < 0:
			c.open = c.open[:max(0, len(c.open)-1)]
		case t.kind == 'a' && !c.isAllowed(i), t.kind == '/' && slices.Contains(c.modules, "pathlib"):
			return c, false
		}
	}
	return c, true
}

// A codeReader judges the tokens of a text.
type codeReader struct {
	list     []token
	trusted  bool
	imported map[string]string // modules by their names in the text; ownModule for those that no table has
	modules  []string          // those that a table has, in the order of the text
	runsOwn  bool              // it imports modules that are no part of Python
	strict   bool              // the viewers must have their meaning
	folders  []string          // those with modules
	open     []int             // the brackets around a token
	files    targets
}

// ownModule stands for a module that no table has.
const ownModule = "?"

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
		module, before, text := "", c.at(i-1), c.list[i].text
		from := text == "from" && !isOneOf(before.text, []string{"yield", "raise"})
		isImport := c.list[i].kind == 'a' && before.kind != '.' && (from || text == "import")
		if isImport && from {
			name, _, end := c.readName(i + 1)
			if isImport = c.at(end+1).text == "import"; isImport { // not raise A from b
				module, i = name, end+1
			}
		}
		if !isImport {
			i += c.readCall(i)
			rest = append(rest, c.list[i])
			continue
		}
		for more := true; more; more = c.at(i).kind == ',' {
			name, alias, end := c.readName(i + 1)
			if i = end + 1; from && !c.addImport(module, name, alias) || !from && !c.addImport(name, "", alias) {
				return false
			}
		}
		i--
	}
	c.list = rest
	return true
}

// readCall makes a name of __import__("NAME"), which it imports, and returns the number of tokens in front of it.
func (c *codeReader) readCall(i int) int {
	name := c.at(i + 2)
	if c.at(i-1).kind == '.' || c.list[i].text != "__import__" || c.at(i+1).kind != '(' || name.kind != '"' || c.at(i+3).kind != ')' || !c.addImport(name.text, "", name.text) {
		return 0
	}
	c.list[i+3] = token{'a', name.text}
	return 3
}

// namesOf returns the names of a module that a text may use, and whether it is no part of Python.
func (c *codeReader) namesOf(module string) (names string, isLibrary bool) {
	if names = pythonModules()[module]; names == "" && c.trusted {
		names, isLibrary = pythonModules()["+"+module]
	}
	return names, isLibrary
}

// readName reads a name with dots, and the one by which the text calls it. It returns the index of the last token.
func (c *codeReader) readName(i int) (name, alias string, end int) {
	for name = c.at(i).text; c.at(i+1).kind == '.'; i += 2 {
		name += "." + c.at(i+2).text
	}
	alias, _, _ = strings.Cut(name, ".")
	if c.at(i+1).text == "as" {
		alias, i = c.at(i+2).text, i+2
	}
	return name, alias, i
}

// addImport notes a module, or a name of it. It returns false for what the language does not allow.
func (c *codeReader) addImport(module, name, alias string) bool {
	if inner, _ := c.namesOf(module + "." + name); inner != "" {
		return c.addImport(module+"."+name, "", alias) // from os import path
	}
	names, isLibrary := c.namesOf(module)
	known := names != ""
	c.runsOwn = c.runsOwn || isLibrary || !known
	c.strict = c.strict || hasName(askedModules, module) || !known
	stands, before := module, c.imported[alias]
	if first, _, _ := strings.Cut(module, "."); alias == first {
		stands = first
	}
	if !known {
		stands = ownModule
	} else if name != "" {
		stands = before
	}
	if c.imported[alias] = stands; known {
		c.modules = append(c.modules, module)
	}
	return (before == "" || before == stands) && c.isImportable(module, name, alias)
}

// isImportable reports whether a module, or a name of it, may get a name: what judges some knows them by their module.
func (c *codeReader) isImportable(module, name, alias string) bool {
	names, isLibrary := c.namesOf(module)
	switch {
	case alias == "" || module == "" || !isNameStart(alias[0]) || !isNameStart(module[0]), hasName(viewers+pythonDenied[1:]+"open ", alias), name == "Path" && alias != name:
		return false
	case names == "":
		return c.trusted && !isSecret(name) && isImportable(module)
	}
	return name == "" || hasName(names, name) && !hasName(askedModules, module) && !(isLibrary && hasStart(name, "read", "load", "scan", "use"))
}

// isSecret reports whether a name is that of a key or a password.
func isSecret(name string) bool {
	const parts = "secret passwd password api_key apikey private_key access_key credential environ"
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "token") || slices.ContainsFunc(strings.Fields(parts), func(part string) bool { return strings.Contains(name, part) })
}

// isShown judges the name of a module that no table has: nothing of it is called, but what asks a question. It judges
// type, too, whose value nothing may call.
func (c *codeReader) isShown(i int) bool {
	if len(c.open) == 0 || c.at(i-1).kind != '(' && c.at(i-1).kind != ',' || c.isSettings(i) {
		return false
	}
	end := i + 1
	for c.at(end).kind == '.' && c.at(end+1).kind == 'a' {
		if end += 2; isSecret(c.at(end - 1).text) {
			return false
		}
	}
	isType := c.list[i].text == "type"
	for depth := 0; isType && end < len(c.list) && (depth > 0 || end == i+1); end++ {
		depth += c.list[end].depth()
	}
	if isType && c.at(end).kind == '.' && c.at(end+1).text == "__name__" || hasStart(c.at(end-1).text, "is_", "get_") && c.at(end).kind == '(' && c.at(end+1).kind == ')' {
		end += 2
	}
	return c.isInspected() && c.at(end).kind == ')' || c.isViewed(end)
}

// isSettings reports whether a name alone stands for settings, which may have keys.
func (c *codeReader) isSettings(i int) bool {
	return c.at(i+1).kind != '.' && hasName(" settings config conf env ", c.list[i].text)
}

// isPlainFormat reports whether a token is a text whose format method names no attribute and no index.
func (c *codeReader) isPlainFormat(i int) bool {
	text := strings.NewReplacer("{{", "", `\n`, "", `\t`, "", `\"`, "", `\'`, "").Replace(c.at(i).text)
	for _, field := range strings.Split(text, "{")[1:] {
		end := strings.IndexAny(field, "}:!")
		if end < 0 || strings.ContainsAny(field[:end], ".[") {
			return false
		}
	}
	return contains("\"'", c.at(i).kind) && !contains("\"'", c.at(i-1).kind) && !strings.Contains(text, `\`)
}

// matches reports whether a token begins a match statement, whose patterns name attributes without a dot.
func (c *codeReader) matches(i int) bool {
	return c.list[i].text == "match" && c.at(i-1).kind != '.' && contains("a0\"'([{-+~*", c.at(i+1).kind) && !hasName(" in is and or not if else for as ", c.at(i+1).text) &&
		slices.ContainsFunc(c.list[i:], func(t token) bool { return t.text == "case" })
}

// isViewed reports whether a viewer, or an f-string, gets a value that ends in front of a place.
func (c *codeReader) isViewed(end int) bool {
	at := c.open[len(c.open)-1]
	return c.list[at] == token{'(', "{"} && contains("!:)", c.at(end).kind) || hasName(viewers, c.at(at-1).text) && c.at(at-2).kind != '.' && contains("),", c.at(end).kind)
}

// isInspected reports whether the brackets around a token are those of inspect.signature(a.b) and its like.
func (c *codeReader) isInspected() bool {
	at := 0
	if len(c.open) > 0 {
		at = c.open[len(c.open)-1]
	}
	return c.imported["inspect"] == "inspect" && c.at(at-3).text == "inspect" && c.at(at-4).kind != '.'
}

// isAllowed judges a name: what stands around it decides what it may be.
func (c *codeReader) isAllowed(i int) bool {
	name := c.list[i].text
	if c.at(i-1).kind == '.' {
		return c.isAttribute(i)
	}
	switch module := c.imported[name]; {
	case module == ownModule, name == "type" && c.at(i+1).kind == '(':
		return c.isShown(i)
	case strings.HasPrefix(name, "__"), hasName(pythonDenied, name),
		c.strict && hasName(viewers, name) && (c.at(i+1).kind != '(' || isOneOf(c.at(i-1).text, []string{"def", "class"})): // it may get another meaning
		return false
	case name == "open":
		return c.isRead(i)
	case name == "Path":
		return c.isPath(i)
	default:
		return module == "" || c.isMember(module, i)
	}
}

// isAttribute judges the name behind a dot.
func (c *codeReader) isAttribute(i int) bool {
	name, behind := c.list[i].text, c.at(i+1).kind
	switch {
	case hasStart(name, pythonHidden...):
		return hasName(pythonShown, name) || name == "__init__" && behind == ')' && c.isInspected()
	case hasName(" format format_map ", name):
		return c.isPlainFormat(i - 2)
	case hasName(pythonAttributes, name),
		slices.Contains(c.modules, "pathlib") && (hasName(pathDenied, name) || name == "replace" && (behind != '(' || c.at(i+3).kind != ',' || contains(")*", c.at(i+4).kind))):
		return false // a path has a method replace with one word
	case slices.Contains(c.modules, "sqlite3") && hasName(sqliteDenied, name):
		return name == "execute" && c.selects(i)
	}
	return !c.runsOwn || c.isOfLibrary(i)
}

// isOfLibrary judges an attribute of what may be no part of Python.
func (c *codeReader) isOfLibrary(i int) bool {
	name, names := c.list[i].text, pythonModules()[c.imported[c.at(i-2).text]] // json.dumps
	if name == "to_string" {                                                   // which gets a file as its first argument, or as buf
		isFlag := c.at(i+2).kind == 'a' && c.at(i+2).text != "buf" && c.at(i+3).kind == '=' && c.at(i+5).kind == ')'
		return c.at(i+1).kind == '(' && (c.at(i+2).kind == ')' || isFlag)
	}
	return c.at(i-3).kind != '.' && hasName(names, name) || !hasName(libraryDenied, name) && (hasName(libraryTexts, name) || !hasStart(name, libraryWrites...))
}

// selects reports whether the SQL behind execute certainly changes nothing.
func (c *codeReader) selects(i int) bool {
	text := strings.TrimRight(c.at(i+2).text, "; \n")
	verb, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(text, " \n")), " ")
	return c.at(i+1).kind == '(' && c.at(i+2).kind == '"' && contains("),", c.at(i+3).kind) && isOneOf(verb, []string{"select", "explain"}) && !strings.Contains(text, ";")
}

// isMember reports whether a member of a module is used that the language allows.
func (c *codeReader) isMember(module string, i int) bool {
	member := c.at(i + 2).text
	names, isLibrary := c.namesOf(module)
	inner, _ := c.namesOf(module + "." + member)
	switch {
	case c.at(i+1).kind != '.', isLibrary && !c.runsOwn:
		return false
	case inner != "":
		return c.isMember(module+"."+member, i+2)
	case module == "sys" && member == "path":
		return c.isOwnFolder(i + 3)
	case names != "*" && !hasName(names, member):
		return false
	case module == "pathlib":
		return c.isPath(i + 2)
	case hasName(askedModules, module) && member != "Row":
		return c.isAsked(i, member)
	case isLibrary && hasStart(member, "read", "load", "scan", "use"):
		return c.at(i+3).kind == '(' && c.isFile(i+4)
	}
	return c.at(i+3).kind != '=' || c.at(i+4).kind == '=' // nothing is assigned to it
}

// isFile judges the first argument of what reads a file by its name: an address is none.
func (c *codeReader) isFile(i int) bool {
	file := c.at(i)
	if file.kind != '"' || !contains("),", c.at(i+1).kind) || strings.Contains(file.text, "://") {
		return file.text == "open" && file.kind == 'a'
	}
	c.files.Reads = append(c.files.Reads, &c.list[i].text)
	return true
}

// isOwnFolder judges sys.path.insert(0, "FOLDER") and sys.path.append("FOLDER") behind the path, and notes the folder.
func (c *codeReader) isOwnFolder(i int) bool {
	name, at := c.at(i+1).text, i+3
	if name == "insert" && c.at(at).text == "0" && c.at(at+1).kind == ',' {
		name, at = "append", at+2
	}
	c.folders = append(c.folders, c.at(at).text)
	return c.trusted && name == "append" && c.at(i).kind == '.' && c.at(i+2).kind == '(' && c.at(at).kind == '"' && c.at(at+1).kind == ')'
}

// isImportable reports whether the import of a module is not all that it takes to run a program.
func isImportable(module string) bool {
	return module != "antigravity" && !strings.Contains(module, "__")
}

// isAsked judges a function of askedModules: nothing is done with its value but to show it, or, for sqlite3, to ask it
// further. A module that is imported may also be dropped.
func (c *codeReader) isAsked(i int, member string) bool {
	end, ok := c.argumentEnd(i + 4)
	before := c.at(i - 1).kind
	isCall := ok && end > i+4 && c.at(i+3).kind == '('
	switch {
	case member == "connect":
		c.files.Reads, c.files.Globs = append(c.files.Reads, nil), append(c.files.Globs, "")
		return isCall
	case !isCall || c.at(end).kind != ')':
		return false
	case len(c.open) == 0: // at the beginning of a statement
		return member == "import_module" && end == i+5 && contains(`"a`, c.at(i+4).kind) && isImportable(c.at(i+4).text) && contains("\x00;:", before) && !contains(".[(", c.at(end+1).kind) && !slices.Contains(c.list, token{'a', "lambda"})
	}
	return contains("(,", before) && c.isViewed(end+1)
}

// isPath judges Path("FILE"), and notes the file, which the text may write.
func (c *codeReader) isPath(i int) bool {
	file := c.at(i + 2)
	c.files.Reads = append(c.files.Reads, &file.text)
	if slices.ContainsFunc(c.list, func(t token) bool { return hasName(" write_text write_bytes ", t.text) }) {
		c.files.Writes = append(c.files.Writes, &file.text)
	}
	return c.at(i+1).kind == '(' && file.kind == '"' && c.at(i+3).kind == ')'
}

// mayImport reports whether a file may be one that an import of the text takes: no module of Python is below a folder.
func mayImport(r *reader, file *string) bool {
	inFolder := path.Dir(r.fullPath(*file)) == path.Clean(r.folder) || r.folder == unknownFolder || path.IsAbs(*file) && !path.IsAbs(r.folder)
	return hasName(" .py .pyc .pyd .so .pth ", path.Ext(*file)) && (inFolder || strings.HasPrefix(path.Base(*file), "__init__"))
}

// isRead judges open, and notes the file: only one whose name the text says may be written.
func (c *codeReader) isRead(i int) bool {
	end, ok := c.argumentEnd(i + 2)
	if !ok {
		return false
	}
	file, writes := (*string)(nil), false
	if end == i+3 && c.at(i+2).kind == '"' {
		file = &c.list[i+2].text
	}
	for c.at(end).kind == ',' {
		keyword, value := "mode", c.at(end+1)
		if end += 2; value.kind == 'a' && c.at(end).kind == '=' {
			keyword, value, end = value.text, c.at(end+1), end+2
		}
		if value.kind != '"' || !hasName(" mode encoding errors newline ", keyword) {
			return false
		}
		writes = writes || keyword == "mode" && strings.ContainsAny(value.text, "wax+")
	}
	if c.at(i+1).kind != '(' || end == i+2 || c.at(end).kind != ')' || writes && file == nil {
		return false
	}
	if writes {
		c.files.Writes = append(c.files.Writes, file)
	} else if c.files.Reads = append(c.files.Reads, file); file == nil {
		c.files.Globs = append(c.files.Globs, "")
	}
	return true
}

// argumentEnd returns the end of the argument without a name that begins at a place.
func (c *codeReader) argumentEnd(end int) (_ int, ok bool) {
	for depth := 0; end < len(c.list) && (depth > 0 || c.list[end].kind != ',' && c.list[end].kind != ')'); end++ {
		if depth += c.list[end].depth(); depth == 0 && contains("=*", c.list[end].kind) {
			return 0, false
		}
	}
	return end, true
}

// codeTokens cuts a text of Python, perhaps without its comments. It returns false for what it cannot read: a comment
// may say how Python decodes the text.
func codeTokens(text string, comments bool) (list []token, ok bool) {
	for i := 0; i < len(text); {
		b, name := text[i], firstName(text[i:])
		end := i + len(name)
		isQuoted := end < len(text) && (text[end] == '\'' || text[end] == '"')
		switch prefix := strings.ToLower(name); {
		case b == ' ' || b == '\t' || b == '\n':
			i++
		case b == '#' && comments:
			comment, _, _ := strings.Cut(text[i:], "\n")
			if i += len(comment); strings.Contains(comment, "coding") {
				return nil, false
			}
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

// firstName returns the name or the number that a text begins with.
func firstName(text string) string {
	end := 0
	for end < len(text) && (isNameStart(text[end]) || isDigit(text[end], 10)) {
		end++
	}
	return text[:end]
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
	for at := strings.IndexByte(body, '{'); hasCode && at >= 0; at = strings.IndexByte(body, '{') {
		code, end := body[at+1:], 0
		for depth := 1; depth > 0 && end < len(code); end++ {
			depth += strings.Count(code[end:end+1], "{") - strings.Count(code[end:end+1], "}")
		}
		more, ok := codeTokens(strings.TrimSuffix(code[:end], "}"), false)
		isBrace := func(t token) bool { return contains("\"'", t.kind) && strings.ContainsAny(t.text, "{}") } // not of the code
		if !ok || !strings.HasSuffix(code[:end], "}") || strings.HasPrefix(code, "{") || slices.ContainsFunc(more, isBrace) {
			return nil, 0, false
		}
		list, body = append(append(list, token{'(', "{"}), append(more, token{kind: ')'})...), code[end:]
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
	read, ok := isHarmlessCode(code.text, r.trustsPython())
	if !ok || slices.ContainsFunc(read.modules, r.isShadowed) || slices.ContainsFunc(read.files.Writes, func(file *string) bool { return mayImport(r, file) }) ||
		slices.ContainsFunc(read.folders, func(folder string) bool { return r.ownPath(word{text: folder + "/x", known: true}) == "" }) {
		return false
	}
	if last := len(r.script.calls) - 1; read.runsOwn {
		r.usesTrusted, r.runsTrusted = true, true
		if last >= 0 {
			r.script.calls[last].trusted = true // which runs what the text fetches in front
		}
	}
	noteFiles(r, read.files)
	for _, t := range read.list {
		if len(read.files.Globs) > 0 && t.kind == '"' {
			noteValues(r, word{text: t.text})
		}
	}
	for _, file := range read.files.Writes {
		r.addWrite(word{text: *file, known: true})
	}
	return true
}

// perlFlags are flags of perl that say nothing but where the code and the lines come from, and where they go.
const perlFlags = " -p -n -l -w -0 -0777 -i -i.bak -pi -pi.bak -0pi -0777pi -e -pe -ne -lpe -lne -0pe -0777pe "

// judgePerl judges perl -p, perl -pi and their like with substitutions only, as judgeSed does sed. A name with other
// letters may be a command, which perl runs to read what it writes.
func judgePerl(r *reader, name string, args []word) (ok bool) {
	text, inPlace, prints, files := "", false, false, targets{} // -n -i empties the files
	for ; strings.HasPrefix(name, "perl") && len(args) > 0 && strings.HasPrefix(args[0].text, "-"); args = args[1:] {
		hasCode := strings.HasSuffix(args[0].text, "e")
		if !hasName(perlFlags, args[0].text) || hasCode && (len(args) < 2 || !args[1].known) {
			return false
		}
		prints = prints || strings.Contains(args[0].text, "p")
		if inPlace = inPlace || strings.Contains(args[0].text, "i"); hasCode {
			args, text = args[1:], text+args[1].text+";"
		}
	}
	for _, w := range args {
		if w.text == "" || !isPlain(w.text) {
			return false
		}
		if files.Reads = append(files.Reads, w.pointer()); inPlace {
			files.Writes = files.Reads
			r.addWrite(w)
		}
	}
	if ok = text != "" && onlySubstitutes(text) && (prints || !inPlace); ok {
		noteFiles(r, files)
	}
	return ok
}

// onlySubstitutes reports whether a text of perl consists of s, tr and y, and calculates nothing.
func onlySubstitutes(text string) bool {
	for text = strings.Trim(text, " \n;"); text != ""; text = strings.TrimLeft(text, " \n;") {
		isText, body := text[0] == 's', strings.TrimPrefix(text, "tr")
		if isText || text[0] == 'y' {
			body = text[1:]
		}
		first, rest, ok := perlPart(body)
		if rest = strings.TrimLeft(rest, " \n"); ok && contains("/|#!%~", body[0]) {
			rest = body[:1] + rest
		}
		second, rest, isWhole := perlPart(rest)
		next := strings.TrimLeft(strings.TrimLeft(rest, "cdsrgimxa"), " \n")
		if !isWhole || body == text || isText && !(isPlainPerl(first) && isPlainPerl(second)) || next != "" && next[0] != ';' {
			return false
		}
		text = next
	}
	return true
}

// perlPart returns the part of a text between the delimiters with which it begins.
func perlPart(text string) (part, rest string, ok bool) {
	at := strings.IndexByte("/|#!%~{[(<", (text + " ")[0])
	if at >= 0 {
		rest, ok = skipDelimited(text[1:], "/|#!%~}])>"[at])
		part = text[1:max(1, len(text)-len(rest)-1)]
	}
	return part, rest, ok && (at < 6 || !strings.Contains(part, text[:1]))
}

// isPlainPerl reports whether perl puts nothing in a text but what a pattern found.
func isPlainPerl(text string) bool {
	for i := 0; i < len(text); i++ {
		behind := strings.TrimLeft(text[i+1:], "0123456789")
		switch {
		case hasStart(text[i:], `\c`): // in \c\ the second one belongs to it
			return false
		case text[i] == '\\':
			i++
		case text[i] == '$' && behind != "" && len(behind) == len(text)-i-1 && (!contains("&)|", behind[0]) || hasStart(behind[1:], "[", "{", "->")),
			text[i] == '@', text[i] == '$' && hasStart(behind, "[", "{", "->"), hasStart(text[i:], "?{", "*{", "?p{"):
			return false
		}
	}
	return true
}

// readNode returns the files that node -e TEXT and node -p TEXT load and read, if the text is harmless.
func readNode(args []word) (required []string, files targets, ok bool) {
	if len(args) != 2 || !args[0].known || !isOneOf(args[0].text, []string{"-e", "--eval", "-p", "--print", "-pe"}) || !args[1].known || len(args[1].text) > maxCode {
		return nil, targets{}, false
	}
	return isHarmlessNode(args[1].text)
}

// judgeNode judges node -e TEXT and node -p TEXT. The files must be there: of a.json that is none, node runs a.json.js.
func judgeNode(r *reader, args []word) bool {
	required, files, ok := readNode(args)
	if !ok {
		return false
	}
	trusted, _, _ := r.trustsAs(knownWords([]string{"node", "x.js"}))
	if trusted && len(required) > 0 {
		r.usesTrusted, r.runsTrusted = true, true
	}
	noteFiles(r, files)
	for _, file := range required {
		if _, _, found := r.readFile(file); ok && !found {
			ok = trusted && r.ownPath(word{text: file, known: true}) != ""
		}
		r.ran = append(r.ran, file)
		noteFiles(r, targets{Reads: []*string{&file}})
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
	case len(args) == 0 || args[0].text == "-" && args[0].known:
		if documents, others := inputs(r.stdin); len(documents) == 1 && !others {
			defer func(nodes int) { r.script.Nodes = nodes }(r.script.Nodes)
			return r.heredocText(documents[0])
		}
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
