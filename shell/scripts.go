package shell

import (
	"encoding/json"
	"math"
	"path"
	"slices"
	"strings"
)

// Limits of the scripts that a text runs.
const (
	maxFiles = 16 // files that are read
	maxDepth = 4  // scripts within scripts
	// maxFolder is the most bytes of a folder's path, as systems have it.
	maxFolder = 4096
)

// unknownFolder is the folder behind a cd whose target, or whose success, only the shell knows.
const unknownFolder = "?"

// readFile reads a file that the text runs. name is as the text writes it.
func (r *reader) readFile(name string) (text, full string, ok bool) {
	full = name
	if r.options.Read == nil || r.elsewhere || !path.IsAbs(name) && r.folder == unknownFolder || climbs(name, r.moved) {
		return "", "", false
	}
	if !path.IsAbs(name) {
		full = path.Join(r.folder, name)
	}
	if name == "" || slices.Contains(r.stack, full) || len(r.stack) >= maxDepth {
		return "", full, slices.Contains(r.stack, full) // a cycle runs nothing new
	}
	file, known := r.files[full]
	if !known {
		if len(r.files) >= maxFiles {
			return "", "", false
		}
		file.text, file.ok = r.options.Read(full)
		file.ok = file.ok && len(file.text) <= maxBytes && !strings.HasPrefix(file.text, "\ufeff")
		put(&r.files, full, file)
	}
	return file.text, full, file.ok
}

// climbs reports whether ".." in a path may stand behind a link, where it leads to the parent of the link's
// target: inside of the path, or in front if the shell came to its folder by cd.
func climbs(name string, moved bool) bool {
	for !moved && strings.HasPrefix(name, "../") {
		name = name[3:]
	}
	return strings.HasPrefix(name, "../") || strings.Contains(name, "/../")
}

// runElsewhere visits what runs on another machine or in a container, whose files nobody reads here.
func (r *reader) runElsewhere(visit func()) {
	before := r.elsewhere
	r.elsewhere = true
	visit()
	r.elsewhere = before
}

// A scriptFile is a file that the reader asked for.
type scriptFile struct {
	text string
	ok   bool
}

// followScript follows a shell script, as "bash FILE" and "source FILE" run it; the text is the file's name. It returns
// false if nobody knows what the file contains.
func followScript(r *reader, script nestedText) bool {
	if !script.known {
		return false
	}
	text, full, ok := r.readFile(script.text)
	if !ok {
		return false
	}
	r.ran = append(r.ran, full)
	r.mostFollowed += moreFollowed * len(text)
	r.inner -= len(text) // files have limits of their own
	r.stack = append(r.stack, full)
	defer func() { r.stack = r.stack[:len(r.stack)-1] }()
	script.text, script.isFile = text, true
	r.nested(script)
	return true
}

// shebangs are the interpreters of shell scripts.
const shebangs = " sh bash dash ash ksh mksh zsh "

// followPath follows ./FILE, if its first line names a shell.
func followPath(r *reader, j *job) bool {
	text, _, ok := r.readFile(j.argv[0].text)
	line, _, _ := strings.Cut(text, "\n")
	line, isScript := strings.CutPrefix(line, "#!")
	fields := strings.Fields(line)
	if !ok || text != "" && (!isScript || len(fields) == 0) {
		return false
	}
	if len(fields) > 1 && path.Base(fields[0]) == "env" {
		fields = fields[1:]
	}
	script := j.inner(path.Base(j.argv[0].text), "script", j.argv[0])
	if text != "" {
		flags := readShellFlags(knownWords(fields))
		if !hasName(shebangs, path.Base(fields[0])) || flags.unknown || flags.query || flags.isText || !flags.certain || len(flags.rest) > 0 {
			return false
		}
		script.shell = path.Base(fields[0])
	}
	return followScript(r, script)
}

// followPackage follows npm run NAME and its like: the scripts of the folder's package.json. It
// returns false if nobody knows what runs.
func followPackage(r *reader, name string, j *job) bool {
	script, behind := packageScript(name, j.argv[1:])
	if !script.known || r.options.Read == nil {
		return false
	}
	var data struct{ Scripts map[string]string }
	text, full, ok := r.readFile("package.json")
	if !ok || json.Unmarshal([]byte(text), &data) != nil {
		return false
	}
	if _, has := data.Scripts[script.text]; !has {
		return false
	}
	key := full + " " + script.text
	if slices.Contains(r.stack, key) {
		return true // a cycle runs nothing new
	}
	if len(r.stack) >= maxDepth {
		return false
	}
	r.ran = append(r.ran, full)
	r.stack = append(r.stack, key)
	defer func() { r.stack = r.stack[:len(r.stack)-1] }()
	for i, each := range []string{"pre" + script.text, script.text, "post" + script.text} {
		line, has := data.Scripts[each]
		if !has {
			continue
		}
		whole := word{text: line, known: true}
		if i == 1 {
			whole = appendWords(line, behind)
		}
		script := j.inner(name, "script", whole)
		script.certain = j.certain && (i == 1 || name == "npm" || name == "bun")
		r.nested(script)
	}
	return true
}

// packageScript returns the name of the script that npm and its like run, and the words behind it. The name is not
// known if there is none.
func packageScript(name string, args []word) (script word, behind []word) {
	for len(args) > 0 && isOneOf(args[0].text, []string{"-s", "--silent"}) {
		args = args[1:]
	}
	switch {
	case len(args) > 1 && isOneOf(args[0].text, []string{"run", "run-script"}):
		args = args[1:]
	case len(args) > 0 && isOneOf(args[0].text, []string{"test", "start"}) && name != "bun":
	default:
		return word{}, nil
	}
	if len(args) > 1 && args[1].text != "--" && slices.ContainsFunc(args[1:], word.mayFlag) {
		return word{}, nil // a flag of npm, as --prefix
	}
	return args[0], args[1:]
}

// appendWords returns a shell text with words behind it, as npm adds those behind "--".
func appendWords(text string, args []word) word {
	for _, w := range behindDashes(args) {
		switch {
		case !w.known:
			return word{}
		case !isPlain(w.text):
			w.text = "'" + strings.ReplaceAll(w.text, "'", `'\''`) + "'"
		}
		text += " " + w.text
	}
	return word{text: text, known: true}
}

// changeFolder follows cd.
func (r *reader) changeFolder(name string, args []word) {
	target := word{}
	r.moved = true
	if args = behindDashes(args); name == "cd" && len(args) == 1 {
		target = args[0]
	}
	switch {
	case !target.known || target.text == "" || target.text[0] == '-':
		r.folder = unknownFolder
	case path.IsAbs(target.text):
		r.folder = path.Clean(target.text)
	case r.folder != unknownFolder:
		r.folder = path.Join(r.folder, target.text)
	}
	if len(r.folder) > maxFolder {
		r.folder = unknownFolder
	}
}

// gitReaders are subcommands of git that leave the files of the folder as they are.
const gitReaders = " status log diff show branch rev-parse ls-files blame grep remote config describe tag fetch push add commit shortlog cat-file "

// makesFiles reports whether a program may make files that its words do not name.
func (c *invocation) makesFiles() bool {
	if _, lists := curlWrites(c.name, c.argv); lists {
		return false // r.written has the files
	}
	isSafe := hasName(" tar bsdtar ", c.name) || strings.Contains(copiers, " "+c.name+"_")
	return c.unlisted || Uses(c.name, "makes", "unpacks") && (c.unpacks() || !isSafe)
}

// mayChange reports whether a call may write one of the scripts that the text runs.
func (r *reader) mayChange(c invocation, bases []string) bool {
	name := c.argv[0].text
	switch {
	case c.trusted, slices.Contains(bases, path.Base(name)) && strings.Contains(name, "/"), r.script.defines[name]:
		return false
	case c.makesFiles():
		return true
	case c.name == "git":
		return len(c.argv) < 2 || !hasName(gitReaders, c.argv[1].text) || slices.ContainsFunc(c.argv[2:], func(w word) bool {
			return strings.HasPrefix(w.text, "--ou") || !w.known && w.mayFlag() && hasName(" log diff show shortlog ", c.argv[1].text) // --output=FILE
		})
	case Uses(c.name, "reads", "opens none", "passes"):
		return false
	}
	row, _ := findProgram(c.name)
	switch row.kind { // a copy out of a container, and awk '{ print > $1 }'
	case runsContainer, runsPod:
		if hasWord(c.argv[1:], "cp") {
			return true
		}
	case interpretsAwk:
		if slices.ContainsFunc(c.argv[1:], func(w word) bool { return strings.Contains(w.text, ">") }) {
			return true
		}
	}
	return slices.ContainsFunc(c.argv[1:], func(w word) bool {
		return !w.known && w.open().pattern == "" || slices.ContainsFunc(bases, func(base string) bool {
			return w.known && strings.Contains(w.text, base) || !w.known && globWord(path.Base(w.open().pattern)).mayBe(base)
		})
	})
}

// checkRan makes the script wild if the text may write, fetch or change a script that it runs, or
// what a trusted runner reads, in any order.
func (r *reader) checkRan() {
	var bases []string
	for _, full := range r.ran {
		if base := path.Base(full); !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	changed := len(bases) > 0 && (r.writtenAt < math.MaxInt || slices.ContainsFunc(bases, r.wrote))
	changed = changed || r.usesTrusted && writesCode(r) || r.mayShadow() || r.runsTrusted && r.unpacksFirst()
	for _, c := range r.script.calls {
		if changed || len(bases) > 0 && r.mayChange(c, bases) {
			r.at, r.program = c.at, ""
			r.script.wild = true
			r.script.Unknowns = append(r.script.Unknowns, c.at.unknown("", "the text may change a file that it runs", ""))
			return
		}
	}
}

// writesCode reports whether the text writes a file that a trusted runner may run.
func writesCode(r *reader) bool {
	if r.runsTrusted && r.writesAny {
		return true
	}
	inTemporary := r.moved || slices.ContainsFunc(r.script.calls, func(c invocation) bool {
		return c.trusted && slices.ContainsFunc(c.argv[1:], func(w word) bool { return !w.known || strings.Contains(w.text, "tmp") })
	})
	for name, elsewhere := range r.written {
		isInput := !r.runsTrusted && isOneOf(path.Ext(name), []string{".ts", ".tsx", ".py", ".css", ".scss", ".md", ".vue", ".svelte"}) // which nothing runs
		if (elsewhere || inTemporary) && !(isOutput(name) && !r.isNamed(name)) && !isInput {
			return true
		}
	}
	return false
}

// isNamed reports whether a trusted runner gets the name of a file.
func (r *reader) isNamed(base string) bool {
	return slices.ContainsFunc(r.script.calls, func(c invocation) bool {
		return c.trusted && slices.ContainsFunc(c.argv[1:], func(w word) bool { return strings.Contains(w.text, base) })
	})
}

// unpacksFirst reports whether the text unpacks files in front of a trusted runner, which may run them.
func (r *reader) unpacksFirst() bool {
	unpacked := false
	for _, c := range r.script.calls {
		if unpacked = unpacked || !c.trusted && c.unpacks(); unpacked && c.trusted {
			return true
		}
	}
	return false
}

// copiers are programs with subcommands that bring the code of others.
const copiers = " git_clone git_submodule_add git_remote_add gh_repo_clone docker_cp podman_cp kubectl_cp aws_s3_cp aws_s3_sync gcloud_storage_cp gcloud_storage_rsync rclone_copy rclone_sync "

// copies reports whether one of copiers has such a subcommand, or git fetches from an address.
func (c *invocation) copies() bool {
	at := 1
	for at < len(c.argv)-1 && (c.argv[at].mayFlag() || at > 1 && c.argv[at-1].text == "-C") {
		at++
	}
	sub, behind := c.argv[min(at, len(c.argv)-1)].text, c.argv[min(at+1, len(c.argv)-1)].text
	isFetch := c.name == "git" && isOneOf(sub, []string{"fetch", "pull"}) && slices.ContainsFunc(c.argv, func(w word) bool { return isElsewhere(w.text) })
	return isFetch || hasName(copiers, c.name+"_"+sub) || hasName(copiers, c.name+"_"+sub+"_"+behind)
}

// unpacks reports whether a program makes files that its words do not name.
func (c *invocation) unpacks() bool {
	for i, w := range c.argv[1:] {
		switch isFlag := !strings.HasPrefix(w.text, "--") && (i == 0 || strings.HasPrefix(w.text, "-")); c.name {
		case "tar", "bsdtar", "7z", "7za":
			if !w.known || isFlag && strings.Contains(w.text, "x") || isOneOf(w.text, []string{"--extract", "--get"}) {
				return true
			}
		case "unzip":
			if isFlag && strings.ContainsAny(w.text, "ltpZ") && strings.HasPrefix(w.text, "-") {
				return false
			}
		}
	}
	return isOneOf(c.name, []string{"unzip", "cpio", "aria2c", "gsutil", "degit"}) || strings.Contains(copiers, " "+c.name+"_") && c.copies()
}

// outputs are words in the names of files that say what a run did.
const outputs = " out output result results report reports coverage cov bench benchmark log logs dump audit lint metrics summary test tests junit lighthouse trace profile "

// isOutput reports whether a file that the text writes certainly is no code or configuration of what a trusted
// runner runs: CMakeLists.txt, requirements.txt, pom.xml and package.json are.
func isOutput(name string) bool {
	base, ext := strings.ToLower(name), path.Ext(name)
	switch ext {
	case ".log", ".out", ".err", ".csv", ".tsv", ".jsonl", ".ndjson", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf":
		return true
	case ".txt":
		return !strings.Contains(base, "require") && !strings.Contains(base, "constraint") && base != "cmakelists.txt" && !strings.HasPrefix(base, "conan")
	case ".json", ".xml", ".html":
		return slices.ContainsFunc(strings.FieldsFunc(strings.TrimSuffix(base, ext), func(c rune) bool { return strings.ContainsRune("-_.", c) }), func(part string) bool {
			return strings.Contains(outputs, " "+part+" ")
		})
	}
	return false
}

// fullPath returns the path of a file in the folder where the text stands.
func (r *reader) fullPath(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(r.folder, name)
}

// noteBuilt notes the file that go build -o FILE and cc -o FILE make of the project's code. Whoever trusts the
// runners go and make runs it without a question.
func (r *reader) noteBuilt(name string, j *job) {
	runner := ""
	switch name {
	case "go":
		runner = "go"
	case "cc", "gcc", "g++", "clang", "clang++", "c++":
		runner = "make"
	default:
		return
	}
	at := slices.IndexFunc(j.argv, func(w word) bool { return w.known && w.text == "-o" })
	if at < 1 || at+1 >= len(j.argv) || !j.argv[at+1].known || r.folder == unknownFolder || r.elsewhere ||
		name == "go" && (len(j.argv) < 2 || j.argv[1].text != "build") || slices.ContainsFunc(j.argv[1:], func(w word) bool {
		return !w.known || path.IsAbs(w.text) && w.text != j.argv[at+1].text || strings.Contains(w.text, "..")
	}) {
		return
	}
	if trusted, _, _ := r.trustsAs(knownWords([]string{runner, "run"})); trusted {
		if r.built == nil {
			r.built = map[string]bool{}
		}
		r.built[r.fullPath(j.argv[at+1].text)] = true
		r.usesTrusted, r.runsTrusted = true, true
		r.script.calls[len(r.script.calls)-1].trusted = true
	}
}

// mayShadow reports whether the text may make a file that Python takes for a module which it imports.
func (r *reader) mayShadow() bool {
	for _, module := range r.imports {
		file := module + ".py"
		if r.writtenAt < math.MaxInt || r.wrote(file) || r.wrote(module) || r.wrote("__init__.py") {
			return true
		}
		for _, c := range r.script.calls {
			if Uses(c.name, "unpacks") {
				return true
			}
			if _, lists := curlWrites(c.name, c.argv); lists || Uses(c.name, "reads", "opens none") {
				continue // r.written has the files
			}
			for i, w := range c.argv[1:] {
				if w.known && (strings.Contains(w.text, file) || path.Base(w.text) == module && !strings.HasPrefix(c.name, "py") && !isFormat(c.name, c.argv[i])) {
					return true
				}
			}
		}
	}
	return false
}

// isFormat reports whether the word behind a flag is the form in which a program prints, as json in kubectl -o json.
func isFormat(program string, flag word) bool {
	return isOneOf(flag.text, []string{"--format", "--output-format", "--message-format"}) ||
		hasName(" aws az doctl helm kubectl oc ", program) && isOneOf(flag.text, []string{"-o", "--output"})
}

// unsafeFlags are flags with which a trusted runner runs what its project does not decide.
const unsafeFlags = " -c -C -f -p -D -exec -toolexec -vettool -overlay -ldflags -gcflags -modfile --exec --eval --shell-arg --config --config-file --prefix --cwd --dir --manifest-path --file --makefile --directory " +
	"--justfile --taskfile --noxfile --rakefile --userconfig --globalconfig --rulesdir --node-options --nodedir --node-gyp --build-file --rootdir --rcfile --confcutdir --override-ini "

// unsafeEnds end long flags that give a runner a program, a text to run, or a module to load, as --init-hook.
const unsafeEnds = " exec eval command cmd shell script loader preload require import plugin plugins hook chooser launcher renderer onsuccess terminal "

// runsOthers are subcommands of runners that run the program behind them, in the environment of the project.
const runsOthers = " uv_run poetry_run pdm_run pipenv_run hatch_run bundle_exec pnpm_exec yarn_exec "

// installs are subcommands of managers whose words are packages, and not programs.
const installs = " pip_install pip3_install uv_add poetry_add pdm_add npm_install npm_i npm_ci pnpm_add pnpm_install pnpm_i yarn_add bun_add bun_install gem_install cargo_add cargo_install " +
	"opam_install composer_require corepack_enable expo_install "

// downloads are subcommands of a manager of packages that run a package which the project may not have.
const downloads = " dlx x exec create init "

// fetchesPackage reports whether a manager of packages runs a package that the project may not have, as npm init x, or
// installs one of a repository, as npm i OWNER/NAME.
func fetchesPackage(argv []word) bool {
	isRun := len(argv) > 1 && hasName(downloads, argv[1].text) && slices.ContainsFunc(argv[2:], func(w word) bool { return !w.mayFlag() })
	isInstall := len(argv) > 1 && isOneOf(argv[1].text, []string{"add", "install", "i"})
	for i, w := range argv[1:] {
		if w.text == "dlx" || isInstall && strings.Contains(w.text, "/") && !hasStart(w.text, "@", ".", "/", "-") && !argv[i].mayFlag() {
			return true
		}
	}
	return isRun
}

// fetchesProgram reports whether a command fetches a program that the project may not have, to run or to install it.
func fetchesProgram(argv []word) bool {
	if len(argv) < 2 || !argv[1].known || !hasName(" go uv cargo dotnet composer ", argv[0].text) {
		return false
	}
	command := argv[0].text + "_" + argv[1].text
	if !hasName(" go_run go_install go_tool ", command) {
		return hasName(" uv_tool cargo_binstall dotnet_dnx composer_create-project composer_global ", command)
	}
	at := slices.IndexFunc(argv[2:], func(w word) bool {
		return strings.Contains(w.text, "@") || strings.HasPrefix(w.text, ".") || strings.HasSuffix(w.text, ".go")
	})
	return at >= 0 && strings.Contains(argv[2+at].text, "@") && !strings.HasPrefix(argv[2+at].text, ".")
}

// trusts reports whether the operator trusts a runner with these words. They must be plain: they name no
// program, no text and no other project. spoken are the words that may mention a program: neither those of the
// entry, nor packages to install. Otherwise inner is the program behind "uv run" and its like, which
// is judged by itself, if the operator trusts the runner with the words in front.
func (r *reader) trusts(argv []word) (trusted bool, spoken, inner []word) {
	if trusted, spoken, inner = r.trustsAs(argv); trusted && len(argv) > 1 && isOneOf(argv[0].text, []string{"pnpm", "yarn"}) {
		if isTool, behind, _ := r.trustsAs(argv[1:]); isTool {
			return true, behind, nil // pnpm prisma generate
		}
	}
	if !trusted && inner == nil {
		if tool := r.ownTool(argv); tool != nil {
			if module := r.modulesWords(tool); module != nil {
				return false, nil, module
			}
			return r.trustsAs(tool)
		}
	}
	return trusted, spoken, inner
}

// runsText reports whether a runner gets code in place of a program of the project: from standard input, or as a text,
// which a shell runs.
func runsText(argv []word) bool {
	isInput := hasName(" bun uv docker ", argv[0].text) && slices.ContainsFunc(argv, func(w word) bool { return w.text == "-" })
	return isInput || len(argv) > 2 && hasName(" pnpm_exec yarn_exec ", argv[0].text+"_"+argv[1].text) &&
		(isOneOf(argv[2].text, []string{"--shell-mode", "-c"}) || strings.ContainsAny(argv[2].text, " \t\n"))
}

// trustsAs is trusts for a program as it is written.
func (r *reader) trustsAs(argv []word) (trusted bool, spoken, inner []word) {
	if trustsNone(r) || fetchesProgram(argv) || runsText(argv) {
		return false, nil, nil
	}
	for _, entry := range r.options.Trusted {
		words, rest, ok := behindEntry(argv, entry)
		if !ok || entry == nixRun {
			continue
		}
		isPlain := func(words []word) bool { return r.arePlain(words, entry) }
		if at := behindRunner(argv, words[0]); at > 0 && at < len(argv) && argv[at].isOperand() && !isScript(argv[at].text) && isPlain(argv[1:at]) {
			inner = argv[at:]
			continue
		}
		if p, ok := findName(words[0]); ok && p.kind == packages && fetchesPackage(argv) {
			continue
		}
		rest = behindSwitches(words, rest)
		if len(words) == 1 && readsCode(r, words[0], rest) {
			continue
		}
		if isPlain(rest) {
			if slices.ContainsFunc(argv[1:], func(w word) bool { return hasName(installs, words[0]+"_"+w.text) }) {
				rest = []word{}
			}
			return true, rest, nil
		}
	}
	return false, nil, inner
}

// trustsNone reports whether the operator trusts nothing here: the code of folders for temporary files is not the project's.
func trustsNone(r *reader) bool {
	return len(r.options.Trusted) == 0 || hasStart(r.folder+"/", "/tmp/", "/var/tmp/", "/dev/shm/", "/private/tmp/") && !strings.HasPrefix(r.folder+"/", r.options.Folder+"/")
}

// readsCode reports whether an interpreter runs code that is no file of the project.
func readsCode(r *reader, name string, args []word) bool {
	if p, ok := findName(name); !ok || p.kind != interprets {
		return false
	}
	if required, files, isNode := readNode(args); isNode && len(required)+len(files.Reads) == 0 && hasName(" ts-node tsx ", name) {
		return false
	}
	isFile := len(args) > 0 && args[0].known && !strings.HasPrefix(args[0].text, "-") // "-" is standard input
	return !isFile || r.ownFile(args[0].text) == ""
}

// nixRun is the entry that trusts the environment of the project's shell.nix, and not what runs there.
const nixRun = "nix-shell --run"

// nixText returns the shell text of nix-shell --run TEXT, if the operator trusts it.
func nixText(r *reader, argv []word) (text word, ok bool) {
	if len(argv) > 1 && argv[1].text == "--pure" {
		argv = argv[1:]
	}
	ok = len(argv) == 3 && argv[1].text == "--run" && slices.Contains(r.options.Trusted, nixRun) && r.ownFile("shell.nix") != ""
	return argv[len(argv)-1], ok
}

// toolRunners run a tool of the project, or one that they fetch under this name.
const toolRunners = " npx bunx uvx "

// toolCommands do with their first word behind "_".
const toolCommands = " npm_exec npm_x bun_x pnpm_dlx yarn_dlx pipx_run "

// ownTool returns the words of a tool of the project with its name for its path, or nil: whoever trusts the tool
// trusts .venv/bin/pytest, node_modules/.bin/jest, npx jest and /usr/bin/pytest.
func (r *reader) ownTool(argv []word) []word {
	first := argv[0].text
	at := 0 // the words in front of the tool
	switch {
	case !argv[0].known:
		return nil
	case hasName(toolRunners, first):
		at = 1
	case len(argv) > 1 && argv[1].known && strings.Contains(toolCommands, first) && hasName(toolCommands, first+"_"+argv[1].text):
		at = 2
	}
	if at > 0 {
		for argv = argv[at:]; len(argv) > 0 && argv[0].known && isOneOf(argv[0].text, []string{"-y", "--yes", "--no-install", "--"}); {
			argv = argv[1:]
		}
		if len(argv) > 0 && argv[0].isOperand() {
			return argv
		}
		return nil
	}
	folder, name := path.Split(first)
	if folder != "" && !isScript(first) || strings.HasSuffix(folder, "bin/") && isOneOf(path.Base(folder), []string{"bin", ".bin"}) && r.ownPath(word{text: folder, known: true}) != "" {
		return append([]word{{text: name, known: true}}, argv[1:]...)
	}
	return nil
}

// ownPath returns the path of a file or folder below the folder in which the shell starts, or "" if a word may be
// something else.
func (r *reader) ownPath(w word) string {
	if !w.known || w.text == "" || w.text[0] == '-' || strings.Contains(w.text, ":") {
		return ""
	}
	return r.ownFile(w.text)
}

// runnerFlags are flags of trusted runners. own name a file or a folder: with one below the folder of the call, the
// runner runs the project's code as it does without them. plain are flags of unsafeFlags that mean something
// harmless for the program; ":" stands behind those with a value. unsafe are further ones like those of unsafeFlags.
var runnerFlags = []struct{ programs, own, plain, unsafe string }{
	{" docker docker-compose ", " -f --file ", " -p: ", ""},
	{" node perl php python python3 ruby ts-node tsx ", "", " -f -p --file --config --config-file --dir --directory --prefix --cwd ", ""}, // of the file
	{" cargo ", " --manifest-path ", " -p -D ", ""},
	{" npm ", " --prefix ", " -D ", ""},
	{" pnpm ", " -C --dir --prefix ", " -D ", ""},
	{" yarn bun ", " --cwd ", " -D ", ""},
	{" make ninja ", " -C -f --directory --file --makefile ", "", " -E "},
	{" mvn mvnw ./mvnw ", " -s --settings -gs --global-settings -t --toolchains ", "", " -s --settings -gs --global-settings -t --toolchains "},
	{" phpunit pest ", "", "", " -d --extension --printer "},
	{" knip ", "", "", " --allow-remove-files "},
	{" mvn mvnw ./mvnw ", " -f --file ", " -DskipTests -DskipITs -Dmaven.test.skip -Dtest -Dit.test -DfailIfNoTests -Dsurefire.failIfNoSpecifiedTests -Dincludes -Dexpression -DforceStdout -pl -amd -nsu -ntp ", ""},
	{" gradle gradlew ./gradlew ", " -p --project-dir ", "", ""},
	{" cmake ", "", " -DCMAKE_BUILD_TYPE -DCMAKE_EXPORT_COMPILE_COMMANDS -DBUILD_TESTING -DBUILD_SHARED_LIBS -DCMAKE_INSTALL_PREFIX -DCMAKE_CXX_STANDARD --build --install --prefix ", ""},
	{" eslint jest vite vitest playwright stylelint webpack rollup prettier ruff black mypy ", " -c --config --config-file --dir ", "", ""},
	{" tsc ", " -p --project ", "", ""},
	{" golangci-lint pre-commit ", " -c --config ", " -D ", ""},
	{" biome mkdocs cypress ", " -f --config-file --config-path ", "", ""},
	{" uv ", " --directory --project ", "", ""},
	{" next ", "", " -p: ", ""},
	{" ./configure ", "", " --prefix ", ""},
	{" xcodebuild ", "", " -destination: ", ""},
	{" nx ", "", " --file ", ""},
	{" just ", " -f --justfile -d --working-directory ", "", " --set "},
	{" rake ", "", "", " -e -E -r -p --execute "},
	{" rspec mocha rubocop nyc graphql-codegen markdownlint ", "", "", " -r "},
	{" bun ", "", "", " -e -p -r --print "},
	{" cdk ", "", "", " -a --app --build "},
	{" gunicorn uvicorn ", "", "", " -k --worker-class --pythonpath --app-dir "},
	{" ctest ", "", "", " -S -SP "},
	{" rails ", "", " -p: ", ""},
}

// flagsOfRunner returns the flags of a program in runnerFlags.
func flagsOfRunner(program string) (own, plain, unsafe string) {
	for _, f := range runnerFlags {
		if hasName(f.programs, program) {
			own, plain, unsafe = own+f.own, plain+f.plain, unsafe+f.unsafe
		}
	}
	return own, plain, unsafe
}

// arePlain reports whether the words behind those of an entry decide nothing about which programs run.
func (r *reader) arePlain(words []word, entry string) bool {
	program, _, _ := strings.Cut(strings.TrimPrefix(entry, "npx "), " ")
	own, plain, unsafe := flagsOfRunner(program)
	row := findOptions(program)
	p, ok := findName(program)
	isData := ok && (p.kind == harmless || p.kind == interprets && program == entry) || program == "java" // the words are those of the file
	if ok && p.kind == interprets && row == nil {
		row = &options{} // the flags are those of the file
	}
	for i := 0; i < len(words); i++ {
		used, ok := r.skipFlag(words[i:], program, own, plain)
		flag, _, _ := strings.Cut(words[i].text, "=")
		if !ok && (hasName(unsafe, flag) || !isPlainArgument(words[i], row)) || loadsForeign(r, words, i, isData) {
			return false
		}
		isData = isData || words[i].text == "--"
		i += used
	}
	return true
}

// skipFlag reports whether the first word is a flag of runnerFlags, and how many words behind it are its value.
func (r *reader) skipFlag(words []word, program, own, plain string) (used int, ok bool) {
	flag, value, attached := strings.Cut(words[0].text, "=")
	behind := word{}
	if len(words) > 1 {
		behind = words[1]
	}
	switch {
	case !words[0].known:
		return 0, false
	case hasName(own, flag) && attached:
		return 0, r.ownPath(word{text: value, known: true}) != ""
	case hasName(own, flag) && r.ownPath(behind) != "", flag != "" && hasName(plain, flag+":") && !attached && behind.known,
		program == "pytest" && flag == "-p" && strings.HasPrefix(behind.text, "no:"): // which loads less
		return 1, true
	}
	return 0, hasName(plain, flag) && !strings.ContainsAny(value, " \t\n;`$|&<>")
}

// codeEnds are the ends of names of files with code, and packageEnds those of what a runner unpacks or loads.
const (
	codeEnds    = " .py .js .cjs .mjs .jsx .ts .cts .mts .tsx .go .rs .rb .php .pl .lua .sh .bats .cmake .gradle .mk .toml .ini .cfg "
	packageEnds = "  .prisma .hs .lhs .conda .xcodeproj .xcworkspace .proj .targets .props .runsettings .neon .tgz .gz .zip .tar .whl .gem .jar .dll .ipynb .exs .kts .nix .csproj .sln .fsx .csx .gemspec .yml .yaml .zig .swift .dart "
)

// dataFlags are parts of the names of flags whose values a runner writes, or compares with names.
var dataFlags = []string{"out", "report", "cov", "cache", "log", "temp", "tmp", "cpuprof", "memprof", "trace", "junit", "dist", "target", "dest", "result", "data", "derived", "ignore", "exclude", "prefix", "base", "root-path", "pattern", "grep", "url", "route"}

// loaderFlags are parts of the names of flags whose values a runner loads, although dataFlags has a part of them, too.
var loaderFlags = []string{"reporter", "processor", "config", "template", "module", "provider"}

// hasPart reports whether a flag has one of the parts, in any case.
func hasPart(flag string, parts []string) bool {
	flag = strings.ToLower(flag)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(flag, part) })
}

// flagBefore returns the flag in front of a word, or "".
func flagBefore(words []word, at int) string {
	if at > 0 && words[at-1].mayFlag() {
		return words[at-1].text
	}
	return ""
}

// outside returns the path of a word of a runner, and whether it is certainly outside of the folder.
func outside(r *reader, name string) (full string, ok bool) {
	name = strings.TrimSuffix(name[strings.LastIndexAny(name, "= ")+1:], "/...")
	for _, start := range []string{"@", "file:", "link:", "//"} {
		name = strings.TrimPrefix(name, start)
	}
	full = r.fullPath(name)
	ok = path.IsAbs(name) || r.folder != unknownFolder && hasStart(name, "..")
	return full, ok && !strings.HasPrefix(full+"/", r.options.Folder+"/") && !strings.HasPrefix(full, "/dev/")
}

// loadsForeign reports whether one of the words names code outside of the folder, or, unless the words are data, a folder
// or a package there, whose code or configuration a runner may load.
func loadsForeign(r *reader, words []word, at int, isData bool) bool {
	flag, name, attached := strings.Cut(words[at].text, "=")
	isFlag, ends := words[at].mayFlag(), codeEnds
	if !attached {
		if flag, name = flagBefore(words, at), flag; isFlag {
			return false
		}
	}
	isOfProgram := words[0].text == "run" && at > 1 && !words[1].mayFlag() && flag == ""
	isFolder := attached && !isFlag && hasPart(flag, []string{"dir", "path", "file", "root", "home"}) // make DESTDIR=/x
	if !isData && !isOfProgram && !isFolder {
		ends += packageEnds
	}
	isList := hasStart(name, "@/", "@..") || isOneOf(flag, []string{"-r", "--requirement"})
	isOutput := isOneOf(flag, []string{"-o", "-B", "-run", "-bench", "-k"}) || hasPart(flag, dataFlags) && !hasPart(flag, loaderFlags)
	full, isOutside := outside(r, name)
	return !isOutput && isOutside && (isList && !isData || strings.Contains(ends, " "+path.Ext(full)+" "))
}

// behindRunner returns the index of the program behind "uv run" and its like, or 0.
func behindRunner(argv []word, runner string) (at int) {
	at = slices.IndexFunc(argv, func(w word) bool {
		return w.known && w.text != "" && hasName(runsOthers, runner+"_"+w.text)
	})
	if row, ok := findName(argv[min(1, len(argv)-1)].text); ok && row.kind == interprets && isOneOf(runner, []string{"pnpm", "yarn"}) {
		return 1 // pnpm tsx a.ts
	}
	for at++; at > 0 && at < len(argv) && (!argv[at].known || strings.HasPrefix(argv[at].text, "-")); at++ {
		if isOneOf(argv[at].text, []string{"--with", "--group", "--extra", "--python", "-p"}) && argv[at].known {
			at++
		}
	}
	return at
}

// plainSwitches are flags of interpreters in front of the file that they run.
const plainSwitches = " node_--enable-source-maps node_--no-warnings node_--experimental-strip-types node_--trace-warnings node_--watch node_--inspect " +
	"python_-u python_-B python_-I python_-s python3_-u python3_-B python3_-I python3_-s ruby_-w "

// behindSwitches returns the words behind the plain switches of an interpreter.
func behindSwitches(entry []string, rest []word) []word {
	for len(entry) == 1 && len(rest) > 1 && rest[0].known && hasName(plainSwitches, entry[0]+"_"+rest[0].text) {
		rest = rest[1:]
	}
	return rest
}

// consoles are files of frameworks that run what the words behind them say, as python manage.py flush does, and
// inspect, which is no file: node inspect -e CODE.
const consoles = " manage.py artisan console ace rails inspect "

// ownFile returns the path of a file below the folder in which the shell starts, or "" if it may be another one.
func (r *reader) ownFile(name string) string {
	if hasName(consoles, path.Base(name)) || r.elsewhere || r.folder == unknownFolder || climbs(name, r.moved) {
		return ""
	}
	full, root := r.fullPath(name), r.options.Folder
	if strings.HasPrefix(full, root+"/") || root == "." && !path.IsAbs(full) && full != ".." && !strings.HasPrefix(full, "../") {
		return full
	}
	return ""
}

// entryHas reports whether a word is that of an entry. A word that begins with "*" stands for the end of a path
// below the folder.
func entryHas(want string, w word) bool {
	end, isEnd := strings.CutPrefix(want, "*")
	return w.known && (w.text == want || isEnd && strings.HasSuffix(w.text, end) && !path.IsAbs(w.text) && !strings.Contains(w.text, ":") && !strings.Contains(w.text, "..") && !w.mayFlag())
}

// behindEntry returns the words of an entry, and those of a command behind them, between which flags may stand that
// the program is known to have: "docker compose --profile x up" begins with "docker compose up".
func behindEntry(argv []word, entry string) (words []string, rest []word, ok bool) {
	first := argv[0].text
	if rest, ok := strings.CutPrefix(entry, first); entry != "" && entry[0] > ' ' && (!ok || rest != "" && rest[0] > ' ') {
		return nil, nil, false // most are about other programs
	}
	words = strings.Fields(entry)
	if len(words) == 0 || !argv[0].known || argv[0].text != words[0] {
		return nil, nil, false
	}
	reads := reading{program: plainName(words[0]), root: findOptions(words[0])}
	reads.row = reads.root
	i := 1
	for _, want := range words[1:] {
		for i < len(argv) && argv[i].known && !entryHas(want, argv[i]) && len(argv[i].text) > 1 && argv[i].text[0] == '-' {
			used, listed := reads.readFlag(argv[i].text, argv[i+1:])
			if !listed || i+used >= len(argv) || argv[i+used].many {
				return nil, nil, false
			}
			rest = append(rest, argv[i:i+1+used]...)
			i += 1 + used
		}
		if i == len(argv) || !entryHas(want, argv[i]) {
			return nil, nil, false
		}
		reads.enter(want)
		i++
	}
	return words, append(append([]word{}, rest...), argv[i:]...), true
}

// modulesWords returns the words of the program that "uv pip", "corepack pnpm" and "python -m pip" are, or nil. Of other
// modules it returns those that the operator trusts as programs.
func (r *reader) modulesWords(argv []word) []word {
	name := path.Base(argv[0].text)
	switch {
	case len(argv) > 1 && argv[1].known && (name == "uv" && argv[1].text == "pip" || name == "corepack" && hasName(" npm npx pnpm pnpx yarn ", argv[1].text)):
		return argv[1:]
	case !strings.HasPrefix(name, "py") || len(argv) < 3 || isScript(argv[0].text) || argv[1].text != "-m" || !argv[2].known || strings.ContainsAny(argv[2].text, "./"):
		return nil
	case argv[2].text == "pip":
		return argv[2:]
	}
	if row, ok := findProgram(name); !ok || row.kind != interprets {
		return nil
	}
	if trusted, _, _ := r.trusts(argv); trusted {
		return nil
	}
	if trusted, _, _ := r.trusts(argv[2:]); trusted {
		return argv[2:]
	}
	return nil
}

// isUnsafe reports whether a flag is one of unsafeFlags, or ends as one of unsafeEnds.
func isUnsafe(flag string, shortens bool) bool {
	last := flag[strings.LastIndexByte(flag, '-')+1:]
	return strings.HasPrefix(flag, "--") && !strings.HasPrefix(flag, "--no-") && hasName(unsafeEnds, strings.ToLower(last)) ||
		shortens && isDangerous(flag, unsafeFlags) || flag != "" && hasName(unsafeFlags, flag)
}

// isElsewhere reports whether a word is the address of something on another machine, which a runner may fetch and run.
func isElsewhere(text string) bool {
	text = text[strings.LastIndexByte(text, ' ')+1:] // "x @ https://y"
	scheme, host, found := strings.Cut(text, "://")
	host, _, _ = strings.Cut(host, "/")
	name, _, _ := strings.Cut(strings.TrimPrefix(host, "[::1]"), ":")
	isLocal := isOneOf(name, []string{"", "localhost", "127.0.0.1", "0.0.0.0"}) && !strings.Contains(host, "@")
	return found && isPlain(scheme) && !isLocal || hasStart(text, "git@", "github:", "gitlab:", "bitbucket:", "gist:")
}

// isPlainArgument reports whether a word for a trusted runner decides nothing about which programs run.
func isPlainArgument(w word, row *options) bool {
	if !w.known {
		return w.many && w.open().pattern != "" && !strings.HasPrefix(w.open().pattern, "-") && !strings.HasPrefix(w.open().pattern, "*")
	}
	clusters := row == nil || row.style != oneDash
	shortens := row == nil || row.style == getopt || row.style == gnu // --exe is --exec
	key, value, assigns := strings.Cut(w.text, "=")
	switch {
	case strings.ContainsAny(w.text, "`\n;") || strings.Contains(w.text, "$("), isUnsafe(key, shortens), isElsewhere(w.text), isElsewhere(value):
		return false
	case clusters && len(w.text) > 2 && w.text[0] == '-' && w.text[1] != '-' && strings.ContainsAny(key, "cCfpD"):
		return false
	case assigns && w.text[0] != '-':
		return isPlain(value) && !isPoison(key) && key != "SHELL" && key != "CONFIG_SHELL"
	}
	return true
}
