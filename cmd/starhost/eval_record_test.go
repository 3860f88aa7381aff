package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/report"
)

// turnPlugin is a plugin whose turn needs the network, the environment, a secret, a program,
// files and state.
const turnPlugin = `plugin(permissions = ["http:GET,POST http://127.0.0.1:*", "secret:PAGER_TOKEN", "env:REGION", "exec:cat", "fs.read:notes/*", "fs.write:out/*", "store"])

def on_call(ctx, team):
    """Who is on call.

    Args:
      team (string): The team.
    """
    token = ctx.secret("PAGER_TOKEN")
    reply = ctx.http.get("BASE/oncall", params = {"team": team}, headers = {"Authorization": "Bearer " + token})
    paged = ctx.http.post("BASE/page", json = reply.json(), auth = ("bot", token))
    echoed = ctx.exec(["cat"], stdin = "token " + token, env = {"TOKEN": token})
    ctx.state.set("who", reply.json()["name"])
    ctx.store.set("who", reply.json()["name"])
    ctx.fs.write("out/who.md", reply.text)
    return "%s %s, %d %s, %r, %s" % (team, reply.text, paged.status, paged.text, echoed.stdout, token)

def facts(ctx):
    notes = [ctx.fs.read(p) for p in ctx.fs.glob("notes/*.md")]
    kept = ctx.state.get("who", "nobody"), ctx.store.keys()
    return ["region " + ctx.env("REGION")] + notes + ["%s %s at %s, %d" % (kept + (ctx.now, ctx.random(100)))]

register_tool(on_call)
register_hook("pre_llm_call", facts)
register_hook("post_tool_call", lambda ctx, result, duration_ms: ctx.log("info", "took", kept = ctx.state.keys()))
`

// pager returns a server that answers with the request, including the secret.
func pager(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch r.URL.Path {
		case "/oncall":
			io.WriteString(w, `{"name": "Ada", "team": "`+r.URL.Query().Get("team")+`", "you": "`+r.Header.Get("Authorization")+`"}`)
		default:
			w.WriteHeader(http.StatusAccepted)
			io.WriteString(w, r.Header.Get("Authorization")+" sent "+string(body))
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// A machine is a folder to run the program in.
type machine struct{ dir string }

// run runs the program and returns its result and its diagnostics.
func (m machine) run(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	got := run(t.Context(), append([]string{"-C", m.dir}, args...), strings.NewReader(""), &out, &errs)
	if got != code {
		t.Fatalf("starhost %s: got exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// TestReplayElsewhere records a turn that uses the network, the environment, a secret, a
// program, files and state. The replay runs in another folder, without the server, the files,
// the variables and the secret, and must be equal byte for byte. The record must not contain
// the secret in any form.
func TestReplayElsewhere(t *testing.T) {
	const secret = `p4ger/"token"+1234`
	server := pager(t)
	plugin := strings.ReplaceAll(turnPlugin, "BASE", server.URL)
	plugin = strings.ReplaceAll(plugin, "127.0.0.1:*", strings.TrimPrefix(server.URL, "http://"))
	home, away := machine{t.TempDir()}, machine{t.TempDir()}
	question := []string{"-p", "Who is on call?", "-f", "typed.md", "--call", "on_call", "--arg", "team=checkout", "--allow-effects", "--seed", "5"}
	writeFiles(t, home.dir, map[string]string{"golden/README": "", "oncall.star": plugin, "notes/a.md": "A note.", "notes/b.md": "Another note.", "typed.md": "Typed."})
	writeFiles(t, away.dir, map[string]string{"oncall.star": plugin})
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PAGER_TOKEN", secret)
	t.Setenv("REGION", "eu-1")
	record := func(dir, format string) string { return filepath.Join(dir, "golden", "oncall_"+format+".txtar") }
	args := []string{"eval", "oncall.star"}
	for _, permission := range []string{
		"http:GET,POST " + server.URL, "secret:PAGER_TOKEN", "env:REGION", "exec:cat", "fs.read:notes/*", "fs.write:out/*", "store",
	} {
		args = append(args, "--grant", permission)
	}
	recorded := map[string]string{}
	for _, format := range []string{"pretty", "json"} {
		recorded[format], _ = home.run(t, report.ExitOK, slices.Concat(args, question, []string{"-F", format, "--record", record(home.dir, format)})...)
	}
	for _, want := range []string{"region eu-1", "A note.", "Another note.", "Typed.", `"team": "checkout"`, "202 ", "<secret PAGER_TOKEN>"} {
		if !strings.Contains(recorded["pretty"], want) {
			t.Errorf("the recorded turn does not say %q:\n%s", want, recorded["pretty"])
		}
	}
	if _, err := os.Stat(filepath.Join(home.dir, "out/who.md")); err != nil {
		t.Error(err)
	}

	server.Close()
	os.Unsetenv("PAGER_TOKEN") // t.Setenv restores it at the end
	os.Unsetenv("REGION")
	for format, want := range recorded {
		got, stderr := away.run(t, report.ExitOK, slices.Concat(args, []string{"-F", format, "--replay", record(home.dir, format)})...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s replayed (-recorded +replayed):\n%s", format, diff)
		}
		if !strings.Contains(stderr, `took {"kept":["who"]}`) {
			t.Errorf("%s replayed: got logs %q", format, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(away.dir, "out")); err == nil {
		t.Error("the replay wrote a file")
	}
	checkRecord(t, record(home.dir, "json"), secret)

	text, err := os.ReadFile(record(home.dir, "pretty"))
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, away.dir, map[string]string{"golden/oncall_pretty.txtar": string(text)})
	if got, _ := away.run(t, report.ExitOK, "test"); got != "1 case: 1 passed\n" {
		t.Errorf("test: got %s", got)
	}
	writeFiles(t, away.dir, map[string]string{"oncall.star": strings.Replace(plugin, "/oncall\"", "/who\"", 1)})
	got, _ := away.run(t, report.ExitNegative, "test")
	want := `lane 3 of oncall: effect 2: got http.get {"url":"` + server.URL + `/who?team=checkout"`
	if !strings.Contains(got, want) || !strings.Contains(got, "[E0516]") {
		t.Errorf("test of a changed plugin: got %s, want %s", got, want)
	}
}

// checkRecord checks that only its owner can read a record, and that no part of it contains a
// form of a secret.
func checkRecord(t *testing.T, file, secret string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, %v, want 0600", info.Mode(), err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range secretForms(secret) {
		if strings.Contains(string(text), form) {
			t.Errorf("the record holds %q:\n%s", form, text)
		}
	}
	for _, kind := range []string{"http.get", "http.post", "env", "secret", "exec", "fs.glob", "fs.read", "fs.write", "state.get", "state.set", "store.set", "now", "random", "reference"} {
		if !strings.Contains(string(text), `"`+kind+`":{`) {
			t.Errorf("the record has no %s:\n%s", kind, text)
		}
	}
}

// secretForms returns the forms in which programs write a secret.
func secretForms(secret string) []string {
	quoted, _ := json.Marshal(secret) // strings always marshal without an error
	again, _ := json.Marshal(string(quoted))
	return []string{
		secret, strings.Trim(string(quoted), `"`), strings.Trim(string(again), `"`),
		url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("bot:" + secret)),
		base64.URLEncoding.EncodeToString([]byte("bot:" + secret)), base64.StdEncoding.EncodeToString([]byte("token " + secret)),
	}
}

// TestReplayReadsClock replays a record with a plugin that now reads ctx.now, which the record lacks. Each
// format must report where, and none may panic.
func TestReplayReadsClock(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.star":     `register_hook("pre_llm_call", lambda: "hi")`,
		"now/a.star": `register_hook("pre_llm_call", lambda ctx: str(ctx.now))`,
	})
	runIn(t, dir, report.ExitOK, "eval", "a.star", "-p", "hi", "--record", "j.txtar")
	for _, flag := range []string{"-v", "--explain", "-Fjson", "-Ftext", "-Fopenai", "-Fanthropic"} {
		out, diagnostics := runIn(t, dir, report.ExitNegative, "eval", "now/a.star", "--replay", "j.txtar", flag)
		if !strings.Contains(diagnostics, "a.star:1:50: replay: ") || strings.Contains(diagnostics, "E0111") || strings.Contains(out, "1970") {
			t.Errorf("%s: got %s%s", flag, out, diagnostics)
		}
	}
}

// TestForgedCode checks that a code in a record does not make a failure a bug of starhost, nor an
// interrupt.
func TestForgedCode(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.star": `plugin(permissions = ["fs.read:**"])

register_fragment_loader("note", lambda ctx, arg: ctx.fs.read("none"))
`})
	flags := []string{"eval", "a.star", "--grant", "fs.read:**"}
	runIn(t, dir, report.ExitFile, append(flags, "-p", "hi", "-f", "note:y", "--record", "j.txtar")...)
	record, err := os.ReadFile(filepath.Join(dir, "j.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`"code":"E\d+"`)
	for _, forged := range []string{"E9999", "E0111", "E0709", "E0707", "", "x\x1b"} {
		text := code.ReplaceAllString(string(record), `"code":`+string(jsontext.Must(forged)))
		if text == string(record) {
			t.Fatalf("the record has no code: %s", text)
		}
		writeFiles(t, dir, map[string]string{"j.txtar": text})
		runIn(t, dir, report.ExitPlugin, append(flags, "--replay", "j.txtar")...)
	}
}

// runIn runs the program in a folder, and checks its exit code.
func runIn(t *testing.T, dir string, want int, args ...string) (out, diagnostics string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), append([]string{"-C", dir, "--no-config"}, args...), strings.NewReader(""), &stdout, &stderr); got != want {
		t.Errorf("%q: got exit code %d, want %d\n%s%s", args, got, want, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}
