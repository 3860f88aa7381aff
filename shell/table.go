package shell

import (
	"sort"
	"strings"
	"unicode"
)

// A program is a row of the table: a program that runs other programs.
type program struct {
	name string
	kind kind
	// bare and values are the short flags without and with a value. long and longValues are the
	// long ones, between spaces. Behind any other flag the command counts as unknown.
	bare, values     string
	long, longValues string
	// query are short flags with which the program runs nothing.
	query string
	// shaky are short flags after which the command may not be found.
	shaky string
	// operands is the number of words between the flags and the command.
	operands int
}

// A kind says how a program gets the command that it runs.
type kind int

// The kinds of programs.
const (
	runsWords     kind = iota + 1 // the remaining words are the command
	runsAssigned                  // the same, behind assignments such as A=b
	runsInput                     // the same, and standard input adds words
	runsJoined                    // the remaining words, joined, are a shell text
	runsShell                     // a shell: -c TEXT, or a text from standard input
	runsOption                    // su: the value of -c is a shell text
	runsEval                      // eval: the words, joined, run in this shell
	runsTrap                      // trap: the first word runs in this shell later
	runsBuiltin                   // the remaining words are a builtin command
	runsFind                      // find: -exec and its like
	runsRemote                    // ssh: the words behind the host, joined, are a shell text
	runsContainer                 // docker: exec CONTAINER and run IMAGE
	runsPod                       // kubectl: exec … -- COMMAND
	runsGit                       // git: -c alias.x=!TEXT and others
	runsWatch                     // watch: a shell text, or with -x the words
	runsRepeat                    // zsh: repeat NUMBER COMMAND
	interprets                    // an interpreter of another language
	interpretsAwk                 // awk, whose text may run programs
	interpretsSed                 // sed, whose text may run programs
	packages                      // npm and its like, which run scripts unless they only show something
	calculates                    // a builtin that calculates words: exit, shift
	declares                      // export and its like, behind a quote or another builtin
	assigns                       // a builtin that assigns to the variables that its words name
	prints                        // printf
	tests                         // test and [
	sets                          // set and shopt
	leaves                        // exec
	writes                        // a program that makes files
	queries                       // a client of a database, whose text may run programs
	flagged                       // unknown behind the flags and subcommands of long and values
	opaque                        // always unknown
)

// programs is the table, sorted by name.
var programs = []program{
	{name: "-", kind: runsWords},
	{name: ".", kind: opaque},
	{name: "R", kind: opaque},
	{name: "[", kind: tests},
	{name: "alias", kind: opaque},
	{name: "ansible", kind: opaque},
	{name: "apt", kind: flagged, values: "oc", long: " -o -c --option --config-file "},
	{name: "apt-get", kind: flagged, values: "oc", long: " -o -c --option --config-file "},
	{name: "arch", kind: opaque},
	{name: "aria2c", kind: flagged, long: " --on-download-complete --on-download-error --on-download-pause --on-download-start --on-download-stop --on-bt-download-complete "},
	{name: "asdf", kind: opaque},
	{name: "ash", kind: runsShell},
	{name: "at", kind: opaque},
	{name: "autoload", kind: opaque},
	{name: "awk", kind: interpretsAwk},
	{name: "aws", kind: flagged, long: " execute-command send-command start-session "},
	{name: "aws-vault", kind: opaque},
	{name: "bash", kind: runsShell},
	{name: "batch", kind: opaque},
	{name: "bazel", kind: opaque},
	{name: "bind", kind: opaque},
	{name: "break", kind: calculates},
	{name: "builtin", kind: runsBuiltin},
	{name: "bun", kind: packages},
	{name: "bundle", kind: opaque},
	{name: "bunx", kind: opaque},
	{name: "busybox", kind: runsWords},
	{name: "bwrap", kind: opaque},
	{name: "bye", kind: calculates},
	{name: "caffeinate", kind: opaque},
	{name: "capsh", kind: opaque},
	{name: "cargo", kind: flagged, long: " --config watch make "},
	{name: "cc", kind: flagged, long: " -wrapper -B -fplugin -specs --specs "},
	{name: "cgexec", kind: opaque},
	{name: "chamber", kind: opaque},
	{name: "chronic", kind: opaque},
	{name: "chroot", kind: opaque},
	{name: "chrt", kind: runsWords, bare: "bfiorRv", values: "TPD", operands: 1},
	{name: "clang", kind: flagged, long: " -wrapper -B -fplugin -fpass-plugin "},
	{name: "clush", kind: opaque},
	{name: "cmake", kind: flagged, values: "PE", long: " -E -P --build --workflow "},
	{name: "command", kind: runsWords, bare: "p", query: "vV", shaky: "p"},
	{name: "compgen", kind: opaque},
	{name: "complete", kind: opaque},
	{name: "concurrently", kind: opaque},
	{name: "conda", kind: opaque},
	{name: "continue", kind: calculates},
	{name: "cp", kind: writes},
	{name: "cpio", kind: flagged, long: " --rsh-command "},
	{name: "cpulimit", kind: opaque},
	{name: "crontab", kind: opaque},
	{name: "curl", kind: writes},
	{name: "daemonize", kind: opaque},
	{name: "dash", kind: runsShell},
	{name: "dbus-launch", kind: opaque},
	{name: "dbus-run-session", kind: opaque},
	{name: "dc", kind: opaque},
	{name: "dd", kind: writes},
	{name: "declare", kind: declares},
	{name: "deno", kind: interprets},
	{name: "direnv", kind: opaque},
	{name: "disable", kind: opaque},
	{name: "distrobox", kind: opaque},
	{name: "doas", kind: runsWords, bare: "ns", values: "Cu"},
	{name: "docker", kind: runsContainer},
	{name: "docker-compose", kind: runsContainer},
	{name: "doppler", kind: opaque},
	{name: "dotenv", kind: opaque},
	{name: "eatmydata", kind: opaque},
	{name: "ed", kind: opaque},
	{name: "emacs", kind: opaque},
	{name: "emulate", kind: opaque},
	{name: "enable", kind: opaque},
	{name: "entr", kind: opaque},
	{name: "env", kind: runsAssigned, bare: "iv0", values: "uCS", long: " --ignore-environment --null --debug ",
		longValues: " --unset --chdir --split-string ", shaky: "iuC"},
	{name: "eval", kind: runsEval},
	{name: "ex", kind: opaque},
	{name: "exec", kind: leaves, bare: "cl", values: "a", shaky: "c"},
	{name: "exit", kind: calculates},
	{name: "expect", kind: opaque},
	{name: "export", kind: declares},
	{name: "fakeroot", kind: opaque},
	{name: "faketime", kind: opaque},
	{name: "fc", kind: opaque},
	{name: "fd", kind: flagged, values: "xX", long: " -x -X --exec --exec-batch "},
	{name: "fdfind", kind: flagged, values: "xX", long: " -x -X --exec --exec-batch "},
	{name: "find", kind: runsFind},
	{name: "firejail", kind: opaque},
	{name: "flock", kind: opaque},
	{name: "foreman", kind: opaque},
	{name: "functions", kind: opaque},
	{name: "fzf", kind: flagged, long: " --preview --bind --with-shell "},
	{name: "g++", kind: flagged, long: " -wrapper -B -fplugin -specs --specs "},
	{name: "gawk", kind: interpretsAwk},
	{name: "gcc", kind: flagged, long: " -wrapper -B -fplugin -specs --specs "},
	{name: "gcloud", kind: flagged, long: " ssh "},
	{name: "gdb", kind: opaque},
	{name: "getln", kind: assigns},
	{name: "getopts", kind: assigns},
	{name: "gh", kind: flagged, long: " alias extension ext "},
	{name: "git", kind: runsGit},
	{name: "gmake", kind: opaque},
	{name: "go", kind: flagged, long: " -exec -toolexec --exec --toolexec -vettool --vettool generate "},
	{name: "gpg-agent", kind: opaque},
	{name: "gsed", kind: interpretsSed},
	{name: "hash", kind: opaque},
	{name: "hatch", kind: opaque},
	{name: "helm", kind: flagged, long: " --post-renderer plugin "},
	{name: "heroku", kind: opaque},
	{name: "hg", kind: flagged, long: " --config "},
	{name: "hyperfine", kind: opaque},
	{name: "install", kind: writes},
	{name: "invoke", kind: opaque},
	{name: "ionice", kind: runsWords, bare: "t", values: "cn", long: " --ignore ", longValues: " --class --classdata "},
	{name: "ip", kind: flagged, values: "b", long: " netns vrf net netn vr -batch -b "},
	{name: "irb", kind: opaque},
	{name: "jobs", kind: flagged, values: "x", long: " -x "},
	{name: "just", kind: opaque},
	{name: "k3s", kind: opaque},
	{name: "kill", kind: calculates},
	{name: "ksh", kind: runsShell},
	{name: "kubectl", kind: runsPod},
	{name: "less", kind: flagged, values: "k", long: " -k --lesskey-file --lesskey-src "},
	{name: "let", kind: opaque},
	{name: "linux32", kind: opaque},
	{name: "linux64", kind: opaque},
	{name: "ln", kind: writes},
	{name: "local", kind: declares},
	{name: "login", kind: opaque},
	{name: "logout", kind: calculates},
	{name: "ltrace", kind: opaque},
	{name: "lua", kind: interprets},
	{name: "m4", kind: opaque},
	{name: "make", kind: opaque},
	{name: "mamba", kind: opaque},
	{name: "man", kind: flagged, values: "PH", long: " -P --pager -H --html "},
	{name: "mapfile", kind: opaque},
	{name: "mariadb", kind: queries},
	{name: "mawk", kind: interpretsAwk},
	{name: "microk8s", kind: opaque},
	{name: "minikube", kind: opaque},
	{name: "mise", kind: opaque},
	{name: "mksh", kind: runsShell},
	{name: "mosh", kind: opaque},
	{name: "multitime", kind: opaque},
	{name: "mv", kind: writes},
	{name: "mvn", kind: flagged, long: " exec:exec exec:java "},
	{name: "mysql", kind: queries},
	{name: "nawk", kind: interpretsAwk},
	{name: "nc", kind: opaque},
	{name: "ncat", kind: opaque},
	{name: "nerdctl", kind: runsContainer},
	{name: "new-session", kind: opaque}, // a command of tmux, which gptme's tool of that name gets
	{name: "newgrp", kind: opaque},
	{name: "nice", kind: runsWords, bare: "0123456789", values: "n", longValues: " --adjustment "},
	{name: "ninja", kind: opaque},
	{name: "nix", kind: opaque},
	{name: "nix-shell", kind: opaque},
	{name: "nocorrect", kind: runsWords},
	{name: "node", kind: interprets},
	{name: "nodemon", kind: opaque},
	{name: "noglob", kind: runsWords},
	{name: "nohup", kind: runsWords},
	{name: "nox", kind: opaque},
	{name: "npm", kind: packages},
	{name: "npx", kind: opaque},
	{name: "nsenter", kind: opaque},
	{name: "numactl", kind: opaque},
	{name: "nvim", kind: opaque},
	{name: "nvm", kind: flagged, long: " exec run "},
	{name: "op", kind: flagged, long: " run plugin "},
	{name: "osascript", kind: opaque},
	{name: "overmind", kind: opaque},
	{name: "pandoc", kind: flagged, values: "FL", long: " -F -L --filter --lua-filter --pdf-engine "},
	{name: "parallel", kind: opaque},
	{name: "pdsh", kind: opaque},
	{name: "perf", kind: opaque},
	{name: "perl", kind: interprets},
	{name: "php", kind: interprets},
	{name: "pipenv", kind: opaque},
	{name: "pkexec", kind: opaque},
	{name: "pnpm", kind: packages},
	{name: "podman", kind: runsContainer},
	{name: "poetry", kind: opaque},
	{name: "print", kind: flagged, values: "vf", long: " -v -f "},
	{name: "printf", kind: prints},
	{name: "prlimit", kind: opaque},
	{name: "proot", kind: opaque},
	{name: "proxychains", kind: opaque},
	{name: "proxychains4", kind: opaque},
	{name: "psql", kind: queries},
	{name: "pyenv", kind: opaque},
	{name: "pypy", kind: interprets},
	{name: "python", kind: interprets},
	{name: "python2", kind: interprets},
	{name: "python3", kind: interprets},
	{name: "rake", kind: opaque},
	{name: "rbash", kind: runsShell},
	{name: "rbenv", kind: opaque},
	{name: "read", kind: assigns},
	{name: "readarray", kind: opaque},
	{name: "readonly", kind: declares},
	{name: "repeat", kind: runsRepeat},
	{name: "return", kind: calculates},
	{name: "rg", kind: flagged, long: " --pre --hostname-bin "},
	{name: "rlwrap", kind: opaque},
	{name: "rpm", kind: flagged, values: "E", long: " -E --eval --define "},
	{name: "rsync", kind: flagged, values: "e", long: " -e --rsh --rsync-path -M --remote-option "},
	{name: "ruby", kind: interprets},
	{name: "run-parts", kind: opaque},
	{name: "runcon", kind: opaque},
	{name: "runuser", kind: opaque},
	{name: "sched", kind: opaque},
	{name: "scp", kind: flagged, values: "SoDF", long: " -S -o -D -F "},
	{name: "screen", kind: opaque},
	{name: "script", kind: opaque},
	{name: "sed", kind: interpretsSed},
	{name: "sem", kind: opaque},
	{name: "send-keys", kind: opaque}, // as new-session
	{name: "set", kind: sets},
	{name: "setarch", kind: opaque},
	{name: "setopt", kind: opaque},
	{name: "setpriv", kind: opaque},
	{name: "setsid", kind: runsWords, bare: "cfw", long: " --ctty --fork --wait "},
	{name: "setterm", kind: opaque},
	{name: "sftp", kind: opaque},
	{name: "sg", kind: opaque},
	{name: "sh", kind: runsShell},
	{name: "shift", kind: calculates},
	{name: "shopt", kind: sets},
	{name: "socat", kind: opaque},
	{name: "sort", kind: flagged, long: " --compress-program "},
	{name: "source", kind: opaque},
	{name: "split", kind: opaque},
	{name: "sqlite3", kind: queries},
	{name: "ssh", kind: runsRemote, bare: "46AaCfgKkMNnqsTtVvXxYy", values: "BbcDEeiJLlmpQRSWw", operands: 1},
	{name: "ssh-agent", kind: opaque},
	{name: "sshpass", kind: opaque},
	{name: "start-stop-daemon", kind: opaque},
	{name: "stdbuf", kind: runsWords, values: "ioe", longValues: " --input --output --error "},
	{name: "strace", kind: opaque},
	{name: "su", kind: runsOption},
	{name: "sudo", kind: runsAssigned, bare: "AbEHnPSsi", values: "ugpCDRTh", shaky: "si",
		long: " --non-interactive --preserve-env --set-home --stdin --background ", longValues: " --user --group --prompt --host --chdir "},
	{name: "suspend", kind: calculates},
	{name: "systemd-run", kind: opaque},
	{name: "tar", kind: opaque},
	{name: "task", kind: opaque},
	{name: "taskset", kind: opaque},
	{name: "tclsh", kind: opaque},
	{name: "tcpdump", kind: flagged, values: "z", long: " -z --postrotate-command "},
	{name: "tee", kind: writes},
	{name: "test", kind: tests},
	{name: "time", kind: runsWords, bare: "apv", values: "fo"},
	{name: "timeout", kind: runsWords, bare: "v", values: "ks", operands: 1,
		long: " --foreground --preserve-status --verbose ", longValues: " --kill-after --signal "},
	{name: "tmux", kind: opaque},
	{name: "toolbox", kind: opaque},
	{name: "torify", kind: opaque},
	{name: "torsocks", kind: opaque},
	{name: "tox", kind: opaque},
	{name: "toybox", kind: runsWords},
	{name: "trap", kind: runsTrap},
	{name: "typeset", kind: declares},
	{name: "unbuffer", kind: opaque},
	{name: "unset", kind: assigns},
	{name: "unsetopt", kind: opaque},
	{name: "unshare", kind: opaque},
	{name: "uv", kind: opaque},
	{name: "uvx", kind: opaque},
	{name: "vagrant", kind: opaque},
	{name: "valgrind", kind: opaque},
	{name: "vared", kind: opaque},
	{name: "vi", kind: opaque},
	{name: "view", kind: opaque},
	{name: "vim", kind: opaque},
	{name: "wait", kind: assigns},
	{name: "watch", kind: runsWatch, bare: "bcegtwxpr", values: "n", long: " --color --exec --no-title --precise --beep --errexit ",
		longValues: " --interval "},
	{name: "watchexec", kind: opaque},
	{name: "watchman-make", kind: opaque},
	{name: "wget", kind: writes, long: " --use-askpass -e --execute --config "},
	{name: "wish", kind: opaque},
	{name: "xargs", kind: runsInput, bare: "0rtxop", values: "adEILnPs", long: " --null --no-run-if-empty --verbose --replace ",
		longValues: " --max-args --max-procs --delimiter --arg-file "},
	{name: "xdotool", kind: opaque},
	{name: "xonsh", kind: opaque},
	{name: "xvfb-run", kind: opaque},
	{name: "yarn", kind: packages},
	{name: "yt-dlp", kind: flagged, long: " --exec --exec-before-download --downloader --external-downloader "},
	{name: "zargs", kind: opaque},
	{name: "zip", kind: flagged, long: " -TT --unzip-command -T "},
	{name: "zle", kind: opaque},
	{name: "zmodload", kind: opaque},
	{name: "zsh", kind: runsShell},
	{name: "zstyle", kind: opaque},
}

// gnuNames are the GNU tools that other systems install with a g in front.
const gnuNames = " genv gnice gnohup gtimeout gstdbuf gxargs gfind gsplit gtar gsort ginstall gcp gmv gln gdd gtee gtest gprintf gchroot "

// findProgram returns the row of a program.
func findProgram(name string) (program, bool) {
	if row, ok := findName(name); ok {
		return row, true
	}
	// File systems may ignore the case, and names may end with a version or, for Windows, .exe.
	plain := strings.TrimRight(plainName(name), "0123456789.-")
	if plain == name {
		return program{}, false
	}
	if row, ok := findName(plain); ok && (row.kind < calculates || row.kind > sets) {
		if row.kind == interprets || row.kind == interpretsAwk || row.kind == interpretsSed {
			return row, true
		}
		return program{name: name, kind: opaque}, true
	}
	return program{}, false
}

// plainName returns the name of a program in lower case, without the ending that only Windows
// needs.
func plainName(name string) string {
	if strings.IndexFunc(name, func(c rune) bool { return c >= 'A' && c <= 'Z' || c >= 0x80 || c == '.' }) < 0 {
		return name
	}
	name = strings.Map(func(c rune) rune { // the letters that file systems take for s and k
		switch c {
		case 'ſ':
			return 's'
		case 'K':
			return 'k'
		}
		return unicode.ToLower(c)
	}, name)
	for _, end := range []string{".exe", ".cmd", ".bat", ".com"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// findName returns the row of a name.
func findName(name string) (program, bool) {
	i := sort.Search(len(programs), func(i int) bool { return programs[i].name >= name })
	if i < len(programs) && programs[i].name == name {
		return programs[i], true
	}
	if len(name) > 1 && name[0] == 'g' && strings.Contains(gnuNames, " "+name+" ") {
		return findName(name[1:])
	}
	if len(name) > 6 && name[:6] == "python" || len(name) > 4 && name[:4] == "perl" || len(name) > 3 && name[:3] == "lua" {
		return program{name: name, kind: interprets}, true
	}
	const windows = "%@^" // cmd.exe and PowerShell read them as more than a name
	if strings.HasPrefix(name, "ld-") || strings.HasPrefix(name, "git-") || isOther(name) || strings.ContainsAny(name, windows) {
		return program{name: name, kind: opaque}, true
	}
	return program{}, false
}

// parseFlags skips the flags and operands of a program. ok is false if it meets a flag that the
// row does not list, or a word that may be one. query is true if the program runs nothing.
func (p program) parseFlags(argv []word) (rest []word, values map[byte]word, query, ok bool) {
	i := 1
	for ; i < len(argv); i++ {
		w := argv[i]
		if !w.known {
			return nil, nil, false, false
		}
		if w.text == "--" {
			i++
			break
		}
		if len(w.text) < 2 || w.text[0] != '-' {
			break
		}
		used, flagOK, asks := p.flag(argv[i:], &values)
		if asks {
			return nil, nil, true, true
		}
		if !flagOK {
			return nil, nil, false, false
		}
		i += used
	}
	for range p.operands {
		if i >= len(argv) || argv[i].many {
			return nil, nil, false, i >= len(argv)
		}
		i++
	}
	return argv[i:], values, false, true
}

// flag reads one word of flags, and returns how many words behind it are values.
func (p program) flag(argv []word, values *map[byte]word) (used int, ok, query bool) {
	text := argv[0].text
	if *values == nil {
		*values = map[byte]word{}
	}
	if text[1] == '-' {
		return p.longFlag(argv)
	}
	for i := 1; i < len(text); i++ {
		letter := text[i]
		switch {
		case contains(p.query, letter):
			return 0, true, true
		case contains(p.bare, letter):
			(*values)[letter] = word{known: true}
		case contains(p.values, letter):
			if i+1 < len(text) {
				(*values)[letter] = word{text: text[i+1:], known: true}
				return 0, true, false
			}
			if len(argv) < 2 || argv[1].many {
				return 0, false, false
			}
			(*values)[letter] = argv[1]
			return 1, true, false
		default:
			return 0, false, false
		}
	}
	return 0, true, false
}

// longFlag reads one long flag.
func (p program) longFlag(argv []word) (used int, ok, query bool) {
	name, _, attached := strings.Cut(argv[0].text, "=")
	switch {
	case name == "--version" || name == "--help":
		return 0, true, true
	case strings.Contains(p.long, " "+name+" "):
		return 0, true, false
	case !strings.Contains(p.longValues, " "+name+" ") || name == "--split-string":
		return 0, false, false
	case attached:
		return 0, true, false
	}
	return 1, len(argv) > 1 && !argv[1].many, false
}

// contains reports whether a set of letters has a letter.
func contains(set string, letter byte) bool { return strings.IndexByte(set, letter) >= 0 }
