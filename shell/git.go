package shell

import "strings"

// followGit follows git, whose configuration may run programs.
func followGit(r *reader, j *job) {
	args := j.argv[1:]
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.known && w.text == "-c" && i+1 < len(args):
			i++
			judgeGitSetting(r, args[i], j)
		case w.known && (w.text == "-C" || w.text == "--git-dir" || w.text == "--work-tree" || w.text == "--namespace") && i+1 < len(args):
			i++
			if args[i].many {
				r.setWild()
			}
		case w.known && strings.HasPrefix(w.text, "-"):
			if strings.HasPrefix(w.text, "-c") || strings.HasPrefix(w.text, "--config-env") || strings.HasPrefix(w.text, "--exec-path=") {
				r.setWild()
			}
		case isBisectRun(args[i:]):
			r.runElsewhere(func() { r.run(j.wrap("git", args[i+2:], false)) }) // with the files of other commits
			return
		default:
			judgeGit(r, w, args[i+1:])
			return
		}
	}
}

// isBisectRun reports whether git bisect runs the words behind.
func isBisectRun(args []word) bool {
	return len(args) > 2 && args[0].text == "bisect" && args[1].known && args[1].text == "run"
}

// judgeGitSetting judges the value of git -c.
func judgeGitSetting(r *reader, w word, j *job) {
	key, value, _ := strings.Cut(w.text, "=")
	section, _, _ := strings.Cut(strings.ToLower(key), ".")
	switch {
	case !w.known:
		r.setWild()
	case section == "alias" && strings.HasPrefix(value, "!"):
		r.nested(nestedText{word: word{text: value[1:], known: true}, via: "sh -c", wrappers: j.under("git")})
		r.setWild() // git adds the other words
	case strings.EqualFold(key, "core.pager") && value == "cat":
	case section == "commit", section == "fetch", isSafeSetting(key):
	default:
		r.setWild()
	}
}

// gitTable has the flags of subcommands of git that run programs. Behind these a word that is decided at run time may
// be such a flag.
var gitTable = []program{
	{names: " fetch pull submodule bisect "},
	{names: " rebase ", long: " -x --exec ", values: "x"},
	{names: " push archive ls-remote ", long: " --exec "},
	{names: " clone ", long: " -u -c --config --template ", values: "uc"},
	{names: " init ", long: " --template "},
	{names: " grep ", long: " -O --open-files-in-pager ", values: "O"},
}

// gitFlags are flags with which any subcommand runs a program.
const gitFlags = " --upload-pack --receive-pack --ext-diff "

// gitCommands are the subcommands of git that run no other program by themselves. Any other word
// may be an alias, or a program such as git-x.
const gitCommands = " add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-ref-format " +
	"checkout checkout-index cherry cherry-pick clean clone commit commit-graph commit-tree config count-objects describe diff " +
	"diff-files diff-index diff-tree fast-export fetch for-each-ref format-patch fsck gc grep hash-object help index-pack init " +
	"lfs log ls-files ls-remote ls-tree maintenance merge merge-base merge-file merge-tree mktree mv name-rev notes pack-refs " +
	"prune pull push range-diff read-tree rebase reflog remote repack replace reset restore rev-list rev-parse revert rm " +
	"shortlog show show-branch show-ref sparse-checkout stage stash status submodule switch symbolic-ref tag unpack-objects " +
	"update-index update-ref var verify-commit verify-pack verify-tag version whatchanged worktree write-tree "

// gitSteps are the words behind submodule and bisect that run no program of the repository.
var gitSteps = []string{"update", "status", "init", "add", "start", "good", "bad", "reset", "sync"}

// judgeGit judges a subcommand of git.
func judgeGit(r *reader, sub word, args []word) {
	hasSteps := isOneOf(sub.text, []string{"submodule", "bisect"})
	switch {
	case !sub.known, !hasName(gitCommands, sub.text), hasSteps && (len(args) == 0 || !isOneOf(args[0].text, gitSteps)):
		r.setWild()
	case sub.text == "config":
		judgeGitConfig(r, args)
		return
	}
	for i := range gitTable {
		if hasName(gitTable[i].names, sub.text) {
			judgeFlags(r, "git", &gitTable[i], args)
		}
	}
	for _, w := range args {
		if w.known && w.text == "--" {
			break
		}
		if flag, _, _ := strings.Cut(w.text, "="); isDangerous(flag, gitFlags) || strings.HasPrefix(w.text, "ext::") {
			r.setWild()
		}
	}
}

// judgeGitConfig judges git config: the first word with a dot is the setting.
func judgeGitConfig(r *reader, args []word) {
	if len(args) < 2 || strings.HasPrefix(args[0].text, "--get") {
		return
	}
	for _, w := range args {
		switch {
		case !w.known || strings.Contains(w.text, "section") || w.mayFlag() && strings.Contains(w.text, "="):
			r.setWild()
			return
		case !w.mayFlag() && strings.Contains(w.text, "."):
			if !isSafeSetting(w.text) {
				r.setWild()
			}
			return
		}
	}
}

// isSafeSetting reports whether a word of git config names no setting that contains a program.
func isSafeSetting(text string) bool {
	text = strings.ToLower(text)
	section, _, ok := strings.Cut(text, ".")
	return !ok || isOneOf(section, []string{"user", "color", "advice", "safe", "push", "pull"}) ||
		isOneOf(text, []string{"init.defaultbranch", "merge.ff", "merge.conflictstyle"})
}
