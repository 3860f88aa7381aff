package trace

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// opencodeRows are the calls of opencode's database, as 1.18.33 writes it. A subagent has a session
// of its own.
const opencodeRows = `SELECT p.rowid, p.session_id, p.time_created, p.data, s.directory, s.version, s.parent_id IS NOT NULL, s.time_created
	FROM part p JOIN session s ON s.id = p.session_id
	WHERE p.time_created >= ? AND length(p.data) <= ? AND p.data LIKE '%"type":"tool"%' ORDER BY p.rowid `

// opencodeFile reads the calls of a database.
func opencodeFile(f *file) {
	if err := f.opencodeCalls(); err != nil {
		f.spoil(err.Error())
	}
}

func (f *file) opencodeCalls() error {
	var wal io.ReaderAt
	if log, _, err := openOwn(f.path + "-wal"); err == nil {
		defer log.Close()
		wal = log
	} else if !os.IsNotExist(err) {
		return errors.New(reason(err))
	}
	s, err := newSnapshot(f.File, f.size, wal)
	if err != nil {
		return err
	}
	f.Bytes += s.size
	db, closeAll, err := s.open()
	if err != nil {
		return err
	}
	defer closeAll()
	var tables int
	err = db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('part', 'session') AND rootpage > 0").Scan(&tables)
	if err != nil || tables != 2 { // a view could run for ever
		return errors.New("a database of an unknown form")
	}
	order, limit := "", -1
	if f.Last > 0 {
		order, limit = "DESC", f.Last
	}
	rows, err := db.Query(opencodeRows+order+" LIMIT ?", max(0, f.Since.UnixMilli()), maxLine, limit)
	if err != nil {
		return fmt.Errorf("a database of an unknown form: %w", err)
	}
	defer rows.Close()
	for !f.ended && rows.Next() {
		if err := f.opencodeRow(rows); err != nil {
			f.spoil(err.Error())
		}
	}
	return rows.Err()
}

// opencodeRow reads one call.
func (f *file) opencodeRow(rows *sql.Rows) error {
	var session, data, folder, version string
	var created, began int64
	err := rows.Scan(&f.row, &session, &created, &data, &folder, &version, &f.subagent, &began)
	if err != nil {
		return err
	}
	d, err := parse(data)
	if err != nil {
		f.spoil("a row that is no JSON")
		return nil
	}
	if d.text(0, "type") != "tool" {
		return nil
	}
	f.began = time.UnixMilli(began).UTC()
	c := Call{
		ID: d.text(0, "callID"), Session: session, Version: version, Folder: folder, Time: time.UnixMilli(created).UTC(),
		Ended: d.time(0, "state.time.end"), Tool: f.opencodeTool(d.text(0, "tool")), Arguments: d.object(0, "state.input"),
	}
	if began := d.time(0, "state.time.start"); c.Time.After(c.Ended) && !c.Ended.IsZero() && !began.IsZero() {
		c.Time = began // the row is a copy, in a session that was made of another one
	}
	switch d.text(0, "state.status") {
	case "completed":
		c.Result = Ran
	case "error":
		c.Result = wordedAs(d.text(0, "state.error"), Failed)
	case "pending", "running":
		c.Result = None
	default:
		c.Result = Unknown
		f.fail(f.path, int64(f.row), "a row of an unknown form")
	}
	f.call(c)
	return nil
}

// opencodeTool returns the name that hooks get for a tool: opencode calls the tool TOOL of a server
// SERVER_TOOL, and the bridge of starhost tells them apart.
func (f *file) opencodeTool(tool string) string {
	server, name, ok := strings.Cut(tool, "_")
	if !ok || f.agent.Matches(tool) || cmp.Or(server, name) == "" {
		return tool
	}
	return "mcp__" + server + "__" + name
}
