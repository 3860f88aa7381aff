package store

import "testing"

// CountWriters returns the most connections that write to the database at one time: with one, the
// writes of a process wait for each other without an error of SQLite.
func CountWriters(t *testing.T, d *DB) int {
	h, err := d.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return h.write.Stats().MaxOpenConnections
}
