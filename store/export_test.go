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

// LiveNames returns the names of the live sessions.
func LiveNames(t *testing.T, d *DB) (names [][]byte) {
	t.Helper()
	h, err := d.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	list, err := texts(t.Context(), h.read, `SELECT name FROM starhost_live ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		names = append(names, []byte(name))
	}
	return names
}
