package effects

import "time"

// A Stamp is what the system says of a file, and all that a change of its bytes
// changes, unless two changes fall into one tick of the file system's clock: see
// [Stamp.Held]. Two files that are there have different ones.
type Stamp struct {
	fileID
	Size             int64 // bytes
	Written, Changed int64 // nanoseconds since 1970; nobody can set the second
}

// A fileID is a file wherever it is moved.
type fileID struct{ Device, Inode uint64 }

// coarsestTick is the longest tick of a file system's clock, that of FAT.
const coarsestTick = 2 * time.Second

// Held reports whether a file has held what was read for as long as it has the stamp s,
// and whoever finds that stamp again need not read: it had s before it was opened,
// after begin, and another stamp afterwards, and so many bytes were read. A file that
// changed meanwhile is not sure, nor is one that is so new, or from the future, that
// its next change may be in the same tick, and give it the same stamp.
func (s Stamp) Held(afterwards Stamp, begin time.Time, read int) bool {
	newest := time.Unix(0, max(s.Written, s.Changed))
	return s == afterwards && s.Size == int64(read) && begin.Sub(newest) > coarsestTick
}
