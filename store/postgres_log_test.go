package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLogPage runs the statements for PostgreSQL of docs/log.md: the tables, each query, and the export for
// replay, which must have each record byte for byte, once, in the order of sessions and times.
func TestLogPage(t *testing.T) {
	text, err := os.ReadFile("../docs/log.md")
	if err != nil {
		t.Fatal(err)
	}
	address := newDatabase(t)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(text, -1) {
		blocks = append(blocks, string(m[1]))
	}
	if len(blocks) != 7 {
		t.Fatalf("got %d blocks of SQL, want the tables and six queries", len(blocks))
	}
	if _, err := db.Exec(blocks[0]); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 200 {
		line := fmt.Sprintf(`{"schema":"starhost.decision/1", "id":"R%03d","time":"2026-11-26T10:00:%02d.5Z","session":"s%d","event":"pre_tool_call","tool":"Bash",`+
			`"input":{"arguments":{"command":"printf \"a\\n\" \\\\ | grep 'é\u0001' # %d"}},"decision":{"action":"deny","plugin":"p","reason":"no"},"set":{"revision":"r"}}`,
			i, 59-i%60, i%3, i)
		if i == 7 {
			line = strings.Replace(line, `"revision":"r"`, `"revision":"REVISION","plugins":[{"name":"p"}]`, 1)
		}
		for range 1 + i%2 { // at least once
			if _, err := db.Exec("select add_decision($1, $2)", fmt.Sprint("h", i%2), line); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, line)
	}
	addStatuses(t, db)
	key := func(line string) string {
		return regexp.MustCompile(`"session":"s\d`).FindString(line) + regexp.MustCompile(`"time":"[^"]*`).FindString(line) + line
	}
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	export := regexp.MustCompile(`(?s)psql -At -c "(.*?)" \| starhost replay`).FindSubmatch(text)
	if export == nil {
		t.Fatal("the page has no export")
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(string(export[1]), "7 days", "700000 days", 1)
	cmd := shared.command("psql", "-At", "-h", u.Query().Get("host"), "-U", "postgres", "-d", strings.TrimPrefix(u.Path, "/"), "-c", script)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	if got := out.String(); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("the export differs: got %.500s, want %.500s", got, want[0])
	}
	for i, rows := range []int{1, 0, 2, 1, 5, 67} {
		query := strings.Replace(blocks[i+1], "7 days", "700000 days", 1)
		var n int
		err := db.QueryRow("select count(*) from (" + strings.TrimSuffix(strings.TrimSpace(query), ";") + ") as q").Scan(&n)
		if err != nil || i != 1 && n != rows {
			t.Errorf("%s: got %d rows, %v, want %d", query, n, err, rows)
		}
	}
}

// addStatuses adds the statuses of six machines, of which all but the second need a look.
func addStatuses(t *testing.T, db *sql.DB) {
	t.Helper()
	add := func(host string, ago time.Duration, bundles, coverage string) {
		t.Helper()
		line := fmt.Sprintf(`{"schema":"starhost.status/1","time":%q,"bundles":[%s],"logs":[],"coverage":[%s]}`, time.Now().Add(-ago).Format(time.RFC3339), bundles, coverage)
		if _, err := db.Exec("select add_status($1, $2)", host, line); err != nil {
			t.Fatal(err)
		}
	}
	const fresh, good = `{"name":"ops","age":60}`, `{"user":1,"agent":"codex","grade":"holds","calls":50,"faults":0,"error":""}`
	add("old", time.Minute, `{"name":"ops","age":86400}`, good)
	add("good", time.Hour, fresh, `{"user":1,"agent":"codex","grade":"off","calls":50,"faults":1,"error":""}`)
	add("good", time.Minute, fresh, good)
	add("never", time.Minute, fresh+`,{"name":"b","age":null}`, "")
	add("silent", 25*time.Hour, fresh, good)
	add("passed", time.Minute, fresh, good+`,{"user":2,"agent":"codex","grade":"holds","calls":50,"faults":1,"error":""}`)
	add("off", time.Minute, fresh, `{"user":1,"agent":"codex","grade":"off","calls":0,"faults":0,"error":""}`)
}
