package starlark

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	endian "encoding/binary"
	"encoding/hex"
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

// Each build has a separate file, with a part of its digest in the name, so that two builds in use
// do not replace each other's. The file begins with cacheMagic and the digest. Then come the
// items, sorted by key, each behind its size in four bytes. No other user can write the file,
// because its folder has mode 0700. Only the rewriter of this build makes programs that charge for
// their work as this build expects. So starhost ignores the file of another build, and every item
// that does not match its SHA-256.
const (
	cacheStart = "programs"
	cacheEnd   = ".cache"
	cacheMagic = "starhost programs 2\n"
	tempEnd    = ".tmp"

	// maxCacheFile is the most bytes of the file: enough for some 5,000 small plugins.
	maxCacheFile = 8 << 20
	// maxUnused is the most bytes of items in the file that the last writer did not use. It is low
	// because each start reads the whole file, at some 0.5 ms for a MiB.
	maxUnused = 2 << 20
	// maxBuilds is the most files of a folder: of this build, and of the builds that wrote last.
	maxBuilds = 4
	// orphanAge is the age of a temporary file that a crash left behind.
	orphanAge = time.Hour
)

// A storedItem is an item of the file: key, SHA-256 of key and data, data.
type storedItem []byte

func newStoredItem(key cacheKey, data []byte) storedItem {
	sum := itemSum(key, data)
	return slices.Concat(key[:], sum[:], data)
}

func (s storedItem) key() cacheKey { return cacheKey(s) }
func (s storedItem) data() []byte  { return s[2*sha256.Size:] }

// isIntact reports whether the item matches its SHA-256.
func (s storedItem) isIntact() bool {
	return [sha256.Size]byte(s[sha256.Size:]) == itemSum(s.key(), s.data())
}

func itemSum(key cacheKey, data []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(key[:])
	h.Write(data)
	return [sha256.Size]byte(h.Sum(nil))
}

// storedItems are the items of a file, sorted by key. A map would take most of the time of a start:
// 1 ms for 1,000 plugins.
type storedItems []storedItem

// find returns the data of the item with a key. ok is false if there is none, or a damaged one.
func (list storedItems) find(key cacheKey) (data []byte, ok bool) {
	i, ok := slices.BinarySearchFunc(list, key, func(s storedItem, key cacheKey) int {
		return bytes.Compare(s[:len(key)], key[:])
	})
	if !ok || !list[i].isIntact() {
		return nil, false
	}
	return list[i].data(), true
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

// cacheFile is the name of this build's file.
var cacheFile = sync.OnceValue(func() string {
	return cacheStart + "-" + hex.EncodeToString(cacheHead()[len(cacheMagic):][:8]) + cacheEnd
})

// readItems returns the items of the file in a folder.
func readItems(root *os.Root) storedItems {
	info, err := root.Lstat(cacheFile())
	if err != nil || !info.Mode().IsRegular() || !isOwn(info) || info.Size() > maxCacheFile {
		return nil
	}
	data, _ := root.ReadFile(cacheFile()) // nil if there is an error
	return parseItems(data)
}

// parseItems returns the items of a file, up to the first incomplete one. It returns none if
// another build wrote the file.
func parseItems(data []byte) storedItems {
	data, ours := bytes.CutPrefix(data, cacheHead())
	items := make(storedItems, 0, len(data)/500)
	for ours && len(data) >= 4 {
		n := uint64(endian.LittleEndian.Uint32(data))
		if data = data[4:]; n < 2*sha256.Size || n > uint64(len(data)) {
			break
		}
		items, data = append(items, data[:n:n]), data[n:]
	}
	return items
}

// Save writes the cache to its file, together with the items that other programs wrote meanwhile.
// Save omits items that this process did not use if they become too large. It does nothing if there
// is no new item, or no folder.
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

// encodeItems returns a file with the items that this process used, up to maxCacheFile, and with
// others up to maxUnused.
func encodeItems(used map[cacheKey][]byte, others storedItems) []byte {
	head := cacheHead()
	var items storedItems
	size, most := len(head), maxCacheFile
	add := func(item storedItem) {
		if size+4+len(item) <= most {
			items, size = append(items, item), size+4+len(item)
		}
	}
	byKey := func(a, b cacheKey) int { return bytes.Compare(a[:], b[:]) }
	for _, key := range slices.SortedFunc(maps.Keys(used), byKey) {
		add(newStoredItem(key, used[key]))
	}
	most = min(most, size+maxUnused)
	for _, item := range others {
		if _, ok := used[item.key()]; !ok && item.isIntact() {
			add(item)
		}
	}
	slices.SortFunc(items, func(a, b storedItem) int { return bytes.Compare(a, b) })
	items = slices.CompactFunc(items, func(a, b storedItem) bool { return a.key() == b.key() })
	out := slices.Grow(slices.Clone(head), size)
	for _, item := range items {
		out = append(endian.LittleEndian.AppendUint32(out, uint32(len(item))), item...)
	}
	return out
}

// replaceFile writes the file of a cache under another name and renames it, so that readers
// see the old file or the new one. It removes the temporary files of crashed programs, and the
// oldest files of other builds.
func replaceFile(root *os.Root, data []byte) error {
	list, _ := fs.ReadDir(root.FS(), ".") // files that starhost cannot list stay
	var builds []fs.FileInfo
	for _, f := range list {
		info, err := f.Info()
		switch {
		case err != nil || !strings.HasPrefix(f.Name(), cacheStart):
		case strings.HasSuffix(f.Name(), tempEnd) && time.Since(info.ModTime()) > orphanAge:
			_ = root.Remove(f.Name())
		case strings.HasSuffix(f.Name(), cacheEnd) && f.Name() != cacheFile():
			builds = append(builds, info)
		}
	}
	slices.SortFunc(builds, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range builds[min(len(builds), maxBuilds-1):] {
		_ = root.Remove(old.Name())
	}
	temp := cacheFile() + "." + rand.Text() + tempEnd
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return reasonOf(err)
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = root.Rename(temp, cacheFile())
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return reasonOf(err)
}
