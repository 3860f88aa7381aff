package shell

import (
	"slices"
	"strings"
	"sync"
)

// otherPrograms run other programs, or are interpreters. Nothing follows them, so each of them
// counts as unknown.
const otherPrograms = " Rscript aa-exec abduco act alacritty ansible-console ansible-playbook ansible-pull ant " +
	"apptainer asciinema autossh aws-okta babel-node bb bfs bmake bolt boundary bpftrace " +
	"bpython buildah busctl byebug byobu cabal call cap chef-shell chokidar choom chpst " +
	"circleci clisp clj clojure cmd coffee colima compctl crictl cross-env cross-env-shell " +
	"csh csi ctr dagger dbclient django-admin doit dotenvx dotnet-script drush dsh dtach " +
	"dtrace dtruss dune dzdo earthly ecl electron elixir elvish emacsclient env-cmd envchain " +
	"envdir envuidgid erl es escript esr et evim execlineb fab fakechroot fish flask flatpak " +
	"float fly flyctl fnm foot forever fsi ftp ghci gimp ginsh gitk gitlab-runner " +
	"gnome-terminal gnuplot go-task goenv gosu gotty graftcp groovy gs gst guile gview gvim " +
	"heaptrack hush husky hx i386 iex ifne incus infisical integer inv invoke-expression " +
	"invoke-item ion ipython jbang jenv jjs joe jrunscript jshell julia jython kak kitty " +
	"knife konsole kotlin latex latexmk launchctl lazygit lckdo lefthook lein lerna lftp " +
	"lima limactl lint-staged lksh lldb logsave luajit lualatex luatex lxc lxc-attach " +
	"machinectl mage mail mailx maxima mc mcedit meson micro micromamba micropython " +
	"minijail0 mispipe mix modd mongo mongosh moon multipass mutt nano nc.openbsd " +
	"nc.traditional netcat netlify newrole nix-build nix-env nix-instantiate nmake nodejs " +
	"nodenv npm-run-all nsjail nu nx oc ocaml octave oil oksh onchange opam open openvpn orb " +
	"osh pants parallel-ssh pdflatex pdftex pdksh pdm pee pew pfexec pico pipx pivot_root " +
	"pixi please plink pm2 pmake pnpx posh powershell pre-commit prsh pry psexec pssh puppet " +
	"pwsh racket rails railway raku rc rebar3 reflex remake remsh reptyr rexec rlogin " +
	"rpmbuild rpmquery rpmverify rr rsh rtx run-p run-s run0 runc rundll32 runghc runhaskell " +
	"rush rview rvim rvm rxvt rye s6-setuidgid salt salt-call saml2aws samu sandbox-exec " +
	"saps sbcl sbt scala schedtool schroot schtasks scons scriptlive service setlock " +
	"setuidgid singularity skaffold slsh snap softlimit sshfs stack start start-process " +
	"stunnel su-exec sudo-rs sudoedit supervisorctl supervisord swipl switch_root " +
	"systemd-cat systemd-inhibit systemd-nspawn tcpserver tcsh terminator tex tig tilix tilt " +
	"tmate trace-cmd ts-node tsh tsocks tsx ttyd ttyrec turbo uname26 urxvt utop vidir " +
	"vimdiff vipe volta wach waf websocketd wezterm wireit wp wsl x86_64 xdg-open xelatex " +
	"xemacs xetex xterm yash ysh zellij zformat zparseopts zpty zregexparse zrun "

// otherNames are the words of otherPrograms, which are sorted.
var otherNames = sync.OnceValue(func() []string { return strings.Fields(otherPrograms) })

// isOther reports whether a program is one of them.
func isOther(name string) bool {
	_, found := slices.BinarySearch(otherNames(), name)
	return found
}

// harmlessQueries are the commands of sqlite3 and psql that show something.
const harmlessQueries = " .tables .schema .mode .headers .header .databases .indexes .dump .width .timeout .fullschema .stats " +
	`\d \d+ \dt \dt+ \dn \du \di \df \l \l+ \x \conninfo `

// runningQueries are parts of texts for databases that run a program or read another text.
var runningQueries = []string{"system", "program", "source", "pager", "load_extension", "edit("}

// judgeQuery judges the client of a database: some commands in its text run a program.
func (r *reader) judgeQuery(name string, args []word) {
	texts := 0
	behindFile := false // for sqlite3
	for _, w := range args {
		switch {
		case !w.known && (w.many || w.mayFlag() || behindFile):
			r.setWild()
		case w.mayFlag() && w.text[1] != '-' && strings.ContainsAny(w.text, "fv"), hasStart(w.text, "--f", "--v", "--p", "-init"):
			r.setWild() // a file, a variable or a pager
		case name == "sqlite3" && !behindFile && !strings.Contains(w.text, " "): // the file
		case !isSafeQuery(w.text):
			r.setWild()
		}
		if behindFile || hasStart(w.text, "-c", "-e", "-l", "--command", "--execute", "--list", "--help") {
			texts++
		}
		behindFile = behindFile || name == "sqlite3" && w.isOperand()
	}
	if texts == 0 {
		r.setWild() // the text comes from standard input
	}
}

// isSafeQuery reports whether a text for a database runs no program.
func isSafeQuery(text string) bool {
	lower := strings.ToLower(text)
	for _, part := range runningQueries {
		if strings.Contains(lower, part) {
			return false
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if strings.HasPrefix(first, ".") || strings.HasPrefix(first, `\`) {
		return strings.Contains(harmlessQueries, " "+first+" ") && strings.LastIndexAny(text, "\\\n|") <= 0
	}
	return !strings.Contains(text, `\`) && !strings.Contains(text, "\n.")
}

// hasStart reports whether a text begins with one of the starts.
func hasStart(text string, starts ...string) bool {
	for _, start := range starts {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}
