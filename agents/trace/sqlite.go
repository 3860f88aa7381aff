package trace

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	_ "github.com/ncruces/go-sqlite3/driver" // the driver "sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"
)

// A snapshot is a database of SQLite with the committed part of its write-ahead log. SQLite itself
// would write beside a database that it only reads, and would wait for the agent that has it open.
type snapshot struct {
	db, wal  io.ReaderAt
	pageSize int64
	pages    map[int64]int64 // offsets in wal, by the page's number from 1
	size     int64
}

// errNoDatabase says that a file is no database of SQLite.
var errNoDatabase = errors.New("a file that is no database of SQLite")

// newSnapshot returns a snapshot. wal is nil for a database without a log.
func newSnapshot(db io.ReaderAt, size int64, wal io.ReaderAt) (*snapshot, error) {
	s := &snapshot{db: db, wal: wal, size: size, pages: map[int64]int64{}}
	var head [100]byte
	if _, err := db.ReadAt(head[:], 0); err != nil || string(head[:16]) != "SQLite format 3\x00" {
		return nil, errNoDatabase
	}
	if s.pageSize = int64(binary.BigEndian.Uint16(head[16:])); s.pageSize == 1 {
		s.pageSize = 1 << 16
	}
	if s.pageSize < 512 || s.pageSize&(s.pageSize-1) != 0 {
		return nil, errNoDatabase
	}
	if wal != nil {
		s.readLog()
	}
	return s, nil
}

// readLog finds the pages of the log up to the last commit: sqlite.org/fileformat.html, section 4.
func (s *snapshot) readLog() {
	var head [32]byte
	if _, err := s.wal.ReadAt(head[:], 0); err != nil {
		return // it is empty
	}
	order := binary.ByteOrder(binary.LittleEndian)
	switch magic := binary.BigEndian.Uint32(head[:]); {
	case magic == 0x377f0683:
		order = binary.BigEndian
	case magic != 0x377f0682:
		return
	}
	if int64(binary.BigEndian.Uint32(head[8:])) != s.pageSize {
		return
	}
	var a, b uint32
	sum := func(data []byte) {
		for i := 0; i+8 <= len(data); i += 8 {
			a += order.Uint32(data[i:]) + b
			b += order.Uint32(data[i+4:]) + a
		}
	}
	sum(head[:24])
	pending := map[int64]int64{}
	frame := make([]byte, 24+s.pageSize)
	for at := int64(32); ; at += int64(len(frame)) {
		if _, err := s.wal.ReadAt(frame, at); err != nil || string(frame[8:16]) != string(head[16:24]) {
			return
		}
		sum(frame[:8])
		if sum(frame[24:]); binary.BigEndian.Uint32(frame[16:]) != a || binary.BigEndian.Uint32(frame[20:]) != b {
			return // a torn or an old frame
		}
		pending[int64(binary.BigEndian.Uint32(frame))] = at + 24
		if pages := int64(binary.BigEndian.Uint32(frame[4:])); pages > 0 {
			for page, offset := range pending {
				s.pages[page] = offset
			}
			clear(pending)
			s.size = pages * s.pageSize
		}
	}
}

func (s *snapshot) Size() (int64, error) { return s.size, nil }

// ReadAt reads pages from the log where it has them.
func (s *snapshot) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) && err == nil {
		if at >= s.size {
			return n, io.EOF
		}
		inPage := at % s.pageSize
		part := p[n:min(len(p), n+int(s.pageSize-inPage))]
		from, offset := s.db, at
		if inLog, ok := s.pages[at/s.pageSize+1]; ok {
			from, offset = s.wal, inLog+inPage
		}
		var m int
		m, err = from.ReadAt(part, offset)
		for i := max(0, 18-at); i < min(int64(m), 20-at); i++ {
			part[i] = 1 // the log is part of the snapshot, so that SQLite must not look for one
		}
		n, at = n+m, at+int64(m)
	}
	return n, err
}

// snapshots counts the snapshots, for their names.
var snapshots atomic.Int64

// open opens the snapshot for queries, until close.
func (s *snapshot) open() (db *sql.DB, close func(), err error) {
	name := fmt.Sprintf("starhost-%d.db", snapshots.Add(1))
	readervfs.Create(name, s)
	db, err = sql.Open("sqlite3", "file:"+name+"?vfs=reader&mode=ro&_pragma=temp_store(memory)&_pragma=trusted_schema(off)")
	if err != nil {
		readervfs.Delete(name)
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	return db, func() { db.Close(); readervfs.Delete(name) }, nil
}
