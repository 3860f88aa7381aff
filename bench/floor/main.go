// Command floor does the least that a program can which starts, or which looks at
// files: it reads those of folders, and with "sum" hashes them. It is what the start
// of starhost is compared with.
package main

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) < 3 {
		return // to start and to end is all
	}
	sum := os.Args[1] == "sum"
	for _, dir := range os.Args[2:] {
		if err := filepath.WalkDir(dir, visit(sum)); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	}
}

// sink keeps the compiler from leaving the hashing out.
var sink [sha256.Size]byte

// visit reads a file.
func visit(sum bool) fs.WalkDirFunc {
	return func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if sum {
			sink = sha256.Sum256(text)
		}
		return err
	}
}
