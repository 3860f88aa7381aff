package starlark

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	varint "encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"
)

// A compiled program was rewritten to pay for its work before it was compiled, and
// nobody checks it again. So what comes from a disk is used only if this very build
// wrote it, into a folder that nobody else can write: a pack says which build made it,
// and has digests that are made with a key. Whatever is wrong with it, it is as
// if it were not there.
//
// A pack is one file:
//
//	head   magic, digest of the build, number of records
//	rows   of each record, sorted by key: key, digest, offset, size
//	mac    of head and rows
//	records
const (
	packName  = "programs.pack"
	keyName   = "key"
	tempEnd   = ".tmp"
	packMagic = "starpack"

	headSize = len(packMagic) + sha256.Size + 4
	rowSize  = len(recordKey{}) + sha256.Size + 8
)

// Bounds of a pack.
const (
	maxPack    = 32 << 20 // bytes
	maxRecords = 50_000
	maxStart   = 8 << 20 // bytes of the first shelf, to be read as a whole
	maxSingles = 8       // of its values are read one by one before
)

// A pack is a file of records that was opened, and where the next one goes.
type pack struct {
	root  *os.Root
	build [sha256.Size]byte // digest of the program's build id
	key   []byte

	file *os.File // nil if there is none that can be used
	rows []byte
	used []atomic.Bool // of each row: that its record was asked for

	singles atomic.Int32
	start   func() []byte // all that is on the first shelf, from its first byte on; nil if that is too much
}

// OpenCache returns a Cache that begins with what [Cache.Save] wrote to a folder, which
// is made where there is none. The folder must be the user's own, and nobody else's to
// read and write. The error says why it is not used; the Cache works without it, in memory.
func OpenCache(dir string) (*Cache, error) {
	p, err := openPack(dir)
	if err != nil {
		return &Cache{}, fmt.Errorf("cache %s: %w", dir, err)
	}
	return &Cache{pack: p, kept: kept{values: map[recordKey][]byte{}, fresh: map[recordKey][]byte{}}}, nil
}

// Close frees what the cache holds open. It must not be used again.
func (c *Cache) Close() error {
	if c.pack == nil {
		return nil
	}
	return c.pack.close()
}

func openPack(dir string) (*pack, error) {
	id, err := buildID()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, reasonOf(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, reasonOf(err)
	}
	p := &pack{root: root, build: sha256.Sum256([]byte(id))}
	if err := cmp.Or(isPrivate(root), p.readKey()); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	p.open()
	return p, nil
}

// reasonOf returns why an operation failed, without the path.
func reasonOf(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// isPrivate reports why a folder is not its user's alone.
func isPrivate(root *os.Root) error {
	info, err := root.Stat(".")
	switch {
	case err != nil:
		return reasonOf(err)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may use the folder: got mode %04o, want 0700", info.Mode().Perm())
	case !isOwn(info):
		return errors.New("the folder is another user's")
	}
	return nil
}

// readKey reads the key, or makes one.
func (p *pack) readKey() error {
	key, err := p.small(keyName, sha256.Size)
	if err == nil && len(key) == sha256.Size {
		p.key = key
		return nil
	}
	p.key = make([]byte, sha256.Size)
	rand.Read(p.key) // never fails
	return p.write(keyName, func(w io.Writer) error {
		_, err := w.Write(p.key)
		return err
	})
}

// small reads a file of at most so many bytes.
func (p *pack) small(name string, most int64) ([]byte, error) {
	f, err := p.regular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// regular opens a file that is one.
func (p *pack) regular(name string) (*os.File, error) {
	info, err := p.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !isOwn(info) {
		return nil, fs.ErrInvalid
	}
	return p.root.Open(name)
}

// open opens the pack that is there, if it can be used.
func (p *pack) open() {
	f, err := p.regular(packName)
	if err != nil {
		return
	}
	if p.rows, err = p.readRows(f); err != nil {
		f.Close() // it was only read
		return
	}
	p.file, p.used, p.start = f, make([]atomic.Bool, len(p.rows)/rowSize), sync.OnceValue(p.readStart)
}

// readStart reads the first shelf.
func (p *pack) readStart() []byte {
	end := sort.Search(len(p.rows)/rowSize, func(i int) bool { return p.row(i)[0] != byte(ShelfStart) })
	if end == 0 {
		return nil
	}
	first, last := p.row(0), p.row(end-1)
	size := last.offset() + int64(last.size()) - first.offset()
	if size > maxStart {
		return nil
	}
	return p.read(first.offset(), int(size))
}

var errForeign = errors.New("the pack is not one of this build")

// readRows reads the rows of a pack of this build.
func (p *pack) readRows(f io.ReaderAt) ([]byte, error) {
	head := make([]byte, headSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	n := varint.LittleEndian.Uint32(head[headSize-4:])
	if !bytes.Equal(head, p.head(int(n))) || n > maxRecords {
		return nil, errForeign
	}
	rows := make([]byte, int(n)*rowSize+sha256.Size)
	if _, err := f.ReadAt(rows, int64(headSize)); err != nil {
		return nil, err
	}
	rows, mac := rows[:len(rows)-sha256.Size], rows[len(rows)-sha256.Size:]
	if !hmac.Equal(mac, p.mac(head, rows)) {
		return nil, errForeign
	}
	return rows, nil
}

// head returns the head of a pack of n records.
func (p *pack) head(n int) []byte {
	head := append([]byte(packMagic), p.build[:]...)
	return varint.LittleEndian.AppendUint32(head, uint32(n))
}

func (p *pack) mac(head, rows []byte) []byte {
	h := hmac.New(sha256.New, p.key)
	h.Write(head)
	h.Write(rows)
	return h.Sum(nil)
}

// A row says where a record is.
type row []byte

func (r row) key() recordKey { return recordKey(r) }
func (r row) sum() []byte    { return r[len(recordKey{}):][:sha256.Size] }
func (r row) offset() int64  { return int64(varint.LittleEndian.Uint32(r[rowSize-8:])) }
func (r row) size() int      { return int(varint.LittleEndian.Uint32(r[rowSize-4:])) }

// row returns the i-th row.
func (p *pack) row(i int) row { return p.rows[i*rowSize:][:rowSize] }

// record returns what is known of a file, nil if it is not there as it was written.
func (p *pack) record(key recordKey) *record {
	if p == nil {
		return nil
	}
	return decodeRecord(p.value(key))
}

// value returns the bytes of a record, nil if they are not there as they were written.
func (p *pack) value(key recordKey) []byte {
	if p.file == nil {
		return nil
	}
	i, found := p.find(key)
	if !found {
		return nil
	}
	data := p.data(p.row(i))
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], p.row(i).sum()) {
		return nil
	}
	p.used[i].Store(true)
	return data
}

// find returns where the row of a record is.
func (p *pack) find(key recordKey) (i int, found bool) {
	return sort.Find(len(p.rows)/rowSize, func(i int) int { return bytes.Compare(key[:], p.row(i)[:len(key)]) })
}

// wasUsed reports whether a record was asked for that was as it was written.
func (p *pack) wasUsed(key recordKey) bool {
	i, found := p.find(key)
	return found && p.used[i].Load()
}

// data returns the bytes of a record, nil if they cannot be read. They must not be changed.
func (p *pack) data(r row) []byte {
	if r.size() > maxPack {
		return nil
	}
	if r[0] == byte(ShelfStart) && p.singles.Add(1) > maxSingles {
		if shelf := p.start(); shelf != nil {
			return shelf[r.offset()-p.row(0).offset():][:r.size():r.size()]
		}
	}
	return p.read(r.offset(), r.size())
}

// read returns a part of the file, nil if it cannot be read.
func (p *pack) read(offset int64, size int) []byte {
	data := make([]byte, size)
	if _, err := p.file.ReadAt(data, offset); err != nil {
		return nil
	}
	return data
}

func (p *pack) close() error {
	if p.file != nil {
		p.file.Close() // it was only read
	}
	return p.root.Close()
}

// Save writes what the cache learned since the last Save, beside what other programs
// wrote. It does nothing if there is nothing new, or no folder. What cannot be written is
// not tried again.
func (c *Cache) Save() error {
	if c.pack == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	grown := c.kept.fresh
	c.kept.fresh = map[recordKey][]byte{}
	for _, records := range []map[recordKey]*record{c.young, c.old} {
		for key, r := range records {
			if data, err := r.encode(); err != nil {
				return err
			} else if data != nil {
				grown[key] = data
			}
		}
	}
	if len(grown) == 0 {
		return nil
	}
	latest := &pack{root: c.pack.root, build: c.pack.build, key: c.pack.key}
	latest.open()
	if latest.file != nil {
		defer latest.file.Close()
	}
	return latest.replace(latest.merged(grown, c.pack.wasUsed))
}

// merged returns records for a new pack: those that grew, those of the pack that are
// used, and others, up to the most that a pack holds. One that grew to nil is left out.
func (p *pack) merged(grown map[recordKey][]byte, used func(recordKey) bool) map[recordKey][]byte {
	all, size := map[recordKey][]byte{}, 0
	add := func(key recordKey, data []byte) {
		if size+len(data)+rowSize <= maxPack && len(all) < maxRecords {
			all[key], size = data, size+len(data)+rowSize
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(grown), compareKeys) {
		if grown[key] != nil {
			add(key, grown[key])
		}
	}
	for _, wanted := range []bool{true, false} {
		for i := range len(p.rows) / rowSize {
			r := p.row(i)
			key := r.key()
			if _, newer := grown[key]; !newer && used(key) == wanted {
				if data := p.data(r); data != nil {
					add(key, data)
				}
			}
		}
	}
	return all
}

func compareKeys(a, b recordKey) int { return bytes.Compare(a[:], b[:]) }

// replace writes a pack with these records.
func (p *pack) replace(records map[recordKey][]byte) error {
	keys := slices.SortedFunc(maps.Keys(records), compareKeys)
	head, rows := p.head(len(keys)), make([]byte, 0, len(keys)*rowSize)
	offset := len(head) + cap(rows) + sha256.Size
	for _, key := range keys {
		sum := sha256.Sum256(records[key])
		rows = append(append(rows, key[:]...), sum[:]...)
		rows = varint.LittleEndian.AppendUint32(rows, uint32(offset))
		rows = varint.LittleEndian.AppendUint32(rows, uint32(len(records[key])))
		offset += len(records[key])
	}
	return p.write(packName, func(w io.Writer) error {
		parts := [][]byte{head, rows, p.mac(head, rows)}
		for _, key := range keys {
			parts = append(parts, records[key])
		}
		for _, data := range parts {
			if _, err := w.Write(data); err != nil {
				return err
			}
		}
		return nil
	})
}

// write makes a file, or replaces it as a whole: who reads the old one is not
// disturbed, and nobody sees half of the new one.
func (p *pack) write(name string, content func(io.Writer) error) error {
	p.sweep()
	temp := name + "." + rand.Text() + tempEnd
	f, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return reasonOf(err)
	}
	w := bufio.NewWriterSize(f, 1<<16)
	err = cmp.Or(content(w), w.Flush())
	if err = cmp.Or(err, f.Close()); err == nil {
		err = p.root.Rename(temp, name)
	}
	if err != nil {
		_ = p.root.Remove(temp)
	}
	return reasonOf(err)
}

// leftAfter is when a temporary file was left behind by a program that ended early.
const leftAfter = time.Hour

// sweep removes what programs left behind.
func (p *pack) sweep() {
	entries, _ := fs.ReadDir(p.root.FS(), ".") // what cannot be read stays
	for _, e := range entries {
		info, err := e.Info()
		if strings.HasSuffix(e.Name(), tempEnd) && err == nil && time.Since(info.ModTime()) > leftAfter {
			_ = p.root.Remove(e.Name())
		}
	}
}

// encode returns the bytes of a record that learned something since it was read or
// encoded, else nil. Programs with probes are left out.
func (r *record) encode() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.parsed || !r.grown {
		return nil, nil
	}
	programs := map[string][]byte{}
	for names, p := range r.programs {
		if p.sites != nil {
			continue
		}
		data, err := p.encode()
		if err != nil {
			return nil, err
		}
		programs[names] = append([]byte(strings.Join(p.uses, "\x00")+"\n"), data...)
	}
	r.grown = false
	return appendTexts(appendTexts(nil, r.notes), programs), nil
}

// decodeRecord returns the record that encode wrote, nil for other bytes.
func decodeRecord(data []byte) *record {
	notes, data := cutTexts(data)
	programs, data := cutTexts(data)
	if data == nil || len(data) > 0 {
		return nil
	}
	r := &record{parsed: true, notes: notes, programs: map[string]*compiled{}}
	for kind, note := range notes {
		notes[kind] = bytes.Clone(note) // the programs are large, and let go once decoded
	}
	for names, p := range programs {
		uses, code, _ := bytes.Cut(p, []byte("\n"))
		r.programs[names] = &compiled{uses: strings.Split(string(uses), "\x00"), encoded: code}
	}
	return r
}

// appendTexts appends texts with their names.
func appendTexts(to []byte, texts map[string][]byte) []byte {
	to = varint.AppendUvarint(to, uint64(len(texts)))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		to = append(varint.AppendUvarint(to, uint64(len(name))), name...)
		to = append(varint.AppendUvarint(to, uint64(len(texts[name]))), texts[name]...)
	}
	return to
}

// cutTexts reads what appendTexts wrote, and returns what is behind it: nil if it is
// something else.
func cutTexts(data []byte) (texts map[string][]byte, rest []byte) {
	n, size := varint.Uvarint(data)
	if size <= 0 {
		return nil, nil
	}
	data, texts = data[size:], map[string][]byte{}
	for range n {
		var name, text []byte
		name, data = cutText(data)
		if text, data = cutText(data); data == nil {
			return nil, nil
		}
		texts[string(name)] = text
	}
	return texts, data
}

func cutText(data []byte) (text, rest []byte) {
	n, size := varint.Uvarint(data)
	if size <= 0 || n > uint64(len(data)-size) {
		return nil, nil
	}
	data = data[size:]
	return data[:n], data[n:]
}

// encode returns the bytes of a program.
func (p *compiled) encode() ([]byte, error) {
	if p.Program == nil {
		return p.encoded, nil
	}
	var b bytes.Buffer
	err := p.Write(&b)
	return b.Bytes(), err
}

// decode makes a program of the bytes that encode returned, if it is none yet. It
// reports whether it is one now.
func (p *compiled) decode() bool {
	if p.Program == nil {
		p.Program, _ = starlark.CompiledProgram(bytes.NewReader(p.encoded)) // nil beside an error
		p.encoded = nil
	}
	return p.Program != nil
}

// buildID returns what stands for this program, and for no other build of it: the id
// that the linker puts near the start of the file.
var buildID = sync.OnceValues(func() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", reasonOf(err)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", reasonOf(err)
	}
	defer f.Close()
	head := make([]byte, 4<<10) // ELF files have it here
	n, _ := io.ReadFull(f, head)
	if id, err := findBuildID(head[:n]); err == nil {
		return id, nil
	}
	head = append(head, make([]byte, 28<<10)...) // as the go command reads
	n, _ = f.ReadAt(head, 0)                     // a short file has no id
	return findBuildID(head[:n])
})

// findBuildID returns the id in the head of a program: in a note of an ELF file, which
// has its size eight bytes before its name, or at the start of the text of others.
func findBuildID(head []byte) (string, error) {
	id, _, whole := bytes.Cut(after(head, "\xff Go build ID: \""), []byte("\"\n"))
	if note := bytes.Index(head, []byte("\x04\x00\x00\x00Go\x00\x00")); note >= 8 {
		size := int(varint.LittleEndian.Uint32(head[note-4:]))
		id = head[note+8:]
		whole = size <= len(id)
		id = id[:min(size, len(id))]
	}
	if !whole || bytes.Count(id, []byte("/")) < 3 { // taken out, or put in by another tool
		return "", errors.New("this program was built without an id of its own")
	}
	return string(id), nil
}

// after returns what is behind a text, nil if it is not there.
func after(data []byte, text string) []byte {
	_, rest, _ := bytes.Cut(data, []byte(text))
	return rest
}
