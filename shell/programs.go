package shell

import (
	"strings"
	"sync"
)

// programs is the table of the programs that starhost knows, in groups. A program without a row may
// run what its words mention. A row costs nothing but this line, but a wrong "harmless" is a wrong
// "no": its words, with all of its flags, start no other program.
var programs = []program{
	// Wrappers: the words behind their flags, which options.go has, are a command.
	{names: "- builtin busybox nocorrect noglob nohup toybox", kind: runsWords},
	{names: "chrt", kind: runsWords, operands: 1},
	{names: "command", kind: runsWords, query: " -v -V ", shaky: " -p "},
	{names: "doas", kind: runsWords},
	{names: "ionice", kind: runsWords},
	{names: "nice", kind: runsWords},
	{names: "setsid", kind: runsWords},
	{names: "stdbuf", kind: runsWords},
	{names: "time", kind: runsWords},
	{names: "timeout", kind: runsWords, operands: 1},
	{names: "env", kind: runsAssigned, shaky: " -i -u -C ", long: " --split-string "},
	{names: "sudo", kind: runsAssigned, shaky: " -s -i "},
	{names: "xargs", kind: runsInput},
	{names: "srun", kind: runsWords},
	{names: "strace", kind: runsWords},
	{names: "repeat", kind: runsRepeat},
	{names: "exec", kind: leaves, shaky: " -c "},
	{names: "watch", kind: runsWatch},

	// Shells, and what gives a text to one.
	{names: "ash bash dash ksh mksh rbash sh zsh", kind: runsShell},
	{names: "su", kind: runsOption},
	{names: "eval", kind: runsEval},
	{names: "trap", kind: runsTrap},
	{names: "ssh", kind: runsRemote, operands: 1, query: " -V ", long: " -F -I -O -P "},

	// Programs that are a command themselves and also run one.
	{names: "find", kind: runsFind},
	{names: "docker docker-compose nerdctl podman", kind: runsContainer},
	{names: "kubectl", kind: runsPod},
	{names: "git", kind: runsGit},

	// Interpreters of another language, and programs whose text may run others.
	{names: "deno lua node perl php pypy python python2 python3 ruby ts-node tsx", kind: interprets},
	{names: "awk gawk mawk nawk", kind: interpretsAwk},
	{names: "gsed sed", kind: interpretsSed},
	{names: "mariadb mysql psql sqlite3", kind: queries},

	// Builtins that calculate words, assign, or change how the shell reads.
	{names: "break bye continue exit kill logout return shift suspend", kind: calculates},
	{names: "declare export local readonly typeset", kind: declares},
	{names: "getln getopts read unset wait", kind: assigns},
	{names: "printf", kind: prints},
	{names: "[ test", kind: tests},
	{names: "set shopt", kind: sets},

	// Programs that make files, which the text may run.
	{names: "cp curl dd ln mv tee cwebp dwebp gif2webp gifsicle img2webp jpegoptim jpegtran optipng oxipng pngcrush webpinfo webpmux", kind: writes},
	{names: "install", kind: writes, long: " --strip-program "},
	{names: "wget", kind: writes, values: "e", long: " --use-askpass -e --execute --config "},

	// Runners of packages. Behind other words they run scripts.
	{names: "bun", kind: packages},
	{names: "npm pnpm", kind: packages, subs: " ls list view info outdated audit whoami search why root prefix "},
	{names: "yarn", kind: packages, subs: " list info why "},

	// Harmless but for these flags and subcommands.
	{names: "apt apt-get", kind: flagged, mentions: true, values: "oc", long: " -o -c --option --config-file "},
	{names: "aria2c", kind: flagged, mentions: true, long: " --on-download-complete --on-download-error --on-download-pause --on-download-start --on-download-stop --on-bt-download-complete "},
	{names: "aws", kind: flagged, mentions: true, long: " execute-command send-command start-session "},
	{names: "cc c++ g++ gcc", kind: flagged, long: " -wrapper -B* -fplugin -specs --specs "},
	{names: "clang clang++", kind: flagged, long: " -wrapper -B* -fplugin -fpass-plugin -load "},
	{names: "cpio", kind: flagged, mentions: true, long: " --rsh-command "},
	{names: "fd fdfind", kind: flagged, values: "xX", long: " -x -X --exec --exec-batch "},
	{names: "fzf", kind: flagged, long: " --preview --bind --with-shell "},
	{names: "gcloud", kind: flagged, mentions: true, long: " ssh "},
	{names: "az", kind: flagged, mentions: true, long: " ssh extension run-command "},
	{names: "gsutil bq doctl hcloud", kind: flagged, mentions: true, long: " ssh "},
	{names: "split", kind: flagged, long: " --filter "},
	{names: "gh", kind: flagged, long: " alias extension ext codespace cs "},
	{names: "helm", kind: flagged, mentions: true, long: " --post-renderer plugin "},
	{names: "hg", kind: flagged, mentions: true, long: " --config --tool bisect extdiff "},
	{names: "svn", kind: flagged, mentions: true, long: " --editor-cmd --diff-cmd --diff3-cmd --config-option "},
	{names: "ip", kind: flagged, mentions: true, values: "b", long: " netns vrf net netn vr -batch -b "},
	{names: "jobs", kind: flagged, values: "x", long: " -x "},
	{names: "less", kind: flagged, values: "k+", long: " -k --lesskey-file --lesskey-src "},
	{names: "man", kind: flagged, values: "PH", long: " -P --pager -H --html "},
	{names: "nvm", kind: flagged, mentions: true, long: " exec run "},
	{names: "op", kind: flagged, mentions: true, long: " run plugin "},
	{names: "pandoc", kind: flagged, values: "FL", long: " -F -L --filter --lua-filter --pdf-engine "},
	{names: "print", kind: flagged, values: "vf", long: " -v -f "},
	{names: "rg", kind: flagged, long: " --pre --hostname-bin "},
	{names: "rpm", kind: flagged, mentions: true, values: "E", long: " -E --eval --define "},
	{names: "rsync", kind: flagged, values: "e", long: " -e --rsh --rsync-path -M --remote-option "},
	{names: "scp", kind: flagged, values: "SoDF", long: " -S -o -D -F "},
	{names: "sort", kind: flagged, long: " --compress-program "},
	{names: "tcpdump", kind: flagged, values: "z", long: " -z --postrotate-command "},
	{names: "yt-dlp", kind: flagged, mentions: true, long: " --exec --exec-before-download --downloader --external-downloader "},
	{names: "zip", kind: flagged, long: " -TT --unzip-command -T "},

	// Builtins that run a text, or that change what words mean.
	{names: ". R alias autoload bind compctl compgen complete disable emulate enable fc functions hash let mapfile readarray " +
		"sched setopt setterm source unsetopt vared zargs zformat zle zmodload zparseopts zpty zregexparse zrun zstyle", kind: opaque},

	// Archives and schedules, which run programs behind some of their flags.
	{names: "tar bsdtar", kind: flagged, values: "IF", long: " -I --use-compress-program --to-command --checkpoint-action --rsh-command --rmt-command --info-script --new-volume-script -F --use "},
	{names: "crontab", kind: opaque, query: " -l "},
	{names: "vault", kind: flagged, mentions: true, long: " agent ssh proxy "},
	{names: "openssl", kind: flagged, long: " -engine -provider -config -provider-path "},
	{names: "bat", kind: flagged, long: " --pager --diff "},
	{names: "javac", kind: flagged, long: " -processor --processor-path -processorpath -J* "},
	{names: "javap jar", kind: flagged, long: " -J* "},
	{names: "ar nm objcopy objdump ranlib size strip", kind: flagged, long: " --plugin "},
	{names: "actionlint", kind: flagged, long: " -shellcheck --shellcheck -pyflakes --pyflakes "},
	{names: "cloc", kind: flagged, values: "vec", long: " --extract-with --vcs --config "},
	{names: "gio", kind: flagged, subs: " cat copy info list mkdir monitor move remove rename save set trash tree "},
	{names: "markdownlint", kind: flagged, values: "rc", long: " -r --rules -c --config "},
	{names: "redis-cli valkey-cli", kind: flagged, long: " module MODULE --eval -x "},
	{names: "patch", kind: flagged, values: "e", long: " -e --ed "},
	{names: "protoc", kind: flagged, long: " --plugin "},
	{names: "wl-paste", kind: flagged, values: "w", long: " -w --watch "},
	{names: "nc nc.openbsd nc.traditional ncat netcat", kind: flagged, values: "ecL", long: " -e -c -L --exec --sh-exec --lua-exec "},
	{names: "nmap", kind: flagged, long: " --script -sC -A "},
	{names: "ulimit", kind: calculates},

	// Runners and managers: harmless behind these subcommands only.
	{names: "go", kind: flagged, long: " -exec -toolexec --exec --toolexec -vettool --vettool -w ", subs: " build vet list env fmt doc mod version get install clean fix bug telemetry work help tool_cover tool_nm tool_pprof tool_objdump tool_trace "},
	{names: "cargo", kind: flagged, long: " --config ", subs: " tree metadata add remove search update version fmt login logout owner yank info locate-project pkgid generate-lockfile fetch vendor new init help read-manifest verify-project "},
	{names: "pip pip2 pip3", kind: flagged, subs: " tree list show freeze check config cache debug index search uninstall help inspect hash "},
	{names: "gem", kind: flagged, subs: " list search info environment env owner yank push signin signout outdated contents which help "},
	{names: "conda mamba micromamba", kind: flagged, subs: " list search info env_list config "},
	{names: "pipx", kind: flagged, subs: " list environment "},
	{names: "poetry pdm", kind: flagged, subs: " show search version check about "},
	{names: "uv", kind: flagged, subs: " tree version cache python help pip_list pip_show pip_freeze pip_tree pip_check "},
	{names: "composer", kind: flagged, subs: " show outdated search validate why info licenses diagnose "},
	{names: "brew", kind: flagged, subs: " list ls info search outdated deps uses config doctor cat leaves tap-info "},
	{names: "systemctl", kind: flagged, subs: " status is-active is-enabled is-failed is-system-running list-units list-unit-files list-timers list-sockets list-jobs list-dependencies show cat stop disable mask kill reset-failed daemon-reload poweroff reboot halt suspend "},
	{names: "launchctl", kind: flagged, subs: " list print blame "},
	{names: "snap", kind: flagged, subs: " list info find version changes remove "},
	{names: "rustup", kind: flagged, subs: " show update default target component toolchain check "},
	{names: "tmux", kind: flagged, subs: " ls list-sessions list-windows list-panes kill-session kill-server kill-window capture-pane has-session "},
	{names: "pyenv rbenv nodenv", kind: flagged, subs: " versions version root "},
	{names: "asdf", kind: flagged, subs: " current list "},
	{names: "direnv", kind: flagged, subs: " status version "},
	{names: "fly flyctl", kind: flagged, subs: " status logs info version releases doctor apps_list volumes_list secrets_list ips_list machine_list machines_list image_show certs_list "},
	{names: "heroku", kind: flagged, subs: " status logs ps apps apps:info releases domains addons config pg:info auth:whoami "},
	{names: "netlify railway", kind: flagged, subs: " status whoami logs "},
	{names: "mise", kind: flagged, subs: " ls list current where which "},
	{names: "minikube", kind: flagged, subs: " status ip version profile delete stop "},

	// Interpreters and builds, which say their version.
	{names: "java jshell kotlin kotlinc scala groovy", kind: opaque, query: " -version --version "},
	{names: "elixir gradle", kind: opaque, query: " -v "},
	{names: "mvn", kind: opaque, query: " -v -version "},
	{names: "erl", kind: opaque},

	// Harmless. Files and texts.
	{names: "basename cat chattr chgrp chmod chown cksum cmp comm column cut df diff dir dirname du expand file fmt fold head iconv " +
		"join jq link ls lsattr lsblk md5 md5sum mkdir mkfifo mknod mktemp namei nl od paste pathchk pr ptx readlink realpath " +
		"rev rm rmdir seq sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum shred shuf stat strings sum sync tac " +
		"tail touch tr truncate trash trash-put tree tsort unexpand uniq unlink vdir wc xmllint xxd hexdump yq gron colordiff " +
		"eza exa lsd grep egrep fgrep zgrep zcat bzcat xzcat look numfmt csplit getfacl setfacl patchelf " +
		"readelf plutil", kind: harmless},

	// Harmless. Archives.
	{names: "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 unzip zipinfo 7z 7za base64 base32", kind: harmless},

	// Harmless. What a machine is and does.
	{names: "date hostname id groups users who w whoami uname uptime free vmstat iostat lscpu lsmod lsusb lspci lsof ps pstree " +
		"pgrep pkill pidof killall top htop dmesg nproc getconf getent locale tty stty tput clear reset logname last lastlog " +
		"sysctl journalctl timedatectl hostnamectl loginctl shutdown reboot halt poweroff sacct sinfo squeue sw_vers system_profiler nvidia-smi " +
		"findmnt mountpoint swapon swapoff blkid wipefs fuser renice cal ncal sleep true false yes printenv echo : pwd cd pushd " +
		"popd dirs umask times type which whereis help history fg bg disown caller tldr apropos whatis", kind: harmless},

	// Harmless. Networks.
	{names: "ping ping6 traceroute tracepath mtr dig host nslookup whois ss netstat ifconfig arp pbcopy pbpaste xclip xsel wl-copy", kind: harmless},

	// Harmless. Compilers, formatters and what reads a project without running it.
	{names: "gofmt goimports tsc ruff black shellcheck shfmt clang-format yamllint jsonlint hadolint " +
		"rustfmt tokei scc", kind: harmless},

	// Programs that run others, or the code of a project, a file or an image; nothing follows them.
	// Interpreters, runners of tests and builds, terminals, editors, schedulers, agents.
	{names: "Rscript bundle ldd sqlc aa-exec abduco abuild act aider air airflow alacritty alembic amp anacron ansible ansible-console " +
		"ansible-playbook ansible-pull ant apptainer arch artisan asciinema astro at atmos automator autossh ava aws-okta " +
		"aws-vault babel babel-node backstage batch bats bazel bazelisk bb behat behave bfs bitbake bmake bolt boundary " +
		"bpftrace bpython briefcase brownie bsub buck buck2 buildah buildkite-agent buildozer bunx busctl busted bwrap byebug " +
		"byobu c8 cabal caffeinate call cap capacitor capsh carthage cdk cdktf celery cgexec chamber changeset chef-client " +
		"chef-run chef-shell chef-solo chokidar choom chpst chronic chroot circleci circus circusd claude clisp clj clojure " +
		"clush cmake cmd codecept codex coffee colima conan concurrently confd conftest consul-template copilot cordova " +
		"coverage cpack cpan cpanm cpulimit crenv crictl cross-env cross-env-shell crush crystal cscript csh csi ctest ctr " +
		"cucumber cucumber-js cursor-agent cypress daemonize dagger dagster dart dbclient dbt dbus-launch dbus-run-session dc " +
		"debuild devbox devenv devspace dex dinit dinitctl distrobox django-admin doit doppler dotenv dotenvx dotnet " +
		"dotnet-script dpkg-buildpackage dpkg-reconfigure drizzle-kit droid drone drush dsh dtach dtrace dtruss dune dvc dzdo " +
		"dzil earthly eas eatmydata ecl ed electron elvish emacs emacsclient ember emerge entr env-cmd envchain " +
		"envconsul envdir envuidgid es esbuild escript eslint esr et evim ex execlineb expect expo expo-cli fab fakechroot " +
		"fakeroot faketime fastlane firejail fish flask flatpak flatpak-builder float flock flutter fnm foot foreman " +
		"forever fsi ftp fvm gapplication garden gatsby gdb gemini ghc ghci gimp ginkgo ginsh gita gitk gitlab-runner gleam " +
		"gmake gnome-terminal gnuplot go-task god goenv goose goreleaser goreman gosu gotestsum gotty gow gpg-agent " +
		"gradlew graftcp grunt gs gst gtk-launch guard guile gulp gunicorn gview gvim gvm hatch heaptrack helmenv " +
		"hivemind honcho hush husky hx hypercorn hyperfine i386 iex ifne incus infisical initctl integer interpreter inv invoke " +
		"invoke-expression invoke-item ion ionic ipython irb jabba jake jasmine jbang jekyll jenv jest jjs joe jrunscript " +
		"julia jupyter jupyter-lab jupyter-notebook just jython k3s kak karate karma kedro kiro kitchen kitty knex knife " +
		"ko konsole kubecolor latex latexmk lazygit lckdo lefthook lein lerna lftp lima limactl lint-staged " +
		"linux32 linux64 lksh lldb llm locust login logrotate logsave ltrace luajit lualatex luatex luigi lxc lxc-attach m4 " +
		"machinectl mage mail mailx make makepkg manim mask maturin maxima mc mcedit melos meson micro microk8s " +
		"micropython middleman mill mina minijail0 mispipe mix mkdocs mlflow mocha modd molecule mongo mongosh " +
		"monit moon mosh mprocs mpv mshta multipass multitime mutt mvnw n nano nbconvert " +
		"new-session newgrp newrole next nextflow ng nightwatch nim nimble ninja nix nix-build nix-env " +
		"nix-instantiate nix-shell nmake nodebrew nodejs nodemon nose2 nosetests nox npm-run-all npx nsenter nsjail nu numactl " +
		"nuxt nvim nx nyc oc ocaml octave odin oil oksh okteto onchange opam open opencode openvpn orb osascript osh overmind " +
		"pabot packer pants papermill parallel parallel-ssh parcel pdflatex pdftex pdksh pdsh pee pelican perf perlbrew pest " +
		"pew pex pfexec phing phpbrew phpenv phpunit pico pio pipenv pivot_root pixi pkexec pkgx platformio playwright " +
		"please plenv plink pm2 pmake pnpx pod poe posh powershell pre-commit prefect prettier prisma prlimit proot prove " +
		"proxychains proxychains4 prsh pry psexec pssh pulumi puma puppet pwsh py.test pytest qsub quarto qwen racket rackup " +
		"rails rake raku rc rc-service rc-update rebar rebar3 reflex regsvr32 remake remix remsh reptyr rexec rlogin " +
		"rlwrap robot rollup roundup rpmbuild rpmquery rpmverify rr rsh rspec rtx run-p run-parts run-s run0 runc runcon " +
		"rundll32 runghc runhaskell runsv runsvdir runuser rush rview rvim rvm rvm-exec rxvt rye s6-setuidgid sage salt " +
		"salt-call sam saml2aws samu sandbox-exec saps sbatch sbcl sbt sbtenv schedtool schroot schtasks scons scrapy " +
		"screen script scriptlive sdk sdkman sem semantic-release send-keys sequelize serverless service setarch setlock " +
		"setpriv setuidgid sftp sg sgpt shards shellspec shortcuts shunit2 sidekiq singularity skaffold sls slsh snakemake " +
		"snapcraft socat softlimit sphinx-build spring ssh-agent sshfs sshpass stack start start-process " +
		"start-stop-daemon storybook streamlit stunnel stylelint su-exec sudo-rs sudoedit supervisorctl supervisord sv " +
		"svc swc swift swipl switch_root symfony systemd-cat systemd-inhibit systemd-nspawn systemd-run tap tape task taskset " +
		"tauri tclsh tcpserver tcsh tenv terminator terragrunt tex texlua tfenv tfswitch tgenv tgswitch thor tig tilix tilt " +
		"tmate toolbox torify torsocks tox trace-cmd trunk ts tsh tsocks tsp ttyd ttyrec tuist turbo typeorm " +
		"uname26 unbuffer unicorn unshare urxvt utop uvicorn uvx v vagrant valgrind vi vidir view vim vimdiff vipe vite vitest " +
		"vlc volta vpnc vue wach waf waitress-serve wasm-pack watchexec watchman-make webpack websocketd werf west wezterm " +
		"wireit wireshark wish woodpecker-cli wp wscript wsl x86_64 xcodebuild xcrun xctool xdg-open xdotool xelatex xemacs " +
		"xetex xonsh xterm xvfb-run yash ysh zellij zig zx", kind: opaque},
}

// programRows returns the rows of the table by name.
var programRows = sync.OnceValue(func() map[string]*program {
	rows := make(map[string]*program, 2048)
	for i := range programs {
		for name := range strings.SplitSeq(programs[i].names, " ") {
			rows[name] = &programs[i]
		}
	}
	return rows
})
