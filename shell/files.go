package shell

import (
	"slices"
	"strings"
	"sync"
)

// fileUses is the table of what programs do with the files and hosts that their words name: for the scripts
// that a text runs, and for rules about paths and hosts. A program without a row may do anything with a file.
var fileUses = []struct{ use, names string }{
	{"writes", "cp mv rm tee touch truncate dd install ln chmod chown sed rsync unlink shred"}, // it changes the files
	// It makes files that its words do not name, or even any file of the folder where it runs.
	{"makes", "gh aws gcloud gsutil apt apt-get brew gem cargo go wget curl aria2c helm install mvn protoc rpm yt-dlp split csplit bundle composer poetry pdm uv pip pip3 gio snap"},
	{"unpacks", "tar bsdtar unzip 7z 7za ar cpio rsync scp sftp jar patch svn hg"},
	{"reads", "cat ls head tail grep egrep fgrep rg wc diff cmp file stat less more cut jq du md5sum sha256sum nl tac od strings source . shellcheck"}, // it changes none
	{"mostly reads", "find xxd"}, // but for a few of its flags
	{"opens none", "echo printf export cd pwd true false test [ exit return kill pkill pgrep ps squeue sacct sinfo whoami"},
	{"lists", "echo printf ls du stat file tree find basename dirname realpath readlink wc touch mkdir sha1sum sha256sum sha512sum shasum md5sum cksum promtool"}, // it shows names, sizes and sums only
	{"searches", "grep egrep fgrep rg"},
	{"edits", "sed gsed"},
	{"calls", "curl wget http https xh nc ncat telnet ssh scp sftp rsync ftp git"},                                                                  // it talks to the hosts
	{"passes", "bash sh dash zsh ksh sudo env nohup srun strace timeout time nice command exec : set read npm pnpm yarn bun mkdir date sleep wait"}, // what it runs uses the files
}

// programUses has the uses of each program.
var programUses = sync.OnceValue(func() map[string][]string {
	uses := map[string][]string{}
	for _, row := range fileUses {
		for name := range strings.FieldsSeq(row.names) {
			uses[name] = append(uses[name], row.use)
		}
	}
	return uses
})

// Uses reports whether a program does with the files or hosts that its words name what one of the uses says:
// "writes", "makes", "unpacks", "reads", "mostly reads", "opens none", "lists", "calls" or "passes".
func Uses(program string, uses ...string) bool {
	return slices.ContainsFunc(programUses()[program], func(use string) bool { return isOneOf(use, uses) })
}
