package decision

import (
	"bytes"
	"io"
	"reflect"
	"slices"

	"github.com/starhost/starhost/internal/jsontext"
)

// A record of a set with more plugins than fewPlugins names them only if no record in the last setWindow bytes of its
// file does. So a writer finds out by one look at the end of the file, whichever process wrote it, and a reader
// finds the plugins not far in front of any place of the file.
const (
	fewPlugins = 4
	setWindow  = MaxRecord
)

// IsUnknown reports whether the plugins of the set stand in an earlier record that the reader has not seen.
func (s *Set) IsUnknown() bool { return s.Plugins == nil && s.Revision != "" }

// withoutSet returns the line of a record, without the plugins of its set if the end of the day's file names the same.
func (l *Log) withoutSet(line []byte, r *Record) []byte {
	short, err := ParseRecord(line) // as it is masked
	if err != nil || !hasSet(l.file(fileName(filePrefix, r.Time)), short.Set) {
		return line
	}
	short.Set.Plugins = nil
	return slices.Concat([]byte("\n"), jsontext.EncodeOrNull(short), []byte("\n"))
}

// hasSet reports whether a whole record at the end of a file names the plugins of a set.
func hasSet(file string, set Set) bool {
	f, err := openRegular(file)
	if err != nil {
		return false
	}
	defer f.Close()
	size, _ := f.Seek(0, io.SeekEnd)
	window := make([]byte, min(size, setWindow))
	n, _ := f.ReadAt(window, size-int64(len(window)))
	for line := range bytes.SplitSeq(window[:n], []byte("\n")) {
		if named := pluginsIn(line, set.Revision); named != nil && reflect.DeepEqual(named, set.Plugins) {
			return true
		}
	}
	return false
}

// pluginsIn returns the plugins of a revision if a line names them, and else nil. It parses few of the other lines.
func pluginsIn(line []byte, revision string) []Plugin {
	mark := revision[max(0, len(revision)-40):] + `","plugins":[` // a text of more than 63 bytes is found slowly
	if !bytes.Contains(line, []byte(mark)) {
		return nil
	}
	if r, err := ParseRecord(line); err == nil && r.Set.Revision == revision {
		return r.Set.Plugins
	}
	return nil
}

// sets have the plugins that the last records of a reader name. They forget older ones, because the memory of a reader
// does not grow with the log.
type sets struct {
	now, before map[string][]Plugin // by revision
	size        int                 // bytes of the lines of now
}

// parse is [ParseRecord]. If the record does not name its plugins, parse takes them from one in front of it.
func (s *sets) parse(line []byte) (*Record, error) {
	r, err := ParseRecord(line)
	if err != nil || r.Set.Revision == "" {
		return r, err
	}
	if r.Set.IsUnknown() {
		if r.Set.Plugins = s.now[r.Set.Revision]; r.Set.Plugins == nil {
			r.Set.Plugins = s.before[r.Set.Revision]
		}
		return r, nil
	}
	if s.size += len(line); s.now == nil || s.size > 4*setWindow {
		s.now, s.before, s.size = map[string][]Plugin{}, s.now, 0
	}
	s.now[r.Set.Revision] = r.Set.Plugins
	return r, nil
}

// complete gives a record of the line that the reader reads the plugins of its set, if the line's file has them.
func (r *Reader) complete(record *Record) {
	for line := range (&Reader{files: []string{r.name}}).Lines() {
		if !record.Set.IsUnknown() {
			return
		}
		record.Set.Plugins = pluginsIn(line, record.Set.Revision)
	}
}
