package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parameter visits ${…}. Forms whose text a shell may run or calculate make the script wild.
func (r *reader) parameter(p *syntax.ParamExp) {
	switch {
	case p.Flags != nil, p.Excl, p.Width, p.IsSet, p.Names != 0, p.NestedParam != nil, p.Param == nil,
		p.Split != 0, p.GlobSubst != 0, p.RcExpand != 0, len(p.Modifiers) > 0:
		r.setWild()
	}
	if w, ok := p.Index.(*syntax.Word); p.Index != nil && !(ok && isOneOf(w.Lit(), []string{"@", "*"})) {
		r.arithmetic(p.Index)
	}
	if p.Slice != nil {
		r.arithmetic(p.Slice.Offset)
		r.arithmetic(p.Slice.Length)
	}
	if p.Repl != nil {
		r.visit(p.Repl.Orig)
		r.visit(p.Repl.With)
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		r.setWild() // ${x@P} runs the commands in x
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		r.assignName(p.Param.Value, word{})
	}
	before := r.certain
	r.certain = false
	r.visit(p.Exp.Word)
	r.certain = before
}

// visit visits the commands in a word.
func (r *reader) visit(w *syntax.Word) {
	if w != nil {
		r.word(w)
	}
}

// arithmetic visits a calculation. A name in it may have a value such as a[$(cmd)], which shells
// run. Digits and variables that only ever have numbers are harmless.
func (r *reader) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	r.script.Nodes++
	switch x := x.(type) {
	case *syntax.Word:
		r.visit(x)
		if !r.isNumber(x) {
			r.setWild()
		}
	case *syntax.BinaryArithm:
		r.arithmetic(x.X)
		r.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		r.arithmetic(x.X)
	case *syntax.ParenArithm:
		r.arithmetic(x.X)
	default:
		r.setWild()
	}
}

// isNumber reports whether a word is certainly a number, or the name of a variable that
// certainly has one.
func (r *reader) isNumber(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return isDigits(p.Value) || r.numbers()[p.Value]
	case *syntax.SglQuoted:
		return isDigits(p.Value)
	case *syntax.DblQuoted:
		return len(p.Parts) == 1 && r.isNumber(&syntax.Word{Parts: p.Parts})
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return p.Length || isPlainParam(p) && (strings.Contains("#?!$", p.Param.Value) || r.numbers()[p.Param.Value])
	}
	return false
}

// isPlainParam reports whether p is $x or ${x}.
func isPlainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Width && p.Index == nil && p.Slice == nil &&
		p.Repl == nil && p.Names == 0 && p.Exp == nil && p.NestedParam == nil && len(p.Modifiers) == 0
}

// isDigits reports whether text is a decimal number.
func isDigits(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// numbers returns the variables to which the text assigns only numbers.
func (r *reader) numbers() map[string]bool {
	if r.numeric != nil {
		return r.numeric
	}
	r.numeric, r.assigned = map[string]bool{}, map[string]int{}
	other := map[string]bool{}
	syntax.Walk(r.file, func(n syntax.Node) bool {
		eachAssignment(n, func(name string, number bool) {
			r.assigned[name]++
			if r.numeric[name] = number && !other[name]; !number {
				other[name] = true
			}
		})
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && isOneOf(c.Args[0].Lit(), []string{"eval", "source", "."}) {
			r.anyValue = true
		}
		return true
	})
	if r.anyValue || r.level > 0 {
		clear(r.numeric)
	}
	return r.numeric
}

// eachAssignment calls record for the variables that one node may assign to, with the name "" if that may be any
// of them. number is true if the value is a number.
func eachAssignment(n syntax.Node, record func(name string, number bool)) {
	switch n := n.(type) {
	case *syntax.Assign:
		eachTarget(n, record)
	case *syntax.WordIter:
		number := len(n.Items) > 0
		for _, w := range n.Items {
			number = number && isNumberText(w)
		}
		record(n.Name.Value, number)
	case *syntax.BinaryArithm:
		if w, ok := n.X.(*syntax.Word); ok && strings.HasSuffix(n.Op.String(), "=") {
			record(w.Lit(), true) // its value is a number, or r.arithmetic objects to it
		}
	case *syntax.UnaryArithm:
		if w, ok := n.X.(*syntax.Word); ok {
			record(w.Lit(), true)
		}
	case *syntax.ParamExp:
		if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			record(n.Param.Value, false)
		}
	case *syntax.Redirect:
		if n.N != nil {
			record(strings.Trim(n.N.Value, "{}"), true)
		}
	case *syntax.CoprocClause:
		record("", true)
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			eachArgument(n.Args, record)
		}
	}
}

// eachTarget is eachAssignment for one assignment.
func eachTarget(n *syntax.Assign, record func(name string, number bool)) {
	if n.Name == nil { // a flag, as in declare -n
		record("", true)
		return
	}
	if record(n.Name.Value, n.Naked || n.Index == nil && n.Array == nil && n.Value != nil && isNumberText(n.Value)); n.Append {
		record(n.Name.Value, false)
	}
}

// eachArgument is eachAssignment for the words of a command.
func eachArgument(args []*syntax.Word, record func(name string, number bool)) {
	isPath := func(p syntax.WordPart) bool { // which is no builtin
		lit, ok := p.(*syntax.Lit)
		return ok && strings.Contains(lit.Value, "/")
	}
	switch name := args[0].Lit(); {
	case name == "" && !slices.ContainsFunc(args[0].Parts, isPath), strings.Contains(name, `\`), name == "command" && len(args) > 1 && !strings.EqualFold(args[1].Lit(), "-v"),
		hasName(" builtin eval source . trap vared zparseopts noglob nocorrect - ", name):
		record("", false)
	case !hasName(" read mapfile readarray getopts unset set wait integer float getln sysread strftime zstat zselect zpty zsystem ", name) && (name != "printf" || len(args) < 2 || args[1].Lit() != "-v"):
		return
	}
	for _, w := range args {
		record(w.Lit(), false)
	}
}

// ownNames are variables to which shells give values of their own.
const ownNames = " _ PWD OLDPWD REPLY OPTARG UID EUID GID EGID PPID USERNAME MATCH MBEGIN MEND match mbegin mend status signals argv pipestatus prompt " +
	"histchars psvar fignore mailpath manpath watch words zsh_eval_context reply stat keymaps parameters jobstates jobdirs jobtexts userdirs usergroups nameddirs "

// setConstant notes the value of a variable to which the whole text assigns once, at a place that certainly comes first:
// it is what the variable stands for behind this place.
func setConstant(r *reader, name string, value word) {
	if r.numbers(); r.level == 0 && r.assigned[name] == 1 && r.assigned[""] == 0 && !isPoison(name) && !hasName(counters, name) && !hasName(ownNames, name) {
		put(&r.constants, name, value)
	}
}

// constant returns the value of a variable that begins the parts of a word, if the text says it. zsh reads $x:h and $x[1] as
// more than the variable.
func constant(r *reader, parts []syntax.WordPart, quoted bool) (value word, ok bool) {
	e, isParam := parts[0].(*syntax.ParamExp)
	if !isParam || len(r.constants) == 0 || !isPlainParam(e) {
		return word{}, false
	}
	if len(parts) > 1 && e.Short {
		if lit, isLit := parts[1].(*syntax.Lit); isLit && hasStart(lit.Value, ":", "[") {
			return word{}, false
		}
	}
	value, ok = r.constants[e.Param.Value]
	return value, ok && (quoted || value.known && value.text != "" && isPlain(value.text))
}

// isNumberText reports whether a word is written as a number or a calculation.
func isNumberText(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return p.Length || p.Param != nil && p.Param.Value == "#"
	case *syntax.CmdSubst:
		return len(p.Stmts) == 1 && isSequence(p.Stmts[0])
	case *syntax.Lit:
		if inner, ok := strings.CutPrefix(p.Value, "{"); ok {
			from, to, _ := strings.Cut(strings.TrimSuffix(inner, "}"), "..")
			return isDigits(from) && isDigits(to)
		}
		return isDigits(p.Value)
	case *syntax.BraceExp:
		return p.Sequence && isDigits(p.Elems[0].Lit())
	}
	return false
}

// isSequence reports whether a statement is "seq" with numbers.
func isSequence(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || len(c.Args) < 2 || c.Args[0].Lit() != "seq" {
		return false
	}
	return !slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool { return !isDigits(w.Lit()) })
}

// poison are variables that change which programs run, or that programs run as a command.
var poison = []string{
	"IFS", "PATH", "BASH_ENV", "ENV", "ZDOTDIR", "HOME", "SHELLOPTS", "BASHOPTS", "PS4",
	"PROMPT_COMMAND", "NULLCMD", "READNULLCMD", "PERL5OPT", "PERL5LIB", "PYTHONSTARTUP",
	"PYTHONPATH", "NODE_OPTIONS", "RUBYOPT", "PAGER", "MANPAGER", "EDITOR", "VISUAL",
	"SUDO_EDITOR", "SUDO_ASKPASS", "SSH_ASKPASS", "BROWSER", "LESSOPEN", "TAR_OPTIONS",
	"RSYNC_RSH", "FCEDIT", "SHELL", "FPATH", "CDPATH", "EXECIGNORE", "path", "fpath", "cdpath",
	"commands", "functions", "aliases", "galiases", "saliases", "dis_functions", "options",
	"module_path", "BASH_ALIASES", "BASH_CMDS", "MAKEFLAGS", "SYSTEMD_EDITOR", "KUBE_EDITOR",
	"KUBECTL_EXTERNAL_DIFF", "DOCKER_HOST_HELPER", "POSIXLY_CORRECT", "MODULE_PATH",
	"BASH_LOADABLES_PATH", "CC", "CXX", "LD", "AR", "PKG_CONFIG", "GOFLAGS", "GOCACHEPROG",
	"GOAUTH", "GOROOT", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS",
	"RUSTDOC", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS",
	"GRADLE_OPTS", "JAVA_OPTS", "LUA_INIT", "PERL5DB", "AWKPATH", "AWKLIBPATH", "LESSCLOSE",
	"LESSEDIT", "LESSKEY", "MANROFFOPT", "MANOPT", "RIPGREP_CONFIG_PATH",
	"FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS", "GCONV_PATH", "OPENSSL_CONF", "OPENSSL_MODULES",
	"WGETRC", "HGRCPATH", "HGEDITOR", "SVN_SSH", "SVN_EDITOR", "CVS_RSH", "VIMINIT", "EXINIT",
	"MYVIMRC", "INPUTRC", "XDG_CONFIG_HOME", "DOCKER_CONFIG", "HELM_PLUGINS",
	"CLOUDSDK_PYTHON", "AWS_CONFIG_FILE", "TF_CLI_CONFIG_FILE", "RSYNC_CONNECT_PROG",
	"GNUMAKEFLAGS", "PERLLIB", "LUA_PATH", "LUA_CPATH", "FC", "BUN_OPTIONS", "PYTHONUSERBASE", "PYTHONPLATLIBDIR", "PYTHONINSPECT", "PYTHONEXECUTABLE", "PSQLRC", "MYSQL_HOME", "CURL_HOME",
	"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CGO_CFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS", "PYTHONHOME", "PYTHONBREAKPOINT", "PYTHONWARNINGS", "NODE_PATH", "NPM_CONFIG_SCRIPT_SHELL",
	"npm_config_script_shell", "CLASSPATH", "TERMINFO", "MAKEFILES", "CARGO_BUILD_RUSTC", "NIX_PATH", "NIX_CONFIG", "NIX_BUILD_SHELL", "NIX_REMOTE",
}

// runnerSettings begin the names of variables that tell a runner what it reads, runs or fetches.
var runnerSettings = []string{
	"GOPROXY", "GOENV", "GOWORK", "GOTOOLCHAIN", "GOSUMDB", "CARGO_BUILD_", "CARGO_HOME", "RUSTUP_", "npm_config_", "NPM_CONFIG_", "YARN_", "PIP_", "UV_", "POETRY_",
	"PYTEST_", "COVERAGE_", "DOTNET_STARTUP", "CORECLR_", "MAVEN_", "M2_HOME", "GRADLE_", "SBT_OPTS", "BUNDLE_", "GEM_", "RUBYLIB", "SPEC_OPTS", "RAKEOPT", "COMPOSER",
	"PHP_INI", "PHPRC", "JUST_", "COMPOSE_FILE", "DOCKER_HOST", "TF_CLI_", "CMAKE_", "CONFIG_SHELL", "CONFIG_SITE", "TS_NODE_", "TOX_", "NOXFILE", "PRE_COMMIT_", "FLASK_APP",
	"GOPATH", "GOTOOLDIR", "DENO_DIR", "DOTNET_ADDITIONAL", "DOTNET_SHARED", "DOTNET_ROOT", "MSBUILD", "MSBuild", "BUILDKIT_HOST", "PULUMI_HOME", "PLAYWRIGHT_BROWSERS", "PUPPETEER_EXEC", "CHROME_BIN", "CHROME_PATH", "JAVA_HOME", "TF_PLUGIN",
}

// isRunnerSetting reports whether a variable tells a runner to use what is not the project's.
func isRunnerSetting(r *reader, name string, value word) bool {
	isSystem := value.known && hasStart(value.text, "/usr/", "/opt/", "/Library/", "/nix/store/", "/Applications/") && !strings.ContainsAny(value.text, ":;") && !strings.Contains(value.text, "..") && !strings.HasPrefix(value.text, "/usr/tmp")
	return hasStart(name, runnerSettings...) && !strings.Contains(name, "CACHE") && !isSystem &&
		!(value.known && (value.text == "" || isPlain(value.text) && r.ownPath(value) != ""))
}

// isPoison reports whether a variable changes which programs run.
func isPoison(name string) bool {
	return hasStart(name, "LD_", "DYLD_", "BASH_FUNC_", "GIT_") || isOneOf(name, poison) || strings.HasSuffix(name, "_functions") || // which zsh calls
		strings.HasSuffix(name, "PAGER") || strings.HasSuffix(name, "_EDITOR") || strings.HasPrefix(name, "CARGO_TARGET_")
}

// plainSettings are the flags in a variable of poison that decide nothing about which programs run. "-D*" is a flag with
// an attached value.
var plainSettings = []struct{ names, flags string }{
	{" NODE_OPTIONS ", " --max-old-space-size --max_old_space_size --no-warnings --no-deprecation --trace-warnings --enable-source-maps --experimental-vm-modules --stack-trace-limit "},
	{" GOFLAGS ", " -mod -buildvcs -count -trimpath -tags -p -v -short -race -timeout "},
	{" CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CGO_CFLAGS CGO_CXXFLAGS CGO_LDFLAGS ", " -O* -g* -I* -L* -l* -D* -U* -march -mtune -std -pthread -fPIC -fsanitize -fno-omit-frame-pointer -static -Wall -Wextra -Werror -Wpedantic -pedantic -w "},
	{" RUSTFLAGS ", " -D* -A* -W* -D -A -W warnings dead_code unused unused_imports unused_variables "},
	{" MAKEFLAGS ", " -j* -j -s --no-print-directory "},
}

// isPlainSetting reports whether the value of such a variable has only these flags.
func isPlainSetting(name, value string) (ok bool) {
	for _, s := range plainSettings {
		ok = ok || hasName(s.names, name) && !slices.ContainsFunc(strings.Fields(value), func(field string) bool {
			flag, _, _ := strings.Cut(field, "=")
			return !isDangerous(flag, s.flags) || !isPlain(field)
		})
	}
	return ok
}

// ownModules reports whether a value of PYTHONPATH has folders of the project only, whose code the operator trusts.
func (r *reader) ownModules(value word) bool {
	ok := value.known && value.text != ""
	for folder := range strings.SplitSeq(value.text, ":") {
		ok = ok && folder != "" && r.ownPath(word{text: folder + "/x", known: true}) != ""
	}
	if ok = ok && r.trustsPython(); ok {
		r.usesTrusted, r.runsTrusted = true, true
	}
	return ok
}

// trustsPython reports whether the operator trusts Python with the project's files.
func (r *reader) trustsPython() bool {
	trusted, _, _ := r.trustsAs(knownWords([]string{"python3", "x.py"}))
	return trusted
}

// counters are variables whose values shells calculate.
const counters = " RANDOM SRANDOM SECONDS OPTIND HISTCMD LINENO EPOCHSECONDS BASHPID COLUMNS LINES SHLVL FUNCNEST HISTSIZE TMOUT "

// isCalculated reports whether a shell calculates a value that is no number for a variable.
func isCalculated(name string, value word) bool {
	return hasName(counters, name) && !(value.known && (value.text == "" || isDigits(value.text)))
}

// commitData are variables in which git finds data of a commit, and idlePrograms programs that do nothing with what
// they get as a pager, an editor or a browser; "none" is none.
const (
	commitData   = " GIT_AUTHOR_DATE GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_COMMITTER_DATE GIT_COMMITTER_EMAIL GIT_COMMITTER_NAME "
	idlePrograms = " : cat echo false none true "
)

// isIdle reports whether a variable gives a pager, an editor or a browser that does nothing with what it gets, or the
// default. An editor that shows what it should edit is none.
func isIdle(name, value string) bool {
	isPager := name == "BROWSER" || strings.HasSuffix(name, "PAGER")
	isEditor := name == "VISUAL" || strings.HasSuffix(name, "EDITOR")
	return isPager && (value == "" || hasName(idlePrograms, value)) || isEditor && (value == "" || hasName(" : false true ", value))
}

// assignName records an assignment. After one to a variable such as PATH nothing is certain.
func (r *reader) assignName(name string, value word) {
	name, _, _ = strings.Cut(name, "[")
	name = strings.TrimSuffix(name, "+")
	if isCalculated(name, value) {
		r.setWild()
	}
	if !isPoison(name) && !isRunnerSetting(r, name, value) {
		return
	}
	switch {
	case hasName(commitData, name), value.known && (value.text == "" || isDigits(value.text)) && strings.HasPrefix(name, "GIT_"): // GIT_TERMINAL_PROMPT=0
		return
	case value.known && isIdle(name, value.text):
		if value.text != "" {
			r.addCall([]word{value}, false)
			r.record([]word{value}, Command{Via: r.via, Wrappers: r.wrapped, origin: &origin{Text: r.at.text, Offset: r.at.offset}})
		}
		return
	}
	if value.known && isPlainSetting(name, value.text) || name == "PYTHONPATH" && r.ownModules(value) {
		return
	}
	r.poisoned = true
	r.setWild()
}

// assignText records an argument of the form NAME=VALUE. It reports whether it has this form.
func (r *reader) assignText(w word) bool {
	name, value, ok := strings.Cut(w.text, "=")
	if !w.known || !ok || name == "" || strings.ContainsAny(name, "/ \t\n") {
		return false
	}
	r.assignName(name, word{text: value, known: true})
	return true
}
