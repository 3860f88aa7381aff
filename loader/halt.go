package loader

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/texttable"
)

// haltName is the name of the file beside the managed config that halts all calls.
const haltName = "halt"

// maxHalt is the most bytes of a reason for a halt; the rest of the line is left out.
const maxHalt = 200

// Halted returns a [*host.HaltError] if a file named halt is beside the managed config, whose path
// is managed, and nil otherwise. The file's first line is the reason. A file that cannot be read halts,
// too, because only the administrator can have made it. "" for no managed config halts nothing.
func Halted(managed string) error {
	if managed == "" {
		return nil
	}
	file := filepath.Join(filepath.Dir(managed), haltName)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	halt := &host.HaltError{Reason: "the file cannot be read", File: filepath.ToSlash(file)}
	if err != nil || !info.Mode().IsRegular() {
		return halt
	}
	f, err := os.Open(file)
	if err != nil {
		return halt
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxHalt)).ReadString('\n')
	if err == nil || err == io.EOF {
		halt.Reason = cmp.Or(texttable.Escape(strings.TrimSpace(line)), "no reason given")
	}
	return halt
}
