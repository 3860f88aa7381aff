// Command parse reads the .star files of a folder and parses them with the stock
// parser: the greatest part of a first load, and what all of it is compared with.
package main

import (
	"log"
	"os"
	"path/filepath"

	"go.starlark.net/syntax"
)

func main() {
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.star"))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range files {
		if _, err := (&syntax.FileOptions{}).Parse(name, nil, 0); err != nil {
			log.Fatal(err)
		}
	}
}
