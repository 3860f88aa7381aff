package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/disk"
)

// maxPinFile is the most bytes of a file of pins. It has room for the longest names of maxTools.
const maxPinFile = 1 << 20

// pinTools returns the pins of a server: the digest of each tool that the operator accepted with
// approval = "auto", by name. These are the tools of the server's first list. If file is not "",
// pinTools stores them there, so that a change between two processes shows, too; a file that exists
// wins over the list. If starhost cannot read the file, there are no pins, so that every tool asks.
func pinTools(file string, first map[string]fragments.Hash) (map[string]fragments.Hash, error) {
	if file == "" {
		return first, nil
	}
	pins, err := readPins(file)
	if errors.Is(err, fs.ErrNotExist) {
		return first, writePins(file, first)
	}
	return pins, err
}

func readPins(file string) (map[string]fragments.Hash, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("got %s, want a file", info.Mode().Type())
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPinFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxPinFile {
		return nil, fmt.Errorf("got more than %d bytes", maxPinFile)
	}
	var pins map[string]fragments.Hash
	if err := json.Unmarshal(data, &pins); err != nil {
		return nil, errors.New("want a JSON object of digests")
	}
	return pins, nil
}

// writePins stores pins in a file of the user alone.
func writePins(file string, pins map[string]fragments.Hash) error {
	data, err := json.Marshal(pins)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return disk.Replace(file, data, 0o600)
}
