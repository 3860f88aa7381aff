package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/store"
)

// TestStoredFragments checks that another process finds a stored fragment by its id, by the first digits of
// the id, and by an alias.
func TestStoredFragments(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_DATA_HOME", "")
	file := filepath.Join(dir, ".local", "share", "starhost", "starhost.db")
	db, err := store.Open(store.Options{URL: "sqlite:", Default: file})
	if err != nil {
		t.Fatal(err)
	}
	id := fragments.Sum("stored text")
	if err := db.Fragments().Put(t.Context(), fragments.Content{ID: id, Text: "stored text"}); err != nil {
		t.Fatal(err)
	}
	if err := db.SetAlias(t.Context(), "notes", id); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{"a.star": ""})
	for _, reference := range []string{"sha256:" + id.String(), id.String()[:8], "notes"} {
		var out, diagnostics bytes.Buffer
		args := []string{"-C", dir, "eval", "a.star", "-f", reference, "-p", "hi"}
		code := run(t.Context(), args, strings.NewReader(""), &out, &diagnostics)
		if code != 0 || !strings.Contains(out.String(), "stored text") {
			t.Errorf("%s: got exit %d, want the text:\n%s%s", reference, code, &out, &diagnostics)
		}
	}
}

// TestHookOpensNoDatabase checks that a hook that needs no store opens no database: it makes no file, and a
// damaged file does not stop it.
func TestHookOpensNoDatabase(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for _, name := range []string{"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "STARHOST_STORE"} {
		t.Setenv(name, "")
	}
	guard := `register_hook("pre_tool_call", lambda ctx, tool: deny("no") if tool == "Bash" else None)`
	writeFiles(t, dir, map[string]string{
		"a.star": guard,
		"b.star": "plugin(permissions = [\"store\"])\n" +
			`register_hook("pre_tool_call", lambda ctx, tool: deny("no %d" % ctx.store.add("n", 1)))`,
		"config.toml": "grants.b = [\"store\"]\n",
	})
	event := `{"session_id":"s","cwd":"` + dir + `","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`
	answer := func(plugin, want string) {
		t.Helper()
		var out, diagnostics bytes.Buffer
		args := []string{"-C", dir, "-c", filepath.Join(dir, "config.toml"), "hook", "claude-code", plugin}
		run(t.Context(), args, strings.NewReader(event), &out, &diagnostics)
		if !strings.Contains(out.String()+diagnostics.String(), want) {
			t.Errorf("got %s%s, want %s", &out, &diagnostics, want)
		}
	}
	answer("a.star", "deny")
	data := filepath.Join(dir, ".local", "share")
	if _, err := os.Stat(data); err == nil {
		t.Error("the hook made a database")
	}
	answer("b.star", "no 1")
	answer("b.star", "no 2")
	file := filepath.Join(data, "starhost", "starhost.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	answer("b.star", "file is not a database")
	answer("a.star", `"deny"`)
}

// TestHostileFragments checks that texts, sources and names in the store cannot move the cursor or forge a
// line.
func TestHostileFragments(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("STARHOST_STORE", "")
	db, err := store.Open(store.Options{URL: "sqlite:", Default: filepath.Join(dir, ".local", "share", "starhost", "starhost.db")})
	if err != nil {
		t.Fatal(err)
	}
	evil := "\x1b[2J\x00\xff\u202e" + strings.Repeat("é", 100) + "\nforged  line\r\n"
	id := fragments.Sum(evil)
	content := fragments.Content{ID: id, Text: evil, Source: evil + strings.Repeat("x", 1<<20)}
	if err := db.Fragments().Put(t.Context(), content); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	huge := strings.Repeat("a\x1b", 1<<20)
	for _, test := range []struct {
		args string
		last string
		code int
	}{
		{"fragments list", "", report.ExitOK},
		{"fragments list -F json", "", report.ExitOK},
		{"fragments list --query", huge, report.ExitOK},
		{"fragments list --query", "forged", report.ExitOK},
		{"fragments show -F json", id.String(), report.ExitOK},
		{"fragments show", huge, report.ExitFile},
		{"fragments show", "sha256:" + huge, report.ExitUsage},
		{"fragments remove", huge, report.ExitFile},
		{"fragments set rule", huge, report.ExitUsage},
		{"fragments gc --keep", huge, report.ExitUsage},
		{"fragments gc --dry-run", "", report.ExitOK},
	} {
		args := append([]string{"-C", dir}, strings.Fields(test.args)...)
		if test.last != "" {
			args = append(args, test.last)
		}
		var out, diagnostics bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &out, &diagnostics)
		if code != test.code {
			t.Errorf("%s %.20q: got exit %d, want %d:\n%.300s", test.args, test.last, code, test.code, &diagnostics)
		}
		all := out.String() + diagnostics.String()
		if strings.ContainsAny(all, "\x1b\x00\r\u202e") || len(all) > 5000 || strings.Contains(all, "\nforged") {
			t.Errorf("%s %.20q: got %d bytes: %.500q", test.args, test.last, len(all), all)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"-C", dir, "fragments", "show", id.String()}, nil, &out, &out); code != 0 || out.String() != evil {
		t.Errorf("show: got exit %d, %q, want the exact text", code, &out)
	}
}

// TestLLMStore checks that llm:PATH stores fragments and aliases in the file of llm, and values of ctx.store
// elsewhere.
func TestLLMStore(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_DATA_HOME", "")
	logs := filepath.Join(dir, "logs.db")
	pdf := "%PDF-1.4\x00"
	db, err := sql.Open("sqlite3", "file:"+logs)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT)`,
		`CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB)`,
		fmt.Sprintf(`INSERT INTO attachments VALUES ('%s', 'application/pdf', NULL, NULL, X'%x')`, fragments.Sum(pdf), pdf),
		`CREATE TABLE fragment_aliases (alias TEXT PRIMARY KEY, fragment_id INTEGER REFERENCES fragments (id))`,
		`INSERT INTO fragments (hash, content) VALUES ('` + fragments.Sum("of llm").String() + `', 'of llm')`,
		`INSERT INTO fragment_aliases VALUES ('theirs', 1)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, dir, map[string]string{
		"rule.md": "ours",
		"a.star":  "plugin(permissions = [\"store\"])\nregister_tool(lambda ctx: ctx.store.add(\"n\", 1), name = \"count\", description = \"Counts.\")\n",
	})
	starhost := func(want string, args ...string) {
		t.Helper()
		var out, diagnostics bytes.Buffer
		code := run(t.Context(), append([]string{"-C", dir}, args...), strings.NewReader(""), &out, &diagnostics)
		if code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%q: got exit %d, want %q:\n%s%s", args, code, want, &out, &diagnostics)
		}
	}
	t.Setenv("STARHOST_STORE", "")
	writeFiles(t, dir, map[string]string{"c.toml": "store.fragments = \"llm:logs.db\"\n"})
	starhost("ours is sha256:", "-c", "c.toml", "fragments", "set", "ours", "rule.md")
	t.Setenv("STARHOST_STORE", "llm:logs.db")
	starhost("of llm", "eval", "a.star", "-f", "theirs", "-p", "hi")
	starhost("ours", "eval", "a.star", "-f", "ours", "-p", "hi")
	starhost("application/pdf", "eval", "a.star", "-f", "sha256:"+fragments.Sum(pdf).String(), "-p", "hi")
	starhost("theirs", "fragments", "list")
	starhost("1", "eval", "a.star", "--grant", "store", "--call", "count", "--allow-effects")
	if _, err := os.Stat(filepath.Join(dir, ".local", "share", "starhost", "starhost.db")); err != nil {
		t.Errorf("ctx.store: %v", err)
	}
	var source string
	if err := db.QueryRowContext(t.Context(), `SELECT source FROM fragments WHERE content = 'ours'`).Scan(&source); source != "rule.md" {
		t.Errorf("llm's file: got source %q, %v, want rule.md", source, err)
	}
}

// TestProcessesCount lets eight processes count at the same time, and checks the sum.
func TestProcessesCount(t *testing.T) {
	times := 50
	if os.Getenv("STARHOST_LONG") != "" {
		times = 1000
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.star": `plugin(permissions = ["store"])

def count(ctx, times):
    """Counts.

    Args:
      times (integer): How often.
    """
    for _ in range(times):
        ctx.store.add("n", 1)
    return ctx.store.get("n")

register_tool(count)
`})
	count := func(times int) (out string, err error) {
		cmd := exec.Command("starhost", "eval", "a.star", "--grant", "store", "--allow-effects", "--timeout", "5m",
			"--max-steps", "10000000", "--call", "count", "--args", fmt.Sprintf(`{"times": %d}`, times), "-F", "text")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "STARHOST_STORE=sqlite:"+filepath.Join(dir, "counters", "a.db"))
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if out, err := count(times); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if out, err := count(0); strings.TrimSpace(out) != fmt.Sprint(8*times) || err != nil {
		t.Errorf("got %s, %v, want %d", out, err, 8*times)
	}
}
