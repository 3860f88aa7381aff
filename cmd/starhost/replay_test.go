package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// everything are the parts of an event that a record contains only if the operator chooses them.
var everything = []string{decision.IncludePrompt, decision.IncludeResults, decision.IncludeWrites}

// An exchange is the list of lines that an agent sends to one command.
type exchange struct {
	agent *hook.Agent
	lines []string
	paths []string // the paths of plugins
}

// exchangesOf returns the exchanges of a file of golden/hooks.
func exchangesOf(file *txtar.File) (list []exchange) {
	for line := range strings.Lines(string(file.Data)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "$ "):
			words := strings.Fields(line[2:])
			e := exchange{agent: hook.AgentOf(words[2])}
			for _, word := range words[3:] {
				if strings.HasSuffix(word, ".star") {
					e.paths = append(e.paths, word)
				}
			}
			list = append(list, e)
		case strings.HasPrefix(line, "> "):
			e := &list[len(list)-1]
			e.lines = append(e.lines, strings.TrimSuffix(line[2:], "\\"))
		}
	}
	return slices.DeleteFunc(list, func(e exchange) bool { return e.agent == nil })
}

// record answers the lines of an exchange with the plugins, and writes the events to logs.
func (e *exchange) record(t *testing.T, dir string, f *loadFlags, logs ...*decision.Log) {
	t.Helper()
	env, res := Env{
		stdout: io.Discard, stderr: io.Discard, getenv: os.Getenv, lookupEnv: os.LookupEnv, dir: dir,
	}.fresh(), new(Result)
	set, err := env.loadWith(t.Context(), res, f, e.paths, func(o *loader.Options) {
		o.RequiredInArgs = true
		o.World.Store = new(effects.MemoryKV)
		o.Host.Observe = func(e starhost.Event, out host.Outcome) (err error) {
			for _, log := range logs {
				err = errors.Join(err, log.Observe(e, out))
			}
			return err
		}
	})
	if err != nil {
		return // this exchange shows a set of plugins that does not load
	}
	defer set.Close()
	if len(res.problems) > 0 {
		return // replay refuses such a set of plugins
	}
	used := decision.Set{}
	for _, p := range set.Plugins {
		used.Plugins = append(used.Plugins, decision.Plugin{Name: p.Name})
	}
	for _, log := range logs {
		log.Use(used, nil)
	}
	if e.agent.Lines {
		d := hook.Desk{Deadline: time.Minute, Warn: func(string) {}}
		d.Load = func(context.Context, *hook.Event) hook.Plugins { return hook.Plugins{Host: set.Host} }
		_ = d.Serve(t.Context(), strings.NewReader(strings.Join(e.lines, "\n")+"\n"), io.Discard)
		return
	}
	for _, line := range e.lines {
		event, err := e.agent.Read([]byte(line))
		if err != nil || !event.ReachesPlugins() {
			continue
		}
		o := hook.Options{States: &hook.States{Dir: filepath.Join(dir, "sessions")}}
		_, store, err := event.Answer(t.Context(), set.Host, o)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		store()
	}
}

// recordsIn returns the records of a folder, none if there is no folder.
func recordsIn(t *testing.T, dir string) (list []*decision.Record) {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	reader, err := decision.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Event != "call_ran" { // replay reads only events
			list = append(list, r)
		}
	}
	if reader.Skipped > 0 {
		t.Errorf("got %d lines that are no records", reader.Skipped)
	}
	return list
}

// runReplay runs replay and returns its report and exit code.
func runReplay(t *testing.T, dir string, args ...string) (report decision.ReplayReport, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"-C", dir, "replay", "-F", "json"}, args...), strings.NewReader(""), &out, &errs)
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || code > 1 {
		t.Fatalf("replay %s: got code %d, %v: %s%s", args, code, err, out.String(), errs.String())
	}
	return report, code
}

// TestReplayFixtures checks the law of replay over the recorded exchanges of all agents: the same
// plugins make the same decisions.
func TestReplayFixtures(t *testing.T) {
	total := 0
	for _, file := range hookArchives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := newRecord(t, archive)
			for i, e := range exchangesOf(r.file) {
				dir := filepath.Join(r.dir, fmt.Sprint("log", i))
				o := decision.Options{
					Dir: dir, Include: everything, KeepLikelyKeys: true, Report: func(err error) { t.Error(err) },
				}
				log := decision.New(o)
				e.record(t, r.dir, &loadFlags{}, log)
				records := recordsIn(t, dir)
				n := len(records)
				if total += n; n == 0 {
					continue
				}
				cut := slices.DeleteFunc(records, func(r *decision.Record) bool {
					return len(r.Cut) == 0 && !isAlarm(r)
				})
				report, _ := runReplay(t, r.dir, append([]string{"--log", dir}, e.paths...)...)
				if report.Events != n || report.Same+report.CannotTell != n || report.CannotTell > len(cut) {
					t.Errorf("exchange %d: got %s, want %d times the same: %+v", i, report.Summary(), n, report.Groups)
				}
			}
		})
	}
	if total < 150 {
		t.Errorf("the exchanges gave %d records, want 150 or more", total)
	}
}

// isAlarm reports whether the host refused a call because an earlier one ran with other arguments:
// no plugin decided, so replay cannot tell.
func isAlarm(r *decision.Record) bool {
	return strings.Contains(r.Decision.Reason, "ran other arguments")
}

func hookArchives(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../golden/hooks/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	return files
}

// weekPlugin is the guard of the week's log. The handlers of shell calls read the arguments, all
// others something that a record omits by default.
const weekPlugin = `plugin(name = "week", permissions = ["env:TEAM", "store", "http:SERVER"])

def shell(ctx, call):
    n = ctx.state.get("shells", 0) + 1
    ctx.state.set("shells", n)
    ctx.store.add("shells", 1)
    if "rm" in (call.command or ""):
        return deny("no deletes for " + ctx.env("TEAM"))
    RULE
    if n % 5 == 0:
        return ask("the fifth command, at " + ctx.now)

def write(call):
    if call.content and "key" in call.content:
        return deny("no keys")

register_hook("pre_tool_call", shell, kind = "shell")
register_hook("pre_tool_call", write, kind = "write")
register_hook("turn_start", lambda user_message: "Be brief." if "why" in user_message else None)
register_hook("post_tool_call", lambda result: modify(result = result + "!") if "key" in result else None)
register_hook("turn_end", lambda completed: None)
`

// A week is a folder with the plugin and a log of one week, made from the exchanges of all agents.
type week struct {
	dir, log string
	records  []*decision.Record // records before the repetitions
	times    int                // number of repetitions
	server   string             // address that the plugin may reach
}

// newWeek records the exchanges with the parts of include, and does not mask values that look like keys if
// include has parts. It writes the records again and again with other ids, sessions and times, until the log
// has 20,000 records, or a tenth of them in short tests.
func newWeek(t *testing.T, include ...string) *week {
	t.Helper()
	exchangeFile := txtar.File{Name: "exchange"}
	r := newRecord(t, &txtar.Archive{Files: []txtar.File{exchangeFile, {Name: "week.star", Data: []byte(weekWith("pass", noServer))}}})
	t.Setenv("TEAM", "checkout")
	w := &week{dir: r.dir, log: filepath.Join(r.dir, "week"), server: noServer}
	keep := len(include) > 0
	one := decision.New(decision.Options{Dir: filepath.Join(r.dir, "one"), Include: include, KeepLikelyKeys: keep})
	for i, file := range hookArchives(t) {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for k := range archive.Files {
			if archive.Files[k].Name != "exchange" {
				continue
			}
			for _, e := range exchangesOf(&archive.Files[k]) {
				e.paths = []string{"week.star"}
				for n, line := range e.lines { // files have sessions of the same names
					e.lines[n] = strings.ReplaceAll(line, `ession_id":"`, fmt.Sprintf(`ession_id":"%d-`, i))
				}
				e.record(t, r.dir, &loadFlags{grant: weekGrants}, one)
			}
		}
	}
	w.records = slices.DeleteFunc(recordsIn(t, filepath.Join(r.dir, "one")), isAlarm)
	want := 2000
	if os.Getenv("STARHOST_LONG") != "" {
		want = 20_000
	}
	w.times = want/len(w.records) + 1
	all := decision.New(decision.Options{Dir: w.log, KeepLikelyKeys: keep})
	for i := range w.times {
		for _, r := range w.records {
			again := *r
			again.ID, again.Session = fmt.Sprintf("%s-%d", r.ID, i), fmt.Sprintf("%s-%d", r.Session, i)
			again.Time = r.Time.AddDate(0, 0, -6+7*i/w.times)
			if err := all.Append(&again); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// noServer is an address that the plugin never uses.
const noServer = "http://127.0.0.1:9"

// weekGrants are the permissions of the week's plugin.
var weekGrants = []string{"week=env:TEAM", "week=store"}

// weekWith returns the plugin with one more statement, and the permission to reach a server.
func weekWith(rule, server string) string {
	return strings.NewReplacer("RULE", rule, "SERVER", server).Replace(weekPlugin)
}

// replay replays the week with the plugin and one more statement.
func (w *week) replay(t *testing.T, rule string, args ...string) (decision.ReplayReport, int) {
	t.Helper()
	writeFiles(t, w.dir, map[string]string{"week.star": weekWith(rule, w.server)})
	for _, grant := range append([]string{"week=http:" + w.server}, weekGrants...) {
		args = append(args, "--grant", grant)
	}
	return runReplay(t, w.dir, append(args, "--log", w.log, "week.star")...)
}

// count returns how many events of the week the function is accepts.
func (w *week) count(is func(*decision.Record) bool) (n int) {
	for _, r := range w.records {
		if is(r) {
			n += w.times
		}
	}
	return n
}

// isShell reports whether a record is about a shell command.
func isShell(r *decision.Record) bool {
	return r.Event == "pre_tool_call" && slices.ContainsFunc(r.Handlers, func(h decision.Handler) bool { return len(h.Effects) > 0 })
}

// TestReplayWeek checks the reports about a log that has everything, for the same plugin, a stricter one, and
// one that makes a new request.
func TestReplayWeek(t *testing.T) {
	w := newWeek(t, everything...)
	events := w.count(func(*decision.Record) bool { return true })
	if shells := w.count(isShell); shells < events/10 || shells == events {
		t.Fatalf("got %d events with a shell command of %d", shells, events)
	}
	report, code := w.replay(t, "pass")
	if report.Events != events || report.Same != events || code != 0 {
		t.Errorf("the same plugin: got %s: %+v", report.Summary(), report.Groups)
	}

	// One more rule denies the commands that it names, except those that another rule denies already.
	push := func(r *decision.Record) bool {
		return isShell(r) && strings.Contains(string(r.Input["arguments"]), "git push") && r.Decision.Action != "deny"
	}
	stricter := "if \"git push\" in (call.command or \"\"):\n        return deny(\"no pushes\")"
	report, code = w.replay(t, stricter)
	denied := w.count(push)
	if denied == 0 || report.NowDenied != denied || report.Same+report.SameMasked != events-denied || code != 1 {
		t.Errorf("a stricter plugin: got %s, want %d denied: %+v", report.Summary(), denied, report.Groups)
	}
	if _, code = w.replay(t, stricter, "--allow", "now denied by week"); code != 0 {
		t.Errorf("the denials are allowed: got code %d", code)
	}

	// The new request must not reach the server.
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer server.Close()
	w.server = server.URL
	fetch := fmt.Sprintf("ctx.http.get(%q)", server.URL)
	report, code = w.replay(t, fetch)
	unclear := w.count(func(r *decision.Record) bool {
		return isShell(r) && !strings.HasPrefix(r.Decision.Reason, "no deletes")
	})
	if report.CannotTell != unclear || report.Same+report.SameMasked != events-unclear || requests > 0 || code != 0 {
		t.Errorf("a new request: got %s and %d requests, want %d unclear: %+v", report.Summary(), requests, unclear, report.Groups)
	}
	if _, code = w.replay(t, fetch, "--strict"); code != 1 {
		t.Errorf("--strict: got code %d, want 1", code)
	}
}

// TestReplayDefaults checks that replay cannot tell exactly the events whose handlers name or read
// what a record omits by default.
func TestReplayDefaults(t *testing.T) {
	w := newWeek(t)
	events := w.count(func(*decision.Record) bool { return true })
	want := map[string]int{}
	for _, r := range w.records {
		switch {
		case r.Event == "turn_start":
			want["user_message"] += w.times
		case r.Event == "post_tool_call":
			want["result"] += w.times
		case r.Event == "pre_tool_call" && !isShell(r):
			for _, at := range r.Omitted {
				if strings.HasPrefix(at+"/", "/input/arguments/") && !strings.Contains(at, "old") {
					want["arguments"] += w.times
					break
				}
			}
		}
	}
	report, code := w.replay(t, "pass")
	got, unclear := map[string]int{}, 0
	for _, g := range report.Groups {
		rest, _ := strings.CutPrefix(g.Reason, "the record lacks ")
		got[strings.FieldsFunc(rest, func(c rune) bool { return c == '/' || c == ':' })[0]] += g.Count
		unclear += g.Count
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 3 {
		t.Errorf("events that replay cannot tell (-want +got):\n%s\n%+v", diff, report.Groups)
	}
	if report.CannotTell != unclear || report.Same+report.SameMasked != events-unclear || code != 0 {
		t.Errorf("got %s with code %d", report.Summary(), code)
	}
}
