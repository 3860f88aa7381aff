package starlark

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	varint "encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// The file of a cache begins with cacheMagic and a digest of the build that wrote it. Then come the
// items: key, SHA-256 of key and data, size of the data, data. No other user can write the file,
// because its folder has mode 0700. Only the rewriter of this build makes programs that charge for
// their work as this build expects. So starhost ignores the file of another build, and every item
// that does not match its SHA-256.
const (
	cacheFile  = "programs.cache"
	cacheMagic = "starhost programs 1\n"
	tempEnd    = ".tmp"

	// maxCacheFile is the most bytes of the file, which each start reads whole: enough for
	// some 5,000 small plugins.
	maxCacheFile = 8 << 20
	// orphanAge is the age of a temporary file that a crash left behind.
	orphanAge = time.Hour
)

// A storedItem is an item of the file whose SHA-256 is not checked yet.
type storedItem struct {
	sum  [sha256.Size]byte
	data []byte
}

// isIntact reports whether the data of the item match its SHA-256.
func (s storedItem) isIntact(key cacheKey) bool { return s.sum == itemSum(key, s.data) }

func itemSum(key cacheKey, data []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(key[:])
	h.Write(data)
	return [sha256.Size]byte(h.Sum(nil))
}

// OpenCache returns a Cache that begins with the items that [Cache.Save] wrote to a folder,
// and makes the folder if there is none. The folder must have mode 0700 and belong to the
// user. If OpenCache returns an error, the Cache works in memory.
func OpenCache(dir string) (*Cache, error) {
	root, err := openPrivate(dir, true)
	if err != nil {
		return &Cache{}, fmt.Errorf("cache %s: %w", dir, err)
	}
	defer root.Close()
	return &Cache{dir: dir, fileItems: readItems(root)}, nil
}

// openPrivate opens a folder that only its user may use. If create is true, it makes the folder.
func openPrivate(dir string, create bool) (*os.Root, error) {
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, reasonOf(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, reasonOf(err)
	}
	info, err := root.Stat(".")
	switch {
	case err != nil:
	case info.Mode().Perm()&0o077 != 0:
		err = fmt.Errorf("others may use the folder: got mode %04o, want 0700", info.Mode().Perm())
	case !isOwn(info):
		err = errors.New("the folder is another user's")
	}
	if err != nil {
		root.Close() // the folder was only read
		return nil, reasonOf(err)
	}
	return root, nil
}

// reasonOf returns the reason of a failed operation, without the path.
func reasonOf(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// cacheHead returns the first bytes of a file of this build: they depend on the versions of all
// modules, and on the executable, because builds of edited sources have no version.
var cacheHead = sync.OnceValue(func() []byte {
	info, _ := debug.ReadBuildInfo() // nil if another tool than go build made the program
	id := fmt.Sprint(info)
	if name, err := os.Executable(); err == nil {
		if file, err := os.Stat(name); err == nil {
			id += fmt.Sprint(name, file.Size(), file.ModTime().UnixNano())
		}
	}
	sum := sha256.Sum256([]byte(id))
	return append([]byte(cacheMagic), sum[:]...)
})

// readItems returns the items of the file in a folder.
func readItems(root *os.Root) map[cacheKey]storedItem {
	info, err := root.Lstat(cacheFile)
	if err != nil || !info.Mode().IsRegular() || !isOwn(info) || info.Size() > maxCacheFile {
		return nil
	}
	data, _ := root.ReadFile(cacheFile) // nil if there is an error
	return parseItems(data)
}

// parseItems returns the items of a file, up to the first incomplete one. It returns none if
// another build wrote the file.
func parseItems(data []byte) map[cacheKey]storedItem {
	const fixed = 2 * sha256.Size
	data, ours := bytes.CutPrefix(data, cacheHead())
	items := map[cacheKey]storedItem{}
	for ours && len(data) > fixed {
		key, sum := cacheKey(data), [sha256.Size]byte(data[sha256.Size:])
		n, size := varint.Uvarint(data[fixed:])
		if size <= 0 || n > uint64(len(data)-fixed-size) {
			break
		}
		data = data[fixed+size:]
		items[key], data = storedItem{sum, data[:n:n]}, data[n:]
	}
	return items
}

// Save writes the cache to its file, together with the items that other programs wrote meanwhile.
// If the file becomes too large, Save omits items that this process did not use. Save does nothing
// if there is no new item, or no folder.
func (c *Cache) Save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" || !c.unsaved {
		return nil
	}
	c.unsaved = false // if this fails, Save does not try again
	for key, p := range c.programs {
		if c.items[key] != nil || p.sites != nil {
			continue
		}
		var err error
		if c.items[key], err = p.encode(); err != nil {
			return err
		}
	}
	root, err := openPrivate(c.dir, false)
	if err != nil {
		return err
	}
	defer root.Close()
	return replaceFile(root, encodeItems(c.items, readItems(root)))
}

// encodeItems returns a file with the items that this process used, and with others up to
// maxCacheFile.
func encodeItems(used map[cacheKey][]byte, others map[cacheKey]storedItem) []byte {
	out := slices.Clone(cacheHead())
	add := func(key cacheKey, data []byte) {
		sum := itemSum(key, data)
		if len(out)+2*len(sum)+varint.MaxVarintLen64+len(data) <= maxCacheFile {
			out = append(append(out, key[:]...), sum[:]...)
			out = append(varint.AppendUvarint(out, uint64(len(data))), data...)
		}
	}
	compare := func(a, b cacheKey) int { return bytes.Compare(a[:], b[:]) }
	for _, key := range slices.SortedFunc(maps.Keys(used), compare) {
		add(key, used[key])
	}
	for _, key := range slices.SortedFunc(maps.Keys(others), compare) {
		if _, ok := used[key]; !ok && others[key].isIntact(key) {
			add(key, others[key].data)
		}
	}
	return out
}

// replaceFile writes the file of a cache under another name and renames it, so that readers
// see the old file or the new one. It removes the temporary files of crashed programs.
func replaceFile(root *os.Root, data []byte) error {
	list, _ := fs.ReadDir(root.FS(), ".") // orphans that starhost cannot list stay
	for _, f := range list {
		info, err := f.Info()
		if strings.HasSuffix(f.Name(), tempEnd) && err == nil && time.Since(info.ModTime()) > orphanAge {
			_ = root.Remove(f.Name())
		}
	}
	temp := cacheFile + "." + rand.Text() + tempEnd
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return reasonOf(err)
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = root.Rename(temp, cacheFile)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return reasonOf(err)
}
