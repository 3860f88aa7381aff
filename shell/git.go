package shell

import (
	"slices"
	"strings"
)

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
		r.nested(word{text: value[1:], known: true}, "sh -c", j.under("git"), false)
		r.setWild() // git adds the other words
	case strings.EqualFold(key, "core.pager") && value == "cat":
	case section == "commit", section == "fetch", isSafeSetting(key):
	default:
		r.setWild()
	}
}

// A gitRow says when a subcommand of git runs programs.
type gitRow struct {
	name     string // "" is any subcommand
	wild     bool   // it runs programs, unless its first word is one of harmless
	harmless []string
	flags    string // the long flags with which it runs a program, between spaces
	letters  string // the short ones
}

var gitTable = []gitRow{
	{name: "", flags: " --upload-pack --receive-pack --ext-diff "},
	{name: "submodule", wild: true, harmless: gitSteps},
	{name: "bisect", wild: true, harmless: gitSteps},
	{name: "difftool", wild: true},
	{name: "mergetool", wild: true},
	{name: "merge-index", wild: true},
	{name: "filter-branch", wild: true},
	{name: "daemon", wild: true},
	{name: "send-email", wild: true},
	{name: "shell", wild: true},
	{name: "web--browse", wild: true},
	{name: "instaweb", wild: true},
	{name: "rebase", flags: " --exec ", letters: "x"},
	{name: "push", flags: " --exec "},
	{name: "archive", flags: " --exec "},
	{name: "ls-remote", flags: " --exec "},
	{name: "fetch"},
	{name: "pull"},
	{name: "config"},
	{name: "clone", flags: " --config --template ", letters: "uc"},
	{name: "init", flags: " --template "},
	{name: "grep", flags: " --open-files-in-pager ", letters: "O"},
}

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
	i := slices.IndexFunc(gitTable, func(row gitRow) bool { return row.name == sub.text })
	if !sub.known || i <= 0 && !hasName(gitCommands, sub.text) {
		r.setWild()
		return
	}
	row := gitTable[max(i, 0)]
	if row.wild && (len(args) == 0 || !isOneOf(args[0].text, row.harmless)) {
		r.setWild()
	}
	if sub.text == "config" {
		judgeGitConfig(r, args)
		return
	}
	for _, w := range args {
		if w.known && w.text == "--" {
			break
		}
		flag, _, _ := strings.Cut(w.text, "=")
		letters := strings.TrimPrefix(w.text, "-")
		switch {
		case !w.known && i > 0 && (w.mayFlag() || w.many && w.open().pattern == ""),
			isDangerous(flag, row.flags), isDangerous(flag, gitTable[0].flags),
			len(w.text)-len(letters) == 1 && !strings.HasPrefix(letters, "-") && strings.ContainsAny(letters, row.letters),
			strings.HasPrefix(w.text, "ext::"):
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
