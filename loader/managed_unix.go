//go:build unix

package loader

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// checkManaged returns an error if anybody but root and the current user may write the managed config, or put
// another file in its place. It checks the folder of the path, and the file and the folder that links lead
// to.
func checkManaged(shown, file string) *Error {
	at := Place{File: shown}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return errorAt(at, "E0615", "%s", reason(err))
	}
	names := []string{filepath.Dir(file), filepath.Dir(real), real}
	for _, name := range slices.Compact(names) {
		info, err := os.Stat(name)
		if err != nil {
			return errorAt(at, "E0615", "%s", reason(err))
		}
		if problem := writers(info); problem != "" {
			return errorAt(at, "E0616", "%s: %s, want a managed config that only root can write", filepath.ToSlash(name), problem)
		}
	}
	return nil
}

// writers says who may write a file besides root and the current user; "" if no other user may.
func writers(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode()
	switch {
	case !ok:
		return ""
	case isOthers(info):
		return "user " + strconv.FormatUint(uint64(stat.Uid), 10) + " owns it"
	case mode.IsDir() && mode&fs.ModeSticky != 0: // in a sticky folder, users cannot replace files of others
		return ""
	case mode&0o002 != 0:
		return "everybody may write it"
	case mode&0o020 != 0 && stat.Gid != 0:
		return "group " + strconv.FormatUint(uint64(stat.Gid), 10) + " may write it"
	}
	return ""
}

// isUnmapped reports whether uid stands for all users outside of a user namespace. In a sandbox, root's files
// seem to belong to this user.
func isUnmapped(uid uint32) bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	return uid == 65534 && err == nil && !slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"})
}
